/**
 * Reads on replicas. A call whose reads may be a moment old runs in `reading`; its statements outside of a transaction then go to a replica
 * that has replayed what the caller may expect to see, or else to the primary. Everything else goes to the primary, as without replicas
 * (docs/decisions/0029-replicas.md).
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyBaseLogger } from 'fastify'
import { withinTime } from '../../concurrency/time-limit.ts'
import { AppError } from '../../errors.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import type { Database } from '../database.ts'
import { isDatabaseAway, sqlState } from '../database-errors.ts'
import type { ObserveStatement } from '../statements/observe-statements.ts'
import { PreparedNames } from '../statements/prepared-statements.ts'
import type { PrintedRows } from '../statements/printed-rows.ts'
import { type PageOptions, type ReadOptions, type Statement, shortRead } from '../statements/statement.ts'
import { replicaReads } from './metrics.ts'
import type { Needed } from './replica-connections.ts'
import { PRIMARY_SQL, type PrimaryRow } from './suitability.ts'
import { endOfLog, timelineOf, type WalPosition } from './wal-position.ts'
import { WatchedReplica } from './watched-replica.ts'

declare module '../../context.ts' {
  interface Shared {
    /** Of `db`, which reads from them where it may; undefined without DATABASE_REPLICA_URLS. */
    replicas?: Replicas | undefined
  }
}

const CHECK_EVERY_MS = 200
/** A check of replicas does not wait for a primary that hangs. */
const PRIMARY_WITHIN_MS = 400
const QUERY_CANCELED = '57014'

/** What the reads of a call need. */
export interface ReadNeeds {
  /** What must have been replayed; undefined if that cannot be said, and the primary has to be asked. */
  position: Promise<WalPosition | undefined>
  /** The table whose definition the statements are written by, with the version that the primary has just named. */
  table?: { id: number; version: number } | undefined
  /** How long a read may wait for a replica; a read that takes long itself may wait longer. */
  patienceMs: number
}

interface RunOptions extends PageOptions {
  isPrinted?: boolean
}

interface Call extends ReadNeeds {
  /** All reads of a call that succeed on a replica do so on the same one. */
  replica?: WatchedReplica | undefined
  /** Set once a replica could not answer. */
  isOnPrimary?: boolean
}

export interface Replicas {
  /** The database, with reads inside of `reading` on replicas. */
  readonly db: Database
  readonly all: readonly WatchedReplica[]
  /** The name of the database system, once the primary has told. */
  readonly systemId: string | undefined
  /** Runs `fn`; its reads may go to a replica. */
  reading<T>(reading: ReadNeeds, fn: () => T): T
  /** Runs `fn`; its reads go to the primary, even inside of `reading`. */
  onPrimary<T>(fn: () => T): T
  /** The end of what has been committed. */
  currentPosition(): Promise<WalPosition>
  /**
   * Resolves once every replica that is read has replayed what is committed now. One that takes longer than it may lag is put aside by
   * then. Never rejects.
   */
  settled(): Promise<void>
  close(): Promise<void>
}

interface ReplicasOptions {
  urls: readonly string[]
  maxLagMs: number
  /** A replica that was read for this long has recovered; ten seconds by default. */
  steadyMs?: number | undefined
  /** The most connections to each replica. */
  size: number
  observe: ObserveStatement | undefined
  metrics: Metrics
  log: FastifyBaseLogger
}

/** Watches the replicas from now on. One that cannot be read is no error: it is put aside until it can. */
export function openReplicas(primary: Database, { urls, metrics, ...options }: ReplicasOptions): Replicas {
  const all = urls.map((url) => new WatchedReplica(url, options))
  const calls = new AsyncLocalStorage<Call | undefined>()
  const prepared = new PreparedNames()
  let known: PrimaryRow | undefined
  let asking: Promise<void> | undefined
  let turn = 0

  async function askPrimary(): Promise<void> {
    const [row] = await primary.read<PrimaryRow>(shortRead('replicas:primary', { text: PRIMARY_SQL, values: [] }))
    known = row
  }

  /** A primary that does not answer, or is being replaced, leaves the replicas as they were judged. */
  async function check(): Promise<void> {
    asking ??= askPrimary()
      .catch(() => {})
      .finally(() => {
        asking = undefined
      })
    await withinTime(asking, PRIMARY_WITHIN_MS, undefined)
    const row = known
    if (row) await Promise.all(all.map((replica) => replica.check(row)))
  }

  let isChecking = false
  const timer = setInterval(() => {
    if (isChecking) return
    isChecking = true
    void check().finally(() => {
      isChecking = false
    })
  }, CHECK_EVERY_MS).unref()

  /** The replica with the least to do; equal ones take turns. */
  function choose({ timeline }: WalPosition): WatchedReplica | undefined {
    const fit = all.filter((replica) => replica.isRead && replica.timeline === timeline)
    turn++
    const [first, ...others] = fit.map((_, index) => fit[(index + turn) % fit.length] as WatchedReplica)
    return others.reduce((least, replica) => (least && replica.connections.busy < least.connections.busy ? replica : least), first)
  }

  /** The replica of the call, with what it must have replayed; undefined if none can be read. */
  async function replicaOf(call: Call): Promise<{ replica: WatchedReplica; needed: Needed } | undefined> {
    const position = await call.position
    if (!position) return undefined
    call.replica ??= choose(position)
    const { replica, table, patienceMs } = call
    return replica?.isRead ? { replica, needed: { lsn: position.lsn, table, patienceMs } } : undefined
  }

  async function onReplica(call: Call, statement: Statement, { trailing, ...options }: RunOptions) {
    const found = await replicaOf(call)
    if (!found) return undefined
    const { replica, needed } = found
    const next = trailing && prepared.trailing(trailing)
    try {
      return await replica.connections.run(prepared.named(statement), { ...options, trailing: next }, needed)
    } catch (error) {
      if (isFinal(error, options.signal)) throw error
      if (isLost(error)) replica.suspect()
      return undefined
    }
  }

  /** Rows from a replica; undefined if the primary has to be asked. */
  async function rowsOn(statement: Statement, options: RunOptions): Promise<unknown[] | undefined> {
    const call = calls.getStore()
    if (!call || call.isOnPrimary || primary.inTransaction()) return undefined
    const result = await onReplica(call, statement, options)
    metrics.count(replicaReads, { side: result ? 'replica' : 'primary' })
    if (!result) call.isOnPrimary = true
    return result?.rows
  }

  const reads: Pick<Database, 'read' | 'page'> = {
    read: async <Row>(statement: Statement, options: ReadOptions = {}) =>
      ((await rowsOn(statement, options)) as Row[] | undefined) ?? primary.read<Row>(statement, options),
    page: async (statement, options = {}) =>
      ((await rowsOn(statement, { ...options, isPrinted: true })) as unknown as PrintedRows | undefined) ??
      primary.page(statement, options),
  }

  async function currentPosition(): Promise<WalPosition> {
    const statement = shortRead('replicas:position', { text: POSITION_SQL, values: [] })
    const [row] = await primary.read<{ wal_file: string; next_record: string }>(statement)
    const { wal_file, next_record } = row as { wal_file: string; next_record: string }
    return { timeline: timelineOf(wal_file), lsn: endOfLog(next_record) }
  }

  async function settled(): Promise<void> {
    const position = await currentPosition().catch(() => undefined)
    if (!position) return
    const needed = { lsn: position.lsn, table: undefined, patienceMs: options.maxLagMs }
    await Promise.all(all.map((replica) => replica.isRead && replica.connections.reaches(needed)))
  }

  return {
    db: Object.assign(Object.create(primary) as Database, reads),
    all,
    get systemId() {
      return known?.system_id
    },
    reading: (reading, fn) => calls.run({ ...reading }, fn),
    onPrimary: (fn) => calls.run(undefined, fn),
    currentPosition,
    settled,
    close: async () => {
      clearInterval(timer)
      await Promise.all(all.map((replica) => replica.close()))
    },
  }
}

/**
 * True if the primary is not asked as well: the caller has gone, the statement has used its time, or the service is too busy. Any other
 * error may come from the replica: it replays a change that the statement conflicts with, cannot do what the statement wants, or was shut
 * down. If it comes from the statement, the primary answers the same.
 */
const isFinal = (error: unknown, signal: AbortSignal | undefined) =>
  signal?.aborted || error instanceof AppError || sqlState(error) === QUERY_CANCELED

/** True if the server may be gone. One that lacks connections or memory (53) is there. */
const isLost = (error: unknown) => isDatabaseAway(error) && !sqlState(error)?.startsWith('53')

const POSITION_SQL = `
  select pg_walfile_name(pg_current_wal_insert_lsn()) as wal_file, pg_current_wal_insert_lsn()::text as next_record`
