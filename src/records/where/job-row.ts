/** Reads and writes the rows of changes of many records that jobs make: which records, and how far they are. */
import type { Context } from '../../platform/context.ts'
import { type Database, sql } from '../../platform/database/database.ts'
import { conflict } from '../../platform/errors.ts'
import { formatInstant } from '../../platform/time/time.ts'
import type { KeptConditions } from '../query/resolve.ts'

export interface BulkChange {
  id: number
  account_id: number
  space_id: number
  table_id: number
  kind: 'update' | 'delete' | 'undo'
  change_id: number
  /** The change that an undo takes back. */
  undoes: number | null
  /** Null for an undo. */
  conditions: KeptConditions | null
  /** The values of an update, by field id. */
  data: Record<string, unknown> | null
  user_id: number | null
  api_key_id: number | null
  ip: string | null
  time_zone: string
  /** The time of the request. */
  created_at: string
  attempts: number
}

type NewBulkChange = Omit<BulkChange, 'id' | 'created_at' | 'attempts'> & { record_ids: readonly number[] }

/** A record, or a field of it, that was left as it is. */
export interface Skip {
  record_id: number
  /** Null for the whole record. */
  field: string | null
  reason: string
}

/** How a change ended that has not come to its end. What is changed stays. */
export interface BulkChangeEnd {
  state: 'failed' | 'cancelled'
  error: string
}

/** The most unfinished changes of an account. Each keeps the ids of up to 100,000 records. */
const MOST_UNFINISHED = 20
/** The first half of an advisory lock; the second is the id of the account. */
const BULK_CHANGES = 0x62756c

/**
 * Inserts the row, in the transaction that sends the job.
 * @returns its id, and how many unfinished changes the account has beside it; undefined if the undo of the same change is unfinished
 * @throws AppError 409 when the account has too many
 */
export async function insertBulkChange({ db, now }: Context, row: NewBulkChange): Promise<{ id: number; others: number } | undefined> {
  // Requests at the same time count one after the other.
  await db.write(sql`select pg_advisory_xact_lock(${BULK_CHANGES}::int, ${row.account_id}::int)`)
  const [found] = await db.read<{ n: number }>(
    sql`select count(*) as n from bulk_changes where account_id = ${row.account_id} and state = 'running'`,
  )
  const others = found?.n ?? 0
  if (others >= MOST_UNFINISHED)
    throw conflict(`The account has ${MOST_UNFINISHED} unfinished changes of many records; wait for one of them`)
  const at = sql`${formatInstant(now)}::timestamp`
  const [inserted] = await db.write<{ id: number }>(sql`
    insert into bulk_changes (id, account_id, space_id, table_id, kind, change_id, undoes, conditions, data, record_ids, total,
      user_id, api_key_id, ip, time_zone, created_at, updated_at)
    select nextval(pg_get_serial_sequence('field_conversions', 'id')), ${row.account_id}::int, ${row.space_id}::int, ${row.table_id}::int,
      ${row.kind}::text, ${row.change_id}::bigint, ${row.undoes}::bigint, ${row.conditions && JSON.stringify(row.conditions)}::jsonb,
      ${row.data && JSON.stringify(row.data)}::jsonb,
      ${row.record_ids}::int[], ${row.record_ids.length}::int,
      ${row.user_id}::int, ${row.api_key_id}::int, ${row.ip}::text, ${row.time_zone}::text, ${at}, ${at}
    on conflict (table_id, undoes) where state = 'running' do nothing
    returning id`)
  return inserted && { id: inserted.id, others }
}

/** True while a job makes the change. */
export async function isChanging(db: Database, accountId: number, changeId: number): Promise<boolean> {
  const running = await db.read(sql`
    select from bulk_changes where account_id = ${accountId} and state = 'running' and change_id = ${changeId}::bigint`)
  return running.length > 0
}

/** Begins another attempt. @returns undefined if the change has ended */
export async function claimBulkChange(db: Database, id: number): Promise<BulkChange | undefined> {
  const [row] = await db.write<BulkChange>(sql`
    update bulk_changes set attempts = attempts + 1, updated_at = now() where id = ${id} and state = 'running'
    returning id, account_id, space_id, table_id, kind, change_id, undoes, conditions, data, user_id, api_key_id, ip, time_zone,
      created_at::text as created_at, attempts`)
  return row
}

/** The next records of a change. */
export interface Batch {
  ids: number[]
  /** How many skipped records the row names already. */
  named: number
}

/** Locks the row until the transaction ends: two workers take turns, and a cancellation waits. @returns undefined if it has ended */
export async function lockBatch(db: Database, id: number, size: number): Promise<Batch | undefined> {
  const [batch] = await db.read<Batch>(sql`
    select record_ids[done + 1 : done + ${size}::int] as ids, jsonb_array_length(skips) as named
    from bulk_changes where id = ${id} and state = 'running' for update`)
  return batch
}

/** What was done with a batch. */
export interface BatchOutcome {
  done: number
  changed: number
  skips: readonly Skip[]
}

/** The most skipped records that a row names. */
const MOST_NAMED = 100

/** Stores the progress in the transaction of the batch, which ends the change with its last record. @returns false if it has ended */
export async function storeBatch(db: Database, id: number, { named }: Batch, { done, changed, skips }: BatchOutcome): Promise<boolean> {
  const [row] = await db.write<{ is_over: boolean }>(sql`
    update bulk_changes set done = done + ${done}, changed = changed + ${changed}, skipped = skipped + ${skips.length},
      skips = skips || ${JSON.stringify(skips.slice(0, MOST_NAMED - named))}::jsonb, attempts = 1, updated_at = now()
    where id = ${id} returning done >= total as is_over`)
  if (!row?.is_over) return true
  await db.write(sql`update bulk_changes set state = 'done', ${FORGETTING} where id = ${id}`)
  return false
}

/** What a change no longer needs once it has ended. */
const FORGETTING = sql`conditions = null, data = null, record_ids = '{}', updated_at = now()`

/** @returns false if the change has ended before */
export async function endBulkChange(db: Database, id: number, { state, error }: BulkChangeEnd): Promise<boolean> {
  const { changed } = await db.write(sql`
    update bulk_changes set state = ${state}, error = ${error}, ${FORGETTING} where id = ${id} and state = 'running'`)
  return changed > 0
}

const KEPT_DAYS = 30
/** A change without progress for this long is lost, because a running job stores its progress far more often. */
const IDLE_MINUTES = 10

/** Deletes the rows of changes that ended long ago. @returns the ids of those whose job may be lost */
export async function idleBulkChanges({ db, now }: Context): Promise<number[]> {
  const before = (ms: number) => sql`${formatInstant(new Date(now.getTime() - ms))}::timestamp`
  await db.write(sql`delete from bulk_changes where state <> 'running' and updated_at < ${before(KEPT_DAYS * 86_400_000)}`)
  const idle = await db.read<{ id: number }>(sql`
    select id from bulk_changes where state = 'running' and updated_at < ${before(IDLE_MINUTES * 60_000)} order by id`)
  return idle.map(({ id }) => id)
}
