/** What becomes of the mails that the receiver takes: it checks their recipients and senders, and stores them. */
import { domainToASCII } from 'node:url'
import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server'
import { sha256 } from '../../platform/bytes/sha256.ts'
import { Semaphore } from '../../platform/concurrency/semaphore.ts'
import { type Deps, systemContext } from '../../platform/context.ts'
import { tokenHash } from '../../platform/secrets/secrets.ts'
import type { SenderChecks } from '../authenticity/sender-checks.ts'
import { replyAddress, tokenOf } from '../headers.ts'
import { knownTokens, storeArrival } from '../inbound/store.ts'
import { MAX_MAIL_BYTES } from '../inbound/webhook.ts'
import { receptions } from '../metrics.ts'
import type { Clients, ConnectedClient } from './clients.ts'
import { Content, ContentMemory } from './content.ts'

/** How many messages are inserted at once, so that the requests of the process still find free connections to the database. */
const STORED_AT_ONCE = 3

class SmtpRefusal extends Error {
  readonly responseCode: number

  constructor(responseCode: number, message: string) {
    super(message)
    this.responseCode = responseCode
  }
}

/** The answer for a reason; null without one. */
export const refusal = (code: number, reason: string | undefined) => (reason === undefined ? null : new SmtpRefusal(code, reason))

/** What becomes of the mails of all connections. */
export class Reception {
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
