/** A replica with what is known of it: whether it is read, how far behind it is, and why it is put aside. */
import type { FastifyBaseLogger } from 'fastify'
import pg from 'pg'
import { withinTime } from '../../concurrency/time-limit.ts'
import type { ObserveStatement } from '../statements/observe-statements.ts'
import { ReplicaConnections } from './replica-connections.ts'
import { LagMeter, obstacleOf, type PrimaryRow, REPLICA_SQL, type ReplicaRow, TimeAside } from './suitability.ts'

/** Together with the interval of the checks less than the second in which a replica is put aside. */
const ANSWERS_WITHIN_MS = 400

const UNKNOWN = 'it was not asked yet'

export interface ReplicaOptions {
  log: FastifyBaseLogger
  observe: ObserveStatement | undefined
  /** The most connections for reads. */
  size: number
  maxLagMs: number
  steadyMs?: number | undefined
}

export class WatchedReplica {
  /** Host, port and database, without the password. */
  readonly name: string
  readonly connections: ReplicaConnections
  /** Why it is not read; null while it is. */
  obstacle: string | null = UNKNOWN
  lagMs = 0
  /** The timeline that it follows. */
  timeline = 0
  readonly #url: string
  readonly #options: ReplicaOptions
  readonly #lag = new LagMeter()
  readonly #aside: TimeAside
  /** The obstacles that were logged since it was last read. */
  readonly #told = new Set<string>()
  #client: pg.Client | undefined
  #checking: Promise<void> | undefined

  constructor(url: string, options: ReplicaOptions) {
    this.#url = url
    this.#options = options
    this.#aside = new TimeAside(options.steadyMs)
    this.name = nameOfReplica(url)
    this.connections = new ReplicaConnections({ connectionString: url }, options)
  }

  get isRead(): boolean {
    return this.obstacle === null
  }

  /** Asks the replica what it is and how far it is, and judges it. Never rejects. */
  check(primary: PrimaryRow): Promise<void> {
    this.#checking ??= this.#check(primary).finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  /** Puts it aside because a statement on it has failed as on a lost connection. The next check takes it back if it answers. */
  suspect(): void {
    this.#judge(AWAY)
  }

  async close(): Promise<void> {
    this.#drop()
    await this.#checking
    this.#drop()
    await this.connections.close()
  }

  async #check(primary: PrimaryRow): Promise<void> {
    this.#lag.note(primary, performance.now())
    try {
      const row = await withinTime(this.#ask(), ANSWERS_WITHIN_MS, undefined)
      if (!row) throw new Error(`no answer within ${ANSWERS_WITHIN_MS} ms`)
      this.lagMs = row.replayed === null ? 0 : this.#lag.lagAt(row.replayed, performance.now())
      this.timeline = row.timeline ?? 0
      this.#judge(obstacleOf(row, primary) ?? this.#lagObstacle())
    } catch (error) {
      this.#drop()
      this.#judge(AWAY, error)
      this.connections.abandon()
    }
  }

  async #ask(): Promise<ReplicaRow | undefined> {
    this.#client ??= await this.#connect()
    const { rows } = await this.#client.query<ReplicaRow>({ name: 'replica', text: REPLICA_SQL })
    return rows[0]
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#url,
      connectionTimeoutMillis: ANSWERS_WITHIN_MS,
      application_name: 'gridpost replica check',
    })
    // Without a listener the loss of the connection would end the process. The next check shows it.
    client.on('error', () => {})
    await client.connect()
    return client
  }

  #drop(): void {
    this.#client?.end().catch(() => {})
    this.#client?.connection.stream.destroy()
    this.#client = undefined
  }

  /** One that has lagged is taken back at half the limit, so that it does not come and go with each check. */
  #lagObstacle(): string | null {
    const { maxLagMs } = this.#options
    return this.lagMs > (this.obstacle === LAGS ? maxLagMs / 2 : maxLagMs) ? LAGS : null
  }

  #judge(obstacle: string | null, error?: unknown): void {
    const [before, now] = [this.obstacle, performance.now()]
    if (obstacle === before || (obstacle === null && !this.#aside.isOver(now))) return
    this.obstacle = obstacle
    const { log, maxLagMs } = this.#options
    const { name: replica, lagMs } = this
    if (obstacle === null) {
      this.#told.clear()
      if (before !== UNKNOWN) this.#aside.end(now)
      log.info({ replica }, `The replica ${replica} is read`)
      return
    }
    const asideMs = before === null ? this.#aside.begin(now) : 0
    if (this.#told.has(obstacle)) return
    this.#told.add(obstacle)
    log.warn(
      { replica, lagMs: Math.round(lagMs), ...(asideMs && { asideMs }), ...(error !== undefined && { reason: (error as Error).message }) },
      `The replica ${replica} is not read: ${obstacle}${obstacle === LAGS ? ` by more than ${maxLagMs} ms` : ''}`,
    )
  }
}

const AWAY = 'it does not answer'
const LAGS = 'it lags'

/** Host, port and database of a URL, without the password. */
export function nameOfReplica(url: string): string {
  const { hostname, port, pathname, searchParams } = new URL(url)
  return `${searchParams.get('host') ?? hostname}:${port || '5432'}${pathname}`
}
