/** Reads what is kept about one person (contract.md §9, People of an account), kind by kind, in pages of bounded size. */
import { emailOf, type UserRef, userStatus } from '../accounts/user-status.ts'
import { mayRead, taskInReach } from '../notifications/queries.ts'
import { ident, join, raw, type Sql, sql } from '../platform/database/database.ts'
import { taskColumns } from '../tasks/schema.ts'
import { conditionColumns } from '../views/stored-conditions.ts'
import { orderColumns } from '../views/stored-order.ts'
import { changesBy } from './changes.ts'
import { idRanges } from './queries.ts'
import type { Reading, Subject } from './subject.ts'

type Row = Record<string, unknown>

type Rows = AsyncIterable<Row>

/** The person, with the account. @returns undefined if there is none */
export async function profileOf({ db }: Reading, { id }: UserRef): Promise<Row | undefined> {
  const [profile] = await db.read<Row>(sql`
    select u.id, u.name, ${emailOf(sql`u`)} as email, ${userStatus(sql`u`)} as status, u.timezone, u.mail_preference,
      u.created_at, u.updated_at, (select l.at from last_seen l where l.user_id = u.id) as last_seen_at,
      a.id as account_id, a.name as account_name, a.owner_user_id is not distinct from u.id as is_owner
    from users u join accounts a on a.id = u.account_id where u.id = ${id}`)
  return profile
}

const PAGE = 500
/** For rows whose texts can be long. */
const SHORT_PAGE = 100

/** Pages of a list in the order of its ids. @param select everything but order and limit */
async function* pages({ db, signal }: Reading, select: (after: number) => Sql, most = PAGE): AsyncGenerator<Row> {
  for (let after = 0; ; ) {
    const rows = await db.read<Row & { id: number }>(sql`${select(after)} order by id limit ${most}`, { signal })
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < most) return
    after = last.id
  }
}

/** The same for rows that no index finds: all ids of the table are looked at, in ranges. */
async function* scanned(reading: Reading, table: 'record_comments' | 'task_comments', select: (ids: Sql) => Sql): AsyncGenerator<Row> {
  for await (const { first, last } of idRanges(reading.db, table))
    yield* pages(reading, (after) => select(sql`id between ${Math.max(first, after + 1)} and ${last}`), SHORT_PAGE)
}

function memberships({ db, signal }: Reading, { id }: Subject): Rows {
  return all(
    db.read(
      sql`select m.space_id, s.name as space, m.role, m.created_at from space_members m join spaces s on s.id = m.space_id
        where m.user_id = ${id} and s.deleted_at is null order by m.space_id`,
      { signal },
    ),
  )
}

async function* all(rows: Promise<Row[]>): AsyncGenerator<Row> {
  yield* await rows
}

const sessions = (reading: Reading, { id }: Subject): Rows =>
  pages(
    reading,
    (after) => sql`
    select id, created_at, last_seen_at, expires_at, ip, user_agent from sessions where user_id = ${id} and id > ${after}`,
  )

/** Of an account's owner also the keys of the account, which act for them. The secrets are nowhere. */
const keys = (reading: Reading, { id }: Subject): Rows =>
  pages(
    reading,
    (after) => sql`
    select id, kind, name, read_only, case when not all_spaces then coalesce(space_ids, '{}') end as space_ids,
      coalesce(ip_allowlist, '{}') as ip_allowlist, expires_at, last_used_at, created_at
    from api_keys where user_id = ${id} and id > ${after}`,
  )

const signatures = (reading: Reading, { id }: Subject): Rows =>
  pages(
    reading,
    (after) => sql`
      select id, name, html, is_default, created_at, updated_at from email_signatures where user_id = ${id} and id > ${after}`,
    SHORT_PAGE,
  )

/** All at once, because they have 4 MB at most. */
const preferences = ({ db, signal }: Reading, { id }: Subject): Rows =>
  all(
    db.read(sql`select name, value::json as value, updated_at from preferences where user_id = ${id} and value is not null order by name`, {
      signal,
    }),
  )

const addressChanges = (reading: Reading, { id }: Subject): Rows =>
  pages(
    reading,
    (after) => sql`
    select id, email, former_email, created_at, expires_at, confirmed_at from address_changes where user_id = ${id} and id > ${after}`,
  )

async function* subscriptions(reading: Reading, { id }: Subject): Rows {
  const ofTable = (after: number) => sql`
    select * from (select row_number() over (order by table_id, record_id)::int as id, table_id, nullif(record_id, 0) as record_id,
      null::int as task_id, created_at from subscriptions where user_id = ${id}) s where id > ${after}`
  const ofTasks = (after: number) => sql`
    select task_id as id, null::int as table_id, null::int as record_id, task_id, created_at from task_subscribers
    where user_id = ${id} and task_id > ${after}`
  for (const select of [ofTable, ofTasks]) for await (const { id: _, ...row } of pages(reading, select)) yield row
}

const TASK = join(Object.keys(taskColumns).map((name) => sql`k.${ident(name)}`))

/** Tasks that the person has created or is to do. */
const tasks = (reading: Reading, subject: Subject): Rows => {
  const reader = { accountId: subject.account_id, userId: subject.id, isOwner: subject.isOwner }
  const inReach = subject.seesAll ? sql`true` : taskInReach(sql`k`, reader)
  return pages(
    reading,
    (after) => sql`
      select ${TASK} from tasks k
      where k.account_id = ${subject.account_id} and (k.creator_user_id = ${subject.id} or k.assignee_user_id = ${subject.id})
        and k.id > ${after} and ${inReach}`,
    SHORT_PAGE,
  )
}

/** What the person, or a key of theirs, has written. Keys that are gone are nobody's. */
const isAuthor = ({ id, account_id }: Subject): Sql => sql`account_id = ${account_id} and (user_id = ${id} or api_key_id in (
  select k.id from api_keys k where k.user_id = ${id} and k.kind = 'personal'))`

async function* comments(reading: Reading, subject: Subject): Rows {
  const place = (name: string) => raw(name)
  const select = (table: 'record_comments' | 'task_comments', columns: Sql) => (ids: Sql) =>
    sql`
    select id, ${columns}, user_name, content, attachments, created_at, updated_at from ${raw(table)}
    where ${ids} and ${isAuthor(subject)}`
  const onRecords = select('record_comments', place('table_id, record_id, null::int as task_id'))
  yield* scanned(reading, 'record_comments', (ids) => sql`${onRecords(ids)} and type = 'comment'`)
  yield* scanned(reading, 'task_comments', select('task_comments', place('null::int as table_id, null::int as record_id, task_id')))
}

/** Emails that the person has sent. */
const mails = (reading: Reading, subject: Subject): Rows =>
  scanned(
    reading,
    'record_comments',
    (ids) => sql`
      select id, table_id, record_id, user_name, content, attachments, metadata, created_at from record_comments
      where ${ids} and ${isAuthor(subject)} and type = 'email_out'`,
  )

const notifications = (reading: Reading, { id, account_id, isOwner, seesAll }: Subject): Rows => {
  const inReach = seesAll ? sql`true` : mayRead({ accountId: account_id, userId: id, isOwner })
  return pages(
    reading,
    (after) => sql`
    select n.id, n.actor_user_id, n.space_id, n.table_id, n.record_id, n.task_id, n.event_type, n.message, n.url, n.summary, n.seen_at,
      n.read_at, n.mailed_at, n.created_at
    from notifications n where n.user_id = ${id} and n.id > ${after} and ${inReach}`,
  )
}

/** Views that the person has created. Others may have changed them since. */
const views = (reading: Reading, subject: Subject): Rows => {
  const { id, account_id, isOwner, seesAll } = subject
  const table = sql`(select t.space_id, t.id as table_id from tables t where t.id = views.table_id) k`
  const reader = { accountId: account_id, userId: id, isOwner }
  const inReach = seesAll ? sql`true` : sql`exists (select from ${table} where ${taskInReach(sql`k`, reader)})`
  return pages(
    reading,
    (after) => sql`
      select id, table_id, name, type, config, ${conditionColumns}, ${orderColumns}, created_at, updated_at
      from views where account_id = ${account_id} and created_by = ${id} and id > ${after} and ${inReach}`,
    SHORT_PAGE,
  )
}

/** What the person did, and what was done to them; the latter without the network address of who did it. */
async function* auditEntries({ db, signal }: Reading, { id, account_id }: Subject): Rows {
  for (let after = '0'; ; ) {
    const rows = await db.read<Row & { id: string }>(
      sql`
        select e.id, e.at, e.actor_user_id, e.api_key_id, case when e.actor_user_id = ${id} then e.ip end as ip, e.action, e.space_id,
          e.table_id, e.object, e.detail
        from audit_entries e
        where e.account_id = ${account_id} and e.id > ${after}::bigint
          and (e.actor_user_id = ${id} or e.object->>'type' = 'user' and e.object->>'id' = ${String(id)})
        order by e.id limit ${PAGE}`,
      { signal },
    )
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return
    after = last.id
  }
}

export interface KeptFile {
  path: string
  name: string
  size: number
  type: string
  table_id: number | null
  record_id: number | null
  task_id: number | null
  created_at: string
}

/** The files that the person has uploaded and that were not dropped, but for those of deleted records. */
export async function* filesOf({ db, signal }: Reading, { id, account_id }: Subject): AsyncGenerator<KeptFile> {
  for (let after = ''; ; ) {
    const rows: KeptFile[] = await db.read<KeptFile>(
      sql`
        select f.path, f.name, f.size, f.type, f.table_id, f.record_id, f.task_id, f.created_at from stored_files f
        where f.account_id = ${account_id} and f.created_by = ${id} and f.dropped_at is null and f.path > ${after}
          and not exists (select from deleted_records d where f.task_id is null and d.table_id = f.table_id and d.record_id = f.record_id)
          and not exists (select from deleted_rows d where d.source = 'tasks' and (d.content->>'id')::int = f.task_id)
        order by f.path limit ${PAGE}`,
      { signal },
    )
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return
    after = last.path
  }
}

/** The lists of the archive, each with the name of its file. */
export const LISTS: readonly [name: string, rows: (reading: Reading, subject: Subject) => Rows][] = [
  ['memberships', memberships],
  ['sessions', sessions],
  ['keys', keys],
  ['signatures', signatures],
  ['preferences', preferences],
  ['address-changes', addressChanges],
  ['subscriptions', subscriptions],
  ['tasks', tasks],
  ['comments', comments],
  ['changes', changesBy],
  ['mails', mails],
  ['notifications', notifications],
  ['views', views],
  ['audit', auditEntries],
]
