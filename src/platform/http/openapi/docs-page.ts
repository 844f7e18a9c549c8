/** The OpenAPI document and a page to browse and try it. All files come from the service's own origin. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'

const ASSETS: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
}

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gridpost API</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

const START = `SwaggerUIBundle({
  url: '/openapi.json', dom_id: '#ui', deepLinking: true, docExpansion: 'none', filter: true,
  tryItOutEnabled: true, persistAuthorization: false, validatorUrl: null
})
`

/** Only files of this origin are loaded, and no other page may frame this one. Swagger UI needs inline styles. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

/** Written by `npm run openapi`. Generating the document instead would cost each start a fifth of its time. */
const DOCUMENT = fileURLToPath(new URL('../../../../openapi.json', import.meta.url))

/** Mounts /openapi.json, /docs and its assets. Their files are read when they are first asked for, and kept. */
export function mountDocs(app: FastifyInstance): void {
  const document = once(async () => `${JSON.stringify(JSON.parse(await readFile(DOCUMENT, 'utf8')))}\n`)
  app.get('/openapi.json', async (_, reply) => reply.type('application/json; charset=utf-8').send(await document()))
  const headers = { 'content-security-policy': POLICY, 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }
  app.get('/', async (_, reply) => reply.redirect('/docs'))
  app.get('/docs', async (_, reply) => reply.headers(headers).type('text/html; charset=utf-8').send(PAGE))
  app.get('/docs/start.js', async (_, reply) => reply.headers(headers).type('text/javascript; charset=utf-8').send(START))
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  for (const [name, type] of Object.entries(ASSETS)) {
    const bytes = once(() => readFile(join(folder, name)))
    app.get(`/docs/${name}`, async (_, reply) =>
      reply
        .headers({ ...headers, 'cache-control': 'public, max-age=3600' })
        .type(type)
        .send(await bytes()),
    )
  }
}

/** Keeps what was read. A failure is not kept. */
function once<Content>(read: () => Promise<Content>): () => Promise<Content> {
  let content: Promise<Content> | undefined
  return () => {
    content ??= read().catch((error) => {
      content = undefined
      throw error
    })
    return content
  }
}
