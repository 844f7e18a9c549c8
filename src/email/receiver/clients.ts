/** The clients of the receiver: what each connection and each address has done, and when it is too much. */
import { networkOf } from '../../platform/access/network.ts'

export interface ReceiverLimits {
  /** Connections in all, and of one address. */
  connections: number
  connectionsPerAddress: number
  /** Mails and refused recipients of one address in a minute. */
  mailsPerMinute: number
  refusalsPerMinute: number
  /** Of one connection: mails, refused recipients, and commands for one mail. */
  mailsPerConnection: number
  refusalsPerConnection: number
  commandsPerMail: number
  recipients: number
  /** The longest pause, and the longest time from the greeting or the last mail to the next content. */
  idleMs: number
  commandsMs: number
  /** The longest time for a content, and the least speed of one that takes longer than the grace. */
  contentMs: number
  contentGraceMs: number
  contentBytesPerSecond: number
}

export const RECEIVER_LIMITS: ReceiverLimits = {
  connections: 200,
  connectionsPerAddress: 30,
  mailsPerMinute: 600,
  refusalsPerMinute: 60,
  mailsPerConnection: 200,
  refusalsPerConnection: 10,
  commandsPerMail: 250,
  recipients: 100,
  idleMs: 60_000,
  commandsMs: 300_000,
  contentMs: 600_000,
  contentGraceMs: 30_000,
  contentBytesPerSecond: 1_024,
}

const MINUTE_MS = 60_000

interface AddressUse {
  connections: number
  minute: number
  mails: number
  refusals: number
}

/** One connection. */
export class ConnectedClient {
  readonly address: string
  readonly #use: AddressUse
  readonly #limits: ReceiverLimits
  /** Ends the connection with 421. */
  readonly cut: (reason: string) => void
  #since = performance.now()
  #content: { since: number; received(): number } | undefined
  #isStoring = false
  #commands = 0
  #mails = 0
  #refusals = 0

  constructor(address: string, use: AddressUse, limits: ReceiverLimits, cut: (reason: string) => void) {
    this.address = address
    this.#use = use
    this.#limits = limits
    this.cut = cut
  }

  /** True while a content is received or stored. */
  get isBusy(): boolean {
    return this.#content !== undefined || this.#isStoring
  }

  noteCommand(): void {
    if (++this.#commands > this.#limits.commandsPerMail) this.cut('Too many commands')
  }

  /** @returns the reason why the connection may send no mail now */
  noteMail(): string | undefined {
    if (++this.#mails > this.#limits.mailsPerConnection) return 'Too many mails in one connection, please connect again'
    if (++this.#use.mails > this.#limits.mailsPerMinute) return 'Too many mails in a minute, please try again later'
    return undefined
  }

  /** @returns whether the connection has named too many unknown recipients */
  noteRefusal(): boolean {
    this.#use.refusals++
    return ++this.#refusals > this.#limits.refusalsPerConnection
  }

  /** @param received the bytes so far */
  beginContent(received: () => number): void {
    this.#content = { since: performance.now(), received }
  }

  beginStoring(): void {
    this.#content = undefined
    this.#isStoring = true
  }

  endMail(): void {
    this.#content = undefined
    this.#isStoring = false
    this.#commands = 0
    this.#since = performance.now()
  }

  /** The reason why the connection is too slow, if it is. */
  lateness(now: number): string | undefined {
    if (this.#isStoring) return undefined
    if (!this.#content) return now - this.#since > this.#limits.commandsMs ? 'No mail came in time' : undefined
    const { since, received } = this.#content
    const { contentMs, contentGraceMs, contentBytesPerSecond } = this.#limits
    const ms = now - since
    const isSlow = ms > contentGraceMs && received() < (ms / 1_000) * contentBytesPerSecond
    return isSlow || ms > contentMs ? 'The mail came too slowly' : undefined
  }
}

/** A connection from when it is accepted; it has a client once the server is ready to greet it. */
interface Connection {
  address: string
  use: AddressUse
  client?: ConnectedClient
}

export class Clients {
  readonly #limits: ReceiverLimits
  readonly #byId = new Map<string, Connection>()
  readonly #byAddress = new Map<string, AddressUse>()

  constructor(limits: ReceiverLimits) {
    this.#limits = limits
  }

  all(): ConnectedClient[] {
    return [...this.#byId.values()].flatMap(({ client }) => client ?? [])
  }

  get(id: string): ConnectedClient | undefined {
    return this.#byId.get(id)?.client
  }

  /**
   * Counts a new connection until `close`, unless there are too many or its address may have none now.
   * @returns the reason if it is refused
   */
  admit(id: string, remoteAddress: string): string | undefined {
    const address = networkOf(remoteAddress)
    const use = this.#useOf(address)
    if (use.connections >= this.#limits.connectionsPerAddress) return 'Too many connections, please try again later'
    if (use.refusals >= this.#limits.refusalsPerMinute) return 'Too many unknown recipients, please try again later'
    if (this.#byId.size >= this.#limits.connections) return 'Too many connected clients, please try again later'
    use.connections++
    this.#byId.set(id, { address, use })
    return undefined
  }

  /** Notes the session of an admitted connection. */
  open(id: string, cut: ConnectedClient['cut']): void {
    const connection = this.#byId.get(id)
    if (connection) connection.client = new ConnectedClient(connection.address, connection.use, this.#limits, cut)
  }

  close(id: string): void {
    const connection = this.#byId.get(id)
    if (!connection) return
    this.#byId.delete(id)
    connection.use.connections--
  }

  /** Forgets the counts of the last minute, and addresses that are not connected. */
  sweep(now: number): void {
    const minute = Math.floor(now / MINUTE_MS)
    for (const [address, use] of this.#byAddress) {
      if (use.minute === minute) continue
      Object.assign(use, { minute, mails: 0, refusals: 0 })
      if (!use.connections) this.#byAddress.delete(address)
    }
  }

  #useOf(address: string): AddressUse {
    const known = this.#byAddress.get(address)
    if (known) return known
    const use: AddressUse = { connections: 0, minute: Math.floor(performance.now() / MINUTE_MS), mails: 0, refusals: 0 }
    this.#byAddress.set(address, use)
    return use
  }
}
