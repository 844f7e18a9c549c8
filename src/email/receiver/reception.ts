/** What becomes of the mails that the receiver takes: it checks their recipients and senders, and stores them. */
import { domainToASCII } from 'node:url'
import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server'
import type { Spool } from '../../platform/bytes/spool.ts'
import { Semaphore } from '../../platform/concurrency/semaphore.ts'
import { type Deps, systemContext } from '../../platform/context.ts'
import { tokenHash } from '../../platform/secrets/secrets.ts'
import type { SenderAuthentication } from '../authenticity/authentication-results.ts'
import { CHECKED_BYTES, type SenderChecks } from '../authenticity/sender-checks.ts'
import { replyAddress, tokenOf } from '../headers.ts'
import { LARGE_BYTES } from '../inbound/parser.ts'
import { knownTokens, spooledMessage, storeArrival, storingLarge } from '../inbound/store.ts'
import { MAX_MAIL_BYTES } from '../inbound/webhook.ts'
import { receptions } from '../metrics.ts'
import type { Clients, ConnectedClient } from './clients.ts'
import { Content, ContentLimits } from './content.ts'

/** How many messages are inserted at once, so that the requests of the process still find free connections to the database. */
const STORED_AT_ONCE = 3
/** How many large messages are checked at once, because the thread that checks them holds each of them whole. */
const LARGE_CHECKED_AT_ONCE = 2

class SmtpRefusal extends Error {
  readonly responseCode: number

  constructor(responseCode: number, message: string) {
    super(message)
    this.responseCode = responseCode
  }
}

/** The answer for a reason; null without one. */
export const refusal = (code: number, reason: string | undefined) => (reason === undefined ? null : new SmtpRefusal(code, reason))

const senderOf = ({ mailFrom }: SMTPServerSession['envelope']) => (mailFrom ? mailFrom.address : '')

/** What becomes of the mails of all connections. */
export class Reception {
  readonly #deps: Deps
  readonly #clients: Clients
  readonly #checks: SenderChecks | undefined
  readonly #limits = new ContentLimits()
  readonly #checking = new Semaphore(LARGE_CHECKED_AT_ONCE)
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
    const { dataDir } = this.#deps.settings
    // The envelope counts, but not the time: a client that has not heard the answer sends the same again.
    const content = new Content(this.#limits, { dataDir, address: client.address, hashed: this.#envelopeHeaders(session) })
    const taking = this.#takeContent(content, stream, session, client).finally(async () => {
      await content.release()
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
      await this.#store(content, session)
      this.#count('accepted')
    } catch (error) {
      this.#count('deferred')
      log.error({ err: error }, 'inbound mail not stored')
      throw new SmtpRefusal(451, 'The message could not be stored, please try again later')
    }
  }

  async #store(content: Content, session: SMTPServerSession): Promise<void> {
    const { spool } = content
    const authentication = await this.#check(spool, session)
    const message = await spooledMessage(spool, Buffer.from(this.#envelopeHeaders(session) + this.#received(session)))
    const tokens = this.#tokensOf(session).map(tokenHash)
    const arrival = { ...message, sha256: content.sha256(), tokens, authentication: authentication ?? null }
    await (spool.bytes > LARGE_BYTES ? storingLarge : this.#storing).run(() => storeArrival(systemContext(this.#deps), arrival))
  }

  /** Checks the sender of the content that the spool has. */
  async #check(spool: Spool, session: SMTPServerSession): Promise<SenderAuthentication | undefined> {
    const checks = this.#checks
    if (!checks) return undefined
    const { envelope, hostNameAppearsAs: helo, remoteAddress: ip } = session
    const client = { ip, helo: String(helo), sender: senderOf(envelope) }
    if (spool.bytes <= LARGE_BYTES) return checks.check({ ...client, raw: await spool.whole() })
    const raw = { file: await spool.file(), bytes: spool.bytes, start: await spool.start(CHECKED_BYTES) }
    return this.#checking.run(() => checks.check({ ...client, raw }))
  }

  /** The tokens of the recipients, each once. */
  #tokensOf({ envelope }: SMTPServerSession): string[] {
    return [...new Set(envelope.rcptTo.map(({ address }) => this.#tokenOf(address) ?? ''))]
  }

  #tokenOf(address: string): string | undefined {
    const [local = '', domain = ''] = address.split('@')
    return tokenOf(`${local}@${domainToASCII(domain)}`, this.#deps.settings.catchDomain)
  }

  #envelopeHeaders(session: SMTPServerSession): string {
    const { catchDomain } = this.#deps.settings
    const tokens = this.#tokensOf(session)
    return [
      `Return-Path: <${senderOf(session.envelope)}>`,
      ...tokens.map((token) => `Delivered-To: ${replyAddress(token, catchDomain)}`),
      '',
    ].join('\r\n')
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
