/** The bare server of the suite "tasks". Its lists return the total beside the page, as the service does. */
import { openBare } from '../bare.ts'

const {
  setting: { userId },
  pool,
  app,
  listen,
} = openBare<{ userId: number }>()

const TASK = `k.id, k.creator_user_id, k.assignee_user_id, k.account_id, k.space_id, k.table_id, k.record_id, k.title, k.details, k.due_date, k.due_time,
  k.reminder_offset_mins, k.reminder_time, k.reminder_at, k.reminder_sent_at, k.status, k.completed_at, k.completed_by_user_id, k.created_at, k.updated_at, k.attachments, k.version`

app.get<{ Params: { id: string } }>('/task/:id', async ({ params }) => {
  const { rows } = await pool.query({
    name: 'task',
    text: `select ${TASK},
      (select count(*)::int from task_comments c where c.task_id = k.id) as comment_count,
      (select coalesce(json_agg(s.user_id order by s.user_id), '[]') from task_subscribers s where s.task_id = k.id) as subscribers,
      exists (select from task_subscribers s where s.task_id = k.id and s.user_id = $2) as subscribed,
      tb.name as table_name, tb.id as records_of,
      (select coalesce(json_agg(c order by c.id desc), '[]') from (
        select id, task_id, content, user_id, user_name, api_key_id, attachments, created_at::text, updated_at::text
        from task_comments c where c.task_id = k.id order by id desc limit 20) c) as recent_comments
    from tasks k join tables tb on tb.id = k.table_id where k.id = $1`,
    values: [Number(params.id), userId],
  })
  const { records_of, ...task } = rows[0]
  const text = `select name from "t${records_of}".records where id = $1`
  const record = await pool.query({ name: `record ${records_of}`, text, values: [task.record_id] })
  return { ...task, record_title: record.rows[0].name }
})

const OPEN_FIRST = `k.status = 'done', case when k.status = 'open' then k.due_date end nulls last,
  case when k.status = 'open' then k.due_time end nulls last, case when k.status = 'open' then k.id end, k.completed_at desc, k.id desc`

app.get<{ Params: { tableId: string; recordId: string } }>('/onRecord/:tableId/:recordId', async ({ params }, reply) => {
  const { rows } = await pool.query({
    name: 'on-record',
    text: `select ${TASK}, count(*) over () as total from tasks k where k.table_id = $1 and k.record_id = $2 order by ${OPEN_FIRST} limit 50`,
    values: [Number(params.tableId), Number(params.recordId)],
  })
  return pageOf(rows, reply)
})

const TABS: Record<string, string> = {
  my: 'k.assignee_user_id = $1',
  delegated: 'k.creator_user_id = $1 and k.assignee_user_id <> $1',
  all: `k.id in (select id from tasks where assignee_user_id = $1 union select id from tasks where creator_user_id = $1
    union select task_id from task_subscribers where user_id = $1)`,
}

app.post<{ Params: { tab: string; word?: string } }>('/list/:tab/:word?', async ({ params: { tab, word } }, reply) => {
  const found = word === undefined ? '' : `and lower(k.title || ' ' || coalesce(k.details, '')) like '%' || $2 || '%'`
  const { rows } = await pool.query({
    name: `${tab} ${word !== undefined}`,
    text: `select ${TASK}, count(*) over () as total from tasks k where ${TABS[tab]} and k.status = 'open' ${found}
      order by k.due_date nulls last, k.due_time nulls last, k.id limit 50`,
    values: word === undefined ? [userId] : [userId, word],
  })
  return pageOf(rows, reply)
})

function pageOf(rows: Record<string, unknown>[], reply: { header(name: string, value: string): unknown }): unknown[] {
  reply.header('x-total-count', String(rows[0]?.total ?? 0))
  return rows.map(({ total: _, ...task }) => task)
}

app.post('/badgeCount', async () => {
  const now = new Date().toISOString().replace('T', ' ').slice(0, 19)
  const { rows } = await pool.query({
    name: 'badge',
    text: `select count(*)::int as count,
        count(*) filter (where case when k.due_time is null then k.due_date < $2::date else k.due_date + k.due_time < $3::timestamp end)::int as overdue
      from tasks k where k.assignee_user_id = $1 and k.status = 'open' and k.due_date <= $2::date`,
    values: [userId, now.slice(0, 10), now],
  })
  return rows[0]
})

await listen()
