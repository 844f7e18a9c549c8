/**
 * Writes the events of live tables (contract.md §10, Live tables): what has changed in a table, by ids. Only streams that name the table
 * hear of them. All others, those of the previous release included, find that their audience is nobody.
 */
import { type Database, type Sql, sql } from '../platform/database/database.ts'
import { constant, type Given, timestamp } from '../platform/database/prepare.ts'
import type { TableEventType } from './log.ts'

export interface TableEvent {
  type: TableEventType
  account_id: number
  space_id: number
  /** Absent in `members.changed`. */
  table_id?: number
  record_id?: number
  view_id?: number
  /** Null for the service itself. */
  user_id?: number | null
  change_id?: number
  /** Of how many records a change is. */
  count?: number
  /** The ids of the fields that became different. */
  fields?: readonly string[] | undefined
}

/** A table, as far as events name it. */
export interface TableOfEvents {
  id: number
  account_id: number
  space_id: number
}

export const placeOf = ({ id, account_id, space_id }: TableOfEvents) => ({ account_id, space_id, table_id: id })

const COLUMNS = sql`type, account_id, space_id, table_id, record_id, view_id, user_id, change_id, count, fields, audience, at`

const COLUMN_TYPES = sql`type text, account_id int, space_id int, table_id int, record_id int, view_id int, user_id int, change_id bigint,
  count int, fields text[]`

/** The statement that writes the events, for a transaction on another connection. */
export const writingTableEvents = (events: readonly TableEvent[], now: Given<Date>): Sql => sql`
  insert into events (${COLUMNS})
  select e.*, '{}', ${timestamp(now)} from jsonb_to_recordset(${JSON.stringify(events)}::jsonb) as e (${COLUMN_TYPES})`

interface Telling {
  db: Database
  now: Date
}

/** Writes the events right before the commit, because all streams wait for an open transaction that has written events. */
export async function tellTables({ db, now }: Telling, events: readonly TableEvent[]): Promise<void> {
  if (events.length) await db.writeLast(writingTableEvents(events, now))
}

/** Tells of every table of a space that is not deleted. */
export async function tellAllTables(context: Telling, spaceId: number, type: TableEventType & `table.${string}`): Promise<void> {
  const tables = await context.db.read<TableOfEvents>(sql`
    select id, account_id, space_id from tables where space_id = ${spaceId} and deleted_at is null order by id`)
  const events = tables.map((table) => ({ ...placeOf(table), type }))
  await tellTables(context, events)
}

/** Tells of spaces that their lists of members are others. */
export const tellMembers = (context: Telling, accountId: number, spaceIds: readonly number[]): Promise<void> =>
  tellTables(
    context,
    spaceIds.map((space_id) => ({ type: 'members.changed', account_id: accountId, space_id })),
  )

/** The same of every space that has the user among its members, because they are listed differently. */
export async function tellSpacesOf(context: Telling, { id, account_id }: { id: number; account_id: number }): Promise<void> {
  const spaces = await context.db.read<{ id: number }>(sql`
    select s.id from spaces s where s.account_id = ${account_id} and s.deleted_at is null and (
      exists (select from space_members m where m.space_id = s.id and m.user_id = ${id})
      or exists (select from accounts a where a.id = s.account_id and a.owner_user_id = ${id}))
    order by s.id`)
  await tellMembers(
    context,
    account_id,
    spaces.map((space) => space.id),
  )
}

/** What the event of one record is made of, as SQL. */
export interface RecordEventSql {
  type: TableEventType & `record.${string}`
  recordId: Sql
  userId: Sql
  changeId: Sql
  fields?: Sql
  at: Sql
  /** The rows of which each gets an event. */
  from: Sql
}

/** The statement that writes the event of a record, for a CTE of the statement that writes the record. */
export const emittingRecord = (
  { id, account_id, space_id }: TableOfEvents,
  { type, recordId, userId, changeId, fields = sql`null::text[]`, at, from }: RecordEventSql,
): Sql => sql`
  insert into events (${COLUMNS})
  select ${constant(type)}, ${constant(account_id)}, ${constant(space_id)}, ${constant(id)}, ${recordId}, null::int, ${userId}, ${changeId},
    null::int, ${fields}, '{}'::int[], ${at} from ${from}`
