/** The receiver: an SMTP or LMTP server that takes mail for known reply addresses, and relays nothing. */
import { randomUUID } from 'node:crypto'
import type { AddressInfo, Socket } from 'node:net'
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'
import type { Deps } from '../../platform/context.ts'
import type { Settings } from '../../settings.ts'
import { openSenderChecks } from '../authenticity/sender-checks.ts'
import { MAX_MAIL_BYTES } from '../inbound/webhook.ts'
import { readCertificate, watchCertificate } from './certificate.ts'
import { Clients, RECEIVER_LIMITS, type ReceiverLimits } from './clients.ts'
import { Reception, refusal } from './reception.ts'

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
