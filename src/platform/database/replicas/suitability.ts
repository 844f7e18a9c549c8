/** Whether a replica may be read: what it and the primary say of themselves, and the reason against it. */
import { lsnOf, timelineOf } from './wal-position.ts'

/** What the primary says of itself. */
export interface PrimaryRow {
  system_id: string
  /** The file of the log that is being written. */
  wal_file: string
  /** The end of what the disk has, which is sent to replicas. */
  flushed: string
  migrations: number
  last_migration: string | null
}

/** Asked of the primary. */
export const PRIMARY_SQL = `
  select (pg_control_system()).system_identifier::text as system_id, pg_walfile_name(pg_current_wal_insert_lsn()) as wal_file,
    pg_current_wal_flush_lsn()::text as flushed, m.*
  from (select count(*)::int as migrations, max(migration_name) as last_migration from _prisma_migrations
    where finished_at is not null and rolled_back_at is null) m`

/** What a replica says of itself. */
export interface ReplicaRow {
  is_replica: boolean
  system_id: string
  replayed: string | null
  /** `not paused`, `pause requested` or `paused`. */
  pause: string | null
  is_receiving: boolean
  /** Null without the right to read it. */
  receiver_status: string | null
  timeline: number | null
  role: string
  migrations: number
  last_migration: string | null
}

/** Asked of a replica. The functions of recovery fail on a server that is not a replica. */
export const REPLICA_SQL = `
  select pg_is_in_recovery() as is_replica, (pg_control_system()).system_identifier::text as system_id,
    pg_last_wal_replay_lsn()::text as replayed, case when pg_is_in_recovery() then pg_get_wal_replay_pause_state() end as pause,
    r.pid is not null as is_receiving, r.status as receiver_status, r.received_tli as timeline, current_user as role, m.*
  from (select count(*)::int as migrations, max(migration_name) as last_migration from _prisma_migrations
    where finished_at is not null and rolled_back_at is null) m
  left join pg_stat_wal_receiver r on true`

/** The reason not to read from a replica, apart from its lag; undefined if there is none. */
export function obstacleOf(replica: ReplicaRow, primary: PrimaryRow): string | undefined {
  if (replica.system_id !== primary.system_id) return 'it is a replica of another database system'
  if (!replica.is_replica) return 'it is not a replica, or no longer'
  if (replica.pause !== 'not paused') return 'its replay is paused'
  if (!replica.is_receiving) return 'it receives nothing from its primary'
  if (replica.receiver_status === null) return `its role ${replica.role} may not read pg_stat_wal_receiver: grant it pg_read_all_stats`
  if (replica.receiver_status !== 'streaming') return `its connection to the primary is ${replica.receiver_status}`
  const timeline = timelineOf(primary.wal_file)
  if (replica.timeline !== timeline) return `it follows timeline ${replica.timeline}, and the database is on ${timeline}`
  return migrationObstacle(replica, primary)
}

function migrationObstacle(replica: ReplicaRow, primary: PrimaryRow): string | undefined {
  const difference = replica.migrations - primary.migrations
  if (!difference && replica.last_migration === primary.last_migration) return undefined
  return `it is at ${difference < 0 ? 'an earlier' : 'a later'} migration, ${replica.last_migration ?? 'none'}`
}

/** Measures how long ago the primary wrote the oldest part of its log that a replica has not replayed. */
export class LagMeter {
  /** Positions of the primary that the replica has not replayed, with the time when each was seen. */
  readonly #ahead: { lsn: number; at: number }[] = []

  #timeline = 0

  /** Notes how far the primary is. */
  note({ flushed, wal_file }: Pick<PrimaryRow, 'flushed' | 'wal_file'>, at: number): void {
    const [lsn, timeline] = [lsnOf(flushed), timelineOf(wal_file)]
    // A promoted server goes on from an earlier position than the one before may have reached.
    if (timeline !== this.#timeline) this.#ahead.length = 0
    this.#timeline = timeline
    const last = this.#ahead.at(-1)
    if (last && last.lsn >= lsn) return
    this.#ahead.push({ lsn, at })
    // The first gives the lag, so of very many the second is dropped.
    if (this.#ahead.length > MOST_NOTED) this.#ahead.splice(1, 1)
  }

  /** The lag in milliseconds of a replica that has replayed up to here. */
  lagAt(replayed: string, now: number): number {
    const lsn = lsnOf(replayed)
    while (this.#ahead[0] && this.#ahead[0].lsn <= lsn) this.#ahead.shift()
    const [oldest] = this.#ahead
    return oldest ? now - oldest.at : 0
  }
}

const MOST_NOTED = 1_000

/** A replica that was read for this long has recovered. */
const STEADY_MS = 10_000
const [FIRST_MS, LONGEST_MS] = [1_000, 300_000]

/** How long a replica stays aside that comes and goes: longer each time, until it has been read for as long as it last stayed aside. */
export class TimeAside {
  readonly #steadyMs: number
  #ms = 0
  #until = 0
  #readSince = Number.NEGATIVE_INFINITY

  constructor(steadyMs = STEADY_MS) {
    this.#steadyMs = steadyMs
  }

  /** Notes that the replica is put aside. @returns how long it stays there at least; 0 if it did not come and go */
  begin(now: number): number {
    const isSteady = now - this.#readSince >= Math.max(this.#steadyMs, this.#ms)
    this.#ms = isSteady ? 0 : Math.min(LONGEST_MS, Math.max(FIRST_MS, 2 * this.#ms))
    this.#until = now + this.#ms
    return this.#ms
  }

  isOver(now: number): boolean {
    return now >= this.#until
  }

  /** Notes that the replica is read again. */
  end(now: number): void {
    this.#readSince = now
  }
}
