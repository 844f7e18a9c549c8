/** /client.tgz, and /docs: the first page, the reference of all operations, the pages of the repository, and the search over both. */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { SESSION_COOKIE } from '../auth/sessions.ts'
import { AppError } from '../platform/errors.ts'
import { disposition } from '../platform/http/answers/content-disposition.ts'
import type { RestProcedure } from '../platform/http/procedures/rest.ts'
import { compressedBundle } from './bundle.ts'
import { packClient } from './client-package.ts'
import { type ApiDocument, withSamples } from './reference.ts'
import { type Shown, shell } from './shell.ts'
import type { Site } from './site.ts'

/** Only files of this origin are loaded, and no other page may frame these. */
const policy = (styles: string) =>
  `default-src 'none'; script-src 'self'; style-src ${styles}; img-src 'self' data:; connect-src 'self'; ` +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
const HEADERS = { 'content-security-policy': policy("'self'"), 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }
/** Scalar needs inline styles. */
const REFERENCE_HEADERS = { ...HEADERS, 'content-security-policy': policy("'self' 'unsafe-inline'") }
/** Browsers ask for a file again after an hour, and for that of another release at once: its address has another version. */
const KEPT = { 'cache-control': 'public, max-age=3600' }
const PICTURE_HEADERS = { ...HEADERS, ...KEPT, 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'" }

/** Written by `npm run openapi`. Generating the document instead would cost each start a fifth of its time. */
const DOCUMENT = fileURLToPath(new URL('../../openapi.json', import.meta.url))
const ASSETS = fileURLToPath(new URL('./assets/', import.meta.url))
const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
}

interface DocsOptions {
  /** The address at which callers reach the service. */
  publicUrl: () => string
  procedures: readonly RestProcedure[]
}

/** Mounts /openapi.json, /client.tgz, /docs and what belongs to it. All files are read when they are first asked for, and kept. */
export function mountDocs(app: FastifyInstance, { publicUrl, procedures }: DocsOptions): void {
  const document = kept(async () => JSON.parse(await readFile(DOCUMENT, 'utf8')) as ApiDocument)
  // The renderer of Markdown is loaded with the pages, because a start does not need it.
  const site = kept(async () => (await import('./site.ts')).openSite(await document()))
  const assets = kept(readAssets)
  const send: Send = async (reply, shown, headers = HEADERS) =>
    reply
      .headers(headers)
      .type('text/html; charset=utf-8')
      .send(shell(shown, (await assets()).version))

  const openApi = kept(async () => `${JSON.stringify(await document())}\n`)
  app.get('/openapi.json', async (_, reply) => reply.type('application/json; charset=utf-8').send(await openApi()))

  // Relative addresses mean something else with a slash at the end, so the page has those that fit.
  for (const [path, up] of [
    ['/docs', ''],
    ['/docs/', '../'],
  ] as const)
    app.get(path, async (request, reply) => send(reply, (await site()).start({ up, base: publicUrl(), hasSession: hasSession(request) })))

  app.get('/docs/search', async (request, reply) => {
    const { q } = request.query as { q?: unknown }
    return send(reply, (await site()).search(typeof q === 'string' ? q.slice(0, MOST_OF_QUERY) : ''))
  })
  mountClient(app)
  mountReference(app, { document, procedures, send })
  mountPages(app, site, send)
  mountAssets(app, assets)
}

const MOST_OF_QUERY = 200

/** `npm install <address>/client.tgz` installs the typed client of this release. */
function mountClient(app: FastifyInstance): void {
  const packed = kept(packClient)
  app.get('/client.tgz', async ({ headers }, reply) => {
    const { bytes, fileName, etag } = await packed()
    // A cache asks each time, because the address has another package after an upgrade.
    reply.headers({ etag, 'cache-control': 'public, no-cache', 'x-content-type-options': 'nosniff' })
    if (headers['if-none-match']?.split(/\s*,\s*/).some((known) => known === '*' || known.replace(/^W\//, '') === etag))
      return reply.code(304).send()
    return reply.header('content-disposition', disposition('attachment', fileName)).type('application/gzip').send(bytes)
  })
}

/** Whether the browser sent the cookie of a session, which may have ended. */
const hasSession = ({ context }: FastifyRequest) => context.cookie(SESSION_COOKIE) !== undefined

type Send = (reply: FastifyReply, shown: Shown, headers?: Record<string, string>) => Promise<FastifyReply>

function mountReference(
  app: FastifyInstance,
  { document, procedures, send }: { document: () => Promise<ApiDocument>; procedures: readonly RestProcedure[]; send: Send },
): void {
  app.get('/docs/reference', async (request, reply) => send(reply, referencePage(hasSession(request)), REFERENCE_HEADERS))
  app.get('/docs/reference/', async (_, reply) => reply.redirect('../reference'))
  const sampled = kept(async () => JSON.stringify(withSamples(await document(), procedures)))
  app.get('/docs/reference.json', async (_, reply) => reply.type('application/json; charset=utf-8').send(await sampled()))
  const bundle = kept(compressedBundle)
  app.get('/docs/scalar.js', async (request, reply) => {
    const bytes = await bundle()
    const isCompressed = takesGzip(request)
    reply.headers({ ...HEADERS, ...KEPT, vary: 'accept-encoding', ...(isCompressed && { 'content-encoding': 'gzip' }) })
    return reply.type('text/javascript; charset=utf-8').send(isCompressed ? bytes : await promisify(gunzip)(bytes))
  })
}

/** With a session, requests that are tried need no key. */
const referencePage = (isSignedIn: boolean): Shown => ({
  title: 'API reference · Gridpost',
  up: '../',
  current: 'reference',
  // The main element of the page is Scalar's own.
  main: `<div id="content" tabindex="-1"><div id="reference"${isSignedIn ? ' data-session' : ''}>
<p class="loading" role="status">Loading the reference …</p></div>
<noscript><p class="loading">The reference needs scripts. <a href="../docs#operations">The first page</a> lists all operations, and
<a href="../openapi.json">openapi.json</a> describes them.</p></noscript></div>
<script src="scalar.js" defer></script>`,
  scripts: ['reference.js'],
  layout: 'reference',
})

const takesGzip = ({ headers }: FastifyRequest) =>
  /(^|,)\s*(gzip|\*)\s*(;\s*q=(?!0(\.0*)?\s*(,|$))[\d.]+\s*)?(,|$)/i.test(headers['accept-encoding'] ?? '')

function mountPages(app: FastifyInstance, site: () => Promise<Site>, send: Send): void {
  app.get('/docs/pages', async (_, reply) => send(reply, (await site()).list()))
  app.get('/docs/pages/*', async (request, reply) => {
    const name = (request.params as { '*': string })['*']
    if (name === '' || name.endsWith('/')) return reply.redirect(`../${encodeURIComponent(name.split('/').at(-2) ?? 'pages')}`)
    const { page, picture, missing } = await site()
    const shown = page(name)
    if (shown) return send(reply, shown)
    const bytes = await picture(name)
    if (bytes)
      return reply
        .headers(PICTURE_HEADERS)
        .type(TYPES[extname(name)] ?? 'application/octet-stream')
        .send(bytes)
    return send(reply.code(404), missing(name))
  })
}

interface Assets {
  files: Map<string, Buffer>
  /** Changes with the files. */
  version: string
}

async function readAssets(): Promise<Assets> {
  const names = (await readdir(ASSETS)).sort()
  const files = new Map(await Promise.all(names.map(async (name) => [name, await readFile(ASSETS + name)] as const)))
  const hash = createHash('sha256')
  for (const bytes of files.values()) hash.update(bytes)
  return { files, version: hash.digest('base64url').slice(0, 8) }
}

function mountAssets(app: FastifyInstance, assets: () => Promise<Assets>): void {
  const send = async (reply: FastifyReply, name: string) => {
    const bytes = (await assets()).files.get(name)
    if (!bytes) throw new AppError('NOT_FOUND', 'No such path')
    return reply
      .headers({ ...HEADERS, ...KEPT })
      .type(TYPES[extname(name)] ?? 'application/octet-stream')
      .send(bytes)
  }
  app.get('/docs/assets/:name', async (request, reply) => send(reply, (request.params as { name: string }).name))
  app.get('/favicon.ico', async (_, reply) => send(reply, 'favicon.ico'))
}

/** Keeps what was read. A failure is not kept. */
function kept<Content>(read: () => Promise<Content>): () => Promise<Content> {
  let content: Promise<Content> | undefined
  return () => {
    content ??= read().catch((error) => {
      content = undefined
      throw error
    })
    return content
  }
}
