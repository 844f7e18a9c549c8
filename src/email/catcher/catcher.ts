/** The mail catcher of the embedded default: an SMTP server that delivers nothing and shows its mails at /dev/mail. */
import { type AddressInfo, connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { FastifyInstance } from 'fastify'
import PostalMime, { addressParser } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { escapeHtml, sanitizeHtml } from '../../platform/html.ts'
import { valuesOf } from '../headers.ts'

/** One row of /dev/mail.json (contract.md §6). */
export interface CaughtMail {
  id: number
  receivedAt: string
  messageId: string
  envelopeFrom: string
  envelopeTo: string[]
  /** The value of the header. */
  from: string
  /** The addresses in the header. */
  to: string[]
  subject: string
  /** By lower-case name. The values of a repeated header are joined with line breaks. */
  headers: Record<string, string>
  html: string | null
  text: string | null
  attachments: { name: string; type: string; size: number }[]
}

export interface Catcher {
  readonly host: string
  readonly port: number
  /** Newest first. */
  mails(): CaughtMail[]
  close(): Promise<void>
}

const MAX_BYTES = 30 * 1_048_576
const BANNER = 'Gridpost mail catcher'
/** How long a program on the port of a catcher may take to say what it is. */
const GREETING_TIMEOUT_MS = 2_000

interface Options {
  /** 0 for any free port. */
  port?: number
  /** The installation (service-file.ts), by which others recognise the catcher. */
  installation?: string
  /** The number of mails that are kept; older ones are dropped. */
  keep?: number
}

/** Listens on the loopback address and accepts every mail, without TLS or sign-in. */
export async function startCatcher({ port = 0, installation = '', keep = 200 }: Options = {}): Promise<Catcher> {
  const caught: CaughtMail[] = []
  let lastId = 0
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
          caught.unshift(
            await read(raw, { id: ++lastId, from: mailFrom ? mailFrom.address : '', to: rcptTo.map(({ address }) => address) }),
          )
          caught.length = Math.min(caught.length, keep)
        })
        .then(() => callback(), callback)
    },
  })
  // A client that closes its connection is not an error.
  server.on('error', () => {})
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    host: '127.0.0.1',
    port: (server.server.address() as AddressInfo).port,
    mails: () => [...caught],
    close: () => new Promise((resolve) => server.close(resolve)),
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

async function read(raw: Buffer, envelope: { id: number; from: string; to: string[] }): Promise<CaughtMail> {
  const email = await PostalMime.parse(raw)
  const names = [...new Set(email.headers.map(({ key }) => key))]
  return {
    id: envelope.id,
    receivedAt: new Date().toISOString(),
    messageId: email.messageId ?? '',
    envelopeFrom: envelope.from,
    envelopeTo: envelope.to,
    from: valuesOf(email.headers, 'from')[0] ?? '',
    to: valuesOf(email.headers, 'to').flatMap((value) => addressParser(value, { flatten: true }).map(({ address }) => address ?? '')),
    subject: email.subject ?? '',
    headers: Object.fromEntries(names.map((name) => [name, valuesOf(email.headers, name).join('\n')])),
    html: email.html?.trimEnd() ?? null,
    text: email.text?.trimEnd() ?? null,
    attachments: email.attachments.map(({ filename, mimeType, content }) => ({
      name: filename ?? '',
      type: mimeType,
      size: typeof content === 'string' ? Buffer.byteLength(content) : content.byteLength,
    })),
  }
}

/** GET /dev/mail for people and GET /dev/mail.json for programs. Only the embedded default mounts them. */
export function mountCatcher(app: FastifyInstance, catcher: Catcher): void {
  app.get('/dev/mail.json', async () => catcher.mails())
  app.get('/dev/mail', async (_, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header('cache-control', 'no-store')
      // Images of other hosts may load, so that opening a mail here requests its pixel.
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; img-src * data:; frame-src 'self'")
      .header('x-content-type-options', 'nosniff')
      .send(page(catcher.mails())),
  )
}

function page(mails: CaughtMail[]): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Caught mail</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1c1e21; background: #fff }
  details { border: 1px solid #d0d4da; border-radius: 6px; margin: 0 0 .75rem; padding: .5rem .9rem }
  summary { cursor: pointer }
  time, dt { color: #5b6270 }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem } dd { margin: 0; overflow-wrap: anywhere }
  iframe { width: 100%; height: 24rem; border: 1px solid #d0d4da; background: #fff }
  pre { white-space: pre-wrap; overflow-wrap: anywhere }
</style>
<h1>Caught mail</h1>
<p>Nothing here was delivered. Reload to see new mails; <a href="/dev/mail.json">the same as JSON</a>.</p>
${mails.map(entry).join('\n') || '<p>No mail yet.</p>'}
</html>`
}

function entry(mail: CaughtMail): string {
  const { subject, from, envelopeTo, envelopeFrom, receivedAt, messageId, headers, html, text, attachments } = mail
  const facts: [string, string][] = [
    ['From', from],
    ['Delivered to', envelopeTo.join(', ')],
    ['Envelope sender', envelopeFrom],
    ['Reply to', headers['reply-to'] ?? ''],
    ['Message-ID', messageId],
    ['Attachments', attachments.map(({ name, size }) => `${name} (${size} bytes)`).join(', ')],
  ]
  const body =
    html === null
      ? `<pre>${escapeHtml(text ?? '')}</pre>`
      : `<iframe sandbox loading="lazy" title="Message" srcdoc="${escapeHtml(sanitizeHtml(html))}"></iframe>`
  return `<details>
<summary><strong>${escapeHtml(subject || '(no subject)')}</strong> to ${escapeHtml(envelopeTo.join(', '))} <time>${receivedAt}</time></summary>
<dl>${facts.flatMap(([name, value]) => (value ? `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>` : [])).join('')}</dl>
${body}
</details>`
}
