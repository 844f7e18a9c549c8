/**
 * Events in the one order that everybody reads them in: by transaction, then id. Only what was written by transactions older than any
 * under way is read, because of those nothing can come in between any more (docs/decisions/0010-events.md).
 */
import { type Database, sql } from './db.ts'
import type { EventType } from './events.ts'

export interface Position {
  xact_id: number
  /** Of the last event that was read; 0 before the first. */
  id: number
}

export interface StoredEvent extends Position {
  /** `reset`: what came before it may be incomplete. */
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

/** How many events are read at a time. */
export const BATCH = 500

export const isAfter = (one: Position, other: Position): boolean =>
  one.xact_id > other.xact_id || (one.xact_id === other.xact_id && one.id > other.id)

/**
 * The application_name of a transaction that takes long and writes no events, set before it writes anything: nobody waits for it.
 * `select set_config('application_name', …, true)`
 */
export const WITHOUT_EVENTS = 'gridpost without events'

/** The oldest transaction under way that may write events; of those before it, all have ended. backend_xid has the lower half of an id. */
const OLDEST = sql`(
  select coalesce(min(x::text::bigint), pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
  from pg_snapshot_xip(pg_current_snapshot()) x
  where not exists (
    select from pg_stat_activity a
    where a.application_name = ${WITHOUT_EVENTS} and a.backend_xid::text::bigint = x::text::bigint & 4294967295))`

/**
 * The next events after a position, and whether there are some that are committed but held back by an older transaction.
 * @param upTo where to stop, a position that was read before
 */
export async function readEvents(db: Database, after: Position, upTo?: Position): Promise<{ events: StoredEvent[]; isHeldBack: boolean }> {
  const end = upTo ? sql`(e.xact_id, e.id) <= (${upTo.xact_id}, ${upTo.id})` : sql`e.xact_id < ${OLDEST}`
  const rows = await db.query<StoredEvent & { is_held_back: boolean; id: number | null }>(
    sql`select h.is_held_back, e.* from (select coalesce((select max(xact_id) from events) >= ${OLDEST}, false) as is_held_back) h
      left join lateral (
        select e.id, e.xact_id, e.type, e.at, e.account_id, e.space_id, e.table_id, e.record_id, e.task_id, e.comment_id, e.audience
        from events e where (e.xact_id, e.id) > (${after.xact_id}, ${after.id}) and ${end} order by e.xact_id, e.id limit ${BATCH}
      ) e on true
      order by e.xact_id, e.id`,
    'events:read',
  )
  const events = rows.flatMap(({ is_held_back: _, ...event }) => (event.id === null ? [] : [event]))
  return { events, isHeldBack: rows[0]?.is_held_back ?? false }
}

/** Where the events end that can be read now. */
export async function lastPosition(db: Database): Promise<Position> {
  const [last] = await db.query<Position>(
    sql`select xact_id, id from events where xact_id < ${OLDEST} order by xact_id desc, id desc limit 1`,
    'events:last',
  )
  return last ?? START
}

const START: Position = { xact_id: 0, id: 0 }

/** The position of an event that was sent before. Undefined when it is not kept any more, so that what came after it may be gone, too. */
export async function positionOf(db: Database, id: number): Promise<Position | undefined> {
  if (!Number.isSafeInteger(id) || id < 0) return undefined
  const [found] = await db.query<Position>(
    // 0 was given out when there was no event yet: it is good as long as the very first one is kept.
    id === 0
      ? sql`select 0 as xact_id, 0 as id where not exists (select 1 from events) or exists (select 1 from events where id = 1)`
      : sql`select xact_id, id from events where id = ${id} and xact_id < ${OLDEST}`,
    'events:position',
  )
  return found
}
