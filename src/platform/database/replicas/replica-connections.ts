/**
 * Statements on a replica. Before each, the connection must have said that the replica has replayed what the caller may expect to see. It
 * is asked in a statement of its own: the snapshot of a statement is taken before its functions are called.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { BoundedMap } from '../../collections/bounded-map.ts'
import { currentAccount } from '../../concurrency/current-account.ts'
import type { FairQueue } from '../../concurrency/fair-queue.ts'
import { tooBusy } from '../../errors.ts'
import { memo } from '../../memo.ts'
import { FairPool } from '../fair-pool.ts'
import type { ObserveStatement } from '../statements/observe-statements.ts'
import {
  openQueryQueue,
  poolSettings,
  runStatement,
  runWithTrailing,
  watchConnections,
  withConnection,
} from '../statements/pooled-statements.ts'
import { limitOfList, limitOfRecords, type Named, type NamedTrailingRead, runPrepared } from '../statements/prepared-statements.ts'
import { lsnOf } from './wal-position.ts'

/** The primary answers at once, so a replica that cannot be reached must not keep callers for longer. */
const CONNECT_WITHIN_MS = 500
/** A statement of the longest kind takes ten seconds. */
const SILENT_MS = 20_000
const MAX_TABLES = 500

/** What a replica must have replayed for a read. */
export interface Needed {
  lsn: number
  /** The table whose definition the statement was written by. */
  table: { id: number; version: number } | undefined
  /** How long to wait for it. */
  patienceMs: number
}

export interface RunOptions {
  isPrinted?: boolean
  /** A read of a printed statement's that runs behind it. */
  trailing?: NamedTrailingRead | undefined
  signal?: AbortSignal | undefined
  /** True for a page that may have more than 32 MB. */
  isPart?: boolean
}

/**
 * What a connection has said. It stays true while the connection lasts: a server that goes back to an earlier state after a crash closes
 * all of them.
 */
const saidOn = memo((_: pg.ClientBase) => ({ lsn: -1, versions: new BoundedMap<number, number>(MAX_TABLES) }))

interface Said {
  lsn: string | null
  is_replica: boolean
  has_version: boolean
}

const ASKED = `select pg_last_wal_replay_lsn()::text as lsn, pg_is_in_recovery() as is_replica,
  exists (select from tables where id = $1::int and version = $2::int) as has_version`

export class ReplicaConnections {
  readonly #pool: FairPool
  readonly #queries: FairQueue

  constructor(config: pg.PoolConfig, { size, observe }: { size: number; observe: ObserveStatement | undefined }) {
    this.#pool = new FairPool({ ...poolSettings(config, size), connectionTimeoutMillis: CONNECT_WITHIN_MS })
    this.#queries = openQueryQueue(size)
    watchConnections(this.#pool, { observe, silentMs: SILENT_MS })
  }

  /** Connections in use, and callers that wait for one. */
  get busy(): number {
    return this.#pool.totalCount - this.#pool.idleCount + this.#pool.waiting
  }

  /** @returns undefined if the replica has not replayed what is needed */
  async run(
    statement: Named,
    { isPrinted = false, trailing, signal, isPart }: RunOptions,
    needed: Needed,
  ): Promise<pg.QueryResult | undefined> {
    const read = () =>
      withConnection(this.#pool, signal, async (client, cancel) => {
        if (!(await hasReplayed(client, needed))) return undefined
        if (trailing) return runWithTrailing(client, statement, trailing, limitOfRecords(cancel))
        return runStatement(client, statement, isPrinted, isPart ? undefined : signal ? limitOfRecords(cancel) : limitOfList(cancel))
      })
    return signal ? this.#queries.run(currentAccount(), read, { signal, refusal: tooBusy }) : read()
  }

  /** Waits until the replica has replayed what is needed. @returns false if it has not in time, or does not answer */
  reaches(needed: Needed): Promise<boolean> {
    return withConnection(this.#pool, undefined, (client) => hasReplayed(client, needed)).catch(() => false)
  }

  /** Closes all connections, so that statements on a server that does not answer fail now. */
  abandon(): void {
    this.#pool.abandon()
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }
}

async function hasReplayed(client: pg.ClientBase, { lsn, table, patienceMs }: Needed): Promise<boolean> {
  const said = saidOn(client)
  const isEnough = () => said.lsn >= lsn && (!table || said.versions.get(table.id) === table.version)
  const deadline = performance.now() + patienceMs
  while (!isEnough()) {
    const { rows } = await runPrepared(client, { name: 'replica-position', text: ASKED, values: [table?.id ?? 0, table?.version ?? 0] })
    const [answer] = rows as [Said]
    if (!answer.is_replica || answer.lsn === null) return false
    said.lsn = lsnOf(answer.lsn)
    if (table && answer.has_version) said.versions.set(table.id, table.version)
    if (isEnough()) return true
    if (performance.now() >= deadline) return false
    await sleep(1)
  }
  return true
}
