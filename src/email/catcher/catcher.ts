/** The mail catcher of the embedded default: an SMTP server that delivers nothing and shows its mails at /dev/mail. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { forbidden, notFound } from '../../platform/errors.ts'
import type { Settings } from '../../settings.ts'
import { requireAccess } from './access.ts'
import { BOUNCES, type BounceChoice, replyTo, reportOn } from './answers.ts'
import { type CaughtMail, openMailFolder } from './mail-folder.ts'
import { catcherPage } from './page.ts'
import { matching } from './search.ts'
import { openMailStreams } from './streams.ts'

export interface Catcher {
  readonly host: string
  readonly port: number
  /** Newest first. */
  mails(): CaughtMail[]
  /** The mail as it was sent; undefined if it is not kept any more. */
  source(id: number): Promise<Buffer | undefined>
  close(): Promise<void>
}

/** The mails of a catcher, which may be that of another process. */
interface CaughtMails extends Pick<Catcher, 'source'> {
  mails(): CaughtMail[] | Promise<CaughtMail[]>
}

const MAX_BYTES = 30 * 1_048_576
const KEEP = 200
const BANNER = 'Gridpost mail catcher'
/** How long a program on the port of a catcher may take to say what it is. */
const GREETING_TIMEOUT_MS = 2_000

interface Options {
  /** 0 for any free port. */
  port?: number
  /** The installation (service-file.ts), by which others recognise the catcher. */
  installation?: string
  /** The number of mails that are kept; older ones are deleted. */
  keep?: number
  /** Where the mails are kept; by default in a temporary folder, until the catcher is closed. */
  folder?: string
}

/** The mails in the folder of a catcher that belongs to another process. */
export async function openCaughtMails(folder: string): Promise<CaughtMails> {
  const kept = await openMailFolder(folder, KEEP)
  return {
    mails: async () => {
      await kept.refresh()
      return kept.mails()
    },
    source: kept.source,
  }
}

/** Listens on the loopback address and accepts every mail, without TLS or sign-in. */
export async function startCatcher({ port = 0, installation = '', keep = KEEP, folder }: Options = {}): Promise<Catcher> {
  const temporary = folder === undefined ? await mkdtemp(join(tmpdir(), 'gridpost-mail-')) : undefined
  const kept = await openMailFolder(folder ?? temporary ?? '', keep)
  // Loaded here, because a service on a database of the operator's own has no catcher.
  const { SMTPServer } = await import('smtp-server')
  const server = new SMTPServer({
    banner: `${BANNER} ${installation}`.trimEnd(),
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    size: MAX_BYTES,
    closeTimeout: 1_000,
    onData(stream, session, callback) {
      buffer(stream)
        .then(async (raw) => {
          if (stream.sizeExceeded) throw Object.assign(new Error('Message too large'), { responseCode: 552 })
          const { mailFrom, rcptTo } = session.envelope
          await kept.add(raw, { from: mailFrom ? mailFrom.address : '', to: rcptTo.map(({ address }) => address) })
        })
        .then(() => callback(), callback)
    },
  })
  // A client that closes its connection is not an error.
  server.on('error', () => {})
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject)
    // Of several processes on one port of the service, only the one that has opened the catcher listens here.
    server.listen({ port, host: '127.0.0.1', exclusive: true }, resolve)
  })
  return {
    host: '127.0.0.1',
    port: (server.server.address() as AddressInfo).port,
    mails: kept.mails,
    source: kept.source,
    close: async () => {
      await new Promise<void>((resolve) => server.close(resolve))
      if (temporary) await rm(temporary, { recursive: true, force: true })
    },
  }
}

/** The installation whose catcher listens at the address; null if nothing does, or something else. */
export async function installationAt({ host, port }: { host: string; port: number }): Promise<string | null> {
  const socket = connect({ host, port, timeout: GREETING_TIMEOUT_MS })
  try {
    const greeting = await new Promise<string>((resolve, reject) => {
      socket.once('data', (bytes) => resolve(bytes.toString('latin1')))
      socket.once('error', reject)
      for (const event of ['timeout', 'close'] as const) socket.once(event, () => resolve(''))
    })
    return new RegExp(`${BANNER} (\\w+)`).exec(greeting)?.[1] ?? null
  } catch {
    return null
  } finally {
    socket.destroy()
  }
}

/**
 * GET /dev/mail for people and GET /dev/mail.json for programs, both with `?q=` to search; the script and the stream by which the page
 * shows new mails; the source of a mail, and forms that answer one as its recipient or their mail server would. Only the embedded default
 * mounts them, and `requireAccess` says for whom.
 */
export function mountCatcher(app: FastifyInstance, catcher: CaughtMails, settings: Settings): void {
  const streams = openMailStreams(
    async () => catcher.mails(),
    (err) => app.log.error({ err }, 'caught mails cannot be read'),
  )
  // Streams must end before the server waits for its connections to close.
  app.addHook('preClose', async () => streams.close())
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string', bodyLimit: 1_048_576 }, (_, body, done) =>
      done(null, Object.fromEntries(new URLSearchParams(String(body)))),
    )
    scope.addHook('onRequest', async (request) =>
      requireAccess(settings, request, request.routeOptions.url === PAGE ? (request.query as Query).token : undefined),
    )
    scope.get('/dev/mail.json', async ({ query }) => matching(await catcher.mails(), (query as Query).q))
    scope.get(PAGE, async ({ query }, reply) => showPage(catcher, query as Query, reply))
    scope.get('/dev/mail/page.js', async (_, reply) => reply.headers(JAVASCRIPT).send(await readFile(SCRIPT)))
    scope.get('/dev/mail/events', { exposeHeadRoute: false, config: { isStream: true } }, ({ query }, reply) =>
      streams.open(reply, (query as Query).q),
    )
    scope.get('/dev/mail/:id/source', async (request, reply) => showSource(catcher, request, reply))
    scope.post('/dev/mail/:id/reply', async (request, reply) => {
      const { mail, form } = await requested(catcher, request)
      return post(app, reply, mail, await replyTo(mail, { from: form.from ?? '', text: form.text ?? '' }), 'replied')
    })
    scope.post('/dev/mail/:id/bounce', async (request, reply) => {
      const { mail, form } = await requested(catcher, request)
      const kind = Object.hasOwn(BOUNCES, form.kind ?? '') ? (form.kind as BounceChoice) : 'unknown'
      return post(app, reply, mail, reportOn(mail, { recipient: form.recipient ?? '', kind }), 'bounced')
    })
  })
}

const PAGE = '/dev/mail'
const SCRIPT = fileURLToPath(new URL('page.js', import.meta.url))
const JAVASCRIPT = {
  'content-type': 'text/javascript; charset=utf-8',
  'cache-control': 'no-cache',
  'x-content-type-options': 'nosniff',
}

interface Query {
  token?: string
  q?: string
  /** The mail that is shown open, and what was done to it. */
  open?: string
  done?: string
}

async function showPage(catcher: CaughtMails, { q, open, done }: Query, reply: FastifyReply): Promise<FastifyReply> {
  const search = String(q ?? '')
  const mails = matching(await catcher.mails(), search)
  return (
    reply
      .type('text/html; charset=utf-8')
      .header('cache-control', 'no-store')
      // Images of other hosts may load, so that opening a mail here requests its pixel.
      .header(
        'content-security-policy',
        "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'unsafe-inline'; img-src * data:; frame-src 'self'; " +
          "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      )
      .header('x-content-type-options', 'nosniff')
      // The address may have the token.
      .header('referrer-policy', 'same-origin')
      .send(catcherPage(mails, { search, open: Number(open), done: String(done ?? '') }))
  )
}

async function showSource(catcher: CaughtMails, { params }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const source = await catcher.source(Number((params as { id: string }).id))
  if (!source) throw notFound('Mail')
  return (
    reply
      // A mail in another encoding is shown with wrong characters, and every byte of it.
      .type('text/plain; charset=utf-8')
      .header('content-security-policy', "default-src 'none'; sandbox")
      .header('x-content-type-options', 'nosniff')
      .send(source)
  )
}

/** The mail that a form answers. @throws AppError 403 for the form of another site, 404 */
async function requested(catcher: CaughtMails, { context, params, body }: FastifyRequest) {
  if (context?.isCrossSite) throw forbidden('Requests from another site are refused')
  const mail = (await catcher.mails()).find(({ id }) => id === Number((params as { id: string }).id))
  if (!mail) throw notFound('Mail')
  return { mail, form: (body ?? {}) as Record<string, string | undefined> }
}

/** Hands the message to the webhook, as a mail server does, and shows the mail again. */
async function post(app: FastifyInstance, reply: FastifyReply, mail: CaughtMail, raw: Buffer, done: string): Promise<FastifyReply> {
  const { statusCode } = await app.inject({
    method: 'POST',
    url: '/webhooks/email_receive',
    headers: { 'content-type': 'text/raw' },
    payload: raw,
  })
  return reply.redirect(`/dev/mail?open=${mail.id}&done=${statusCode === 200 ? done : 'failed'}#mail-${mail.id}`, 303)
}
