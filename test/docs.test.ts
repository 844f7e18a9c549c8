/** The documentation that the service serves: its pages, their links, the search and the code samples. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { buildApp } from '../src/app.ts'
import { type ApiDocument, withSamples } from '../src/docs/reference.ts'
import { restProcedures } from '../src/platform/http/procedures/rest.ts'
import { apiDocument, appRouter } from '../src/router.ts'
import { testApp } from './support/app.ts'

const app = await testApp()
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const document = (await apiDocument()) as ApiDocument

const get = async (path: string) => app.as(null).send(path, { redirect: 'manual' })
const html = async (path: string): Promise<string> => {
  const { status, headers, body } = await get(path)
  expect([path, status, headers.get('content-type')]).toEqual([path, 200, 'text/html; charset=utf-8'])
  return body
}
const linksIn = (page: string) =>
  [...page.matchAll(/ (?:href|src|action)="([^"]+)"/g)].map(([, link = '']) => link.replaceAll('&amp;', '&'))
const PAGES = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.md'))
  .map((path) => path.replace(/\.md$/, '').replace(/\/README$/, ''))

describe('the first page', () => {
  test.each(['/docs', '/docs/'])('%s says what this is, how to get a key, and the first call in three languages', async (path) => {
    const page = await html(path)
    for (const title of ['Build on Gridpost', 'Sign in or get a key', 'Make the first call', 'All operations, by area'])
      expect(page).toContain(title)
    for (const language of ['curl', 'TypeScript', 'Python']) expect(page).toContain(`<h3>${language}</h3>`)
    expect(page).toContain(`npm install <span data-base>${app.url}</span>/client.tgz`)
  })

  test('lists every operation in its area', async () => {
    const page = await html('/docs')
    for (const { name } of document.tags) expect(page).toContain(`<strong>${name}</strong>`)
    for (const [path, methods] of Object.entries(document.paths))
      for (const [method, { operationId }] of Object.entries(methods)) {
        expect(page).toContain(`/${operationId}">`)
        expect(page).toContain(`<span class="method ${method}">${method.toUpperCase()}</span> ${path}</code>`)
      }
  })

  test('the root leads to it, below the path of PUBLIC_URL', async () => {
    expect((await get('/')).headers.get('location')).toBe('/docs')
    const service = await buildApp({ ...app.deps, publicUrl: () => 'https://example.com/gridpost' })
    expect((await service.inject('/')).headers.location).toBe('/gridpost/docs')
    await service.close()
  })
})

describe('the pages', () => {
  test('are all files of docs/, each in the list', async () => {
    const list = await html('/docs/pages')
    for (const name of PAGES) {
      expect(await html(`/docs/pages/${name}`)).toContain('<h1 id=')
      if (!name.includes('/')) expect(list).toContain(`href="../docs/pages/${name}"`)
    }
  })

  /** The links of a page to pages and files of the service, with what is at their other end. */
  async function targetsOf(path: string) {
    const own = linksIn(await html(path)).map((link) => ({ link, url: new URL(link, app.url + path) }))
    const served = own.filter(({ url }) => url.origin === app.url && !url.pathname.startsWith('/docs/reference'))
    return Promise.all(served.map(async ({ link, url }) => ({ link, id: decodeURIComponent(url.hash.slice(1)), answer: await once(url) })))
  }
  const seen = new Map<string, ReturnType<typeof get>>()
  const once = ({ pathname, search }: URL) => {
    const target = pathname + search
    const answer = seen.get(target) ?? get(target)
    seen.set(target, answer)
    return answer
  }
  const OTHERS = [
    '/docs',
    '/docs/',
    '/docs/pages',
    '/docs/search?q=csv',
    '/docs/reference',
    '/docs/pages/readme',
    '/docs/pages/contributing',
  ]

  test.each([...OTHERS, ...PAGES.map((name) => `/docs/pages/${name}`)])('%s has links that lead somewhere', async (path) => {
    for (const { link, id, answer } of await targetsOf(path)) {
      expect([link, answer.status]).toEqual([link, 200])
      if (id) expect([link, String(answer.body).includes(` id="${id}"`)]).toEqual([link, true])
    }
  })

  test('show HTML in their text as text', async () => {
    const page = await html('/docs/pages/files')
    expect(page).toContain('&lt;a href=&quot;/api/file/')
    expect(page).not.toContain('<!-- A gallery')
  })

  test.each([
    ['/docs/pages/csv/', '../csv'],
    ['/docs/pages/', '../pages'],
    ['/docs/pages/%E6%BC%A2/', '../%E6%BC%A2'],
    ['/docs/pages/a%0D%0AX-B:c/', '../a%0D%0AX-B%3Ac'],
    ['/docs/reference/', '../reference'],
  ])('%s leads to %s', async (path, location) => {
    const answer = await get(path)
    expect([answer.status, answer.headers.get('location')]).toEqual([302, location])
  })

  test.each([
    'nope',
    'csv.md',
    '../package.json',
    '..%2fpackage.json',
    '%2e%2e/%2e%2e/package.json',
    'decisions/nope',
    '<script>',
    'a/b/c/d',
  ])('has no page %s', async (name) => {
    const { status, headers, body } = await get(`/docs/pages/${name}`)
    expect(status).toBe(404)
    if (headers.get('content-type')?.startsWith('text/html')) expect(body).not.toContain('<script>')
  })

  test.each(['/docs/assets/nope.css', '/docs/assets/..%2froutes.ts', '/docs/nope'])('%s is the common 404', async (path) => {
    expect((await get(path)).body).toMatchObject({ code: 'NOT_FOUND', message: 'No such path' })
  })
})

describe('the search', () => {
  test.each([
    ['csv import', 'pages/csv#import'],
    ['mark a task as done', 'reference#tag/tasks/tasks.markDone'],
    ['IDEMPOTENCY-key', 'pages/errors'],
    ['/api/keys/create', 'reference#tag/keys/keys.create'],
  ])('finds %j', async (query, address) => {
    expect(linksIn(await html(`/docs/search?q=${encodeURIComponent(query)}`)).some((link) => link.startsWith(address))).toBe(true)
  })

  test('shows what was asked and what was found as text', async () => {
    const page = await html(`/docs/search?q=${encodeURIComponent('<script>"&')}`)
    expect(page).toContain('Search for “&lt;script&gt;&quot;&amp;”')
    expect(page).toContain('value="&lt;script&gt;&quot;&amp;"')
    expect(await html('/docs/search?q=gp_acct')).toMatch(/<mark>gp_acct<\/mark>/)
  })

  test.each(['', '?q=', '?q=%20', '?q=a&q=b', '?q[]=a', '?q=%00', `?q=${'x'.repeat(5000)}`, '?q=zzzzqqqq', '?q=((((', '?q=%F0%9F%98%80'])(
    'answers %.20j',
    async (query) => {
      expect(await html(`/docs/search${query}`)).toContain('<h1>')
    },
  )
})

describe('the headers', () => {
  const policyOf = async (path: string) => (await get(path)).headers.get('content-security-policy') ?? ''

  test.each(['/docs', '/docs/', '/docs/pages', '/docs/pages/csv', '/docs/search?q=a', '/docs/pages/nope', '/docs/reference'])(
    '%s runs only scripts of its own, and none inline',
    async (path) => {
      const policy = await policyOf(path)
      expect(policy).toContain("default-src 'none'; script-src 'self';")
      expect(policy).toContain("connect-src 'self'; frame-ancestors 'none'")
      expect(policy.includes('unsafe-inline')).toBe(path === '/docs/reference')
      expect((await get(path)).body).not.toMatch(/<script>|<script [^>]*>[^<]|style="|onclick/)
    },
  )

  test('the assets are kept by browsers, and have another address in another release', async () => {
    for (const link of linksIn(await html('/docs')).filter((one) => one.includes('/assets/'))) {
      expect(link).toMatch(/\?v=[\w-]{8}$/)
      const { status, headers } = await get(`/${link}`)
      expect([link, status, headers.get('cache-control')]).toEqual([link, 200, 'public, max-age=3600'])
    }
    expect((await get('/favicon.ico')).headers.get('content-type')).toBe('image/x-icon')
  })

  test('the script of the reference is compressed for those who take it', async () => {
    const plain = await fetch(`${app.url}/docs/scalar.js`, { headers: { 'accept-encoding': 'identity' } })
    const compressed = await fetch(`${app.url}/docs/scalar.js`, { headers: { 'accept-encoding': 'br, gzip' } })
    expect([plain, compressed].map(({ headers }) => headers.get('content-encoding'))).toEqual([null, 'gzip'])
    expect(plain.headers.get('vary')).toBe('accept-encoding')
    expect(await compressed.text()).toBe(await plain.text())
    const refused = await fetch(`${app.url}/docs/scalar.js`, { headers: { 'accept-encoding': 'gzip;q=0' } })
    expect(refused.headers.get('content-encoding')).toBe(null)
  })
})

describe('the code samples', () => {
  const sampled = withSamples(document, restProcedures(appRouter)) as unknown as {
    paths: Record<string, Record<string, { operationId: string; 'x-codeSamples': { label: string; source: string }[] }>>
  }
  const operations = Object.values(sampled.paths).flatMap((methods) => Object.values(methods))
  const sourceOf = (operation: (typeof operations)[number], language: string) =>
    operation['x-codeSamples'].find(({ label }) => label === language)?.source ?? ''

  test('are served with the document, in three languages for each operation', async () => {
    expect((await get('/docs/reference.json')).body).toEqual(JSON.parse(JSON.stringify(sampled)))
    for (const operation of operations)
      expect(operation['x-codeSamples'].map(({ label }) => label)).toEqual(['curl', 'TypeScript', 'Python'])
  })

  test('in TypeScript compile with the typed client', () => {
    mkdirSync(join(ROOT, 'dist'), { recursive: true })
    const folder = mkdtempSync(join(ROOT, 'dist/samples-'))
    try {
      for (const [number, operation] of operations.entries()) {
        const source = sourceOf(operation, 'TypeScript').replace("'gridpost-client'", "'../../src/client.ts'")
        writeFileSync(join(folder, `${operation.operationId}-${number}.ts`), `${source}\nexport {}\n`)
      }
      const compilerOptions = { noEmit: true, exactOptionalPropertyTypes: false, noUnusedLocals: false }
      const config = { extends: '../../tsconfig.json', include: ['*.ts', '../../src/app.ts', '../../src/deps.ts'], compilerOptions }
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
      const { stdout } = spawnSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder, '--singleThreaded'], { encoding: 'utf8' })
      expect(stdout).toBe('')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('in the shell and in Python are well-formed, where these are installed', () => {
    // One that is left open, such as a quote, also takes in the name of the next function, and the shell reports that.
    const functions = operations.map((operation, number) => `sample_${number}() {\n${sourceOf(operation, 'curl')}\n}`)
    const shell = spawnSync('sh', ['-n'], { input: functions.join('\n'), encoding: 'utf8' })
    expect([shell.status, shell.stderr]).toEqual([0, ''])
    const check = 'import ast, json, sys\nfor source in json.load(sys.stdin): ast.parse(source)'
    const python = spawnSync('python3', ['-c', check], {
      input: JSON.stringify(operations.map((operation) => sourceOf(operation, 'Python'))),
      encoding: 'utf8',
    })
    if (!python.error) expect(python.stderr).toBe('')
  })

  test.each([
    ['keys.self', 'curl', 'curl {{base}}/api/key/self \\\n  -H "Authorization: Bearer $GRIDPOST_KEY"'],
    ['sessions.end', 'curl', 'curl -X POST {{base}}/api/auth/session/1/end \\\n  -b cookies.txt'],
    ['auth.methods', 'curl', 'curl {{base}}/api/auth/methods'],
    ['tasks.markDone', 'TypeScript', 'const answer = await client.tasks.markDone.mutate({ task_id: 1 })'],
    ['records.query', 'TypeScript', 'await client.records.query.query({ table_id: 4, '],
    ['health.metrics', 'Python', `headers={"Authorization": f"Bearer {os.environ['METRICS_TOKEN']}"}`],
    ['tasks.upload.put', 'Python', 'data=open("offer.pdf", "rb")'],
  ])('show how %s is called in %s', (operationId, language, line) => {
    const operation = operations.find((one) => one.operationId === operationId)
    expect(operation && sourceOf(operation, language)).toContain(line)
  })
})
