import { taskInReach } from '../../notifications/queries.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Context } from '../../platform/context.ts'
import { type Database, empty, join, type Sql, sql } from '../../platform/database/database.ts'
import { labelled, type Statement, shortRead } from '../../platform/database/statements/statement.ts'
import { listWriter, type WriteList } from '../../platform/http/answers/row-json.ts'
import { WrittenList } from '../../platform/http/answers/written-json.ts'
import { type ChangeSource, TASK_COLUMNS } from '../queries.ts'
import { type Task, taskColumns } from '../schema.ts'
import { CONTEXT_COLUMNS, JOIN_TABLE, titlesAt, writeInContext } from './context.ts'
import type { RecordTaskQuery, TaskQuery } from './schema.ts'
import { conditionsOf, searchOf } from './search.ts'

export type UserQuery = Pick<TaskQuery, 'tab' | 'search' | 'include_done'>
/** What decides which tasks a user may read. */
export type TaskReader = Pick<Actor, 'accountId' | 'userId' | 'isOwner'>

const writeTasks = listWriter<Task>(taskColumns)

/** The tasks of one record. */
export async function listOnRecord(
  context: Pick<Context, 'db'>,
  tableId: number,
  recordId: number,
  { status, ...shown }: Pick<RecordTaskQuery, 'status' | 'include'> & Window,
): Promise<WrittenList<Task>> {
  const parts = onRecord(tableId, recordId, status)
  const order = status === 'open' ? ORDER_OF_OPEN : ORDER
  const statement = pageCountedApart(parts[0], order, shown)
  // A record has few tasks, so this is a short read. Only a page with a higher limit than usual can exceed 32 MB.
  const how: How = shown.limit > SHORT_PAGE ? labelled : shortRead
  return page(context, how, { statement, parts, order, ...shown })
}

/** As many tasks as a page has by default. With the longest details they have 15 MB. */
const SHORT_PAGE = 50

/** The tasks of a record, as a part for `pageOf`. */
export const onRecord = (tableId: number, recordId: number, status: RecordTaskQuery['status']): [Sql] => [
  sql`tasks k where k.table_id = ${tableId} and k.record_id = ${recordId}${status ? sql` and k.status = ${status}` : empty}`,
]

/** The tasks of a user, on records and standalone, without those in spaces that the user can no longer read. */
export async function listOfUser(context: Pick<Context, 'db'>, reach: TaskReader, query: TaskQuery): Promise<WrittenList<Task>> {
  const parts = ofUser(reach, query)
  const order = query.include_done ? ORDER : ORDER_OF_OPEN
  return page(context, labelled, { statement: pageOfUser(reach, query, parts, order), parts, order, ...query })
}

function pageOfUser(reach: TaskReader, query: UserQuery & Window, parts: readonly Sql[], order: Sql): Sql {
  const { tab, include_done, search } = query
  return tab !== 'all' && !include_done && !search?.trim()
    ? pageCountedApart(openOf(reach, tab), order, query)
    : pageOf(parts, order, query)
}

function ofUser(reach: TaskReader, query: UserQuery, all = inParts): Sql[] {
  const { tab, include_done = false } = query
  // A literal, not a bound value: a generic plan could not use the partial indexes on open tasks.
  const shown = join(
    [sql`k.account_id = ${reach.accountId}`, ...(include_done ? [] : [sql`k.status = 'open'`]), ...conditionsOf(searchOf(query))],
    ' and ',
  )
  return TABS[tab](reach.userId, all).map((part) => sql`${part} and ${shown} and ${taskInReach(sql`k`, reach)}`)
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

const ONE_PART = { my: assignedTo, delegated: delegatedBy }
/** The parts of each tab. No task is in two parts, and each part uses its own index. */
const TABS = {
  my: (userId) => [assignedTo(userId)],
  delegated: (userId) => [delegatedBy(userId)],
  all: (userId, all) => all(userId),
} satisfies Record<TaskQuery['tab'], (userId: number, all: (userId: number) => Sql[]) => Sql[]>

type Window = Pick<TaskQuery, 'limit' | 'offset'>

/**
 * The rows of one page, each with the number of tasks on all pages.
 * @param parts each has a `from` and a `where` for tasks `k`; no task is in two parts
 * @param order of rows `k`
 */
const pageOf = (parts: readonly Sql[], order: Sql, { limit, offset }: Window): Sql =>
  sql`select k.*, count(*) over () as total from ${found(parts)} order by ${order} limit ${limit} offset ${offset}`

/** As above for one part, which an index alone can count. Then only the tasks of the page are read, if an index has their order. */
const pageCountedApart = (part: Sql, order: Sql, { limit, offset }: Window): Sql =>
  sql`select ${TASK_COLUMNS}, (select count(*) from ${part}) as total from ${part} order by ${order} limit ${limit} offset ${offset}`

/**
 * The open tasks that somebody has or has delegated, which an index has in the order of the due dates. The index lacks the account, which
 * is the user's for each of them.
 */
const openOf = (reach: TaskReader, tab: 'my' | 'delegated'): Sql =>
  sql`${ONE_PART[tab](reach.userId)} and k.status = 'open' and ${taskInReach(sql`k`, reach)}`

/**
 * The same rows with the context of each task, which is read for those of the page alone.
 * @param page made by one of the above
 * @param counts what follows the columns of each task
 */
export const withContext = (page: Sql, order: Sql, counts = sql`k.total`): Sql =>
  sql`select ${TASK_COLUMNS}, ${CONTEXT_COLUMNS}, ${counts} from (${page}) k ${JOIN_TABLE} order by ${order}`

type WritePage = (...rows: Parameters<WriteList<Task>>) => WrittenList<Task> | Promise<WrittenList<Task>>

/** Writes a page. @param isInContext whether its rows are those of `withContext` */
export const writerOf = (context: Pick<Context, 'db'>, isInContext: boolean): WritePage =>
  isInContext ? (rows) => writeInContext(rows, (places) => titlesAt(context, places)) : writeTasks

interface Page extends Window, Pick<TaskQuery, 'include'> {
  /** Made by `pageOf` or `pageCountedApart`. */
  statement: Sql
  parts: readonly Sql[]
  order: Sql
}

type How = (label: string, statement: Statement) => Statement

/** @param how the statement runs */
async function page(
  context: Pick<Context, 'db'>,
  how: How,
  { statement, parts, order, include, limit, offset }: Page,
): Promise<WrittenList<Task>> {
  const { db } = context
  const isInContext = include.has('context')
  const rows = await db.page(isInContext ? how('tasks:list-in-context', withContext(statement, order)) : how('tasks:list', statement))
  if (rows.length || (limit > 0 && offset === 0)) return writerOf(context, isInContext)(rows)
  // A page beyond the end has no row with the total.
  return new WrittenList('[]', { total: await totalOf(db, parts) })
}

/** The number of tasks on all pages together. @param parts as for `pageOf` */
export async function totalOf(db: Database, parts: readonly Sql[]): Promise<number> {
  const [row] = await db.read<{ total: number }>(labelled('tasks:total', sql`select count(*) as total from ${found(parts)}`))
  return row?.total ?? 0
}

const found = (parts: readonly Sql[]): Sql =>
  sql`(${join(
    parts.map((part) => sql`select ${TASK_COLUMNS} from ${part}`),
    ' union all ',
  )}) k`

/**
 * Open tasks by due date and time, tasks without one last; then done tasks, the latest completion first (contract.md §4). Only done
 * tasks have a completion, and nulls come first in a descending order.
 */
const ORDER = sql`k.completed_at desc, case when k.status = 'open' then k.due_date end nulls last,
  case when k.status = 'open' then k.due_time end nulls last, case when k.status = 'open' then k.id else -k.id end`
/** The same order for open tasks only, at half the cost. */
const ORDER_OF_OPEN = sql`k.due_date nulls last, k.due_time nulls last, k.id`

export const watchedOnRecord = (tableId: number, recordId: number, status: RecordTaskQuery['status']): ChangeSource => ({
  parts: onRecord(tableId, recordId, status),
  tombstones: sql`d.table_id = ${tableId} and d.record_id = ${recordId}`,
})

/** A deleted task is listed even for users who may no longer read its space, because only its id is shown. */
export const watchedByUser = (actor: TaskReader, query: UserQuery): ChangeSource => ({
  parts: ofUser(actor, query, inOneWalk),
  tombstones: sql`d.account_id = ${actor.accountId} and ${TOMBSTONES[query.tab](actor.userId)}`,
})

const TOMBSTONES = {
  my: (userId) => sql`d.assignee_user_id = ${userId}`,
  delegated: (userId) => sql`d.creator_user_id = ${userId} and d.assignee_user_id <> ${userId}`,
  all: (userId) => sql`(${userId} in (d.assignee_user_id, d.creator_user_id) or ${userId} = any(d.subscriber_ids))`,
} satisfies Record<TaskQuery['tab'], (userId: number) => Sql>
