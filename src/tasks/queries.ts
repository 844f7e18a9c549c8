import { canSee, inReach } from '../notifications/queries.ts'
import type { Actor } from '../platform/access/authenticate.ts'
import { readAhead } from '../platform/access/read-ahead.ts'
import { BoundedMap } from '../platform/bounded-map.ts'
import { type Database, empty, join, type Sql, sql } from '../platform/database/database.ts'
import { RecordPath } from '../platform/http/schemas.ts'
import { WrittenList } from '../platform/http/written-json.ts'
import { memo } from '../platform/memo.ts'
import type { ReminderFacts } from './reminders/reminder.ts'
import { RecordTaskQuery, Task, type TaskCount, TaskQuery } from './schema.ts'
import { writeTasks } from './task-json.ts'

/** The columns on the wire. @param k alias of a row of tasks @param first another name for the first of them, the id */
export const taskColumns = (
  k: Sql,
  first = sql`id`,
): Sql => sql`${k}.id as ${first}, ${k}.creator_user_id, ${k}.assignee_user_id, ${k}.account_id, ${k}.space_id,
  ${k}.table_id, ${k}.record_id, ${k}.title, ${k}.details, ${k}.due_date, ${k}.due_time, ${k}.reminder_offset_mins, ${k}.reminder_time,
  ${k}.reminder_at, ${k}.reminder_sent_at, ${k}.status, ${k}.completed_at, ${k}.completed_by_user_id, ${k}.created_at, ${k}.updated_at,
  ${k}.attachments, ${k}.external_id`

/** A row without what only the wire has. */
export type Stored<Row extends Task> = Omit<Row, 'external_id'> & { external_id: string | null }
/** A stored row with its version. */
export type StoredTask = Stored<Task> & { version: number }

/** The task on the wire, without an external_id that is null (contract.md §4). */
export function onWire<Row extends { external_id: string | null }>({ external_id, ...row }: Row): OnWire<Row> {
  return external_id === null ? row : { ...row, external_id }
}
type OnWire<Row> = Omit<Row, 'external_id'> & { external_id?: string }

/** The tasks of one record. */
export async function listOnRecord(
  db: Database,
  tableId: number,
  recordId: number,
  { status, limit, offset }: RecordTaskQuery,
): Promise<WrittenList<Task>> {
  // A record has few tasks, so this is a short read.
  const order = status === 'open' ? ORDER_OF_OPEN : ORDER
  const { list } = await page(db.readShortPrinted, onRecord(tableId, recordId, status), order, limit, offset)
  return list
}

const onRecord = (tableId: number, recordId: number, status: RecordTaskQuery['status']): Sql[] => [
  sql`tasks k where k.table_id = ${tableId} and k.record_id = ${recordId}${status ? sql` and k.status = ${status}` : empty}`,
]

/** The tasks of a user, on records and standalone, without those in spaces that the user can no longer read. */
export async function listOfUser(db: Database, reach: TaskReader, { limit, offset, ...query }: TaskQuery): Promise<WrittenList<Task>> {
  const known = shortTab(db, reach, query)
  const ask = known ? db.readShortPrinted : db.queryPrinted
  const { list, size } = await page(ask, ofUser(reach, query), query.include_done ? ORDER : ORDER_OF_OPEN, limit, offset)
  if (!query.search) noteSize(db, reach, query, size)
  else if (known && ++known.searches % SEARCHES_BETWEEN === 0)
    noteSize(db, reach, query, await sizeOf(db.queryPrinted, ofUser(reach, { ...query, search: '' })))
  return list
}

/** A page with the total reads all tasks of its tab, which takes less than a millisecond up to this number. */
const SHORT = 500
/** Each word of a search is looked for in all their titles and details, which takes 2 ms for so many bytes. */
const SHORT_BYTES = 100_000
const MOST_WORDS = 3
/** After so many searches a tab is measured again, because it may have grown since it was listed. */
const SEARCHES_BETWEEN = 50
const MOST_NOTED = 10_000
/** The tabs of users that were short when they were last measured, with the searches in them since then. */
const shortTabs = memo((_: Database) => new BoundedMap<string, { searches: number }>(MOST_NOTED))
const tabName = ({ userId }: TaskReader, { tab, include_done }: UserQuery) => `${userId} ${tab} ${include_done === true}`

/** The tab, if a page of it is a short read, as far as this process knows. The tab "all" never is: it looks for the user among followers. */
const shortTab = (db: Database, reach: TaskReader, query: UserQuery): { searches: number } | undefined =>
  query.tab !== 'all' && wordsOf(query).length <= MOST_WORDS ? shortTabs(db).get(tabName(reach, query)) : undefined

function noteSize(db: Database, reach: TaskReader, query: UserQuery, { total, textBytes }: Size): void {
  if (total > SHORT || textBytes > SHORT_BYTES) shortTabs(db).delete(tabName(reach, query))
  else shortTabs(db).set(tabName(reach, query), { searches: 0 })
}

/** Lists of changed tasks may be long, and a cursor without `updated_since` is refused. */
const isPlainPage = ({ updated_since, cursor }: Pick<TaskQuery, 'updated_since' | 'cursor'>) => updated_since == null && cursor == null

/** The tasks of a record, read together with the access check (docs/decisions/0031-reads-ahead.md). */
export const tasksOfRecord = readAhead(RecordTaskQuery.extend(RecordPath.shape), (db, _, query) =>
  isPlainPage(query) ? listOnRecord(db, query.table_id, query.record_id, query) : undefined,
)

/** As above, for a short tab of the caller. */
export const tasksOfCaller = readAhead(TaskQuery, (db, caller, query) =>
  isPlainPage(query) && shortTab(db, caller, query) ? listOfUser(db, caller, query) : undefined,
)

type UserQuery = Pick<TaskQuery, 'tab' | 'search' | 'include_done'>
/** What decides which tasks a user may read. */
type TaskReader = Pick<Actor, 'accountId' | 'userId' | 'isOwner'>

const wordsOf = ({ search = '' }: UserQuery): string[] => search.split(/\s+/).filter(Boolean)

function ofUser(reach: TaskReader, query: UserQuery, all = inParts): Sql[] {
  const { tab, include_done = false } = query
  // A literal, not a bound value: a generic plan could not use the partial indexes on open tasks.
  const shown = join(
    [sql`k.account_id = ${reach.accountId}`, ...(include_done ? [] : [sql`k.status = 'open'`]), ...wordsOf(query).map(hasWord)],
    ' and ',
  )
  return TABS[tab](reach.userId, all).map((part) => sql`${part} and ${shown} and ${inReach(sql`k`, reach)}`)
}

const assignedTo = (userId: number) => sql`tasks k where k.assignee_user_id = ${userId}`
const delegatedBy = (userId: number) => sql`tasks k where k.creator_user_id = ${userId} and k.assignee_user_id <> ${userId}`
// Creators and assignees follow their tasks. Excluding those by id, from the indexes, avoids reading nearly all followed tasks.
const onlyFollowedBy = (userId: number) => sql`task_subscribers f join tasks k on k.id = f.task_id
  where f.user_id = ${userId} and f.task_id not in (
    select id from tasks where assignee_user_id = ${userId} union all select id from tasks where creator_user_id = ${userId})`

const inParts = (userId: number) => [assignedTo(userId), delegatedBy(userId), onlyFollowedBy(userId)]

// The same tasks for a scan in the order of changes, which stops when the page is full. It is one part, because a part with less than a
// page would be scanned to its end. `offset 0` keeps PostgreSQL from collecting all followed tasks first.
const inOneWalk = (userId: number) => [
  sql`tasks k where (k.assignee_user_id = ${userId} or k.creator_user_id = ${userId}
    or exists (select 1 from task_subscribers f where f.task_id = k.id and f.user_id = ${userId} offset 0))`,
]

/** The parts of each tab. No task is in two parts, and each part uses its own index. */
const TABS = {
  my: (userId) => [assignedTo(userId)],
  delegated: (userId) => [delegatedBy(userId)],
  all: (userId, all) => all(userId),
} satisfies Record<TaskQuery['tab'], (userId: number, all: (userId: number) => Sql[]) => Sql[]>

// A scalar subquery runs once per statement; inline, a generic plan would lower the word again for each task.
const hasWord = (word: string): Sql =>
  sql`position((select lower(${word}::text collate pg_c_utf8)) in lower((k.title || ' ' || coalesce(k.details, '')) collate pg_c_utf8)) > 0`

interface Size {
  /** The number of tasks on all pages. */
  total: number
  /** The bytes of their titles and details. */
  textBytes: number
}

/**
 * One page, and the size of all pages together.
 * @param ask the method of the database to use
 * @param parts each has a `from` and a `where` for tasks `k`; no task is in two parts
 * @param order of rows `k`
 */
async function page(
  ask: Database['readShortPrinted'],
  parts: readonly Sql[],
  order: Sql,
  limit: number,
  offset: number,
): Promise<{ list: WrittenList<Task>; size: Size }> {
  const rows = await ask(
    sql`select k.*, count(*) over () as total, ${TEXT_BYTES} over () as text_bytes
      from ${found(parts)} order by ${order} limit ${limit} offset ${offset}`,
    'tasks:list',
  )
  // A page beyond the end has no row with the total.
  if (!rows.length && (limit <= 0 || offset !== 0)) {
    const size = await sizeOf(ask, parts)
    return { list: new WrittenList('[]', { total: size.total }), size }
  }
  const list = writeTasks(rows)
  return { list, size: { total: list.total ?? 0, textBytes: rows.length && Number(rows.textOf(0, COLUMNS + 1)) } }
}

/** @param ask and @param parts as for `page` */
async function sizeOf(ask: Database['readShortPrinted'], parts: readonly Sql[]): Promise<Size> {
  const rows = await ask(sql`select count(*), coalesce(${TEXT_BYTES}, 0) from ${found(parts)}`, 'tasks:size')
  return { total: Number(rows.textOf(0, 0)), textBytes: Number(rows.textOf(0, 1)) }
}

const found = (parts: readonly Sql[]): Sql =>
  sql`(${join(
    parts.map((part) => sql`select ${LISTED} from ${part}`),
    ' union all ',
  )}) k`

const LISTED = taskColumns(sql`k`)
const COLUMNS = Object.keys(Task.shape).length
/** PostgreSQL knows the size of a text that it keeps apart and compressed without reading it. */
const TEXT_BYTES = sql`sum(octet_length(k.title) + coalesce(octet_length(k.details), 0))`

/** Open tasks by due date and time, tasks without one last; then done tasks, the latest completion first (contract.md §4). */
const ORDER = sql`k.status = 'done', case when k.status = 'open' then k.due_date end nulls last,
  case when k.status = 'open' then k.due_time end nulls last, case when k.status = 'open' then k.id end, k.completed_at desc, k.id desc`
/** The same order for open tasks only, at half the cost. */
const ORDER_OF_OPEN = sql`k.due_date nulls last, k.due_time nulls last, k.id`

/** The tasks of a list with `updated_since`, and their tombstones. */
export interface ChangeSource {
  /** As for `page`. */
  parts: readonly Sql[]
  /** A condition on rows of deleted_tasks, `d`. */
  tombstones: Sql
}

export const watchedOnRecord = (tableId: number, recordId: number, status: RecordTaskQuery['status']): ChangeSource => ({
  parts: onRecord(tableId, recordId, status),
  tombstones: sql`d.table_id = ${tableId} and d.record_id = ${recordId}`,
})

/** A deleted task is listed even for users who may no longer read its space, because only its id is shown. */
export const watchedByUser = (actor: Actor, query: UserQuery): ChangeSource => ({
  parts: ofUser(actor, query, inOneWalk),
  tombstones: sql`d.account_id = ${actor.accountId} and ${TOMBSTONES[query.tab](actor.userId)}`,
})

const TOMBSTONES = {
  my: (userId) => sql`d.assignee_user_id = ${userId}`,
  delegated: (userId) => sql`d.creator_user_id = ${userId} and d.assignee_user_id <> ${userId}`,
  all: (userId) => sql`(${userId} in (d.assignee_user_id, d.creator_user_id) or ${userId} = any(d.subscriber_ids))`,
} satisfies Record<TaskQuery['tab'], (userId: number) => Sql>

/** A changed or deleted task, with the instant of the change. */
export type ChangedTask = { at: string; is_deleted: boolean; id: number } & Omit<Stored<Task>, 'id'>

/** A page of changed tasks. Only the first page has a total, because counting reads all changes. */
export interface ChangesPage {
  rows: ChangedTask[]
  total?: number
}

/**
 * The tasks that have changed since the instant, that second included, oldest change first. A page that continues another reads little
 * more than its own rows, in the order of an index.
 * @param since `YYYY-MM-DD HH:MM:SS`, UTC
 * @param after the last row of the previous page
 */
export async function listChanges(
  db: Database,
  { parts, tombstones }: ChangeSource,
  { since, after, limit, offset }: { since: string; after: { at: string; id: number } | null; limit: number; offset: number },
): Promise<ChangesPage> {
  const from = (at: Sql, id: Sql) =>
    after ? sql`(${at}, ${id}) > (${after.at}::timestamp, ${after.id}::int)` : sql`${at} >= ${since}::timestamp`
  const found = [
    ...parts.map(
      (part) => sql`select k.id, k.updated_at as at, false as is_deleted from ${part} and ${from(sql`k.updated_at`, sql`k.id`)}`,
    ),
    sql`select d.id, d.deleted_at as at, true as is_deleted from deleted_tasks d where ${tombstones} and ${from(sql`d.deleted_at`, sql`d.id`)}`,
  ]
  // Each part is limited to the size of the page, so that its scan stops early.
  const firsts = found.map((part) => sql`(${part} order by at, id limit ${limit + offset})`)
  const total = after ? sql`null::int` : sql`(select count(*)::int from (${join(found, ' union all ')}) c)`
  const rows = await db.query<ChangedTask & { total: number | null; id: number | null }>(
    sql`select n.total, c.at, c.is_deleted, ${taskColumns(sql`k`)}, c.id
      from (select ${total} as total) n
      left join lateral (
        select * from (${join(firsts, ' union all ')}) c order by c.at, c.id limit ${limit} offset ${offset}
      ) c on true
      left join tasks k on k.id = c.id
      order by c.at, c.id`,
    'tasks:changes',
  )
  const counted = rows[0]?.total ?? null
  return {
    rows: rows.flatMap(({ total: _, ...row }) => (row.id === null ? [] : [row])),
    ...(counted !== null && { total: counted }),
  }
}

export async function countOnRecord(db: Database, tableId: number, recordId: number): Promise<TaskCount> {
  const [count] = await db.readShort<TaskCount>(
    sql`select count(*) filter (where status = 'open')::int as open, count(*)::int as total
      from tasks where table_id = ${tableId} and record_id = ${recordId}`,
    'tasks:count',
  )
  return count ?? { open: 0, total: 0 }
}

/** True while the assignee exists and may read the task. @param task alias of a row of tasks @param user alias of the assignee's row of users */
export const assigneeSees = (task: Sql, user: Sql): Sql => sql`(${user}.status <> 'deleted' and ${canSee(user, task)})`

/** The facts about a task's reminder, and its assignee. */
export interface ReminderRow extends ReminderFacts {
  user_id: number
  name: string
  email: string
  timezone: string
}

/** Returns undefined when the task has just been deleted. */
export async function getReminder(db: Database, taskId: number): Promise<ReminderRow | undefined> {
  const [row] = await db.query<ReminderRow>(
    sql`select k.reminder_at, k.reminder_sent_at, k.reminder_missed, k.status, u.id as user_id, u.name, u.email, u.timezone,
        ${assigneeSees(sql`k`, sql`u`)} as can_see
      from tasks k join users u on u.id = k.assignee_user_id where k.id = ${taskId}`,
    'tasks:reminder',
  )
  return row
}
