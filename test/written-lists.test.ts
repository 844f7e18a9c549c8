import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { RecordComment } from '../src/comments/schema.ts'
import { Notification } from '../src/notifications/schema.ts'
import { raw, type Sql, sql } from '../src/platform/database/database.ts'
import { TaskComment } from '../src/tasks/comments/schema.ts'
import { Task } from '../src/tasks/schema.ts'
import { type Caller, testApp } from './support/app.ts'
import { taskSupport } from './support/tasks.ts'

const app = await testApp()
const { account, member, viewer, keys, table, record } = await taskSupport(app).onRecord()

/** Texts with everything that JSON escapes or that looks like JSON, as far as PostgreSQL can store them. */
const TEXTS = [
  ...['"', '\\', '\\"', '\b\f\n\r\t', '\u0001\u001f\u007f\u0080', '\u2028\u2029', '</script>', '😀 ünï €', '{"a":1}', 'null', '$&', ' '],
  ...fc.sample(fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }), { numRuns: 50, seed: 1 }),
].filter((text) => !text.includes('\0') && text.isWellFormed())
const COUNT = TEXTS.length
const DATES = [null, '0001-01-01', '0999-12-31', '2026-02-28', '9999-12-31', '10000-01-01', '0044-03-15 BC']
const INSTANTS = [null, '0099-01-01 00:00:00', '2026-03-31 09:30:00', '9999-12-31 23:59:59', '12026-01-01 00:00:00']
const FILE = { host: 'local', name: 'a "b" \u2028.txt', path: '1-2/x', size: 3, type: 'text/plain' }
const METADATA = { 'b"c': '\u2028', bcc: ['x@example.com'], recipients: [{ kind: 'bcc' }, { kind: 'to', a: 1.5 }], n: null }

/** The values in turn, as a list as long as the texts. */
const turns = <Value>(values: readonly Value[]) => TEXTS.map((_, index) => values[index % values.length] as Value)
const json = (value: unknown) => JSON.stringify(value)
const place = [account.id, account.space, table, record] as const

await app.db.write(sql`
  insert into tasks (account_id, creator_user_id, assignee_user_id, space_id, table_id, record_id, title, details, due_date, created_at, updated_at,
    reminder_at, attachments, external_id)
  select ${place[0]}, ${member.id}, ${member.id}, ${place[1]}, ${place[2]}, ${place[3]}, t.text, nullif(t.text, '"'), t.due::date, t.made::timestamp,
    t.made::timestamp, t.reminded::timestamp, t.files::jsonb, nullif(t.external, '')
  from unnest(${TEXTS}::text[], ${turns(DATES)}::text[], ${turns(INSTANTS).map((at) => at ?? '2026-01-01 00:00:00')}::text[],
    ${turns(INSTANTS)}::text[], ${turns([json([]), json([FILE]), json([FILE, { ...FILE, size: 0 }])])}::text[],
    ${TEXTS.map((text, index) => (index % 2 ? `${index} ${text}` : ''))}::text[]) as t (text, due, made, reminded, files, external)`)
const [task] = await app.db.read<{ id: number }>(sql`select min(id) as id from tasks where record_id = ${record}`)
const taskId = task?.id ?? 0
const commentValues = sql`unnest(${TEXTS}::text[], ${turns(INSTANTS)}::text[], ${turns([json([]), json([FILE])])}::text[],
  ${turns([null, json(METADATA), json({})])}::text[]) as t (text, edited, files, metadata)`
await app.db.write(sql`
  insert into task_comments (account_id, task_id, user_id, user_name, content, attachments, created_at, updated_at)
  select ${account.id}, ${taskId}, ${member.id}, t.text, t.text, t.files::jsonb, now(), t.edited::timestamp from ${commentValues}`)
await app.db.write(sql`
  insert into record_comments (account_id, space_id, table_id, record_id, type, user_id, user_name, content, attachments, metadata, created_at, updated_at)
  select ${place[0]}, ${place[1]}, ${place[2]}, ${place[3]}, case when t.metadata is null then 'comment' else 'email_in' end, ${member.id}, t.text, t.text,
    t.files::jsonb, t.metadata::jsonb, now(), t.edited::timestamp from ${commentValues}`)
await app.db.write(sql`
  insert into notifications (user_id, account_id, space_id, table_id, record_id, event_type, message, url, summary, seen_at, read_at, created_at)
  select ${member.id}, ${place[0]}, ${place[1]}, ${place[2]}, ${place[3]}, 'COMMENT', t.text, t.text, t.text, t.edited::timestamp, t.edited::timestamp, now()
  from ${commentValues}`)

async function answerText(caller: Caller, method: 'GET' | 'POST', path: string, body?: object) {
  const { status, body: parsed, headers } = await (method === 'GET' ? app.as(caller).get(path) : app.as(caller).post(path, body))
  expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
  const authorization = `Bearer ${caller}`
  const response = await fetch(app.url + path, {
    method,
    headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: json(body) }),
  })
  const text = await response.text()
  expect(JSON.parse(text)).toEqual(parsed)
  return { text, total: response.headers.get('x-total-count') }
}

/** The same rows made as objects, checked against the schema and stringified. */
async function stringified(schema: z.ZodObject, from: Sql): Promise<string> {
  const columns = raw(Object.keys(schema.shape).join(', '))
  const rows = await app.db.read<Record<string, unknown>>(sql`select ${columns} from ${from}`)
  return json(rows.map(({ external_id, ...row }) => schema.parse(external_id == null ? row : { ...row, external_id })))
}

const LISTS = [
  ['tasks on a record', 'GET', `/api/tasks/onRecord/${table}/${record}/list?limit=200`, undefined, 'tasks.listOnRecord'],
  ['tasks of a user', 'POST', '/api/tasks/list', { tab: 'my', limit: 200 }, 'tasks.list'],
  ['comments on a task', 'GET', `/api/task/${taskId}/comments/get?limit=200`, undefined, 'tasks.comments.list'],
  ['comments on a record', 'GET', `/api/table/${table}/record/${record}/comments/get?limit=100`, undefined, 'comments.list'],
  ['notifications', 'POST', '/api/notifications/list', { limit: 200 }, 'notifications.list'],
] as const
const OBJECTS = [
  () => stringified(Task, sql`tasks where record_id = ${record} order by due_date nulls last, due_time nulls last, id`),
  () => stringified(Task, sql`tasks where record_id = ${record} order by due_date nulls last, due_time nulls last, id`),
  () => stringified(TaskComment, sql`task_comments where task_id = ${taskId} order by id desc`),
  () => stringified(RecordComment, sql`record_comments where record_id = ${record} order by id desc`),
  () => stringified(Notification, sql`notifications where user_id = ${member.id} order by id desc`),
]

test.each(LISTS.map((list, index) => [...list, OBJECTS[index] as () => Promise<string>] as const))(
  'writes %s byte for byte as objects are stringified, over REST and RPC',
  async (_, method, path, body, name, objects) => {
    const { text, total } = await answerText(keys.personal, method, path, body)
    expect(text).toBe(await objects())
    expect(total).toBe(String(COUNT))
    const ids = {
      table_id: table,
      record_id: record,
      task_id: taskId,
      limit: path.includes('comments') && !path.includes('task/') ? 100 : 200,
    }
    const input = body ?? (name === 'tasks.comments.list' ? { task_id: taskId, limit: 200 } : { ...ids, task_id: undefined })
    const single = await fetch(`${app.url}/trpc/${name}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.personal}`, 'content-type': 'application/json' },
      body: json(input),
    })
    expect(await single.text()).toBe(`{"result":{"data":{"rows":${text},"total":${COUNT}}}}`)
  },
)

test('shows viewers the metadata of emails without blind copies', async () => {
  const path = `/api/table/${table}/record/${record}/comments/get?limit=100`
  const [{ text: all }, { text: shown }] = [
    await answerText(keys.personal, 'GET', path),
    await answerText(keys.personalViewer, 'GET', path),
  ]
  expect([all.includes('bcc'), shown.includes('bcc')]).toEqual([true, false])
  const email = JSON.parse(shown).find(({ metadata }: { metadata: object | null }) => metadata && 'recipients' in metadata)
  expect(email.metadata.recipients).toEqual([{ kind: 'to', a: 1.5 }])
  expect(viewer.id).not.toBe(member.id)
})

test('has an empty list, and the total of a page beyond the end', async () => {
  for (const [, method, path, body] of LISTS) {
    const beyond = method === 'GET' ? `${path}&offset=1000` : path
    const answer = await answerText(keys.personal, method, beyond, body && { ...body, offset: 1_000 })
    expect([answer.text, answer.total], path).toEqual(['[]', String(COUNT)])
  }
  const none = await answerText(keys.personalViewer, 'POST', '/api/tasks/list', { tab: 'my' })
  expect([none.text, none.total]).toEqual(['[]', '0'])
  const unread = await answerText(keys.personalViewer, 'POST', '/api/notifications/list', {})
  expect([unread.text, unread.total]).toEqual(['[]', '0'])
})

describe('a task in full', async () => {
  const [{ id: plain = 0 } = {}] = await app.db.read<{ id: number }>(
    sql`select id from tasks where record_id = ${record} and id <> ${taskId} order by id limit 1`,
  )
  await app.db.write(sql`
    insert into task_comments (account_id, task_id, user_id, user_name, content, created_at)
    select ${account.id}, ${plain}, ${member.id}, t.text, t.text || '"attachments":[{', now() from unnest(${TEXTS.slice(0, 12)}::text[]) as t (text)`)
  await app.db.write(sql`insert into task_subscribers (task_id, user_id) values (${plain}, ${viewer.id}), (${plain}, ${member.id})`)

  /** Its JSON, from the columns of the task and of its comments. */
  async function expected(id: number, subscribers: number[], tableName: string, title: string): Promise<string> {
    const task = (await stringified(Task, sql`tasks where id = ${id}`)).slice(1, -2)
    const comments = await stringified(TaskComment, sql`task_comments where task_id = ${id} order by id desc limit 20`)
    const [{ n } = { n: 0 }] = await app.db.read<{ n: number }>(sql`select count(*) as n from task_comments where task_id = ${id}`)
    const isSubscribed = subscribers.includes(member.id)
    return `${task},"comment_count":${n},"subscribers":${json(subscribers)},"subscribed":${isSubscribed},"table_name":${json(tableName)},"record_title":${json(title)},"recent_comments":${comments}}`
  }

  test('is the same byte for byte whether the access check reads it or a statement of its own', async () => {
    const title = 'Analytical "Engines" \u2028'
    await app.as(account.owner).post(`/api/table/${table}/record/${record}/update`, { data: { name: title } })
    const { name } = (await app.as(account.owner).get(`/api/table/${table}/get`)).body
    for (const [id, subscribers] of [
      [taskId, []],
      [plain, [member.id, viewer.id].sort((a, b) => a - b)],
    ] as const) {
      const whole = await expected(id, [...subscribers], name, title)
      // The process learns from the first answer where the task is, and prepares a statement at its third use.
      for (let time = 0; time < 5; time++) expect((await answerText(keys.personal, 'GET', `/api/task/${id}/get`)).text).toBe(whole)
    }
  })

  test('shows nobody else more than before it was read', async () => {
    const stranger = await app.account()
    for (const caller of [stranger.owner, stranger.keys.account]) {
      const { status, body } = await app.as(caller).get(`/api/task/${plain}/get`)
      expect([status, body.code, 'title' in body]).toEqual([403, 'FORBIDDEN', false])
    }
    expect((await app.as(keys.personalViewer).get(`/api/task/${plain}/get`)).body.subscribed).toBe(true)
    expect((await fetch(`${app.url}/api/task/${plain}/get`)).status).toBe(401)
  })

  test('has the present title of its record after the title field has changed', async () => {
    const { fields } = (await app.as(account.owner).get(`/api/table/${table}/get`)).body
    const [field] = fields.filter(({ type }: { type: string }) => type === 'text')
    await app.as(account.owner).post(`/api/table/${table}/field/${field.id}/update`, { name: 'Firm' })
    await app.as(account.owner).post(`/api/table/${table}/record/${record}/update`, { data: { [field.id]: 'Renamed' } })
    expect((await app.as(keys.personal).get(`/api/task/${plain}/get`)).body.record_title).toBe('Renamed')
    await app.as(account.owner).post(`/api/table/${table}/field/${field.id}/delete`)
    expect((await app.as(keys.personal).get(`/api/task/${plain}/get`)).body.record_title).toBe(null)
  })

  test('is not found any more once it is deleted', async () => {
    await app.as(account.owner).post(`/api/task/${plain}/delete`)
    expect((await app.as(keys.personal).get(`/api/task/${plain}/get`)).status).toBe(404)
  })
})
