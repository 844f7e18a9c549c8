/**
 * Reads events in their order: by transaction, then by id. Readers stop before the oldest open transaction that writes events, because
 * no event can be added before it any more (docs/decisions/0010-events.md has the proof).
 */

import { type Database, sql } from '../platform/database/database.ts'
import { labelled } from '../platform/database/statements/statement.ts'
import type { EventType } from './log.ts'

export interface EventPosition {
  /** The transaction that wrote the event, or the latest one that had ended by then, whichever is later. */
  xact_id: number
  /** The id of the last event that was read; 0 before the first. */
  id: number
}

export interface StoredEvent extends EventPosition {
  /** `reset`: earlier events may be missing. */
  type: EventType | 'reset'
  /** `YYYY-MM-DD HH:MM:SS`, UTC */
  at: string
  account_id: number
  space_id: number | null
  table_id: number | null
  record_id: number | null
  task_id: number | null
  comment_id: number | null
  audience: number[] | null
}

/** The maximum number of events of one read. */
export const BATCH = 500

export const isAfter = (one: EventPosition, other: EventPosition): boolean =>
  one.xact_id > other.xact_id || (one.xact_id === other.xact_id && one.id > other.id)

/**
 * The transaction before which events can be read: the oldest open one, except those that hold no lock on `events` of this database.
 * A writer takes that lock first and holds it until its end; one that has not taken it yet writes behind the readable events. The locks
 * are read after the snapshot of the statement was taken, and only if there is an open transaction. A transaction that ends releases its
 * locks one by one, so an excepted one must still be open after the locks were read.
 */
const OLDEST = sql`select coalesce(min(x::text::bigint), pg_snapshot_xmax(pg_current_snapshot())::text::bigint) as xact_id
  from pg_snapshot_xip(pg_current_snapshot()) x
  where case when x::xid = any(array(
    select unnest(array_agg(l.transactionid) filter (where l.locktype = 'transactionid' and l.mode = 'ExclusiveLock' and l.granted))
    from pg_locks l group by l.virtualtransaction
    having not coalesce(bool_or(l.relation = 'events'::regclass and l.mode = 'RowExclusiveLock'
      and l.database = (select oid from pg_database where datname = current_database())), false)
  )) then pg_xact_status(x) <> 'in progress' else true end`

/**
 * Reads the next events after a position, and whether an open transaction holds back committed events.
 * @param upTo the position to stop at, which was read before
 */
export async function readEvents(
  db: Database,
  after: EventPosition,
  upTo?: EventPosition,
): Promise<{ events: StoredEvent[]; isHeldBack: boolean }> {
  const end = upTo ? sql`(e.xact_id, e.id) <= (${upTo.xact_id}, ${upTo.id})` : sql`e.xact_id < (select xact_id from oldest)`
  const rows = await db.read<StoredEvent & { is_held_back: boolean; id: number | null }>(
    labelled(
      'events:read',
      sql`with oldest as materialized (${OLDEST})
      select h.is_held_back, e.* from (
        select coalesce((select max(xact_id) from events) >= (select xact_id from oldest), false) as is_held_back
      ) h
      left join lateral (
        select e.id, e.xact_id, e.type, e.at, e.account_id, e.space_id, e.table_id, e.record_id, e.task_id, e.comment_id, e.audience
        from events e where (e.xact_id, e.id) > (${after.xact_id}, ${after.id}) and ${end} order by e.xact_id, e.id limit ${BATCH}
      ) e on true
      order by e.xact_id, e.id`,
    ),
  )
  const events = rows.flatMap(({ is_held_back: _, ...event }) => (event.id === null ? [] : [event]))
  return { events, isHeldBack: rows[0]?.is_held_back ?? false }
}

/** The position of the last event that can be read now. */
export async function lastPosition(db: Database): Promise<EventPosition> {
  const [last] = await db.read<EventPosition>(
    labelled('events:last', sql`select xact_id, id from events where xact_id < (${OLDEST}) order by xact_id desc, id desc limit 1`),
  )
  return last ?? START
}

const START: EventPosition = { xact_id: 0, id: 0 }

/**
 * The position of an event by its id; undefined if it has been deleted, so that later events may be missing, too.
 */
export async function positionOf(db: Database, id: number): Promise<EventPosition | undefined> {
  if (!Number.isSafeInteger(id) || id < 0) return undefined
  const [found] = await db.read<EventPosition>(
    // 0 is the position before the first event. It is valid until that event is deleted.
    labelled(
      'events:position',
      id === 0
        ? sql`select 0 as xact_id, 0 as id where not exists (select 1 from events) or exists (select 1 from events where id = 1)`
        : sql`select xact_id, id from events where id = ${id}`,
    ),
  )
  return found
}
