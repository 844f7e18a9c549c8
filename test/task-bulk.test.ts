import { describe, expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import type { MadeTask } from '../src/tasks/schema.ts'
import { type Caller, testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'
import { taskSupport } from './support/tasks.ts'

const app = await testApp()
const { onRecord, told, subscribersOf } = taskSupport(app)

const tasksOf = (accountId: number) =>
  app.db.read<{ id: number; title: string }>(sql`select id, title from tasks where account_id = ${accountId} order by id`)
const rowOf = async (taskId: number) => (await app.db.read(sql`select *, xmin::text from tasks where id = ${taskId}`))[0]

/** Creates an account with a function that sends many tasks to its record. */
async function withMany() {
  const account = await onRecord()
  const createMany = (caller: Caller, tasks: unknown, headers?: Record<string, string>) =>
    app.as(caller).post(`${account.path}/createMany`, { tasks }, headers)
  return { ...account, createMany }
}

describe('many tasks at once', () => {
  test('are created like single ones, in order', async () => {
    const { id, member, viewer, admin, createMany, create } = await withMany()
    const input = {
      title: 'Call',
      details: 'Soon',
      assignee_user_id: viewer.id,
      due_date: '2026-03-31',
      due_time: '09:30',
      reminder_offset_mins: 5,
    }
    const { status, body } = await createMany(member, [input, { title: 'Mail', assignee_email: admin.email }])
    expect([status, body.map(({ ok }: { ok: boolean }) => ok)]).toEqual([200, [true, true]])
    const { body: single } = await create(member, input)
    expect({ ...body[0].task, id: 0, created_at: '', updated_at: '' }).toEqual({ ...single, id: 0, created_at: '', updated_at: '' })
    expect(Object.keys(body[0].task)).toEqual(Object.keys(single))
    expect((await told(viewer.id)).map(({ task_id }) => task_id)).toEqual([body[0].task.id, single.id])
    expect(await subscribersOf(body[1].task.id)).toEqual([admin.id, member.id].sort((a, b) => a - b))
    expect((await tasksOf(id)).map(({ title }) => title)).toEqual(['Call', 'Mail', 'Call'])
    const events = await app.db.read<{ type: string }>(sql`select type from events where account_id = ${id} and type = 'task.created'`)
    expect(events).toHaveLength(3)
  })

  test('are refused one by one, each with its errors', async () => {
    const { id, member, outsider, createMany, keys } = await withMany()
    const { status, body } = await createMany(member, [
      { title: 'One' },
      { title: ' ' },
      {},
      'text',
      null,
      { title: 'Six', due_date: '2026-02-30' },
      { title: 'Seven', due_time: '09:30' },
      { title: 'Eight', assignee_user_id: outsider.id },
      { title: 'Nine', assigner_user_id: outsider.id },
      { title: 'Ten', nope: 1 },
      { title: 'Eleven', attachments: [{ staged_token: 'x' }] },
      { title: 'Twelve', upsert: true },
      { title: 'Last' },
    ])
    const outcomes = body.map(({ ok, task, code, message }: MadeTask) => (ok ? task?.title : `${code} ${message}`))
    expect([status, outcomes]).toEqual([
      200,
      [
        'One',
        'BAD_REQUEST tasks[1].title: must not be empty',
        'BAD_REQUEST tasks[2].title: is required',
        'BAD_REQUEST tasks[3]: must be an object',
        'BAD_REQUEST tasks[4]: must be an object',
        'BAD_REQUEST tasks[5].due_date: must be a date that exists, as YYYY-MM-DD',
        'BAD_REQUEST tasks[6].due_time: needs due_date',
        'BAD_REQUEST tasks[7].assignee_user_id: is not a member of the space',
        'BAD_REQUEST tasks[8].assigner_user_id: is not a member of the space',
        'BAD_REQUEST tasks[9].nope: is not a known key',
        'BAD_REQUEST tasks[10].attachments[0].staged_token: is not a file that this session has staged, or was used before',
        'BAD_REQUEST tasks[11].upsert: needs external_id',
        'Last',
      ],
    ])
    expect((await tasksOf(id)).map(({ title }) => title)).toEqual(['One', 'Last'])
    const fromKey = await createMany(keys.account, [{ title: 'A', attachments: [] }, { title: 'B' }])
    expect(fromKey.body).toMatchObject([
      { ok: false, code: 'FORBIDDEN', message: 'tasks[0]: Attachments cannot be set via the public API' },
      { ok: true, task: { title: 'B' } },
    ])
  })

  test('are refused by name, too, for errors outside of the input', async () => {
    const { member, viewer, admin, create, createMany } = await withMany()
    await create(member, { title: 'Call', external_id: 'crm-7', assignee_user_id: viewer.id })
    const again = { title: 'Mine', external_id: 'crm-7' }
    expect((await createMany(admin, [{ title: 'One' }, again, { ...again, upsert: true }])).body).toMatchObject([
      { ok: true },
      { ok: false, code: 'CONFLICT', message: 'tasks[1].external_id: is taken' },
      { ok: false, code: 'FORBIDDEN', message: 'tasks[2]: Not authorized' },
    ])
  })

  test('are created once for an Idempotency-Key', async () => {
    const { id, keys, createMany } = await withMany()
    const send = () => createMany(keys.account, [{ title: 'A' }, { title: '' }, { title: 'B' }], { 'idempotency-key': 'many' })
    const [first, again] = [await send(), await send()]
    expect([again.headers.get('idempotent-replayed'), again.body]).toEqual(['true', first.body])
    expect(await tasksOf(id)).toHaveLength(2)
  })

  test('can be a hundred, with the files that were staged for them', async () => {
    const { id, member, path, createMany } = await withMany()
    const { body: staged } = await app.as(member).post(`${path}/upload`, { name: 'a.txt', data: '' })
    const titles = Array.from({ length: 100 }, (_, index) => ({ title: `Task ${index}`, ...(index === 7 && { attachments: [staged] }) }))
    const { body } = await createMany(member, titles)
    expect(body[7].task.attachments[0].path).toMatch(new RegExp(`^task-${body[7].task.id}-`))
    expect((await tasksOf(id)).map(({ title }) => title)).toEqual(titles.map(({ title }) => title))
    const { rows } = await app.as(member).rpc.tasks.createMany.mutate({ tasks: [{ title: 'Standalone' }] })
    expect(rows[0]).toMatchObject({ ok: true, task: { title: 'Standalone', table_id: null } })
  })

  test.each<[unknown, string]>([
    [undefined, 'tasks: is required'],
    [null, 'tasks: is required'],
    [{}, 'tasks: must be a list'],
    [[], 'tasks: must not be empty'],
    [Array(101).fill({ title: 'x' }), 'tasks: must have at most 100 tasks'],
  ])('are refused as a list: %#', async (tasks, message) => {
    const { id, member, createMany } = await withMany()
    const { status, body } = await createMany(member, tasks)
    expect([status, body.message]).toEqual([400, message])
    expect(await tasksOf(id)).toEqual([])
  })

  test('are allowed for callers who may create one', async () => {
    const { createMany, keys, outsider, viewer } = await withMany()
    for (const [caller, status, message] of [
      [null, 401, 'Sign in, or send an API key as a bearer token'],
      [keys.accountReadOnly, 403, 'API key is read-only'],
      [keys.accountOtherSpace, 403, 'API key not authorized for this workspace'],
      [outsider, 404, 'Table not found'],
    ] as const) {
      const answer = await createMany(caller, [])
      expect([answer.status, answer.body.message]).toEqual([status, message])
    }
    expect((await createMany(viewer, [{ title: 'x' }])).status).toBe(200)
    const standalone = await app.as(keys.account).post('/api/tasks/createMany', { tasks: [] })
    expect([standalone.status, standalone.body.message]).toEqual([403, 'Task is not on a record'])
  })
})

describe('an external_id', () => {
  test('is shown at the end of the tasks that have one, and by no other', async () => {
    const { member, path, create } = await onRecord()
    const { body: plain } = await create(member, { title: 'Plain', external_id: null })
    expect(Object.keys(plain).at(-1)).toBe('attachments')
    const { body: task } = await create(member, { title: 'Call', external_id: 'crm-7' })
    expect(Object.entries(task).at(-1)).toEqual(['external_id', 'crm-7'])
    const list = (await app.as(member).get(`${path}/list`)).body
    expect(list).toEqual([plain, task])
    expect((await app.as(member).get(`/api/task/${task.id}/get`)).body.external_id).toBe('crm-7')
    const { body: changed } = await app.as(member).post(`/api/task/${task.id}/update`, { external_id: 'crm-8' })
    expect(changed.external_id).toBe('crm-8')
    const { body: cleared } = await app.as(member).post(`/api/task/${task.id}/update`, { external_id: null })
    expect(cleared).not.toHaveProperty('external_id')
  })

  test('is unique in the account, and free again when its task is deleted', async () => {
    const { member, viewer, create } = await onRecord()
    const { body: task } = await create(member, { title: 'Call', external_id: 'crm-7' })
    const { body: other } = await create(member, { title: 'Other', external_id: 'CRM-7' })
    const before = await rowOf(other.id)
    for (const answer of [
      await create(viewer, { title: 'Again', external_id: 'crm-7' }),
      await app.as(member).post('/api/tasks/create', { title: 'Again', external_id: 'crm-7' }),
      await app.as(member).post(`/api/task/${other.id}/update`, { title: 'x', external_id: 'crm-7' }),
    ])
      expect([answer.status, answer.body.message, answer.body.code]).toEqual([409, 'external_id: is taken', 'CONFLICT'])
    expect(await rowOf(other.id)).toEqual(before)
    const elsewhere = await onRecord()
    expect((await elsewhere.create(elsewhere.member, { title: 'Call', external_id: 'crm-7' })).status).toBe(200)
    await app.as(member).post(`/api/task/${task.id}/delete`)
    expect((await create(member, { title: 'Again', external_id: 'crm-7' })).status).toBe(200)
  })

  test.each(['table', 'space'])('is free again when the %s of its task is deleted, for each way to give it', async (gone) => {
    const { account, owner, space, table, create, member } = await onRecord()
    const ids = ['made', 'upserted', 'updated', 'made with others']
    const old = await Promise.all(ids.map(async (external_id) => (await create(member, { title: 'Old', external_id })).body.id as number))
    const { body: elsewhere } = await app.as(owner).post('/api/spaces/create', { name: 'Elsewhere' })
    const place = gone === 'table' ? account : { ...account, space: elsewhere.id as number }
    const { id: other, records } = await makeTable(app, place, { records: [{ name: 'One' }] })
    const path = `/api/tasks/onRecord/${other}/${records[0]}`
    const post = async (url: string, body: object) => (await app.as(owner).post(url, body)).body
    const { id } = await post(`${path}/create`, { title: 'New' })

    await app.as(owner).post(gone === 'table' ? `/api/table/${table}/delete` : `/api/space/${space}/delete`)
    expect(await post(`${path}/create`, { title: 'New', external_id: 'made' })).toMatchObject({ external_id: 'made' })
    expect(await post(`${path}/create`, { title: 'New', external_id: 'upserted', upsert: true })).toMatchObject({ external_id: 'upserted' })
    expect(await post(`/api/task/${id}/update`, { external_id: 'updated' })).toMatchObject({ external_id: 'updated' })
    expect(await post(`${path}/createMany`, { tasks: [{ title: 'New', external_id: 'made with others' }] })).toMatchObject([{ ok: true }])
    // The restored tasks no longer have an external_id.
    const left = await app.db.read<{ external_id: string | null }>(sql`select external_id from tasks where id = any(${old}::int[])`)
    expect(left.map(({ external_id }) => external_id)).toEqual([null, null, null, null])
  })

  test('is given to only one of many concurrent tasks', async () => {
    const { id, member, create } = await onRecord()
    const answers = await Promise.all(Array.from({ length: 6 }, (_, n) => create(member, { title: `${n}`, external_id: 'race' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409])
    expect(await tasksOf(id)).toHaveLength(1)
  })

  test.each<[unknown, string]>([
    ['', 'external_id: must not be empty'],
    ['x'.repeat(201), 'external_id: must have at most 200 characters'],
    [7, 'external_id: must be text'],
    ['a\0', 'external_id: must not contain NUL'],
  ])('cannot be %j', async (external_id, message) => {
    const { id, member, create } = await onRecord()
    const { body: task } = await create(member, { title: 'Call' })
    const before = await rowOf(task.id)
    for (const answer of [
      await create(member, { title: 'x', external_id }),
      await app.as(member).post(`/api/task/${task.id}/update`, { title: 'x', external_id }),
    ])
      expect([answer.status, answer.body.message]).toEqual([400, message])
    expect(await rowOf(task.id)).toEqual(before)
    expect(await tasksOf(id)).toHaveLength(1)
  })

  test('can have 200 characters', async () => {
    const { member, create } = await onRecord()
    expect((await create(member, { title: 'x', external_id: '😀'.repeat(100) })).status).toBe(200)
  })
})

describe('an upsert', () => {
  test('creates the task, then changes it, and keeps the properties that it does not name', async () => {
    const { id, keys, viewer, admin, create } = await onRecord()
    const send = (input: object) => create(keys.account, { external_id: 'crm-7', upsert: true, title: 'Call', ...input })
    const { body: made } = await send({ details: 'Soon', assignee_user_id: viewer.id, due_date: '2026-03-31', due_time: '09:30' })
    const changed = await send({ title: 'Mail', assignee_email: admin.email, details: null, notify_assigner: true })
    expect(changed.status).toBe(200)
    expect(changed.body).toMatchObject({ id: made.id, title: 'Mail', details: 'Soon', due_time: '09:30:00', assignee_user_id: admin.id })
    expect([changed.headers.get('x-ignored'), changed.headers.get('etag')]).toEqual(['notify_assigner', '"2"'])
    expect((await told(admin.id)).map(({ event_type }) => event_type)).toEqual(['TASK_ASSIGNED'])
    expect((await send({ title: 'Mail' })).headers.get('etag')).toBe('"2"')
    expect(await tasksOf(id)).toHaveLength(1)
  })

  test('that is sent many times at once creates one task', async () => {
    const { id, keys, create, createMany } = await withMany()
    const answers = await Promise.all([
      ...Array.from({ length: 5 }, (_, n) => create(keys.account, { title: `${n}`, external_id: 'race', upsert: true })),
      createMany(keys.account, [{ title: 'many', external_id: 'race', upsert: true }]),
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200])
    expect(await tasksOf(id)).toHaveLength(1)
  })

  test.each([true, false])('of many in opposite orders waits for its turn, upsert: %s', async (upsert) => {
    const { id, keys, createMany } = await withMany()
    const tasks = Array.from({ length: 60 }, (_, n) => ({ title: 'Call', external_id: `crm-${n}`, upsert }))
    const backwards = tasks.toReversed()
    // In the first round none of the tasks exists, then all do.
    for (let round = 0; round < 2; round++) {
      const answers = await Promise.all([tasks, backwards, tasks, backwards].map((given) => createMany(keys.account, given)))
      expect(answers.map(({ status, body }) => [status, body.message])).toEqual(answers.map(() => [200, undefined]))
      expect(await tasksOf(id)).toHaveLength(60)
    }
  })

  test('of many tasks waits for an update that takes one of its ids', async () => {
    const { id, keys, member, create, createMany } = await withMany()
    const { body: task } = await create(member, { title: 'Call', external_id: 'a' })
    const tasks = [
      { title: 'B', external_id: 'b', upsert: true },
      { title: 'A', external_id: 'a', upsert: true },
    ]
    const answers = await Promise.all([
      createMany(keys.account, tasks),
      app.as(member).post(`/api/task/${task.id}/update`, { external_id: 'b' }),
      createMany(keys.account, tasks.toReversed()),
    ])
    // Whichever is first, one of them has the id.
    expect(answers.map(({ status }) => status)).toEqual([200, expect.toSatisfy((status) => status === 200 || status === 409), 200])
    expect(await tasksOf(id)).toHaveLength(2)
  })

  test('does not change a task without write access, or in another place', async () => {
    const { account, owner, member, viewer, admin, keys, table, other, create } = await onRecord()
    const { body: task } = await create(member, { title: 'Call', external_id: 'crm-7', assignee_user_id: viewer.id })
    const before = await rowOf(task.id)
    const again = { title: 'Mine', external_id: 'crm-7', upsert: true }
    const refused = await create(admin, again)
    expect([refused.status, refused.body.message]).toEqual([403, 'Not authorized'])
    for (const path of [`/api/tasks/onRecord/${table}/${other}/create`, '/api/tasks/create']) {
      const answer = await app.as(member).post(path, again)
      expect([answer.status, answer.body.message]).toEqual([409, 'external_id: is taken'])
    }
    expect((await create(keys.accountReadOnly, again)).status).toBe(403)
    // The answer does not reveal where the task with the id is: in a foreign space, or standalone.
    const { body: space } = await app.as(owner).post('/api/spaces/create', { name: 'Secret' })
    const hidden = await makeTable(app, { ...account, space: space.id }, { records: [{ name: 'Plan' }] })
    const secret = { title: 'Secret', external_id: 'secret' }
    expect((await app.as(owner).post(`/api/tasks/onRecord/${hidden.id}/${hidden.records[0]}/create`, secret)).status).toBe(200)
    expect((await app.as(owner).post('/api/tasks/create', { title: 'Own', external_id: 'own' })).status).toBe(200)
    for (const external_id of ['secret', 'own'])
      for (const upsert of [true, false])
        for (const answer of [
          await create(member, { ...again, external_id, upsert }),
          await app.as(member).post('/api/tasks/create', { ...again, external_id, upsert }),
        ])
          expect([answer.status, answer.body.message]).toEqual([409, 'external_id: is taken'])
    const stale = await create(member, { ...again, due_time: '09:30', due_date: null })
    expect([stale.status, stale.body.message]).toEqual([400, 'due_time: needs due_date'])
    const withFiles = await create(member, { ...again, attachments: [{ staged_token: 'x' }] })
    expect([withFiles.status, withFiles.body.message]).toEqual([400, 'attachments: cannot be combined with upsert'])
    expect(await rowOf(task.id)).toEqual(before)
  })
})
