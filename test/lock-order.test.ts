/** Requests that need the same rows lock them in one order, so that they never deadlock. */
import type pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import type { MadeTask } from '../src/tasks/schema.ts'
import { type Caller, testApp } from './support/app.ts'
import { lockWaits } from './support/servers.ts'
import { makeTable } from './support/tables.ts'
import { taskSupport } from './support/tasks.ts'

const app = await testApp()
const { onRecord } = taskSupport(app)

const opened: pg.Client[] = []
afterEach(async () => {
  for (const client of opened.splice(0)) await client.end()
})

/** Runs a statement in another transaction, which stays open. */
async function openTransaction(statement: string, values: unknown[]): Promise<pg.Client> {
  const client = await app.db.connect()
  opened.push(client)
  await client.query('begin')
  await client.query(statement, values)
  return client
}

/** Resolves when the given number of statements wait for a lock. */
const waiting = (count: number) => expect.poll(async () => (await lockWaits()).length).toBe(count)

const LOCK_FILE = 'select from stored_files where path = $1 for update'
const upload = { name: 'a.txt', type: 'text/plain', data: Buffer.from('a').toString('base64') }

test('many tasks can attach the same staged files in opposite orders', async () => {
  const { member, path } = await onRecord()
  const stage = async () => (await app.as(member).post(`${path}/upload`, upload)).body
  const [first, last] = [await stage(), await stage()]
  const between = await stage()
  const holder = await openTransaction(LOCK_FILE, [between.path])
  const take = (...files: object[]) =>
    app.as(member).post(`${path}/createMany`, { tasks: files.map((file) => ({ title: 'Call', attachments: [file] })) })
  const requests = [take(first, between, last), take(last, between, first)]
  await waiting(2)
  await holder.query('commit')
  const answers = await Promise.all(requests)
  expect(answers.map(({ status, body }) => [status, body.message])).toEqual([
    [200, undefined],
    [200, undefined],
  ])
  // The first task has all of the files.
  expect(answers.map(({ body }) => body.filter(({ ok }: MadeTask) => ok).length).sort()).toEqual([0, 3])
})

test('two records can exchange their files', async () => {
  const account = await app.account()
  const { id: table, records } = await makeTable(app, account, {
    records: [{ name: 'One' }, { name: 'Two' }],
    fields: [
      { name: 'Name', type: 'text' },
      { name: 'Papers', type: 'file' },
    ],
  })
  const [one = 0, two = 0] = records
  const at = (record: number, verb: string) => `/api/table/${table}/record/${record}/${verb}`
  const put = async () =>
    (await app.as(account.member).post(at(one, 'files/create'), { field_id: 'papers', ...upload })).body as { path: string }[]
  await put()
  await put()
  const files = (await put()).sort((a, b) => (a.path < b.path ? -1 : 1))
  const [left, right, last] = files as [{ path: string }, { path: string }, { path: string }]
  const write = (record: number, list: object[]) => app.as(account.member).post(at(record, 'update'), { data: { papers: list } })
  expect((await write(two, [left])).status).toBe(200)
  expect((await write(one, [right])).status).toBe(200)

  const holder = await openTransaction(LOCK_FILE, [last.path])
  const requests = [write(one, [left, last]), write(two, [right, last])]
  await waiting(2)
  await holder.query('commit')
  expect((await Promise.all(requests)).map(({ status, body }) => [status, body.message])).toEqual([
    [200, undefined],
    [200, undefined],
  ])
})

test('many upserts can name tasks in another order than their deletion', async () => {
  const { account, member, create, path } = await onRecord()
  const made = async (external_id: string) => (await create(member, { title: 'Call', external_id })).body.id as number
  const [first, second] = [await made('first'), await made('second')]
  const deleter = await openTransaction('select from tasks where id = $1 for update', [first])
  const request = app.as(account.member).post(`${path}/createMany`, {
    tasks: ['second', 'first'].map((external_id) => ({ title: 'Mail', external_id, upsert: true })),
  })
  await waiting(1)
  await deleter.query('select from tasks where id = $1 for update', [second])
  await deleter.query('commit')
  const { status, body } = await request
  expect([status, body.map(({ ok }: MadeTask) => ok)]).toEqual([200, [true, true]])
})

test.each([
  [
    'a task',
    async ({ member, create }: Here) => {
      const { body: task } = await create(member, { title: 'Call' })
      const { body: comment } = await app.as(member).post(`/api/task/${task.id}/comments/create`, { content: 'Hello' })
      return { table: 'tasks', id: task.id, path: `/api/task/${task.id}/comment/${comment.id}/update` }
    },
  ],
  [
    'a record',
    async ({ member, table, record }: Here) => {
      const { body: comment } = await app.as(member).post(`/api/table/${table}/record/${record}/comments/create`, { content: 'Hello' })
      return { table: `t${table}.records`, id: record, path: `/api/table/${table}/record/${record}/comment/${comment.id}/update` }
    },
  ],
])('a comment on %s can be edited while it is deleted', async (_, written) => {
  const here = await onRecord()
  const { table, id, path } = await written(here)
  const deleter = await openTransaction(`select from ${table} where id = $1 for update`, [id])
  const request = app.as(here.member as Caller).post(path, { content: `Hello @{${here.viewer.id}:Vera}` })
  await waiting(1)
  await deleter.query('select from task_comments for update')
  await deleter.query('select from record_comments for update')
  await deleter.query('commit')
  const { status, body } = await request
  expect([status, body.message]).toEqual([200, undefined])
})
type Here = Awaited<ReturnType<typeof onRecord>>
