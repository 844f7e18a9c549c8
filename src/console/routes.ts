/** The console: one page at each of its addresses, and the files of its build below /console/ (contract.md §11). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../platform/errors.ts'
import { pageOf, sendPage } from '../platform/http/pages/page.ts'
import { type BuiltFile, CONSOLE_FOLDER, PAGE, readBuiltFiles } from './built-files.ts'
import { acceptedCoding, asksForPage, hasVersion } from './negotiation.ts'

/** Pasted tables and mails carry style attributes. Everything else comes from files of this origin. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "frame-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')
const PAGE_HEADERS = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  // A browser asks each time, because another release has another page.
  'cache-control': 'no-cache',
  vary: 'accept, accept-encoding',
}
const FILE_HEADERS = {
  // A file that is opened by itself runs nothing.
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  // The name of a file changes with its bytes.
  'cache-control': 'public, max-age=31536000, immutable',
  vary: 'accept-encoding',
}

/** They are in memory, so they are answered under any load. */
const STATIC = { config: { isAlwaysServed: true } }

/** Below `/`, which is a route of its own: programs are sent on to the documentation. */
const ADDRESSES =
  /^\/(?:sign-in|setup|tasks|inbox|settings(?:\/.*)?|spaces\/[^/]+(?:\/.*)?|task\/[^/]+|table\/[^/]+(?:\/(?:view|record)\/[^/]+)?)$/

interface ConsoleOptions {
  /** The address at which callers reach the service. */
  publicUrl: () => string
  /** The folder of the build; tests have others. */
  folder?: string
}

/** Mounts the page and its files. The page is shown only to those who ask for HTML: a program gets what every other path answers it. */
export function mountConsole(app: FastifyInstance, { publicUrl, folder = CONSOLE_FOLDER }: ConsoleOptions): void {
  const files = builtFiles(folder)
  // No route, so that other methods and programs are answered as at any path that does not exist.
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.is404 || !isPage(request) || !ADDRESSES.test(pathOf(request))) return done()
    files().then((built) => sendConsole(request, reply, built), done)
  })
  app.get('/', STATIC, async (request, reply) => {
    if (asksForPage(request.headers.accept)) return sendConsole(request, reply, await files())
    return reply.header('vary', 'accept').redirect(`${new URL(publicUrl()).pathname.replace(/\/$/, '')}/docs`)
  })
  app.get('/console/*', STATIC, async (request, reply) => {
    const name = (request.params as { '*': string })['*']
    const file = name === PAGE ? undefined : (await files())?.get(name)
    if (!file) throw new AppError('NOT_FOUND', 'No such path')
    return sendFile(request, reply.headers(FILE_HEADERS), file)
  })
}

const isPage = ({ method, headers }: FastifyRequest) => (method === 'GET' || method === 'HEAD') && asksForPage(headers.accept)

const pathOf = ({ url }: FastifyRequest) => url.split('?', 1)[0] ?? ''

type Files = Awaited<ReturnType<typeof readBuiltFiles>>

/** Keeps the files once they are read. Until the console is built, each request looks again; undefined if there is no build. */
function builtFiles(folder: string): () => Promise<Files | undefined> {
  let read: Promise<Files> | undefined
  return async () => {
    read ??= readBuiltFiles(folder)
    try {
      return await read
    } catch (error) {
      read = undefined
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      return undefined
    }
  }
}

const NOT_BUILT = pageOf({
  title: 'Not built yet',
  body: `<h1>The console is not built</h1>
<p>Run <b>npm run build:console</b> in the folder of Gridpost, and load this page again. An installation builds it by itself, unless npm
leaves out scripts. The API works without it.</p>
<p><a class="button" href="/docs">Go to the documentation</a></p>`,
})

function sendConsole(request: FastifyRequest, reply: FastifyReply, files: Files | undefined): FastifyReply {
  const page = files?.get(PAGE)
  return page ? sendFile(request, reply.headers(PAGE_HEADERS), page) : sendPage(reply, NOT_BUILT, 503)
}

function sendFile({ headers }: FastifyRequest, reply: FastifyReply, { type, bytes, tag }: BuiltFile): FastifyReply {
  const coding = acceptedCoding(headers['accept-encoding'], bytes.br ? ['br', 'gzip'] : bytes.gzip ? ['gzip'] : []) as
    | keyof typeof bytes
    | undefined
  const etag = `"${tag}${coding ? `-${coding}` : ''}"`
  reply.header('etag', etag)
  if (hasVersion(headers['if-none-match'], etag)) return reply.code(304).send()
  if (coding) reply.header('content-encoding', coding)
  return reply.type(type).send(bytes[coding ?? 'identity'])
}
