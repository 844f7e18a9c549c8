/** Lists of tasks with `include: ["context"]` (contract.md §9, Task lists). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { type Caller, testApp } from './support/app.ts'
import { queriesAround, queriesOf } from './support/statements.ts'
import { makeTable } from './support/tables.ts'
import { later, NOW, taskSupport } from './support/tasks.ts'

const app = await testApp()
const { onRecord } = taskSupport(app)
const queries = queriesOf(app.db)
beforeEach(() => app.setClock(NOW))
afterEach(() => {
  app.setClock(null)
  Object.assign(app.db, queries)
})

interface Row {
  title: string
  [key: string]: unknown
}

const KEYS = ['assignee_name', 'creator_name', 'table_name', 'record_title', 'comment_count'] as const
const contextOf = (row: Row) => Object.fromEntries(KEYS.map((key) => [key, row[key]]))
const byTitle = (rows: Row[]) => Object.fromEntries(rows.map((row) => [row.title, contextOf(row)]))

const list = async (caller: Caller, body: object = {}) => (await app.as(caller).post('/api/tasks/list', { tab: 'all', ...body })).body
const inContext = async (caller: Caller, body: object = {}) => byTitle(await list(caller, { include: ['context'], ...body }))

/** A table with tasks on two records, one of them without a title, and a standalone task. */
async function withTasks() {
  const given = await onRecord()
  const { account, member, viewer, owner, table } = given
  const other = await makeTable(app, account, {
    name: `Other ${table}`,
    fields: [{ name: 'Number', type: 'number' }],
    records: [{ number: 1 }],
  })
  const { body: task } = await given.create(member, { title: 'Call', assignee_user_id: viewer.id })
  await app.as(member).post(`/api/tasks/onRecord/${other.id}/${other.records[0]}/create`, { title: 'Count' })
  await app.as(member).post('/api/tasks/create', { title: 'Breathe', assignee_user_id: owner.id })
  for (const content of ['a', 'b']) await app.as(viewer).post(`/api/task/${task.id}/comments/create`, { content })
  const [{ name }] = (await app.db.read<{ name: string }>(sql`select name from tables where id = ${table}`)) as [{ name: string }]
  const expected = {
    Call: { assignee_name: viewer.name, creator_name: member.name, table_name: name, record_title: 'Analytical Engines', comment_count: 2 },
    Count: { assignee_name: member.name, creator_name: member.name, table_name: `Other ${table}`, record_title: null, comment_count: 0 },
    Breathe: { assignee_name: owner.name, creator_name: member.name, table_name: null, record_title: null, comment_count: 0 },
  }
  return { ...given, task, tableName: name, other: other.id, expected }
}

describe('the context of tasks in a list', () => {
  test('has names, titles and the number of comments, on REST and RPC, with every filter', async () => {
    const { member, keys, expected } = await withTasks()
    expect(await inContext(member)).toEqual(expected)
    expect(await inContext(keys.personal, { include_done: true })).toEqual(expected)
    expect(await inContext(member, { tab: 'delegated', limit: 1 })).toEqual({ Call: expected.Call })
    expect(await inContext(member, { search: 'count' })).toEqual({ Count: expected.Count })
    const { rows, total } = await app.as(member).rpc.tasks.list.query({ tab: 'all', include: ['context', 'context'] })
    expect([byTitle(rows as unknown as Row[]), total]).toEqual([expected, 3])
  })

  test('is in the list of a record, in every spelling of the query string', async () => {
    const { path, viewer, keys, table, record, expected } = await withTasks()
    for (const query of ['include=context', 'include=context,context', 'include=context&include=context', 'include=context,&status=open'])
      for (const caller of [viewer, keys.account, keys.personalViewer])
        expect(byTitle((await app.as(caller).get(`${path}/list?${query}`)).body), query).toEqual({ Call: expected.Call })
    const { rows } = await app.as(viewer).rpc.tasks.listOnRecord.query({ table_id: table, record_id: record, include: ['context'] })
    expect(byTitle(rows as unknown as Row[])).toEqual({ Call: expected.Call })
  })

  test('follows the keys of the row, which are the same as without it', async () => {
    const { member, path } = await withTasks()
    const bare = await list(member)
    for (const body of [{ include: [] }, { include: null }]) expect(await list(member, body)).toEqual(bare)
    const full = await list(member, { include: ['context'] })
    expect(full.map((row: Row) => Object.keys(row).slice(-KEYS.length))).toEqual(bare.map(() => KEYS))
    expect(full).toEqual(bare.map((row: Row, index: number) => ({ ...row, ...contextOf(full[index]) })))
    expect((await app.as(member).get(`${path}/list?include=`)).body).toEqual((await app.as(member).get(`${path}/list`)).body)
  })

  test('is in pages beyond the end and of changes, where deleted tasks have none', async () => {
    const { member, path, task, expected } = await withTasks()
    const since = NOW.toISOString().slice(0, 19).replace('T', ' ')
    const beyond = await app.as(member).post('/api/tasks/list', { tab: 'all', include: ['context'], offset: 9 })
    expect([beyond.body, beyond.headers.get('x-total-count')]).toEqual([[], '3'])
    expect(await inContext(member, { updated_since: since })).toEqual(expected)
    const first = await app.as(member).post('/api/tasks/list', { tab: 'all', updated_since: since, include: ['context'], limit: 1 })
    const cursor = first.headers.get('x-next-cursor') ?? ''
    expect(Object.keys(await inContext(member, { updated_since: since, cursor }))).toEqual(['Count', 'Breathe'])
    app.setClock(later(1))
    await app.as(member).post(`/api/task/${task.id}/delete`)
    const changed = await app.as(member).get(`${path}/list?include=context&updated_since=${encodeURIComponent(since)}`)
    expect(changed.body).toEqual([{ id: task.id, deleted_at: '2026-03-30 09:31:00' }])
  })

  test('has the present names, and none of a table that the caller can no longer read', async () => {
    const { member, owner, viewer, table, record, other, expected } = await withTasks()
    await app.as(owner).post(`/api/table/${table}/record/${record}/update`, { data: { name: 'Öl "&" Söhne\n' } })
    await app.as(owner).post(`/api/table/${table}/update`, { name: `Renamed ${table}` })
    await app.as(viewer).post('/api/auth/profile', { name: 'Vera 😀 "V"' })
    const { Call } = await inContext(member)
    expect(Call).toEqual({ ...expected.Call, assignee_name: 'Vera 😀 "V"', table_name: `Renamed ${table}`, record_title: 'Öl "&" Söhne\n' })
    await app.as(owner).post(`/api/table/${other}/delete`)
    expect(Object.keys(await inContext(member)).sort()).toEqual(['Breathe', 'Call'])
  })

  // Records on a node are read table by table.
  test.skipIf(process.env.TEST_SPACES === 'elsewhere')(
    'takes one statement for the tasks and one for the titles, however many tasks and tables there are',
    async () => {
      const account = await app.account()
      const { member } = account
      for (let count = 0; count < 6; count++) {
        const { id, records } = await makeTable(app, account, { records: [{ name: `A${count}` }, { name: `B${count}` }] })
        for (const record of records) await app.as(member).post(`/api/tasks/onRecord/${id}/${record}/create`, { title: `${count}` })
      }
      await list(member, { include: ['context'] })
      const statements: string[] = []
      Object.assign(
        app.db,
        queriesAround(app.db, (run, { text }) => {
          statements.push(text)
          return run()
        }),
      )
      const rows: Row[] = await list(member, { include: ['context'] })
      expect(rows.map(({ record_title }) => record_title).sort()).toEqual(
        [0, 1, 2, 3, 4, 5].flatMap((count) => [`A${count}`, `B${count}`]).sort(),
      )
      const about = (name: string) => statements.filter((text) => text.includes(name)).length
      expect([about('from tasks k'), about('.records')]).toEqual([1, 1])
    },
  )

  test('has the title by the present fields when they change while it is read', async () => {
    const { member, owner, table, expected } = await withTasks()
    await inContext(member)
    let isChanged = false
    Object.assign(
      app.db,
      queriesAround(app.db, async (run, { text }) => {
        if (!isChanged && text.includes(`"t${table}".records`) && text.includes('as title')) {
          isChanged = true
          Object.assign(app.db, queries)
          for (const [verb, body] of [
            ['fields/create', { name: 'Label', type: 'text' }],
            ['field/name/delete', { force: true }],
          ] as const)
            expect((await app.as(owner).post(`/api/table/${table}/${verb}`, body)).status).toBe(200)
        }
        return run()
      }),
    )
    expect((await inContext(member)).Call).toEqual({ ...expected.Call, record_title: null })
    expect(isChanged).toBe(true)
  })

  test.each([
    [{ include: ['kontext'] }, "include[0]: must be one of context, not 'kontext'"],
    [{ include: ['context', 'Context'] }, "include[1]: must be one of context, not 'Context'"],
    [{ include: [''] }, "include[0]: must be one of context, not ''"],
    [{ include: [null] }, 'include[0]: must be one of context'],
    [{ include: [{ toString: 1 }] }, 'include[0]: must be one of context'],
    [{ include: 'context' }, 'include: must be a list'],
    [{ include: {} }, 'include: must be a list'],
  ])('refuses %j, naming it', async (body, message) => {
    const { member, path } = await onRecord()
    const answer = await app.as(member).post('/api/tasks/list', body)
    expect([answer.status, answer.body.message]).toEqual([400, message])
    const query = (Array.isArray(body.include) ? body.include : []).filter((name) => typeof name === 'string' && name).join(',')
    if (query) expect((await app.as(member).get(`${path}/list?include=${query}`)).body.message).toBe(message)
  })
})
