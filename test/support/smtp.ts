/** A real SMTP server whose answers the test sets. */
import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'

export interface Received {
  envelopeFrom: string
  envelopeTo: string[]
  /** What the server was asked to report (RFC 3461), and for each recipient. */
  dsn: { ret: string | null; envid: string | null } | undefined
  recipientDsn: ({ notify?: string[]; orcpt?: string } | undefined)[]
  raw: string
  email: Email
  /** True if the mail came over TLS. */
  isSecure: boolean
}

export interface TestSmtp {
  port: number
  received: Received[]
  /** The number of connections so far. */
  connections: number
  /** The reply to RCPT TO by address, as a code or as a line; 250 by default. */
  recipients: Map<string, number | string>
  /** The reply to the content. @param meanwhile runs when the server has the content, before it answers */
  onContent: { code?: number; delayMs?: number; hangUp?: 'before' | 'after'; meanwhile?: () => Promise<void> }
  /** The greeting. */
  onGreeting: { code?: number }
  /** Whether the server does not offer to report on deliveries. */
  hidesDsn: boolean
  /** The reply to MAIL FROM. */
  onSender: { code?: number }
  login: { user: string; password: string } | undefined
  /**
   * Awaited at points of the dialogue: before the greeting, before the answers to sender and recipient, at the first bytes of the content,
   * and after the answer to it.
   */
  on: { [point in 'connect' | 'sender' | 'recipient' | 'firstBytes' | 'answered']?: () => Promise<void> }
  /** Ends all connections, as a server does with idle ones. */
  endConnections(): void
  close(): Promise<void>
}

const refusal = (reply: number | string) => {
  const code = Number.parseInt(String(reply), 10)
  const words = typeof reply === 'string' ? reply.slice(4) : code >= 500 ? '5.1.1 No such user here' : '4.2.1 Try again later'
  return Object.assign(new Error(words), { responseCode: code })
}

/** The key and certificate of the server in PEM; `implicit` speaks TLS from the first byte, else it offers STARTTLS. */
export interface TestTls {
  key: string
  cert: string
  implicit?: boolean
}

async function wholeOf(stream: Readable, onFirst: () => Promise<void> | undefined): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) {
    if (!chunks.length) await onFirst()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** @param hides extensions that the server does not offer */
export async function startSmtp(tls?: TestTls, hides: { hideSMTPUTF8?: boolean } = {}): Promise<TestSmtp> {
  const smtp: Omit<TestSmtp, 'port' | 'close' | 'endConnections'> = {
    received: [],
    connections: 0,
    recipients: new Map(),
    onContent: {},
    onGreeting: {},
    hidesDsn: false,
    onSender: {},
    login: undefined,
    on: {},
  }
  const server = new SMTPServer({
    authOptional: true,
    allowInsecureAuth: true,
    hideSTARTTLS: tls === undefined,
    ...(tls && { key: tls.key, cert: tls.cert, secure: tls.implicit ?? false }),
    ...hides,
    disableReverseLookup: true,
    logger: false,
    closeTimeout: 200,
    async onConnect(_, callback) {
      smtp.connections += 1
      server.options.hideDSN = smtp.hidesDsn
      await smtp.on.connect?.()
      callback(smtp.onGreeting.code ? refusal(smtp.onGreeting.code) : null)
    },
    onAuth({ username, password }, _, callback) {
      const right = smtp.login && username === smtp.login.user && password === smtp.login.password
      if (right) callback(null, { user: username })
      else callback(Object.assign(new Error('5.7.8 Wrong user or password'), { responseCode: 535 }))
    },
    async onMailFrom(_, __, callback) {
      await smtp.on.sender?.()
      callback(smtp.onSender.code ? refusal(smtp.onSender.code) : null)
    },
    async onRcptTo({ address }, _, callback) {
      await smtp.on.recipient?.()
      const reply = smtp.recipients.get(address)
      callback(reply ? refusal(reply) : null)
    },
    onData(stream, session, callback) {
      const { code, delayMs = 0, hangUp, meanwhile } = smtp.onContent
      if (hangUp === 'before') return void [...server.connections].map((connection) => connection.close())
      wholeOf(stream, () => smtp.on.firstBytes?.()).then(async (raw) => {
        await sleep(delayMs)
        await meanwhile?.()
        if (hangUp === 'after') return void [...server.connections].map((connection) => connection.close())
        if (code) return callback(refusal(code))
        const { mailFrom, rcptTo } = session.envelope
        smtp.received.push({
          envelopeFrom: mailFrom ? mailFrom.address : '',
          envelopeTo: rcptTo.map(({ address }) => address),
          dsn: session.envelope.dsn as Received['dsn'],
          recipientDsn: rcptTo.map(({ dsn }) => dsn as Received['recipientDsn'][number]),
          raw: raw.toString('latin1'),
          email: await PostalMime.parse(raw),
          isSecure: session.secure,
        })
        callback()
        await smtp.on.answered?.()
      }, callback)
    },
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(smtp, {
    port: (server.server.address() as AddressInfo).port,
    endConnections: () => {
      for (const connection of server.connections) connection.close()
    },
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  })
}
