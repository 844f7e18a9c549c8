/** Deleted records: nobody finds them or what belongs to them, until they are restored (contract.md §10, Deleted records). */
import { afterEach, describe, expect, test } from 'vitest'
import type { FieldType } from '../src/fields/registry.ts'
import { systemContext } from '../src/platform/context.ts'
import { historyOf, sql } from '../src/platform/database/database.ts'
import { purgeDue } from '../src/records/deleted/purge.ts'
import { purge } from '../src/tables/purge.ts'
import { type Answer, type Caller, testApp } from './support/app.ts'
import { runConversion } from './support/conversions.ts'
import { fileSupport } from './support/files.ts'
import { queriesOf, queriesWith } from './support/statements.ts'
import { makeRecords, makeTable } from './support/tables.ts'

const app = await testApp()
const { isStored, sweepAfter } = fileSupport(app)

afterEach(() => app.setClock(null))

const DAY = 86_400_000
const data = Buffer.from('An offer').toString('base64')
const upload = (name: string) => ({ name: `${name}.txt`, type: 'text/plain', data })

async function posted(caller: Caller, path: string, body?: object): Promise<Answer['body']> {
  const answer = await app.as(caller).post(path, body)
  expect([path, answer.status, answer.body.message]).toEqual([path, 200, undefined])
  return answer.body
}

/** A table with a record that has a bit of everything. */
async function setUp() {
  const account = await app.account()
  const { member, owner, admin } = account
  const others = await makeTable(app, account, { records: [{ name: 'Ltd' }] })
  const table = await makeTable(app, account, {
    fields: [
      { name: 'Name', type: 'text' },
      { name: 'Stage', type: 'select', options: ['Lead', 'Won'] },
      { name: 'Tags', type: 'multi_select', options: ['red', 'blue'] },
      { name: 'Amount', type: 'number', decimals: 2 },
      { name: 'Done', type: 'checkbox' },
      { name: 'Due', type: 'date' },
      { name: 'Met', type: 'datetime' },
      { name: 'Who', type: 'user' },
      { name: 'Firm', type: 'lookup', table: others.id },
      { name: 'Firms', type: 'multi_lookup', table: others.id },
      { name: 'Files', type: 'file' },
      { name: 'Note', type: 'long_text' },
    ],
  })
  const values = {
    name: 'Acme',
    ...{ stage: 'Won', tags: ['blue', 'red'], amount: '12.50', done: true, due: '2026-03-31', met: '2026-03-31 09:30:00' },
    ...{ who: member.id, firm: others.records[0], firms: others.records, note: 'A "long" \\ one, {with} all' },
  }
  const [record = 0, other = 0] = await makeRecords(app, account, table.id, [values, { name: 'Other' }])
  const path = `${table.path}/record/${record}`
  const as = app.as(member)
  const get = () => as.get(`${path}/get`)
  const remove = () => posted(member, `${path}/delete`)
  const restore = (caller: Caller = member) => app.as(caller).post(`${path}/restore`)
  return { account, member, owner, admin, table, others, record, other, path, as, get, remove, restore }
}

describe('a record that is restored', () => {
  test('has all of its cells again, its id and who created it, and a higher version', async () => {
    const { path, as, get, remove, restore, member } = await setUp()
    await posted(member, `${path}/files/create`, { field_id: 'files', ...upload('offer') })
    const { body: before } = await get()
    const removed = await remove()
    expect(removed).toEqual({ ok: true, change_id: expect.any(Number) })
    expect((await get()).status).toBe(404)
    const restored = await restore()
    expect(restored.status).toBe(200)
    expect(restored.headers.get('x-ignored')).toBeNull()
    expect(restored.headers.get('x-change-id')).toBe(String(restored.body.change_id))
    expect(restored.body.change_id).toBeGreaterThan(removed.change_id)
    const { change_id, ...record } = restored.body
    expect(record).toEqual({ ...before, version: before.version + 2, updated_at: expect.any(String) })
    expect((await get()).body).toEqual(record)
    const { body: history } = await as.get(`${path}/history`)
    expect(history.slice(0, 2)).toMatchObject([
      { kind: 'restore', change_id, version: record.version, records: 1 },
      { kind: 'delete', change_id: removed.change_id, version: record.version - 1, records: 1 },
    ])
  })

  test('has its tasks, comments, subscriptions and notifications again', async () => {
    const { table, record, path, as, remove, restore, member, owner, admin } = await setUp()
    const task = await posted(member, `/api/tasks/onRecord/${table.id}/${record}/create`, {
      ...{ title: 'Call', assignee_user_id: admin.id, external_id: 'one', due_date: '2026-03-31' },
    })
    const other = await posted(member, `/api/tasks/onRecord/${table.id}/${record}/create`, { title: 'Write' })
    await posted(owner, `/api/task/${task.id}/comments/create`, { content: `@{${member.id}:Max} look` })
    await posted(owner, `${path}/comments/create`, { content: 'Prefers mail' })
    await posted(admin, `/api/subscriptions/${table.id}/${record}/subscribe`)
    const state = async () => ({
      tasks: (await as.get(`/api/tasks/onRecord/${table.id}/${record}/list`)).body,
      detail: (await as.get(`/api/task/${task.id}/get`)).body,
      comments: (await as.get(`${path}/comments/get`)).body,
      onTask: (await as.get(`/api/task/${task.id}/comments/get`)).body,
      followed: (await app.as(admin).post(`/api/subscriptions/${table.id}/status`, { record_id: record })).body,
      told: (await as.post('/api/notifications/list', {})).body,
      toldAdmin: (await app.as(admin).post('/api/notifications/list', {})).body,
      mine: (await app.as(admin).post('/api/tasks/list', { tab: 'my' })).body,
      due: (await app.as(admin).get('/api/tasks/badgeCount')).body,
    })
    const before = await state()
    expect([before.tasks.length, before.comments.length, before.onTask.length, before.told.length]).toEqual([2, 1, 1, 1])
    await remove()
    const gone = await state()
    expect([gone.told, gone.toldAdmin, gone.mine]).toEqual([[], [], []])
    expect([gone.detail.message, gone.comments.message, gone.onTask.message]).toEqual([
      'Task not found',
      'Record not found',
      'Task not found',
    ])
    const free = await posted(member, '/api/tasks/create', { title: 'Mine', external_id: 'one' })
    await restore()
    const after = await state()
    // The task does not have its external_id any more.
    const asRestored = ({ external_id: _, ...row }: { external_id?: string; version: number }) => ({
      ...{ ...row, version: row.version + 1, updated_at: expect.any(String) },
    })
    expect(after.tasks).toEqual(before.tasks.map(asRestored))
    expect(after.comments).toEqual(before.comments)
    expect(after.onTask).toEqual(before.onTask)
    expect(after.followed).toEqual({ table: false, record: true })
    expect(after.told).toEqual(before.told)
    expect(after.toldAdmin).toEqual(before.toldAdmin)
    expect(after.mine.map(({ id }: { id: number }) => id)).toEqual([task.id])
    const taken = await app.db.read(sql`select id, external_id from tasks where id in (${free.id}, ${task.id}) order by id`)
    expect(taken).toEqual([
      { id: task.id, external_id: null },
      { id: free.id, external_id: 'one' },
    ])
    expect((await as.get(`/api/task/${other.id}/get`)).status).toBe(200)
  })

  test('is linked again from the records that were linked to it', async () => {
    const { others, path, get, member } = await setUp()
    const firm = others.records[0]
    await posted(member, `${others.path}/record/${firm}/delete`)
    expect((await get()).body.data).toMatchObject({ firm: null, firms: [] })
    await posted(member, `${others.path}/record/${firm}/restore`)
    expect((await get()).body.data).toMatchObject({ firm: { id: firm, title: 'Ltd' }, firms: [{ id: firm, title: 'Ltd' }] })
    // The link is kept while both are deleted.
    await posted(member, `${path}/delete`)
    await posted(member, `${others.path}/record/${firm}/delete`)
    await posted(member, `${path}/restore`)
    expect((await get()).body.data).toMatchObject({ firm: null, firms: [] })
    await posted(member, `${others.path}/record/${firm}/restore`)
    expect((await get()).body.data).toMatchObject({ firm: { id: firm }, firms: [{ id: firm }] })
  })
})

describe('cells that no longer fit', () => {
  test('are empty, and named', async () => {
    const { table, remove, restore, admin } = await setUp()
    await remove()
    const field = (id: string) => `${table.path}/field/${id}`
    await posted(admin, `${field('note')}/delete`)
    await posted(admin, `${field('stage')}/update`, { options: ['Lead'], force: true })
    await posted(admin, `${field('tags')}/update`, { options: ['blue', 'green'], force: true })
    await posted(admin, `${field('due')}/delete`)
    await posted(admin, `${table.path}/fields/create`, { name: 'Due', type: 'text' })
    await posted(admin, `${field('amount')}/update`, { decimals: 0, force: true })
    await posted(admin, `${field('name')}/update`, { required: true })
    await posted(admin, `${table.path}/fields/create`, { name: 'New', type: 'text', required: true })
    const { status, body, headers } = await restore()
    expect([status, body.message]).toEqual([200, undefined])
    expect(headers.get('x-ignored')?.split(', ').sort()).toEqual(['due', 'note', 'stage', 'tags'])
    expect(body.data).toMatchObject({ name: 'Acme', stage: null, tags: ['blue'], due: null, amount: 13, new: null, done: true })
    expect(body.data).not.toHaveProperty('note')
  })

  test('are empty in a field that was created anew, and follow an option that was renamed', async () => {
    const { table, remove, restore, admin } = await setUp()
    await remove()
    const field = (id: string) => `${table.path}/field/${id}`
    await posted(admin, `${field('tags')}/delete`)
    await posted(admin, `${table.path}/fields/create`, { name: 'Tags', type: 'multi_select', options: ['green', 'red', 'blue'] })
    await posted(admin, `${field('stage')}/update`, { options: ['Lead', { title: 'Closed', was: 'Won' }] })
    const { body, headers } = await restore()
    expect(headers.get('x-ignored')).toBe('tags')
    expect(body.data).toMatchObject({ stage: 'Closed', tags: [] })
  })

  const CONVERSIONS: [field: string, type: FieldType][] = [
    ['due', 'text'],
    ['amount', 'text'],
    ['firm', 'text'],
  ]
  test.each(CONVERSIONS)('%s, which was converted to %s', async (id, type) => {
    const { table, remove, restore, admin } = await setUp()
    await remove()
    const { body: job } = await app.as(admin).post(`${table.path}/field/${id}/changeType`, { type })
    expect(job.message).toBeUndefined()
    await runConversion(systemContext(app.deps), job.job_id)
    const { headers, body } = await restore()
    expect([headers.get('x-ignored'), body.data?.[id]]).toEqual([id, null])
  })
})

describe('files', () => {
  test('stay stored and count, are no dropped files and cannot be read, until the record is purged', async () => {
    const { account, path, get, remove, restore, member, admin, as } = await setUp()
    const [file] = await posted(member, `${path}/files/create`, { field_id: 'files', ...upload('offer') })
    const attached = await posted(member, `${path}/comments/upload`, upload('letter'))
    await posted(member, `${path}/comments/create`, { attachments: [attached] })
    const files = [file.path, attached.path] as string[]
    const statuses = () => Promise.all(files.map(async (each) => (await as.get(`/api/file/${each}`)).status))
    const usage = async () => (await app.as(admin).get('/api/usage')).body
    const dropped = async () => (await app.as(admin).get(`/api/space/${account.space}/files/dropped`)).body
    const before = await usage()
    expect(await statuses()).toEqual([200, 200])
    await remove()
    expect(await statuses()).toEqual([404, 404])
    expect(await dropped()).toEqual([])
    expect((await usage()).bytes).toBe(before.bytes)
    await sweepAfter(24 * 29)
    expect(await Promise.all(files.map((each) => isStored(each)))).toEqual([true, true])
    await restore()
    expect(await statuses()).toEqual([200, 200])
    expect((await get()).body.data.files).toMatchObject([{ path: file.path }])

    await remove()
    app.setClock(new Date(Date.now() + 31 * DAY))
    await purgeDue(systemContext(app.deps))
    app.setClock(null)
    expect((await restore()).status).toBe(404)
    expect(await dropped()).toEqual([])
    await sweepAfter(24 * 33)
    expect(await Promise.all(files.map((each) => isStored(each)))).toEqual([false, false])
  })

  test('that another record uses as well stay its own', async () => {
    const { table, other, path, remove, restore, member, as } = await setUp()
    const [file] = await posted(member, `${path}/files/create`, { field_id: 'files', ...upload('offer') })
    const status = async () => (await as.get(`/api/file/${file.path}`)).status
    await posted(member, `${table.path}/record/${other}/update`, { data: { files: [file] } })
    await remove()
    expect(await status()).toBe(200)
    await posted(member, `${table.path}/record/${other}/update`, { data: { files: [] } })
    expect(await status()).toBe(404)
    await restore()
    expect(await status()).toBe(200)
    await remove()
    app.setClock(new Date(Date.now() + 31 * DAY))
    await purgeDue(systemContext(app.deps))
    await sweepAfter(24 * 33)
    expect(await isStored(file.path)).toBe(false)
  })
})

describe('who may', () => {
  test('list and restore: members, also with a read-only key for the list, and nobody of another account', async () => {
    const { account, table, path, remove, restore } = await setUp()
    await remove()
    const list = (caller: Caller) => app.as(caller).get(`${table.path}/records/deleted`)
    const stranger = await app.account()
    const { body: key } = await app.as(account.owner).post('/api/keys/create', { kind: 'account', name: 'Reader', read_only: true })
    const statuses = async (call: (caller: Caller) => Promise<Answer>) =>
      Promise.all([account.viewer, key.secret, stranger.owner, null].map(async (caller) => (await call(caller)).status))
    expect(await statuses(list)).toEqual([403, 200, 404, 401])
    expect(await statuses(restore)).toEqual([403, 403, 404, 401])
    expect((await app.as(account.viewer).post(`${path}/restore`)).body.message).toBe('Not authorized')
    expect((await restore(account.keys.personal)).status).toBe(200)
  })

  test('restore only what is deleted', async () => {
    const { table, other, restore, remove, member } = await setUp()
    expect(await restore()).toMatchObject({ status: 409, body: { message: 'Record is not deleted' } })
    const at = (id: number | string) => app.as(member).post(`${table.path}/record/${id}/restore`)
    expect(await at(other)).toMatchObject({ status: 409, body: { message: 'Record is not deleted' } })
    expect(await at(999_999)).toMatchObject({ status: 404, body: { message: 'Record not found' } })
    expect((await at('x')).status).toBe(400)
    expect((await app.as(member).post(`/api/table/999999/record/1/restore`)).body.message).toBe('Table not found')
    await remove()
    const answers = await Promise.all([restore(), restore(), restore()])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    await expect(app.as(member).rpc.records.restore.mutate({ table_id: table.id, record_id: other })).rejects.toMatchObject({
      data: { httpStatus: 409 },
    })
  })
})

describe('the list', () => {
  test('is paged, the latest first, and searched by title', async () => {
    const { account, table, member } = await setUp()
    const ids = await makeRecords(
      app,
      account,
      table.id,
      ['One Ltd', 'Two ltd', 'Three Inc', 'Four LTD'].map((name) => ({ name })),
    )
    app.setClock(new Date('2026-04-01T10:00:00Z'))
    await posted(member, `${table.path}/records/delete_batch`, { record_ids: ids.slice(0, 2) })
    app.setClock(new Date('2026-04-01T10:00:05Z'))
    await posted(account.keys.account, `${table.path}/records/delete_batch`, { record_ids: ids.slice(2) })
    const list = (query: string) => app.as(member).get(`${table.path}/records/deleted${query}`)
    const { body, headers } = await list('?limit=3')
    expect(headers.get('x-total-count')).toBe('4')
    expect(body).toMatchObject([
      { id: ids[3], title: 'Four LTD', deleted_at: '2026-04-01 10:00:05', kept_until: '2026-05-01 10:00:05' },
      { id: ids[2], title: 'Three Inc', user_id: account.owner.id, user_name: expect.stringMatching(/^API: /) },
      { id: ids[1], title: 'Two ltd', user_id: member.id, user_name: member.name, change_id: expect.any(Number) },
    ])
    const cursor = headers.get('x-next-cursor') as string
    expect((await list(`?cursor=${cursor}`)).body).toMatchObject([{ id: ids[0] }])
    expect((await list(`?search=x&cursor=${cursor}`)).body.message).toBe('Cursor belongs to another query')
    expect((await list('?search=ltd%20o')).body.map(({ id }: { id: number }) => id)).toEqual([ids[3], ids[1], ids[0]])
    expect((await list('?limit=x')).status).toBe(400)
    const { rows } = await app.as(member).rpc.records.deleted.query({ table_id: table.id, search: 'THREE' })
    expect(rows).toMatchObject([{ id: ids[2] }])
    app.setClock(new Date('2026-05-01T10:00:06Z'))
    expect((await list('')).body).toEqual([])
    expect((await app.as(member).post(`${table.path}/record/${ids[0]}/restore`)).status).toBe(404)
  })
})

test('a purge leaves nothing of the record', async () => {
  const { table, record, path, remove, member } = await setUp()
  await posted(member, `/api/tasks/onRecord/${table.id}/${record}/create`, { title: 'Call' })
  await posted(member, `${path}/comments/create`, { content: 'Hello' })
  await remove()
  app.setClock(new Date(Date.now() + 29 * DAY))
  await purgeDue(systemContext(app.deps))
  const left = async () => {
    const [row] = await app.db.read<{ records: number; rows: number; entries: number }>(sql`
      select (select count(*)::int from deleted_records where table_id = ${table.id}) as records,
        (select count(*)::int from deleted_rows where table_id = ${table.id}) as rows,
        (select count(*)::int from ${historyOf(table.id)} where record_id = ${record}) as entries`)
    return row
  }
  expect(await left()).toEqual({ records: 1, rows: 3, entries: 2 })
  app.setClock(new Date(Date.now() + 31 * DAY))
  await purgeDue(systemContext(app.deps))
  expect(await left()).toEqual({ records: 0, rows: 0, entries: 0 })
})

describe('an undo of a deletion', () => {
  const undo = (caller: Caller, path: string, changeId: number) => app.as(caller).post(`${path}/change/${changeId}/undo`)

  test('restores the records, and names the cells that no longer fit and the records that are not deleted by it', async () => {
    const { table, record, other, path, remove, get, admin, member } = await setUp()
    const removed = await posted(member, `${table.path}/records/delete_batch`, { record_ids: [record, other] })
    await posted(member, `${table.path}/record/${other}/restore`)
    await posted(admin, `${table.path}/field/stage/update`, { options: ['Lead'], force: true })
    const [first, second] = await Promise.all([1, 2].map(() => undo(member, table.path, removed.change_id)))
    const [done] = [first, second].filter((answer) => answer?.body.undone)
    expect(done?.body).toEqual({
      ...{ undone: 1, skipped: 2, change_id: expect.any(Number) },
      skips: [
        { record_id: record, field: 'stage', reason: 'option is gone' },
        { record_id: other, field: null, reason: 'changed since' },
      ],
    })
    expect([first?.body.undone, second?.body.undone].sort()).toEqual([0, 1])
    expect((await get()).body).toMatchObject({ version: 3, data: { name: 'Acme', stage: null } })
    const [entry] = (await app.as(member).get(`${path}/history`)).body
    expect(entry).toMatchObject({ kind: 'restore', change_id: done?.body.change_id })
    expect((await undo(member, table.path, removed.change_id)).body).toEqual({ undone: 0, skipped: 0, skips: [], change_id: null })
    // What another change has deleted since stays deleted.
    const again = await remove()
    expect((await undo(member, table.path, removed.change_id)).body.undone).toBe(0)
    expect((await get()).status).toBe(404)
    expect((await undo(member, table.path, again.change_id)).body).toMatchObject({ undone: 1, skipped: 0 })
  })
})

test('an undo names a record that another caller restores at the same time as changed since', async () => {
  const { table, record, other, member, get } = await setUp()
  const removed = await posted(member, `${table.path}/records/delete_batch`, { record_ids: [record, other] })
  const queries = queriesOf(app.db)
  let isFirst = true
  const restoring = queriesWith(queries, async ({ text }) => {
    if (!text.includes('d.created_by, d.cells from deleted_records d') || !isFirst) return
    isFirst = false
    await posted(member, `${table.path}/record/${record}/restore`)
  })
  Object.assign(app.db, restoring)
  const { body } = await app.as(member).post(`${table.path}/change/${removed.change_id}/undo`)
  Object.assign(app.db, queries)
  expect(body).toMatchObject({ undone: 1, skips: [{ record_id: record, field: null, reason: 'changed since' }] })
  expect((await get()).body.version).toBe(3)
})

test('a restore whose connection is lost changes nothing, and can be repeated', async () => {
  const { table, record, path, remove, restore, get, member } = await setUp()
  await posted(member, `/api/tasks/onRecord/${table.id}/${record}/create`, { title: 'Call' })
  await posted(member, `${path}/comments/create`, { content: 'Hello' })
  await remove()
  const state = async () =>
    (
      await app.db.read(sql`
      select (select count(*)::int from deleted_records where table_id = ${table.id}) as records,
        (select count(*)::int from deleted_rows where table_id = ${table.id}) as rows,
        (select count(*)::int from record_comments where table_id = ${table.id}) as comments`)
    )[0]
  const before = await state()
  const queries = queriesOf(app.db)
  // The last statement before the rows of the record are back.
  const ending = queriesWith(queries, async ({ text }, on) => {
    if (!text.startsWith('with back as (delete from deleted_rows')) return
    Object.assign(app.db, queries)
    const [{ pid } = { pid: 0 }] = await on.read<{ pid: number }>(sql`select pg_backend_pid() as pid`)
    const client = await app.db.connect()
    await client.query('select pg_terminate_backend($1)', [pid])
    await client.end()
  })
  Object.assign(app.db, ending)
  const { status, headers } = await restore()
  Object.assign(app.db, queries)
  expect([status, headers.get('retry-after') !== null]).toEqual([503, true])
  expect(await state()).toEqual(before)
  expect((await get()).status).toBe(404)
  expect((await restore()).body).toMatchObject({ id: record, version: 3 })
  expect(await state()).toEqual({ records: 0, rows: 0, comments: 1 })
})

test('an erased user has no name in what belongs to a deleted record', async () => {
  const account = await app.account({ withPassword: true })
  const { owner, member, admin } = account
  const table = await makeTable(app, account, { records: [{ name: 'Acme' }] })
  const [record = 0] = table.records
  const path = `${table.path}/record/${record}`
  const task = await posted(admin, `/api/tasks/onRecord/${table.id}/${record}/create`, { title: 'Call', assignee_user_id: admin.id })
  await posted(member, `${path}/comments/create`, { content: 'Mine' })
  await posted(admin, `${path}/comments/create`, { content: `@{${member.id}:Quillwort} look` })
  await posted(member, `/api/task/${task.id}/comments/create`, { content: `@{${admin.id}:Ada} and @{${member.id}:Quillwort}` })
  await posted(admin, `${path}/delete`)
  await posted(owner, `/api/user/${member.id}/erase`, { current_password: owner.password })
  const aside = await app.db.read(sql`select content from deleted_rows where table_id = ${table.id}`)
  for (const word of ['Quillwort', member.name]) expect(JSON.stringify(aside)).not.toContain(word)
  await posted(admin, `${path}/restore`)
  const { body: comments } = await app.as(admin).get(`${path}/comments/get`)
  const name = `Deleted user ${member.id}`
  expect(comments.map(({ content, user_name }: { content: string; user_name: string }) => [user_name, content])).toEqual([
    [admin.name, `@{${member.id}:${name}} look`],
    [name, 'Mine'],
  ])
  const { body: told } = await app.as(admin).post('/api/notifications/list', {})
  expect(told.map(({ message }: { message: string }) => message).join()).toContain(name)
  expect(await app.db.read(sql`select 1 from subscriptions where user_id = ${member.id}`)).toEqual([])
})

test('a table that is purged takes its deleted records along', async () => {
  const { table, record, path, remove, member, owner } = await setUp()
  await posted(member, `/api/tasks/onRecord/${table.id}/${record}/create`, { title: 'Call' })
  const [file] = await posted(member, `${path}/files/create`, { field_id: 'files', ...upload('offer') })
  await remove()
  await posted(owner, `${table.path}/delete`)
  app.setClock(new Date(Date.now() + 8 * DAY))
  await purge(systemContext(app.deps), { table_id: table.id })
  const left = await app.db.read(sql`
    select 1 from deleted_records where table_id = ${table.id} union all select 1 from deleted_rows where table_id = ${table.id}`)
  expect(left).toEqual([])
  await sweepAfter(24 * 10)
  expect(await isStored(file.path)).toBe(false)
})
