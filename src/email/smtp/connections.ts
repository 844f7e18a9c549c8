/** Connections to SMTP servers. One that has delivered a mail is kept for some seconds, so that the next mail needs no new sign-in. */
import { isIP } from 'node:net'
import type SMTPConnection from 'nodemailer/lib/smtp-connection'
import { DeliveryError, failureOf, isFaultOfServer, type SmtpError } from './failure.ts'
import { allowedAddresses, withoutBrackets } from './host-addresses.ts'
import { allowWholeContents, internalsOf } from './whole-contents.ts'

export interface SmtpServer {
  host: string
  port: number
  tls: 'none' | 'starttls' | 'tls'
  username: string | null
  password: string | null
}

/** A connection that is signed in. */
export interface SmtpSession {
  connection: SMTPConnection
  /** How many mails it has delivered. */
  mails: number
}

const CONNECT_TIMEOUT_MS = 15_000
const SIGN_IN_TIMEOUT_MS = 30_000
/** The longest silence of a server. RFC 5321 §4.5.3.2 gives it five minutes for most commands. */
const SILENCE_TIMEOUT_MS = 300_000

const IDLE_MS = 5_000
/** Many servers end a connection after some hundred mails. */
const MAILS_PER_CONNECTION = 100

/** The kept connections of this process, by server and credentials. */
export class Connections {
  readonly #idle = new Map<string, { session: SmtpSession; timer: NodeJS.Timeout }[]>()

  /** A kept connection to the server, if there is one. */
  take(server: SmtpServer): SmtpSession | undefined {
    for (;;) {
      const kept = this.#idle.get(keyOf(server))?.pop()
      if (!kept) return undefined
      clearTimeout(kept.timer)
      if (!kept.session.connection.destroyed) return kept.session
    }
  }

  /** Keeps a connection that has delivered a mail for the next one. */
  keep(server: SmtpServer, { connection, mails }: SmtpSession): void {
    const session = { connection, mails: mails + 1 }
    if (connection.destroyed || session.mails >= MAILS_PER_CONNECTION) {
      connection.quit()
      return
    }
    const key = keyOf(server)
    const timer = setTimeout(() => {
      const left = this.#idle.get(key)?.filter((kept) => kept.session !== session) ?? []
      if (left.length) this.#idle.set(key, left)
      else this.#idle.delete(key)
      connection.quit()
    }, IDLE_MS).unref()
    this.#idle.set(key, [...(this.#idle.get(key) ?? []), { session, timer }])
  }
}

const keyOf = ({ host, port, tls, username, password }: SmtpServer) => JSON.stringify([host, port, tls, username, password])

/** Connects and signs in. @throws DeliveryError */
export async function connect(server: SmtpServer, allowPrivate: boolean): Promise<SMTPConnection> {
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
  throw new DeliveryError(failureOf(last as SmtpError, false), { isFault: isFaultOfServer(last as SmtpError) })
}

/** Gives each recipient to the server with its address: reports then name it, also if the mail is forwarded (RFC 3461 §4.2). */
function nameRecipients(connection: SMTPConnection): void {
  const inner = internalsOf(connection)
  const sendRecipient = inner._sendRcpt.bind(connection)
  inner._sendRcpt = (recipient, callback) => {
    const { dsn } = inner._envelope
    if (dsn) dsn.orcpt = NOT_ASCII.test(recipient) ? null : `rfc822;${recipient}`
    sendRecipient(recipient, callback)
  }
}

const NOT_ASCII = /[^\x21-\x7e]/

async function signIn(server: SmtpServer, address: string): Promise<SMTPConnection> {
  // Loaded with the first mail: it takes a tenth of the CPU time of a start.
  const { default: Connection } = await import('nodemailer/lib/smtp-connection')
  const connection = new Connection({
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
  nameRecipients(connection)
  allowWholeContents(connection)
  // The steps report their own errors. A later error of the connection must not end the process.
  connection.on('error', () => {})
  try {
    await inTime(SIGN_IN_TIMEOUT_MS, async () => {
      await new Promise<void>((resolve, reject) => {
        connection.once('error', reject)
        connection.connect((error) => (error ? reject(error) : resolve()))
      })
      const { username, password } = server
      if (username === null) return
      const pass = password ?? ''
      await new Promise<void>((resolve, reject) => {
        connection.once('error', reject)
        connection.login({ user: username, pass, credentials: { user: username, pass } }, (error) => (error ? reject(error) : resolve()))
      })
    })
  } catch (error) {
    connection.close()
    throw error
  }
  return connection
}

/** Runs the steps of a dialogue. @throws SmtpError when they take longer, however many bytes the server trickles in this time */
async function inTime(ms: number, steps: () => Promise<void>): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(() => reject(tooSlow()), ms)
  try {
    await Promise.race([steps(), late])
  } finally {
    clearTimeout(timer)
  }
}

export const tooSlow = (): SmtpError => Object.assign(new Error('The server took too long to answer'), { code: 'ETIMEDOUT' })
