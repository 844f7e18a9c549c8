/** The receiver: an SMTP or LMTP server that takes mail for known reply addresses, and relays nothing. */
import { randomUUID } from 'node:crypto'
import type { AddressInfo, Socket } from 'node:net'
import { domainToASCII } from 'node:url'
import { SMTPServer, type SMTPServerDataStream, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'
import { sha256 } from '../../platform/bytes/sha256.ts'
import { Semaphore } from '../../platform/concurrency/semaphore.ts'
import { type Deps, systemContext } from '../../platform/context.ts'
import { tokenHash } from '../../platform/secrets/secrets.ts'
import type { Settings } from '../../settings.ts'
import { openSenderChecks, type SenderChecks } from '../authenticity/sender-checks.ts'
import { replyAddress, tokenOf } from '../headers.ts'
import { knownTokens, storeArrival } from '../inbound/store.ts'
import { MAX_MAIL_BYTES } from '../inbound/webhook.ts'
import { receptions } from '../metrics.ts'
import { readCertificate, watchCertificate } from './certificate.ts'
import { Clients, type ConnectedClient, RECEIVER_LIMITS, type ReceiverLimits } from './clients.ts'
import { Content, ContentMemory } from './content.ts'

export interface Receiver {
  readonly address: AddressInfo
  /** Waits for the mails that are being received. */
  close(): Promise<void>
}

interface Options {
  /** Limits that differ; tests lower them. */
  limits?: Partial<ReceiverLimits>
  /** How often the files of the certificate are read. */
  certificateMs?: number
}

/** How many messages are inserted at once, so that the requests of the process still find free connections to the database. */
const STORED_AT_ONCE = 3
const CLOSE_MS = 10_000
const WATCH_MS = 1_000
/** Commands that would say which addresses exist, and those of which smtp-server has jokes. */
const DISABLED = ['AUTH', 'VRFY', 'EXPN', 'HELP', 'XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL']

/**
 * Listens at INBOUND_SMTP.
 * @throws CertificateError; the error of `listen`
 */
export async function openReceiver(deps: Deps, { limits: lowered, certificateMs = 60_000 }: Options = {}): Promise<Receiver> {
  const { settings, log } = deps
  const { inboundSmtp, inboundCertificate } = settings
  if (!inboundSmtp) throw new Error('INBOUND_SMTP is not set')
  const certificate = inboundCertificate && (await readCertificate(inboundCertificate))
  const limits = limitsFor(inboundSmtp.protocol, lowered)
  const clients = new Clients(limits)
  const checks = inboundSmtp.protocol === 'smtp' ? openSenderChecks({ log }) : undefined
  const reception = new Reception({ deps, clients, checks })
  const server: SMTPServer = new AdmittingServer(clients, {
    ...answers(settings, limits),
    ...certificate,
    disabledCommands: certificate ? DISABLED : [...DISABLED, 'STARTTLS'],
    // The only place that hears of every command.
    logger: { debug: (entry: { tnx?: string; cid?: string }) => entry.tnx === 'command' && clients.get(entry.cid ?? '')?.noteCommand() },
    onConnect: (session, callback) => {
      clients.open(session.id, cutter(server, session))
      callback()
    },
    onMailFrom: (_, session, callback) => callback(refusal(421, clients.get(session.id)?.noteMail())),
    onRcptTo: ({ address }, session, callback) => void reception.checkRecipient(address, session).then(() => callback(), callback),
    onData: (stream, session, callback) => void reception.take(stream, session).then(() => callback(), callback),
    onClose: ({ id }) => clients.close(id),
  })
  // Clients that hang up or fail at TLS are not errors of the service.
  server.on('error', (error) => log.debug({ err: error }, 'connection of the receiver of mail'))
  const address = await listen(server, inboundSmtp)
  const watch = setInterval(() => watchClients(clients), WATCH_MS).unref()
  const stopWatching =
    inboundCertificate &&
    certificate &&
    watchCertificate(inboundCertificate, {
      present: certificate,
      use: (next) => server.updateSecureContext({ ...next }),
      everyMs: certificateMs,
      log,
    })
  return {
    address,
    async close() {
      clearInterval(watch)
      stopWatching?.()
      for (const client of clients.all()) if (!client.isBusy) client.cut('The service is stopping')
      await new Promise<void>((resolve) => server.close(() => resolve()))
      await reception.settled()
      await checks?.close()
    },
  }
}

/**
 * Refuses connections as soon as they are accepted. smtp-server 3.21 waits 100 ms before it asks `onConnect`, and counts a connection
 * meanwhile: one address that opens enough of them would leave no room for any other.
 */
class AdmittingServer extends SMTPServer {
  readonly #clients: Clients

  constructor(clients: Clients, options: SMTPServerOptions) {
    super(options)
    this.#clients = clients
  }

  /** The connection is counted until `onClose`: STARTTLS removes all listeners of the socket, so its own `close` may never be heard. */
  override connect(...[socket, options]: Parameters<SMTPServer['connect']>): void {
    const id = options?.id ?? randomUUID()
    const reason = this.#clients.admit(id, socket.remoteAddress ?? '')
    if (reason === undefined) super.connect(socket, { ...options, id })
    else hangUp(socket, `421 ${reason}\r\n`)
  }
}

/** Keeps no half of the connection open, however long the client does. */
function hangUp(socket: Socket, lastWords: string): void {
  socket.on('error', () => {})
  socket.end(lastWords, () => socket.destroy())
}

/** A mail server of the operator has limits of its own, and one address. In one connection it sends what came from many clients. */
const limitsFor = (protocol: 'smtp' | 'lmtp', lowered: Partial<ReceiverLimits> = {}): ReceiverLimits => ({
  ...RECEIVER_LIMITS,
  ...(protocol === 'lmtp' && {
    connectionsPerAddress: RECEIVER_LIMITS.connections,
    mailsPerMinute: Number.POSITIVE_INFINITY,
    refusalsPerMinute: Number.POSITIVE_INFINITY,
    refusalsPerConnection: Number.POSITIVE_INFINITY,
    commandsPerMail: Number.POSITIVE_INFINITY,
  }),
  ...lowered,
})

const answers = ({ catchDomain, inboundSmtp }: Settings, limits: ReceiverLimits): SMTPServerOptions => ({
  lmtp: inboundSmtp?.protocol === 'lmtp',
  name: catchDomain,
  banner: 'Gridpost',
  size: MAX_MAIL_BYTES,
  rejectOversized: true,
  hideENHANCEDSTATUSCODES: false,
  disableReverseLookup: true,
  maxRecipients: limits.recipients,
  maxCommandLength: 4_096,
  socketTimeout: limits.idleMs,
  closeTimeout: CLOSE_MS,
})

async function listen(server: SMTPServer, { host, port }: { host: string; port: number }): Promise<AddressInfo> {
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject)
    // Of several processes only one receives mail, because its limits are kept in memory.
    server.listen({ port, host, exclusive: true }, () => {
      server.server.off('error', reject)
      resolve()
    })
  })
  return server.server.address() as AddressInfo
}

const cutter = (server: SMTPServer, { id }: SMTPServerSession) => {
  const connection = [...server.connections].find((one) => one.id === id)
  return (reason: string) => connection?.send(421, reason)
}

function watchClients(clients: Clients): void {
  const now = performance.now()
  for (const client of clients.all()) {
    const reason = client.lateness(now)
    if (reason) client.cut(reason)
  }
  clients.sweep(now)
}

class SmtpRefusal extends Error {
  readonly responseCode: number

  constructor(responseCode: number, message: string) {
    super(message)
    this.responseCode = responseCode
  }
}

const refusal = (code: number, reason: string | undefined) => (reason === undefined ? null : new SmtpRefusal(code, reason))

/** What becomes of the mails of all connections. */
class Reception {
  readonly #deps: Deps
  readonly #clients: Clients
  readonly #checks: SenderChecks | undefined
  readonly #memory = new ContentMemory()
  readonly #storing = new Semaphore(STORED_AT_ONCE)
  readonly #underway = new Set<Promise<void>>()

  constructor({ deps, clients, checks }: { deps: Deps; clients: Clients; checks: SenderChecks | undefined }) {
    this.#deps = deps
    this.#clients = clients
    this.#checks = checks
  }

  /** @throws SmtpRefusal 550 for an address that is not a known reply address, 451 if that cannot be found out */
  async checkRecipient(address: string, session: SMTPServerSession): Promise<void> {
    const { db, log } = this.#deps
    const token = this.#tokenOf(address)
    try {
      if (token && (await knownTokens(db, [token])).length) return
    } catch (error) {
      this.#count('deferred')
      log.error({ err: error }, 'recipient of an inbound mail not checked')
      throw new SmtpRefusal(451, 'The address cannot be checked now, please try again later')
    }
    this.#count('refused')
    if (this.#clients.get(session.id)?.noteRefusal()) throw new SmtpRefusal(421, 'Too many unknown recipients')
    throw new SmtpRefusal(550, token ? 'No such reply address' : 'No such address here, and this server does not relay')
  }

  /** Receives and stores a mail. @throws SmtpRefusal if it is not stored */
  async take(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void> {
    const client = this.#clients.get(session.id)
    if (!client) throw new SmtpRefusal(421, 'The connection is closing')
    const content = new Content(this.#memory, client.address)
    const taking = this.#takeContent(content, stream, session, client).finally(() => {
      content.release()
      client.endMail()
    })
    const settled = taking.catch(() => {})
    this.#underway.add(settled)
    void settled.finally(() => this.#underway.delete(settled))
    return taking
  }

  /** Resolves when no mail is being received or stored. */
  async settled(): Promise<void> {
    await Promise.all(this.#underway)
  }

  async #takeContent(content: Content, stream: SMTPServerDataStream, session: SMTPServerSession, client: ConnectedClient): Promise<void> {
    const { log } = this.#deps
    client.beginContent(() => stream.byteLength)
    try {
      await content.read(stream)
    } catch (error) {
      this.#count('cut_off')
      throw error
    }
    client.beginStoring()
    if (content.refusal === 'too large') {
      this.#count('too_large')
      throw new SmtpRefusal(552, `The message has more than ${MAX_MAIL_BYTES} bytes`)
    }
    if (content.refusal) {
      this.#count('deferred')
      throw new SmtpRefusal(452, 'Too many large messages at the moment, please try again later')
    }
    try {
      await this.#store(content.bytes, session)
      this.#count('accepted')
    } catch (error) {
      this.#count('deferred')
      log.error({ err: error }, 'inbound mail not stored')
      throw new SmtpRefusal(451, 'The message could not be stored, please try again later')
    }
  }

  async #store(body: Buffer, session: SMTPServerSession): Promise<void> {
    const { envelope, hostNameAppearsAs: helo, remoteAddress: ip } = session
    const sender = envelope.mailFrom ? envelope.mailFrom.address : ''
    const tokens = [...new Set(envelope.rcptTo.map(({ address }) => this.#tokenOf(address) ?? ''))]
    const authentication = await this.#checks?.check({ raw: body, ip, helo: String(helo), sender })
    const headers = this.#envelopeHeaders(sender, tokens)
    // The envelope counts, but not the time: a client that has not heard the answer sends the same again.
    const hash = await sha256(Buffer.from(headers), body)
    const raw = Buffer.concat([Buffer.from(headers + this.#received(session)), body])
    await this.#storing.run(() =>
      storeArrival(systemContext(this.#deps), { raw, sha256: hash, tokens: tokens.map(tokenHash), authentication: authentication ?? null }),
    )
  }

  #tokenOf(address: string): string | undefined {
    const [local = '', domain = ''] = address.split('@')
    return tokenOf(`${local}@${domainToASCII(domain)}`, this.#deps.settings.catchDomain)
  }

  #envelopeHeaders(sender: string, tokens: string[]): string {
    const { catchDomain } = this.#deps.settings
    return [`Return-Path: <${sender}>`, ...tokens.map((token) => `Delivered-To: ${replyAddress(token, catchDomain)}`), ''].join('\r\n')
  }

  #received({ hostNameAppearsAs, remoteAddress, transmissionType, id }: SMTPServerSession): string {
    const { settings, clock } = this.#deps
    const helo = String(hostNameAppearsAs).replaceAll(/[^\w.:[\]-]/g, '_')
    const date = clock().toUTCString().replace('GMT', '+0000')
    return `Received: from ${helo} ([${remoteAddress}])\r\n\tby ${settings.catchDomain} with ${transmissionType} id ${id};\r\n\t${date}\r\n`
  }

  #count(outcome: string): void {
    this.#deps.metrics.count(receptions, { outcome })
  }
}
