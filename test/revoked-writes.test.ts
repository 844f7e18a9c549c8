/** A right that has ended behind the back of the process lets the next write do nothing (docs/decisions/0034-access-versions.md). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { raw, sql } from '../src/platform/database/database.ts'
import { ACCESS_CHANGES, hashOf } from './support/access-changes.ts'
import { type Answer, testApp } from './support/app.ts'
import { lockWaits } from './support/servers.ts'
import { makeTable } from './support/tables.ts'
import { taskSupport } from './support/tasks.ts'

const app = await testApp({ RATE_LIMIT_PER_MINUTE: '100000' }, { isElsewhere: false })
const { db } = app.deps
const { holding, told } = taskSupport(app)
/** The present minute, because triggers and changes go by the clock of the database. Limits are those of a minute of the clock. */
const START = Math.floor(Date.now() / 60_000) * 60_000

beforeEach(() => at(0))
afterEach(() => app.setClock(null))
const at = (second: number) => app.setClock(new Date(START + second * 1_000))

const statusOf = ({ status, body }: Answer) => (status === 200 ? '200' : `${status} ${body.message}`)

/** A task that the member and the viewer may edit. */
async function ground() {
  const account = await app.account()
  const { id: table, records } = await makeTable(app, account, { records: [{ name: 'One' }] })
  const record = records[0] as number
  const created = await app
    .as(account.member)
    .post(`/api/tasks/onRecord/${table}/${record}/create`, { title: 'Call', assignee_user_id: account.viewer.id })
  return { ...account, table, record, task: created.body.id as number }
}
type Ground = Awaited<ReturnType<typeof ground>>

const recordPath = ({ table, record }: Ground) => `/api/table/${table}/record/${record}`
let count = 0
const WRITES: [string, path: (on: Ground) => string, body: () => object][] = [
  ['a new record', ({ table }) => `/api/table/${table}/records/create`, () => ({ data: { name: 'Two' } })],
  ['an update of a record', (on) => `${recordPath(on)}/update`, () => ({ data: { name: `Change ${++count}` } })],
  ['a comment on a record', (on) => `${recordPath(on)}/comments/create`, () => ({ content: 'Yes' })],
  ['a new task', ({ table, record }) => `/api/tasks/onRecord/${table}/${record}/create`, () => ({ title: 'Write' })],
  ['a comment on a task', ({ task }) => `/api/task/${task}/comments/create`, () => ({ content: 'Yes' })],
  ['a task that is done', ({ task }) => `/api/task/${task}/markDone`, () => ({})],
  ['a task that is open again', ({ task }) => `/api/task/${task}/markUndone`, () => ({})],
]
const isOnRecord = (path: string) => path.startsWith('/api/table/')
/** Lets the next mark change the task, which stays the same otherwise. */
const invertStatus = ({ task }: Ground) =>
  db.write(sql`update tasks set status = case status when 'open' then 'done' else 'open' end,
    completed_at = case status when 'open' then now() end, completed_by_user_id = case status when 'open' then creator_user_id end where id = ${task}`)

/** Writes until the caller is remembered and the statement is prepared. */
async function become(write: () => Promise<unknown>): Promise<void> {
  for (let time = 0; time < 4; time++) await write()
  at(5)
}

/** All that the writes change. */
const stateOf = async ({ table, id }: Ground) => {
  const [state] = await db.read<{ records: number; tasks: number; comments: number; versions: string }>(
    raw(`select (select count(*) from t${table}.records)::int as records, (select count(*) from tasks where account_id = ${id})::int as tasks,
      (select count(*) from record_comments where account_id = ${id})::int + (select count(*) from task_comments where account_id = ${id})::int as comments,
      (select string_agg(name || version, ',' order by id) from t${table}.records) ||
      (select string_agg(status || version, ',' order by id) from tasks where account_id = ${id}) as versions`),
  )
  return state
}

describe.each(WRITES)('%s', (_, pathOf, body) => {
  test('has the same answer when the caller is remembered', async () => {
    const on = await ground()
    const write = () => app.as(on.keys.personal).post(pathOf(on), body())
    const { id: _id, ...first } = (await write()).body
    await become(write)
    const { id: _other, ...remembered } = (await write()).body
    const stamps = { created_at: expect.anything(), updated_at: first.updated_at && expect.anything() }
    const named = 'data' in first && { title: expect.any(String), data: { name: expect.any(String) } }
    const version = 'version' in first && { version: expect.any(Number) }
    const change = 'change_id' in first && { change_id: expect.any(Number) }
    const expected =
      'ok' in first ? { ...first, ok: false } : { ...first, ...('created_at' in first && stamps), ...named, ...version, ...change }
    expect(remembered).toEqual(expected)
  })

  test.each(ACCESS_CHANGES)('is not written after %s', async (change, changing, callerOf, expected) => {
    const on = await ground()
    const path = pathOf(on)
    const caller = callerOf(on)
    const write = () => app.as(caller).post(path, body())
    await become(write)
    const isAllowed = (await write()).status === 200
    await invertStatus(on)
    await db.write(changing(on))
    const before = await stateOf(on)
    const answer = await write()
    // A task stays in the space where it was when its table is moved, as a check says that reads it anew.
    const read = await app.as(caller).get(`/api/task/${on.task}/get`)
    if (!isAllowed) expect(answer.status).not.toBe(200)
    else expect(statusOf(answer)).toBe(isOnRecord(path) || path.includes('onRecord') ? expected : statusOf(read))
    if (answer.status === 200) expect([change, statusOf(read)]).toEqual(['a table of another space', '200'])
    else expect(await stateOf(on)).toEqual(before)
  })

  test('is not written by a key that was made read-only', async () => {
    const on = await ground()
    const write = () => app.as(on.keys.personal).post(pathOf(on), body())
    await become(write)
    await db.write(sql`update api_keys set read_only = true where token_hash = ${hashOf(on.keys.personal)}`)
    const before = await stateOf(on)
    expect(statusOf(await write())).toBe('403 API key is read-only')
    expect(await stateOf(on)).toEqual(before)
  })

  test('is written once by each of several callers, of whom one has just lost the access', async () => {
    const on = await ground()
    const writers = [on.keys.personal, on.member, on.keys.account]
    const write = (caller: (typeof writers)[number]) => app.as(caller).post(pathOf(on), body())
    for (const caller of writers) await become(() => write(caller))
    await Promise.all(writers.map(write))
    at(10)
    const before = await stateOf(on)
    await db.write(sql`delete from api_keys where token_hash = ${hashOf(on.keys.personal)}`)
    const asked = [...writers, ...writers]
    const answers = await Promise.all(asked.map(write))
    expect(answers.map(({ status }) => status)).toEqual(asked.map((caller) => (caller === on.keys.personal ? 401 : 200)))
    const after = await stateOf(on)
    const made = { records: /records\/create$/, tasks: /onRecord/, comments: /comments/ }
    for (const name of ['records', 'tasks', 'comments'] as const)
      expect(after?.[name]).toBe((before?.[name] ?? 0) + (made[name].test(pathOf(on)) ? 4 : 0))
  })
})

test.each(WRITES.filter(([, pathOf]) => pathOf.toString().includes('recordPath') || pathOf.toString().includes('records/create')))(
  '%s is not written by a member who has become a viewer',
  async (_, pathOf, body) => {
    const on = await ground()
    const write = () => app.as(on.member).post(pathOf(on), body())
    await become(write)
    expect((await write()).status).toBe(200)
    await db.write(sql`update space_members set role = 'viewer' where space_id = ${on.space} and user_id = ${on.member.id}`)
    const before = await stateOf(on)
    expect(statusOf(await write())).toBe('403 Not authorized')
    expect(await stateOf(on)).toEqual(before)
  },
)

describe('a caller who is remembered', () => {
  test.each(['{"data":{"nowhere":1}}', '{"data":{"name":', '{"data":5}', '[]', '{"data":{},"record_id":1}', '{"data":{"name":"\\u0000"}}'])(
    'is refused before the body %s is, if the access has ended',
    async (body) => {
      const on = await ground()
      const send = (text: string) =>
        app.as(on.keys.personal).send(`${recordPath(on)}/update`, {
          method: 'POST',
          body: text,
          headers: { 'content-type': 'application/json' },
        })
      await become(() => send('{"data":{"name":"Two"}}'))
      expect((await send(body)).status).toBe(400)
      at(10)
      await db.write(sql`delete from api_keys where token_hash = ${hashOf(on.keys.personal)}`)
      expect(statusOf(await send(body))).toBe('401 The API key is not valid')
    },
  )

  test('is counted once, whatever becomes of the request', async () => {
    const on = await ground()
    const remaining = async (request: Promise<Answer>) => Number((await request).headers.get('x-ratelimit-remaining'))
    const update = (data: object, headers = {}) => app.as(on.keys.personal).post(`${recordPath(on)}/update`, { data }, headers)
    await become(() => update({ name: 'Two' }))
    const first = await remaining(update({ name: 'Three' }))
    expect(await remaining(update({ name: 'Four' }))).toBe(first - 1)
    expect(await remaining(update({ nowhere: 1 }))).toBe(first - 2)
    at(8)
    expect(await remaining(update({ name: 'Five' }, { 'if-match': '"1"' }))).toBe(first - 3)
    await db.write(sql`update space_members set role = 'viewer' where space_id = ${on.space} and user_id = ${on.member.id}`)
    expect(await remaining(update({ name: 'Six' }))).toBe(first - 4)
  })

  test('is refused when the limit is exceeded, and for a better reason when the access has ended', async () => {
    const limited = await testApp({ RATE_LIMIT_PER_MINUTE: '80' }, { isElsewhere: false })
    const now = (second: number) => limited.setClock(new Date(START + second * 1_000))
    now(0)
    const account = await limited.account()
    const { path } = await makeTable(limited, account)
    const create = (caller = account.keys.personal) => limited.as(caller).post(`${path}/records/create`, { data: {} })
    for (let time = 0; time < 4; time++) await create()
    now(5)
    const answers = []
    for (let time = 0; time < 30; time++) answers.push(await create())
    const served = answers.filter(({ status }) => status === 200).length
    expect(served).toBeGreaterThan(5)
    expect(answers.slice(served).map(({ status }) => status)).toEqual(Array(30 - served).fill(429))
    const remaining = answers.slice(0, served).map(({ headers }) => Number(headers.get('x-ratelimit-remaining')))
    expect(remaining).toEqual(remaining.map((_, index) => served - 1 - index))
    await limited.db.write(sql`delete from api_keys where token_hash = ${hashOf(account.keys.personal)}`)
    expect(statusOf(await create())).toBe('401 The API key is not valid')
  })

  test('may write by RPC in the same way', async () => {
    const on = await ground()
    const update = (name: string) =>
      app.as(on.keys.personal).rpc.records.update.mutate({ table_id: on.table, record_id: on.record, data: { name } })
    await become(() => update('Two'))
    expect((await update('Three')).data).toEqual({ name: 'Three' })
    await db.write(sql`delete from api_keys where token_hash = ${hashOf(on.keys.personal)}`)
    await expect(update('Four')).rejects.toMatchObject({ data: { code: 'UNAUTHORIZED' } })
    expect((await app.as(on.owner).get(`${recordPath(on)}/get`)).body.data).toEqual({ name: 'Three' })
  })

  test('may send several writes in one request by RPC, of which each is checked', async () => {
    const on = await ground()
    const { rpc } = app.as(on.member)
    const both = () =>
      Promise.allSettled([
        rpc.records.create.mutate({ table_id: on.table, data: { name: 'Two' } }),
        rpc.tasks.comments.create.mutate({ task_id: on.task, content: 'Yes' }),
      ])
    await become(both)
    expect((await both()).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
    await db.write(sql`update space_members set role = 'viewer' where space_id = ${on.space} and user_id = ${on.member.id}`)
    const before = await stateOf(on)
    expect((await both()).map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
    expect(await stateOf(on)).toEqual({ ...before, comments: (before?.comments ?? 0) + 1 })
  })

  test('gets the same answer again with an Idempotency-Key', async () => {
    const on = await ground()
    const create = (headers = {}) => app.as(on.keys.personal).post(`/api/table/${on.table}/records/create`, { data: {} }, headers)
    await become(() => create())
    const [first, again] = [await create({ 'idempotency-key': 'once' }), await create({ 'idempotency-key': 'once' })]
    expect(again.body).toEqual(first.body)
  })

  test('is not found a record that does not exist', async () => {
    const on = await ground()
    await become(() => app.as(on.member).post(`${recordPath(on)}/update`, { data: { name: 'Two' } }))
    for (const [record, expected] of [
      ['999999', '404 Record not found'],
      ['-1', '404 Record not found'],
      ['x', '400 record_id: must be a whole number'],
    ] as const) {
      at(record === 'x' ? 20 : record === '-1' ? 15 : 10)
      const path = `/api/table/${on.table}/record/${record}/update`
      expect(statusOf(await app.as(on.member).post(path, { data: { name: 'Two' } }))).toBe(expected)
    }
  })

  test('gets the error of a write that the database refuses, and the write is not repeated', async () => {
    const on = await ground()
    const create = (name: string) => app.as(on.member).post(`/api/table/${on.table}/records/create`, { data: { name } })
    await become(() => create('Two'))
    await db.write(raw(`alter table t${on.table}.records add check (name <> 'never')`))
    expect((await create('never')).status).toBe(500)
  })

  test('gets 503 if the connection is lost, and the write is not repeated', async () => {
    const on = await ground()
    const create = () => app.as(on.member).post(`/api/tasks/onRecord/${on.table}/${on.record}/create`, { title: 'Write' })
    await become(create)
    const before = await stateOf(on)
    const release = await holding(raw(`select 1 from t${on.table}.records where id = ${on.record} for update`))
    const created = create()
    await expect.poll(lockWaits).toHaveLength(1)
    await db.write(
      sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    expect((await created).status).toBe(503)
    await release()
    expect(await stateOf(on)).toEqual(before)
  })

  test('is checked again before a write that is repeated because the table was changed while it waited', async () => {
    const on = await ground()
    const create = () => app.as(on.keys.personal).post(`/api/table/${on.table}/records/create`, { data: { name: 'Two' } })
    await become(create)
    const before = await stateOf(on)
    const release = await holding(raw(`lock table t${on.table}.records in access exclusive mode`))
    const created = create()
    await expect.poll(lockWaits).toHaveLength(1)
    await db.write(sql`delete from api_keys where token_hash = ${hashOf(on.keys.personal)}`)
    await db.write(sql`update tables set version = version + 1 where id = ${on.table}`)
    await release()
    expect(statusOf(await created)).toMatch(/^401 /)
    expect(await stateOf(on)).toEqual(before)
  })

  test('writes on a task as it is now', async () => {
    const on = await ground()
    const comment = () => app.as(on.member).post(`/api/task/${on.task}/comments/create`, { content: 'Yes' })
    await become(comment)
    await db.write(sql`update tasks set title = 'Call again' where id = ${on.task}`)
    expect(statusOf(await comment())).toBe('200')
    expect((await told(on.viewer.id)).at(-1)?.message).toContain('Call again')
    at(8)
    await db.write(sql`update tasks set space_id = ${on.otherSpace} where id = ${on.task}`)
    expect(statusOf(await comment())).toBe('403 Not authorized')
  })

  test('does not find a task that was deleted', async () => {
    const on = await ground()
    const comment = () => app.as(on.member).post(`/api/task/${on.task}/comments/create`, { content: 'Yes' })
    await become(comment)
    await db.write(sql`delete from tasks where id = ${on.task}`)
    expect(statusOf(await comment())).toBe('404 Task not found')
  })

  test('may not edit a task that is no longer theirs', async () => {
    const on = await ground()
    const mark = (to: string) => app.as(on.viewer).post(`/api/task/${on.task}/${to}`)
    await become(() => mark('markDone'))
    await db.write(sql`update tasks set assignee_user_id = ${on.member.id} where id = ${on.task}`)
    expect(statusOf(await mark('markUndone'))).toBe('403 Not authorized')
    expect((await app.as(on.member).get(`/api/task/${on.task}/get`)).body.status).toBe('done')
  })

  test('is admitted to a task for half a minute at most if an operator has turned off the triggers', async () => {
    const on = await ground()
    const comment = () => app.as(on.member).post(`/api/task/${on.task}/comments/create`, { content: 'Yes' })
    await become(comment)
    const operator = await db.connect()
    await operator.query('set session_replication_role = replica')
    await operator.query('delete from space_members where space_id = $1 and user_id = $2', [on.space, on.member.id])
    await operator.end()
    at(35)
    // Another request finds the caller anew, with the version that has not changed.
    await app.as(on.member).get('/api/spaces/list')
    expect(statusOf(await comment())).toBe('403 Not authorized')
  })

  test('may comment on a standalone task as long as they are its assignee', async () => {
    const on = await ground()
    const created = await app.as(on.member).post('/api/tasks/create', { title: 'Alone', assignee_user_id: on.viewer.id })
    const comment = () => app.as(on.viewer).post(`/api/task/${created.body.id}/comments/create`, { content: 'Yes' })
    await become(comment)
    expect(statusOf(await comment())).toBe('200')
    await db.write(sql`update tasks set assignee_user_id = ${on.member.id} where id = ${created.body.id}`)
    await db.write(sql`delete from task_subscribers where task_id = ${created.body.id}`)
    expect(statusOf(await comment())).toBe('403 Not authorized')
  })
})
