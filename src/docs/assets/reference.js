// Shows the reference. Nothing is asked of another host: no proxy, no fonts, no telemetry, no agent.
const base = new URL('..', location.href).href.replace(/\/$/, '')

async function start() {
  const response = await fetch('reference.json')
  if (!response.ok) throw new Error(`reference.json: ${response.status}`)
  const content = JSON.parse((await response.text()).replaceAll('{{base}}', base))
  const place = document.querySelector('#reference')
  // A key would count before the cookie of the session, also an empty one.
  const isSignedIn = 'session' in place.dataset
  place.replaceChildren()
  Scalar.createApiReference(place, {
    content: { ...content, servers: [{ url: base }] },
    proxyUrl: '',
    telemetry: false,
    withDefaultFonts: false,
    hideClientButton: true,
    hideDarkModeToggle: true,
    showDeveloperTools: 'never',
    agent: { disabled: true },
    mcp: { disabled: true },
    documentDownloadType: 'none',
    persistAuth: false,
    authentication: { preferredSecurityScheme: isSignedIn ? 'session' : 'key' },
    generateOperationSlug: ({ path, method }) => content.paths[path]?.[method.toLowerCase()]?.operationId ?? `${method}${path}`,
  })
}

start().catch((error) => {
  document.querySelector('#reference').textContent = `The reference cannot be shown: ${error.message}`
})
