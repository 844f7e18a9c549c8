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
  /** The users who may see it, if its place does not tell. Empty: it is of a live table, and has the ids that follow. */
  audience: number[] | null
  /** Who made the change; null for the service itself. */
  user_id: number | null
  change_id: number | null
  /** Of how many records the change is; null for one record. */
  count: number | null
  /** The ids of the fields that became different, of `record.updated`. */
  fields: string[] | null
  view_id: number | null
}

/** The maximum number of events of one read. */
const BATCH = 500

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

/** The maximum number of events that one read looks at, most of which may be of tables that are not asked for. */
const SCANNED = 10 * BATCH

export interface EventPage {
  events: StoredEvent[]
  /** The position up to which all events are known. */
  end: EventPosition
  /** Whether more events may follow at once. */
  isFull: boolean
  /** Whether an open transaction holds back committed events. */
  isHeldBack: boolean
}

interface PageRow {
  is_held_back: boolean
  scanned: number
  end_xact_id: number | null
  end_id: number | null
}

/**
 * Reads the next events after a position.
 * @param upTo the position to stop at, which was read before
 * @param tableIds the live tables whose events are wanted, too
 */
export async function readEvents(
  db: Database,
  after: EventPosition,
  { upTo, tableIds = [] }: { upTo?: EventPosition; tableIds?: readonly number[] } = {},
): Promise<EventPage> {
  const isBeforeEnd = upTo ? sql`(e.xact_id, e.id) <= (${upTo.xact_id}, ${upTo.id})` : sql`e.xact_id < (select xact_id from oldest)`
  const rows = await db.read<StoredEvent & PageRow & { id: number | null }>(
    labelled(
      'events:read',
      sql`with oldest as materialized (${OLDEST}), scanned as materialized (
        select e.id, e.xact_id, e.type, e.at, e.account_id, e.space_id, e.table_id, e.record_id, e.task_id, e.comment_id, e.audience,
          e.user_id, e.change_id, e.count, e.fields, e.view_id
        from events e where (e.xact_id, e.id) > (${after.xact_id}, ${after.id}) and ${isBeforeEnd} order by e.xact_id, e.id limit ${SCANNED}
      )
      select h.*, e.* from (
        select coalesce((select max(xact_id) from events) >= (select xact_id from oldest), false) as is_held_back,
          (select count(*)::int from scanned) as scanned, l.xact_id as end_xact_id, l.id as end_id
        from (values (1)) as one left join lateral (select xact_id, id from scanned order by xact_id desc, id desc limit 1) l on true
      ) h
      left join lateral (
        select * from scanned s
        where s.audience is distinct from '{}' or s.table_id = any(${tableIds}::int[]) or (s.table_id is null and ${tableIds.length > 0})
        order by s.xact_id, s.id limit ${BATCH}
      ) e on true
      order by e.xact_id, e.id`,
    ),
  )
  const { is_held_back, scanned = 0, end_xact_id, end_id } = rows[0] ?? {}
  const events = rows.flatMap(({ is_held_back: _, scanned: __, end_xact_id: ___, end_id: ____, ...event }) =>
    event.id === null ? [] : [event],
  )
  const last = events.length === BATCH ? events.at(-1) : undefined
  const read = end_id && end_xact_id ? { xact_id: end_xact_id, id: end_id } : after
  return { events, end: last ?? read, isFull: last !== undefined || scanned === SCANNED, isHeldBack: is_held_back ?? false }
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
