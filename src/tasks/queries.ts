import type { FieldDef } from '../fields/definition.ts'
import { canSee, inReach } from '../notifications/queries.ts'
import type { Actor } from '../platform/access/authorize.ts'
import { type Database, empty, ident, join, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import type { TaskRow } from './procedure.ts'
import type { ReminderFacts } from './reminders/reminder.ts'
import type { RecordTaskQuery, Task, TaskCount, TaskDetail, TaskQuery } from './schema.ts'

/** So many comments come with a task (api.md, Limits). */
const RECENT_COMMENTS = 20

/** The row of the wire, and the version that its ETag tells. @param k alias of a row of tasks */
export const taskColumns = (k: Sql): Sql => sql`${k}.id, ${k}.creator_user_id, ${k}.assignee_user_id, ${k}.account_id, ${k}.space_id,
  ${k}.table_id, ${k}.record_id, ${k}.title, ${k}.details, ${k}.due_date, ${k}.due_time, ${k}.reminder_offset_mins, ${k}.reminder_time,
  ${k}.reminder_at, ${k}.reminder_sent_at, ${k}.status, ${k}.completed_at, ${k}.completed_by_user_id, ${k}.created_at, ${k}.updated_at,
  ${k}.attachments, ${k}.external_id`

type Stored<Row extends Task> = Omit<Row, 'external_id'> & { external_id: string | null }
/** As stored: the row and its version. */
export type StoredTask = Stored<Task> & { version: number }

/** The row of the wire, which ends with attachments for all who give tasks no ids of their own (contract.md §4). */
export function onWire<Row extends { external_id: string | null }>({ external_id, ...row }: Row): OnWire<Row> {
  return external_id === null ? row : { ...row, external_id }
}
type OnWire<Row> = Omit<Row, 'external_id'> & { external_id?: string }

/** The same for a row of a list, without its total. Key by key it takes a tenth of the time of a copy without some keys. */
function listed(row: Stored<Task>): Task {
  const task: Task = {
    id: row.id,
    creator_user_id: row.creator_user_id,
    assignee_user_id: row.assignee_user_id,
    account_id: row.account_id,
    space_id: row.space_id,
    table_id: row.table_id,
    record_id: row.record_id,
    title: row.title,
    details: row.details,
    due_date: row.due_date,
    due_time: row.due_time,
    reminder_offset_mins: row.reminder_offset_mins,
    reminder_time: row.reminder_time,
    reminder_at: row.reminder_at,
    reminder_sent_at: row.reminder_sent_at,
    status: row.status,
    completed_at: row.completed_at,
    completed_by_user_id: row.completed_by_user_id,
    created_at: row.created_at,
    updated_at: row.updated_at,
    attachments: row.attachments,
  }
  if (row.external_id !== null) task.external_id = row.external_id
  return task
}

/**
 * The task with all that belongs to it, in one statement; undefined when it has just been deleted.
 * @param titleField of its table, if it has one
 */
export async function getTask(
  db: Database,
  { userId }: Actor,
  task: TaskRow,
  titleField: FieldDef | undefined,
): Promise<(Stored<TaskDetail> & { version: number }) | undefined> {
  const [row] = await db.lookUp<Stored<TaskDetail> & { version: number }>(
    sql`select ${taskColumns(sql`k`)}, k.version,
      (select count(*)::int from task_comments c where c.task_id = k.id) as comment_count,
      f.subscribers, ${userId} = any(f.subscribers) as subscribed,
      ${task.table_name}::text as table_name, ${recordTitle(task, titleField)} as record_title,
      (select coalesce(json_agg(json_build_object('id', c.id, 'task_id', c.task_id, 'content', c.content, 'user_id', c.user_id,
          'user_name', c.user_name, 'api_key_id', c.api_key_id, 'attachments', c.attachments,
          'created_at', c.created_at::text, 'updated_at', c.updated_at::text) order by c.id desc), '[]')
        from (select * from task_comments c where c.task_id = k.id order by c.id desc limit ${RECENT_COMMENTS}) c) as recent_comments
    from tasks k,
      lateral (select coalesce(array_agg(user_id order by user_id), '{}') as subscribers from task_subscribers where task_id = k.id) f
    where k.id = ${task.task_id}`,
    'tasks:get',
  )
  return row
}

function recordTitle({ table_id, record_id }: TaskRow, field: FieldDef | undefined): Sql {
  if (table_id === null || !field) return sql`null::text`
  return sql`(select r.${ident(field.id)} from ${recordsOf(table_id)} r where r.id = ${record_id})`
}

export interface Page<Row> {
  rows: Row[]
  total: number
}

/** The tasks of one record. */
export async function listOnRecord(
  db: Database,
  tableId: number,
  recordId: number,
  { status, limit, offset }: RecordTaskQuery,
): Promise<Page<Task>> {
  // The tasks of one record are few: all requests can share a connection for them.
  return page(db.lookUp, onRecord(tableId, recordId, status), status === 'open' ? ORDER_OF_OPEN : ORDER, limit, offset)
}

const onRecord = (tableId: number, recordId: number, status: RecordTaskQuery['status']): Sql[] => [
  sql`tasks k where k.table_id = ${tableId} and k.record_id = ${recordId}${status ? sql` and k.status = ${status}` : empty}`,
]

/** Tasks of a user, on records or not, except where they can no longer read. */
export async function listOfUser(db: Database, actor: Actor, { limit, offset, ...query }: TaskQuery): Promise<Page<Task>> {
  return page(db.query, ofUser(actor, query), query.include_done ? ORDER : ORDER_OF_OPEN, limit, offset)
}

type UserQuery = Pick<TaskQuery, 'tab' | 'search' | 'include_done'>

function ofUser(actor: Actor, { tab, search = '', include_done = false }: UserQuery, all = inParts): Sql[] {
  const words = search.split(/\s+/).filter(Boolean)
  // Written out rather than bound: a plan that is made for any value cannot use the indexes on open tasks.
  const shown = join(
    [sql`k.account_id = ${actor.accountId}`, ...(include_done ? [] : [sql`k.status = 'open'`]), ...words.map(hasWord)],
    ' and ',
  )
  return TABS[tab](actor.userId, all).map((part) => sql`${part} and ${shown} and ${inReach(sql`k`, actor)}`)
}

const assignedTo = (userId: number) => sql`tasks k where k.assignee_user_id = ${userId}`
const delegatedBy = (userId: number) => sql`tasks k where k.creator_user_id = ${userId} and k.assignee_user_id <> ${userId}`
// Whoever makes or gets a task follows it: leaving those out by their ids, in the indexes, spares reading nearly all that are followed.
const onlyFollowedBy = (userId: number) => sql`task_subscribers f join tasks k on k.id = f.task_id
  where f.user_id = ${userId} and f.task_id not in (
    select id from tasks where assignee_user_id = ${userId} union all select id from tasks where creator_user_id = ${userId})`

const inParts = (userId: number) => [assignedTo(userId), delegatedBy(userId), onlyFollowedBy(userId)]

// The same for a walk in the order of changes, which stops where the page is full: as one part, because one that finds less than a page
// walks to the end. `offset 0` keeps Postgres from gathering all that is followed before.
const inOneWalk = (userId: number) => [
  sql`tasks k where (k.assignee_user_id = ${userId} or k.creator_user_id = ${userId}
    or exists (select 1 from task_subscribers f where f.task_id = k.id and f.user_id = ${userId} offset 0))`,
]

/** What each tab is put together from: parts that share no task, so that each uses an index of its own. */
const TABS = {
  my: (userId) => [assignedTo(userId)],
  delegated: (userId) => [delegatedBy(userId)],
  all: (userId, all) => all(userId),
} satisfies Record<TaskQuery['tab'], (userId: number, all: (userId: number) => Sql[]) => Sql[]>

// A select of its own is run once a statement; a plan for any word would lower it again for each task.
const hasWord = (word: string): Sql =>
  sql`position((select lower(${word}::text collate pg_c_utf8)) in lower((k.title || ' ' || coalesce(k.details, '')) collate pg_c_utf8)) > 0`

/**
 * One page, and how many there are in all.
 * @param ask on which connection
 * @param parts each a from and a where for tasks `k`; no task is in two of them
 * @param order of rows `k`
 */
async function page(ask: Database['lookUp'], parts: readonly Sql[], order: Sql, limit: number, offset: number): Promise<Page<Task>> {
  const found = sql`(${join(
    parts.map((part) => sql`select ${taskColumns(sql`k`)} from ${part}`),
    ' union all ',
  )}) k`
  const rows = await ask<Stored<Task> & { total: number }>(
    sql`select k.*, count(*) over ()::int as total from ${found} order by ${order} limit ${limit} offset ${offset}`,
    'tasks:list',
  )
  if (rows.length) return { total: rows[0]?.total ?? 0, rows: rows.map(listed) }
  if (limit > 0 && offset === 0) return { total: 0, rows: [] }
  // Beyond the end there is no row that could tell the total.
  const [beyond] = await ask<{ total: number }>(sql`select count(*)::int as total from ${found}`, 'tasks:beyond')
  return { total: beyond?.total ?? 0, rows: [] }
}

/** Open before done, then due, none last; the done ones by when, newest first (contract.md §4). Of one day, tasks without a time come last. */
const ORDER = sql`k.status = 'done', case when k.status = 'open' then k.due_date end nulls last,
  case when k.status = 'open' then k.due_time end nulls last, case when k.status = 'open' then k.id end, k.completed_at desc, k.id desc`
/** The same where all are open, at half the price. */
const ORDER_OF_OPEN = sql`k.due_date nulls last, k.due_time nulls last, k.id`

/** Where tasks are looked for, and the traces of those that were there. */
export interface Watched {
  /** As for `page`. */
  parts: readonly Sql[]
  /** A condition on rows of deleted_tasks, `d`. */
  gone: Sql
}

export const watchedOnRecord = (tableId: number, recordId: number, status: RecordTaskQuery['status']): Watched => ({
  parts: onRecord(tableId, recordId, status),
  gone: sql`d.table_id = ${tableId} and d.record_id = ${recordId}`,
})

/** Of a deleted task its people are told even where they may no longer read: only that it is gone. */
export const watchedByUser = (actor: Actor, query: UserQuery): Watched => ({
  parts: ofUser(actor, query, inOneWalk),
  gone: sql`d.account_id = ${actor.accountId} and ${GONE[query.tab](actor.userId)}`,
})

const GONE = {
  my: (userId) => sql`d.assignee_user_id = ${userId}`,
  delegated: (userId) => sql`d.creator_user_id = ${userId} and d.assignee_user_id <> ${userId}`,
  all: (userId) => sql`(${userId} in (d.assignee_user_id, d.creator_user_id) or ${userId} = any(d.subscriber_ids))`,
} satisfies Record<TaskQuery['tab'], (userId: number) => Sql>

/** A task that changed, or one that is gone, with the instant by which they are in order. */
export type Change = { at: string; is_gone: boolean; id: number } & Omit<Stored<Task>, 'id'>

/** Changes, and how many there are in all where a walk starts: to count them for each page would read all of them for each. */
export interface ChangesPage {
  rows: Change[]
  total?: number
}

/**
 * What changed since the instant, that second included, oldest change first. A page that continues another reads about as many rows
 * as it has, in the order of an index.
 * @param since `YYYY-MM-DD HH:MM:SS`, UTC
 * @param after where the page before ended
 */
export async function listChanges(
  db: Database,
  { parts, gone }: Watched,
  { since, after, limit, offset }: { since: string; after: { at: string; id: number } | null; limit: number; offset: number },
): Promise<ChangesPage> {
  const from = (at: Sql, id: Sql) =>
    after ? sql`(${at}, ${id}) > (${after.at}::timestamp, ${after.id}::int)` : sql`${at} >= ${since}::timestamp`
  const found = [
    ...parts.map((part) => sql`select k.id, k.updated_at as at, false as is_gone from ${part} and ${from(sql`k.updated_at`, sql`k.id`)}`),
    sql`select d.id, d.deleted_at as at, true as is_gone from deleted_tasks d where ${gone} and ${from(sql`d.deleted_at`, sql`d.id`)}`,
  ]
  // No part can give the page more than all of it: each stops there by itself.
  const firsts = found.map((part) => sql`(${part} order by at, id limit ${limit + offset})`)
  const total = after ? sql`null::int` : sql`(select count(*)::int from (${join(found, ' union all ')}) c)`
  const rows = await db.query<Change & { total: number | null; id: number | null }>(
    sql`select n.total, c.at, c.is_gone, ${taskColumns(sql`k`)}, c.id
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
  const [count] = await db.lookUp<TaskCount>(
    sql`select count(*) filter (where status = 'open')::int as open, count(*)::int as total
      from tasks where table_id = ${tableId} and record_id = ${recordId}`,
    'tasks:count',
  )
  return count ?? { open: 0, total: 0 }
}

/** Whether the task's assignee exists and may see it, now. @param task alias of a row of tasks @param user of its assignee's row of users */
export const assigneeSees = (task: Sql, user: Sql): Sql => sql`(${user}.status <> 'deleted' and ${canSee(user, task)})`

/** What the reminder of a task hangs on, with its assignee. */
export interface ReminderRow extends ReminderFacts {
  user_id: number
  name: string
  email: string
  timezone: string
}

/** Undefined when the task has just been deleted. */
export async function getReminder(db: Database, taskId: number): Promise<ReminderRow | undefined> {
  const [row] = await db.query<ReminderRow>(
    sql`select k.reminder_at, k.reminder_sent_at, k.reminder_missed, k.status, u.id as user_id, u.name, u.email, u.timezone,
        ${assigneeSees(sql`k`, sql`u`)} as can_see
      from tasks k join users u on u.id = k.assignee_user_id where k.id = ${taskId}`,
    'tasks:reminder',
  )
  return row
}
