/** SMTP for emails from records. */
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { Readable } from 'node:stream'
import ipaddr from 'ipaddr.js'
import MailComposer from 'nodemailer/lib/mail-composer'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { Mailbox } from '../address.ts'

export interface Server {
  host: string
  port: number
  tls: 'none' | 'starttls' | 'tls'
  username: string | null
  password: string | null
}

export interface Message {
  from: Mailbox
  to: Mailbox[]
  cc: Mailbox[]
  replyTo: string
  subject: string
  html: string
  text: string
  messageId: string
  inReplyTo: string | null
  references: string[]
  date: Date
  attachments: { name: string; type: string; open(): Promise<Readable> }[]
}

export interface Envelope {
  from: string
  to: string[]
}

/** The answer of an SMTP server, or the reason why none was reached. */
export interface Failure {
  /** permanent: the server refuses. temporary: a retry may succeed. unknown: the message was handed over, but no answer was received. */
  kind: 'permanent' | 'temporary' | 'unknown'
  /** The reply code of the server, or a code of this service such as CONNECTION. */
  code: string
  /** The enhanced status code, such as 5.1.1. */
  enhanced: string | null
  message: string
}

export interface Delivery {
  accepted: string[]
  refused: Refusal[]
}

interface Refusal {
  address: string
  failure: Failure
}

/** The delivery failed for all recipients. */
export class DeliveryError extends Error {
  readonly failure: Failure
  /** The recipients that the server had refused by themselves before the delivery failed. */
  readonly refused: readonly Refusal[]
  constructor(failure: Failure, refused: readonly Refusal[] = []) {
    super(failure.message)
    this.failure = failure
    this.refused = refused
  }
}

interface Options {
  /** Allows hosts at private, loopback and link-local addresses. */
  allowPrivate: boolean
}

const CONNECT_TIMEOUT_MS = 15_000
const SILENCE_TIMEOUT_MS = 60_000

/**
 * Delivers a message to one server over one connection.
 * @param beforeContent awaited when the server is ready for the content, before any of it is sent. If it throws, nothing is delivered and
 * the error is thrown on
 * @throws DeliveryError when no recipient was accepted
 */
export async function deliver(
  server: Server,
  envelope: Envelope,
  message: Message,
  { allowPrivate, beforeContent }: Options & { beforeContent(): Promise<void> },
): Promise<Delivery> {
  const connection = await connect(server, allowPrivate)
  const progress = { isHandedOver: false, stopped: undefined as unknown }

  async function* content(): AsyncGenerator<Buffer> {
    try {
      await beforeContent()
    } catch (error) {
      progress.stopped = error
      throw error
    }
    for await (const chunk of compose(message)) yield chunk as Buffer
    // The final dot follows. From here on the server may accept the message even if its answer is not received.
    progress.isHandedOver = true
  }

  const stream = Readable.from(content())
  const noted: NotedEnvelope = { ...envelope, use8BitMime: false }
  try {
    const info = await new Promise<SMTPConnection.SentMessageInfo>((resolve, reject) =>
      connection.send(noted, stream, (error, sent) => (error || !sent ? reject(error) : resolve(sent))),
    )
    connection.quit()
    return { accepted: info.accepted, refused: refusedIn(noted) }
  } catch (error) {
    connection.close()
    if (progress.stopped) throw progress.stopped
    if ((error as SmtpError).rejectedErrors) return { accepted: [], refused: refusedIn(noted) }
    throw new DeliveryError(failureOf(error as SmtpError, progress.isHandedOver), refusedIn(noted))
  } finally {
    stream.destroy()
  }
}

/** nodemailer notes in the envelope what the server answered to it. */
interface NotedEnvelope extends SMTPConnection.Envelope {
  mailError?: SmtpError
  rejectedErrors?: SmtpError[]
}

/** The recipients that the server refused by themselves. If it refuses the sender, its answers to the recipients say nothing about them. */
const refusedIn = ({ mailError, rejectedErrors = [] }: NotedEnvelope): Refusal[] =>
  mailError ? [] : rejectedErrors.map((error) => ({ address: error.recipient ?? '', failure: failureOf(error, false) }))

/** Connects and signs in, without sending. @throws DeliveryError */
export async function probe(server: Server, { allowPrivate }: Options): Promise<void> {
  const connection = await connect(server, allowPrivate)
  connection.quit()
}

/** nodemailer may not read files or URLs; attachments are passed as streams. */
function compose({ from, to, cc, attachments, ...message }: Message): Readable {
  const mail = new MailComposer({
    ...message,
    from: mailbox(from),
    to: to.map(mailbox),
    cc: cc.map(mailbox),
    inReplyTo: message.inReplyTo ?? undefined,
    attachments: attachments.map(({ name, type, open }) => ({
      filename: name,
      contentType: type,
      contentDisposition: 'attachment',
      content: Readable.from(lazyContent(open)),
    })),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return mail.compile().createReadStream()
}

const mailbox = ({ name, email }: Mailbox) => ({ name, address: email })

/** Opens the file only when its content is read. */
async function* lazyContent(open: () => Promise<Readable>): AsyncGenerator<Buffer> {
  yield* await open()
}

async function connect(server: Server, allowPrivate: boolean): Promise<SMTPConnection> {
  const addresses = await allowedAddresses(server.host, allowPrivate)
  let last: unknown
  for (const address of addresses.slice(0, 3)) {
    try {
      return await signIn(server, address)
    } catch (error) {
      last = error
      // The next address is tried only if this one could not be reached.
      if ((error as SmtpError).responseCode) break
    }
  }
  throw last instanceof DeliveryError ? last : new DeliveryError(failureOf(last as SmtpError, false))
}

async function signIn(server: Server, address: string): Promise<SMTPConnection> {
  const connection = new SMTPConnection({
    // Connects to the checked address; the name is only for the certificate.
    host: address,
    port: server.port,
    ...(isIP(withoutBrackets(server.host)) ? {} : { servername: server.host, tls: { servername: server.host } }),
    secure: server.tls === 'tls',
    requireTLS: server.tls === 'starttls',
    ignoreTLS: server.tls === 'none',
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    allowInternalNetworkInterfaces: true,
  })
  try {
    await new Promise<void>((resolve, reject) => {
      connection.once('error', reject)
      connection.connect((error) => (error ? reject(error) : resolve()))
    })
    const { username, password } = server
    if (username !== null)
      await new Promise<void>((resolve, reject) =>
        connection.login({ user: username, pass: password ?? '', credentials: { user: username, pass: password ?? '' } }, (error) =>
          error ? reject(error) : resolve(),
        ),
      )
  } catch (error) {
    connection.close()
    throw error
  }
  // A send reports its own errors. A later error of the connection must not end the process.
  connection.on('error', () => {})
  return connection
}

/**
 * The addresses of a host that the service may connect to (contract.md §6, SMTP integrations).
 * @throws DeliveryError when it has none
 */
export async function allowedAddresses(host: string, allowPrivate: boolean): Promise<string[]> {
  const found = await lookup(withoutBrackets(host), { all: true }).catch(() => {
    throw new DeliveryError({ kind: 'temporary', code: 'DNS', enhanced: null, message: `The host ${host} was not found` })
  })
  const allowed = found.map(({ address }) => address).filter((address) => allowPrivate || isPublic(address))
  if (!allowed.length)
    throw new DeliveryError({
      kind: 'permanent',
      code: 'PRIVATE_ADDRESS',
      enhanced: null,
      message: `The host ${host} is at a private address`,
    })
  return allowed
}

/** `[::1]`, the form of URLs, becomes `::1`. */
const withoutBrackets = (host: string) => host.replace(/^\[(.*)\]$/, '$1')

/** All public IPv6 addresses are allocated from this block (RFC 4291); the rest, such as ::7f00:1, is loopback in disguise or unallocated. */
const PUBLIC_IPV6 = ipaddr.parseCIDR('2000::/3')

/** True for public unicast addresses: not private, loopback, link-local, shared or reserved, and none of these wrapped in IPv6. */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast') return false
  return parsed.kind() === 'ipv4' || parsed.match(PUBLIC_IPV6)
}

type SmtpError = SMTPConnection.SMTPError

function failureOf(error: SmtpError, isHandedOver: boolean): Failure {
  const { responseCode, permanent } = error
  const text = (error.response ?? error.message).slice(0, 500)
  const enhanced = /^\d{3}[ -]([245]\.\d{1,3}\.\d{1,3})\b/.exec(error.response ?? '')?.[1] ?? null
  if (responseCode) return { kind: permanent ? 'permanent' : 'temporary', code: String(responseCode), enhanced, message: text }
  if (isHandedOver)
    return {
      kind: 'unknown',
      code: 'OUTCOME_UNKNOWN',
      enhanced,
      message: 'The message was handed over, but the answer of the server was not received; it may have been delivered',
    }
  return { kind: 'temporary', code: WORDS[error.code ?? ''] ?? 'CONNECTION', enhanced, message: text }
}

const WORDS: Record<string, string> = {
  ETIMEDOUT: 'TIMEOUT',
  ETLS: 'TLS',
  EAUTH: 'AUTH',
  EDNS: 'DNS',
  ESTREAM: 'ATTACHMENT',
  EMESSAGE: 'MESSAGE',
}
