/** A node of a cluster: reads that are asked of it, and a check once a second that notices when it does not answer. */
import { setImmediate } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import pg from 'pg'
import { withinTime } from '../../concurrency/time-limit.ts'
import { type Database, openDatabase } from '../database.ts'
import { isDatabaseAway, isOutage, lostNode, nodeAway, nodeOfAllAway } from '../database-errors.ts'
import type { ObserveStatement } from '../statements/observe-statements.ts'
import { cutConnection } from '../statements/silent-connections.ts'
import type { Participant, Transaction } from '../transactions.ts'

const CHECK_EVERY_MS = 1_000
const ANSWERS_WITHIN_MS = 1_000
/** Three seconds, less the inaccuracy of timers. */
const AWAY_AFTER_MS = 2_900

export interface NodeOptions {
  /** The most connections for reads. */
  size: number
  observe: ObserveStatement
  silentMs: number | undefined
  log: Pick<FastifyBaseLogger, 'info' | 'warn'>
}

export class WatchedNode implements Participant {
  /** Its address, as `npm run admin -- space place` takes it. */
  readonly name: string
  readonly database: Database
  /** False while no table is on the node, which is then not checked. */
  isUsed = true
  /** True after three seconds without an answer, until the node answers again. Meanwhile requests for its records are refused at once. */
  isAway = false
  /** True if the last check failed: the node has probably caused the errors of this moment. */
  #isSilent = false
  #answeredAt = performance.now()
  readonly #config: pg.ClientConfig
  readonly #log: NodeOptions['log']
  readonly #transactions = new Set<Transaction>()
  #client: pg.Client | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(name: string, config: pg.PoolConfig, { log, ...options }: NodeOptions) {
    this.name = name
    this.database = openDatabase(config, options)
    this.#config = config
    this.#log = log
    void this.#check()
  }

  /** @throws AppError 503 that names the node if it is away */
  requireAnswers(): void {
    if (this.isAway) throw nodeAway(this.name)
  }

  /**
   * Notes that the transaction runs statements on the node's records, and abandons it if the node is found to be away.
   * @throws AppError as `requireAnswers`
   */
  join(transaction: Transaction): void {
    this.requireAnswers()
    transaction.nodes ??= new Set()
    transaction.nodes.add(this)
    this.#transactions.add(transaction)
  }

  leave(transaction: Transaction): void {
    this.#transactions.delete(transaction)
  }

  /** The transaction changes a table on another node, for which it needs this one. @throws AppError 503 with its name if it is away */
  joinAsOther(transaction: Transaction): void {
    if (this.isAway) throw nodeOfAllAway(this.name)
    transaction.nodes ??= new Set()
    transaction.nodes.add(this.#asOther)
    this.#transactions.add(transaction)
  }

  readonly #asOther: Participant = {
    explain: (error) => {
      const isCause = (this.#isSilent && isOutage(error)) || (error instanceof Error && lostNode(error) === this.name)
      return isCause ? nodeOfAllAway(this.name, error) : error
    },
    leave: (transaction) => this.leave(transaction),
  }

  /** @returns 503 that names the node for an error of the main server that has waited for it in vain; other errors as they are */
  explain(error: unknown): unknown {
    return this.#isSilent && isOutage(error) ? nodeAway(this.name, error) : error
  }

  /** @returns the same for an error of a read on the node */
  explainRead(error: unknown): unknown {
    return isDatabaseAway(error) ? nodeAway(this.name, error) : this.explain(error)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#drop()
    // A server that does not answer does not end a connection either.
    if (this.#isSilent) this.database.abandon()
    await this.database.close()
  }

  async #check(): Promise<void> {
    const from = performance.now()
    const failure = this.isUsed ? await this.#ask() : undefined
    if (this.#isClosed) return this.#drop()
    if (failure) this.#failed(failure)
    else this.#answered()
    if (!this.isUsed) this.#drop()
    const waitMs = Math.max(0, from + CHECK_EVERY_MS - performance.now())
    this.#timer = setTimeout(() => void this.#check(), waitMs).unref()
  }

  /** @returns why the node counts as silent; undefined if it has answered, even with an error */
  async #ask(): Promise<Error | undefined> {
    const answer = this.#query().then(
      () => undefined,
      (error: Error) => (error instanceof pg.DatabaseError && !isDatabaseAway(error) ? undefined : error),
    )
    const late = new Error(`no answer within ${ANSWERS_WITHIN_MS} ms`)
    if ((await withinTime(answer, ANSWERS_WITHIN_MS, late)) !== late) return answer
    // If this process was busy, the answer may have arrived already. Node reads it before it calls the immediate.
    await setImmediate()
    return Promise.race([answer, late])
  }

  async #query(): Promise<void> {
    if (!this.#client) {
      const client = new pg.Client({
        ...this.#config,
        connectionTimeoutMillis: ANSWERS_WITHIN_MS,
        application_name: 'gridpost node check',
      })
      // Without a listener the loss of the connection would end the process. The next check shows it.
      client.on('error', () => {})
      this.#client = client
      await client.connect()
    }
    await this.#client?.query('select')
  }

  #drop(): void {
    if (this.#client) cutConnection(this.#client)
    this.#client = undefined
  }

  #answered(): void {
    if (this.isAway) this.#log.info({ node: this.name }, `The node ${this.name} answers again`)
    this.isAway = false
    this.#isSilent = false
    this.#answeredAt = performance.now()
  }

  #failed(failure: Error): void {
    this.#drop()
    this.#isSilent = true
    if (this.isAway || performance.now() - this.#answeredAt < AWAY_AFTER_MS) return
    this.isAway = true
    this.#log.warn({ node: this.name, reason: failure.message }, `The node ${this.name} does not answer: its spaces are not available`)
    this.database.abandon()
    for (const transaction of this.#transactions) transaction.abandon()
  }
}
