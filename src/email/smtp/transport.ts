/** SMTP for emails from records. */
import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import type nodemailerDkim from 'nodemailer/lib/dkim'
import type SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { DkimSigner } from '../authenticity/dkim-keys.ts'
import { isShort, type OutgoingMessage, writeMessage, writeShort } from '../composing/mime.ts'
import { Connections, connect, type SmtpServer, type SmtpSession } from './connections.ts'
import { DeliveryError, type Failure, failureOf, type RefusedRecipient, type SmtpError } from './failure.ts'
import { composed, contentSteps, ENVELOPE_MS, type Progress, timeLimit } from './progress.ts'
import { answerTo, type ContentSteps, sendWhole } from './whole-contents.ts'

const require = createRequire(import.meta.url)

export interface Envelope {
  from: string
  to: string[]
  /** Comes back in the reports of servers (RFC 3461 §4.4). */
  id?: string
}

export interface Delivery {
  accepted: string[]
  refused: RefusedRecipient[]
}

interface Options {
  /** Allows hosts at private, loopback and link-local addresses. */
  allowPrivate: boolean
}

interface DeliveryOptions extends Options {
  /** Awaited when all of the content but its end has been sent: without the end the server delivers nothing. */
  beforeEnd(): Promise<void>
  /** Without it the message is not signed. */
  dkim?: DkimSigner | null
  /** Ends the delivery, unless the end of the content is being sent. */
  signal: AbortSignal
}

/** A larger message is kept in a file while it is signed. */
const SIGNED_IN_MEMORY_BYTES = 1_048_576

const connections = new Connections()

/**
 * Delivers a message to one server, over a kept connection if there is one.
 * @throws DeliveryError when no recipient was accepted; what `beforeEnd` throws, and the reason of the signal. In these cases nothing was
 * delivered
 */
export async function deliver(
  server: SmtpServer,
  envelope: Envelope,
  message: OutgoingMessage,
  options: DeliveryOptions,
): Promise<Delivery> {
  const kept = connections.take(server)
  try {
    if (kept) return await deliverOver(kept, server, envelope, message, options)
  } catch (error) {
    if (!(error instanceof ConnectionEnded)) throw error
  }
  const session = { connection: await connectUnlessStopped(server, options), mails: 0 }
  return deliverOver(session, server, envelope, message, options)
}

async function connectUnlessStopped(server: SmtpServer, { allowPrivate, signal }: DeliveryOptions): Promise<SMTPConnection> {
  signal.throwIfAborted()
  const connecting = connect(server, allowPrivate)
  const { promise: stopped, reject } = Promise.withResolvers<never>()
  const stop = () => {
    connecting.then((connection) => connection.close()).catch(() => {})
    reject(signal.reason)
  }
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([connecting, stopped])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Connects and signs in, without sending. @throws DeliveryError */
export async function probe(server: SmtpServer, { allowPrivate }: Options): Promise<void> {
  const connection = await connect(server, allowPrivate)
  connection.quit()
}

/** Thrown when a server has ended a kept connection. Nothing was sent. */
class ConnectionEnded extends Error {}

async function deliverOver(
  session: SmtpSession,
  server: SmtpServer,
  envelope: Envelope,
  message: OutgoingMessage,
  { beforeEnd, signal, dkim }: DeliveryOptions,
): Promise<Delivery> {
  const { connection } = session
  const unsupported = unsupportedBy(connection, envelope, message)
  const unsupportedAddresses = new Set(unsupported.map(({ address }) => address))
  const isSupported = (address: string) => !unsupportedAddresses.has(address)
  const to = envelope.to.filter(isSupported)
  if (!to.length) {
    connections.keep(server, session)
    return { accepted: [], refused: unsupported }
  }
  const progress: Progress = { hasBegun: false, isEnding: false, isHandedOver: false, stopped: undefined }
  const limit = timeLimit()
  const steps = contentSteps(progress, limit, beforeEnd)

  // Where the server offers it, it is asked to report failures and delays, with the header of the mail alone.
  const dsn = { ret: 'HDRS' as const, ...(envelope.id !== undefined && { envid: envelope.id }), notify: 'FAILURE,DELAY' }
  const noted: NotedEnvelope = { from: envelope.from, to, use8BitMime: false, dsn }
  const refused = () => [...unsupported, ...refusedIn(noted)]
  const stop = () => {
    if (progress.isEnding) return
    progress.stopped = signal.reason
    limit.exceed()
  }
  signal.addEventListener('abort', stop, { once: true })
  try {
    limit.set(ENVELOPE_MS)
    const sent =
      isShort(message) && !dkim
        ? sendWhole(connection, noted, () => composed(progress, () => writeShort(message, isSupported)), steps)
        : sendStream(connection, noted, () => composed(progress, () => signed(writeMessage(message, isSupported), dkim)), steps)
    const { accepted } = await Promise.race([sent, limit.exceeded])
    // Without the end of the content it has delivered nothing, whatever it says.
    if (!progress.isHandedOver) throw new Error('The server answered before the end of the content')
    connections.keep(server, session)
    return { accepted, refused: refused() }
  } catch (error) {
    connection.close()
    if (progress.stopped) throw progress.stopped
    const { rejectedErrors, responseCode } = error as SmtpError
    if (rejectedErrors) return { accepted: [], refused: refused() }
    if (session.mails && !progress.hasBegun && (!responseCode || responseCode === CLOSING)) throw new ConnectionEnded()
    throw new DeliveryError(failureOf(error as SmtpError, progress.isHandedOver), { refused: refused() })
  } finally {
    signal.removeEventListener('abort', stop)
    limit.end()
  }
}

/**
 * The recipients that the server cannot be given, because an address has letters outside of ASCII before the @ and the server does not
 * offer SMTPUTF8 (RFC 6531). nodemailer would still send such an address.
 */
function unsupportedBy(connection: SMTPConnection, { from, to }: Envelope, message: OutgoingMessage): RefusedRecipient[] {
  // The type of the connection does not show its list of extensions.
  const { _supportedExtensions: extensions } = connection as unknown as { _supportedExtensions: string[] }
  if (extensions.includes('SMTPUTF8')) return []
  const isOfSender = !isAscii(from) || !isAscii(message.from.email)
  const failure: Failure = {
    kind: 'permanent',
    code: 'SMTPUTF8',
    enhanced: '5.6.7',
    message: `The ${isOfSender ? "sender's address" : 'address'} has letters that the mail server does not support (SMTPUTF8)`,
  }
  return to.filter((address) => isOfSender || !isAscii(address)).map((address) => ({ address, failure }))
}

const isAscii = (text: string) => !/\P{ASCII}/u.test(text)

/** nodemailer notes in the envelope what the server answered to it. */
interface NotedEnvelope extends SMTPConnection.Envelope {
  mailError?: SmtpError
  rejectedErrors?: SmtpError[]
}

/** The recipients that the server refused by themselves. If it refuses the sender, its answers to the recipients say nothing about them. */
const refusedIn = ({ mailError, rejectedErrors = [] }: NotedEnvelope): RefusedRecipient[] =>
  mailError ? [] : rejectedErrors.map((error) => ({ address: error.recipient ?? '', failure: failureOf(error, false) }))

/** The code with which a server ends a connection. */
const CLOSING = 421

const BLOCK_BYTES = 65_536

/** nodemailer composes a message in pieces of a line or two, and each of them would be a write of its own. */
async function* inBlocks(message: Buffer | Readable): AsyncGenerator<Buffer> {
  if (Buffer.isBuffer(message)) {
    for (let from = 0; from < message.length; from += BLOCK_BYTES) yield message.subarray(from, from + BLOCK_BYTES)
    return
  }
  let pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of message as AsyncIterable<Buffer>) {
    pieces.push(piece)
    bytes += piece.length
    if (bytes < BLOCK_BYTES) continue
    yield Buffer.concat(pieces)
    pieces = []
    bytes = 0
  }
  if (bytes) yield Buffer.concat(pieces)
}

/** Sends a message piece by piece. */
async function sendStream(
  connection: SMTPConnection,
  envelope: SMTPConnection.Envelope,
  compose: () => Buffer | Readable,
  { begin, beforeEnd }: ContentSteps,
): Promise<SMTPConnection.SentMessageInfo> {
  async function* content(): AsyncGenerator<Buffer> {
    begin()
    yield* inBlocks(compose())
    await beforeEnd()
  }
  // Without a buffer of its own, the stream ends only when the server has taken the rest.
  const stream = Readable.from(content(), { objectMode: false, highWaterMark: 1 })
  try {
    return await answerTo((answered) => connection.send(envelope, stream, answered))
  } finally {
    stream.destroy()
  }
}

/** Reads the whole message before the first byte, because the signature stands above it. */
function signed(message: Buffer | Readable, dkim: DkimSigner | null | undefined): Buffer | Readable {
  if (!dkim) return message
  const { domain, selector, privateKey, folder } = dkim
  const DKIM = require('nodemailer/lib/dkim') as typeof nodemailerDkim
  return new DKIM({ domainName: domain, keySelector: selector, privateKey, cacheDir: folder, cacheTreshold: SIGNED_IN_MEMORY_BYTES }).sign(
    message,
  )
}
