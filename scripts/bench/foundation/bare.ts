/**
 * The bare server of the suite "foundation". It writes a task with its subscriber, its notification and the events of both, and a comment
 * likewise.
 */
import type pg from 'pg'
import { openBare, optionTitles } from '../bare.ts'

const {
  setting: { tableId, userId },
  pool,
  app,
  listen,
} = openBare<{ tableId: number; userId: number }>()
const records = `"t${tableId}".records`

const titles = await optionTitles(pool, tableId)

type Row = Record<string, unknown> & { id: number }

const USER = (column: string) =>
  `(select json_build_object('id', u.id, 'email', u.email, 'name', u.name) from users u where u.id = r.${column}) as ${column}`
const DATA = `r.id, name, email, phone, status, tags, amount, due, met, active, city, notes, ${USER('owner')}, r.created_at, r.updated_at`
const RECORD = `${DATA}, r.version`
const ALL = `${DATA}, ${USER('created_by')}, ${USER('updated_by')}`

/** Replaces option ids by titles, and empty values by those of the API. */
function present(row: Row): Row {
  const { status, tags } = row as unknown as { status: number | null; tags: number[] | null }
  row.status = status === null ? null : titles.status?.get(status)
  row.tags = (tags ?? []).map((tag) => titles.tags?.get(tag))
  row.active ??= false
  return row
}

function recordOf(row: Row) {
  const { id, created_at, updated_at, version, ...data } = present(row)
  return { id, title: data.name, data, created_at, updated_at, version }
}

app.post('/query', async () => {
  const { rows } = await pool.query<Row>({
    name: 'query',
    text: `select ${ALL} from ${records} r where status = $1 and due <= $2 order by due desc nulls last, r.id desc limit 100`,
    values: [1, new Date().toISOString().slice(0, 10)],
  })
  return rows.map(present)
})

// The same page as text, the least that it can cost: no parsers, no objects, and names of users that were read once at the start.
const asPrinted = { getTypeParser: () => (printed: string) => printed } as unknown as pg.CustomTypesConfig
const { rows: users } = await pool.query<{ id: number; email: string; name: string }>('select id, email, name from users')
const userTexts = new Map(users.map((user) => [String(user.id), JSON.stringify(user)]))
const titleTexts = (field: string) => new Map([...(titles[field] ?? [])].map(([id, title]) => [String(id), JSON.stringify(title)]))
const [statusTexts, tagTexts] = [titleTexts('status'), titleTexts('tags')]

type Printed = string | null | undefined
const string = (printed: Printed) => (printed == null ? 'null' : JSON.stringify(printed))
const quoted = (printed: Printed) => (printed == null ? 'null' : `"${printed}"`)
const known = (id: Printed, texts: Map<string, string>) => texts.get(id ?? '') ?? 'null'
const list = (ids: Printed, texts: Map<string, string>) =>
  ids
    ? ids
        .slice(1, -1)
        .split(',')
        .map((id) => texts.get(id))
        .join()
    : ''

app.post('/query/written', async (_, reply) => {
  const { rows } = await pool.query<Printed[]>({
    name: 'query written',
    text: `select r.id, name, email, phone, status, tags, amount, due, met, active, city, notes, owner, created_at, created_by, updated_at, updated_by
      from ${records} r where status = $1 and due <= $2 order by due desc nulls last, r.id desc limit 100`,
    values: [1, new Date().toISOString().slice(0, 10)],
    rowMode: 'array',
    types: asPrinted,
  })
  let page = ''
  for (const row of rows) {
    const [id, name, email, phone, status, tags, amount, due, met, active, city, notes, owner, at, by, changedAt, changedBy] = row
    page += `${page && ','}{"id":${id},"name":${string(name)},"email":${string(email)},"phone":${string(phone)},"status":${known(status, statusTexts)}`
    page += `,"tags":[${list(tags, tagTexts)}],"amount":${amount},"due":${quoted(due)},"met":${quoted(met)},"active":${active === 't'},"city":${string(city)}`
    page += `,"notes":${string(notes)},"owner":${known(owner, userTexts)},"created_at":${quoted(at)},"updated_at":${quoted(changedAt)}`
    page += `,"created_by":${known(by, userTexts)},"updated_by":${known(changedBy, userTexts)}}`
  }
  reply.type('application/json; charset=utf-8')
  return `[${page}]`
})

app.get<{ Params: { id: string } }>('/record/:id', async ({ params }) => {
  const { rows } = await pool.query<Row>({
    name: 'record',
    text: `select ${RECORD} from ${records} r where r.id = $1`,
    values: [Number(params.id)],
  })
  return recordOf(rows[0] as Row)
})

interface Entry {
  changes: Record<string, { name: string; type: string; from: string; to: string; titles?: Record<string, string> }>
  total: number
}

app.get<{ Params: { id: string } }>('/record/:id/history', async ({ params }, reply) => {
  const { rows } = await pool.query<Entry>({
    name: 'history',
    text: `select h.change_id, h.version, h.at, h.user_id, u.name as user_name, h.api_key_id, h.kind, h.records, h.changes,
        (select count(*)::int from "t${tableId}".history n where n.record_id = $1) as total
      from "t${tableId}".history h join users u on u.id = h.user_id where h.record_id = $1 order by h.version desc limit 50`,
    values: [Number(params.id)],
  })
  reply.header('x-total-count', rows[0]?.total)
  return rows.map(({ total: _, changes, ...entry }) => ({ ...entry, changes: FIELDS_IN_ORDER.map((field) => changeOf(changes, field)) }))
})

const FIELDS_IN_ORDER = ['status', 'amount', 'city']
function changeOf(changes: Entry['changes'], field: string) {
  const { name, type, from, to, titles } = changes[field] as Entry['changes'][string]
  const value = (cell: string) => (type === 'number' ? Number(cell) : (titles?.[cell] ?? cell))
  return { field, name, from: value(from), to: value(to) }
}

interface Body {
  data: Record<string, unknown>
}

app.post<{ Body: Body }>('/record', async ({ body: { data } }) => {
  const { rows } = await pool.query<Row>({
    name: 'create',
    text: `with r as (insert into ${records} (name, email, phone, status, tags, amount, due, met, active, city, notes, owner, created_at, created_by, updated_at, updated_by)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, now()::timestamp(0), $12, now()::timestamp(0), $12) returning *)
      select ${RECORD} from r`,
    values: [data.name, data.email, data.phone, 1, [1, 2], data.amount, data.due, data.met, data.active, data.city, data.notes, userId],
  })
  return recordOf(rows[0] as Row)
})

app.post<{ Body: { records: Body[] } }>('/records', async ({ body }) => {
  const column = (name: string) => body.records.map(({ data }) => data[name])
  const { rows } = await pool.query<Row>({
    name: 'create-batch',
    text: `with r as (insert into ${records} (name, email, phone, status, tags, amount, due, met, active, city, notes, owner, created_at, created_by, updated_at, updated_by)
        select x.name, x.email, x.phone, 1, '{1,2}'::int[], x.amount, x.due, x.met, x.active, x.city, x.notes, $1, now()::timestamp(0), $1, now()::timestamp(0), $1
        from unnest($2::text[], $3::text[], $4::text[], $5::numeric[], $6::date[], $7::timestamp[], $8::boolean[], $9::text[], $10::text[])
          as x (name, email, phone, amount, due, met, active, city, notes) returning *)
      select ${RECORD} from r order by r.id`,
    values: [userId, ...['name', 'email', 'phone', 'amount', 'due', 'met', 'active', 'city', 'notes'].map(column)],
  })
  return rows.map(recordOf)
})

app.post<{ Params: { id: string }; Body: Body }>('/record/:id/update', async ({ body: { data }, params }) => {
  const { rows } = await pool.query<Row>({
    name: 'update',
    text: `with r as (update ${records} set amount = $1, city = $2, version = version + 1, updated_at = now()::timestamp(0), updated_by = $3
        where id = $4 returning *)
      select ${RECORD} from r`,
    values: [data.amount, data.city, userId, Number(params.id)],
  })
  return recordOf(rows[0] as Row)
})

const TASK = `t.id, t.creator_user_id, t.assignee_user_id, t.account_id, t.space_id, t.table_id, t.record_id, t.title, t.details, t.due_date, t.due_time,
  t.reminder_offset_mins, t.reminder_time, t.reminder_at, t.reminder_sent_at, t.status, t.completed_at, t.completed_by_user_id, t.created_at, t.updated_at, t.attachments`

app.get<{ Params: { id: string } }>('/task/:id', async ({ params }) => {
  const { rows } = await pool.query({
    name: 'task',
    text: `select ${TASK},
        (select count(*)::int from task_comments c where c.task_id = t.id) as comment_count,
        (select coalesce(json_agg(s.user_id order by s.user_id), '[]') from task_subscribers s where s.task_id = t.id) as subscribers,
        exists (select from task_subscribers s where s.task_id = t.id and s.user_id = $2) as subscribed,
        tb.name as table_name, (select name from ${records} r where r.id = t.record_id) as record_title,
        (select coalesce(json_agg(c order by c.id desc), '[]') from (
          select id, task_id, content, user_id, user_name, api_key_id, attachments, created_at::text, updated_at::text
          from task_comments c where c.task_id = t.id order by id desc limit 20) c) as recent_comments
      from tasks t join tables tb on tb.id = t.table_id where t.id = $1`,
    values: [Number(params.id), userId],
  })
  return rows[0]
})

app.post<{
  Params: { id: string }
  Body: { title: string; details: string; due_date: string; due_time: string; reminder_offset_mins: number }
}>('/record/:id/task', async ({ body, params }) => {
  const { rows } = await pool.query({
    name: 'task-create',
    text: `with t as (insert into tasks (account_id, creator_user_id, assignee_user_id, space_id, table_id, record_id, title, details, due_date, due_time,
          reminder_offset_mins, reminder_at, created_at, updated_at)
        select tb.account_id, $1, $1, tb.space_id, tb.id, $8, $3, $4, $5::date, $6::time, $7, $5::date + $6::time - make_interval(mins => $7), now()::timestamp(0), now()::timestamp(0)
        from tables tb where tb.id = $2 returning *),
      s as (insert into task_subscribers (task_id, user_id) select id, $1 from t),
      n as (insert into notifications (user_id, account_id, space_id, table_id, record_id, task_id, event_type, message, url, summary, created_at)
        select $1, account_id, space_id, table_id, record_id, id, 'TASK_ASSIGNED', 'assigned you “' || title || '”', '/task/' || id, title, created_at from t
        returning user_id),
      e as (insert into events (type, account_id, space_id, table_id, record_id, task_id, audience, at)
        select 'task.created', account_id, space_id, table_id, record_id, id, null, created_at from t
        union all select 'notification', account_id, space_id, table_id, record_id, id, array[$1::int], created_at from t)
      select ${TASK} from t`,
    values: [userId, tableId, body.title, body.details, body.due_date, body.due_time, body.reminder_offset_mins, Number(params.id)],
  })
  return rows[0]
})

const { rows: keys } = await pool.query<{ id: number; name: string }>(
  'select id, name from api_keys where user_id = $1 order by id desc limit 1',
  [userId],
)

app.post<{ Params: { id: string }; Body: { content: string } }>('/task/:id/comment', async ({ body, params }) => {
  const { rows } = await pool.query({
    name: 'comment-create',
    text: `with t as (select id, account_id, space_id, table_id, record_id, title from tasks where id = $1),
      c as (insert into task_comments (account_id, task_id, user_id, user_name, api_key_id, content, attachments, created_at)
        select account_id, id, 0, $2, $3, $4, '[]', now()::timestamp(0) from t returning *),
      n as (insert into notifications (user_id, account_id, space_id, table_id, record_id, task_id, event_type, message, url, summary, created_at)
        select $5, account_id, space_id, table_id, record_id, id, 'TASK_COMMENT', $2 || ' commented: ' || $4, '/task/' || id, title, now()::timestamp(0) from t),
      e as (insert into events (type, account_id, space_id, table_id, record_id, task_id, comment_id, audience, at)
        select 'comment.created', t.account_id, space_id, table_id, record_id, t.id, c.id, null, now()::timestamp(0) from t, c
        union all select 'notification', account_id, space_id, table_id, record_id, id, null, array[$5::int], now()::timestamp(0) from t)
      select id, task_id, content, user_id, user_name, api_key_id, attachments, created_at, updated_at from c`,
    values: [Number(params.id), `API: ${keys[0]?.name}`, keys[0]?.id, body.content, userId],
  })
  return rows[0]
})

await listen()
