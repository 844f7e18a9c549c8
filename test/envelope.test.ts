/** `?envelope=true`: lists over REST with their total and cursor in the body, as over RPC (contract.md §9, Formats). */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Answer, type As, type TestAccount, testApp } from './support/app.ts'
import { callerFor, type Ids, idsFor, idsOf, type Operation, operations, pathOf } from './support/operations.ts'

const app = await testApp()
const lists = operations.filter(({ meta }) => meta.isList)
let account: TestAccount
let known: Record<string, Ids>
beforeAll(async () => {
  account = await app.account()
  known = await idsOf(app, account)
})

const call = (as: As, { method, path }: { method: string; path: string }, input: object = {}) =>
  method === 'GET' ? as.get(path) : as.post(path, input)

const headersOf = ({ headers }: Answer) => ['x-total-count', 'x-next-cursor'].map((name) => headers.get(name))

/** What a list needs beside ids. A new list that needs something goes here. */
const INPUTS: Record<string, object> = {
  'records.aggregate': { by: [{ field: 'stage' }], measures: [{ fn: 'count' }] },
  'records.board': { by: 'stage' },
  'records.groups': { by: 'stage' },
}

/** Calls a list that changes nothing, with the ids of the test's account. */
function ask(as: As, operation: Operation, query: string): Promise<Answer> {
  const ids = idsFor(operation, known)
  const body = { ...INPUTS[operation.name], ...Object.fromEntries(operation.bodyIds.map((id) => [id, ids[id]])) }
  return call(as, { method: operation.method, path: pathOf(operation, ids) + query }, body)
}

/** The same by RPC. @returns the object around the rows */
async function askRpc(as: As, operation: Operation): Promise<unknown> {
  const ids = idsFor(operation, known)
  const idsIn = Object.fromEntries([...operation.pathIds, ...operation.bodyIds].map((id) => [id, ids[id]]))
  const input = { ...INPUTS[operation.name], ...idsIn }
  return (await as.post(`/trpc/${operation.name}`, input)).body.result?.data
}

const reads = lists.filter(({ type }) => type === 'query').map((operation) => [operation.name, operation] as const)

test.each(reads)('%s answers in the envelope what RPC answers, with the same headers', async (_, operation) => {
  const as = app.as(callerFor(operation, account))
  const bare = await ask(as, operation, '')
  expect([bare.status, Array.isArray(bare.body)]).toEqual([200, true])
  const inEnvelope = await ask(as, operation, '?envelope=true')
  expect(inEnvelope.body).toEqual(await askRpc(as, operation))
  expect(inEnvelope.body.rows).toEqual(bare.body)
  expect(headersOf(inEnvelope)).toEqual(headersOf(bare))
  expect(inEnvelope.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect((await ask(as, operation, '?envelope=false')).body).toEqual(bare.body)
})

test.each(reads)('%s refuses any other value, and asks first who calls', async (_, operation) => {
  for (const query of ['?envelope=1', '?envelope=TRUE', '?envelope=', '?envelope', '?envelope=true&envelope=true']) {
    expect(await ask(app.as(callerFor(operation, account)), operation, query), query).toMatchObject({
      status: 400,
      body: { message: 'envelope: must be true or false', issues: [{ path: ['envelope'], message: 'must be true or false' }] },
    })
    expect((await ask(app.as(null), operation, query)).status).toBe(401)
  }
})

describe('the envelope', () => {
  test('has the total and the cursor of a page', async () => {
    const { owner, space } = await app.account()
    const as = app.as(owner)
    const fields = [{ name: 'Name', type: 'text' }]
    const { id } = (await as.post(`/api/space/${space}/tables/create`, { name: 'People', fields })).body
    const records = ['Ada', 'Max', 'Eva'].map((name) => ({ data: { name } }))
    await as.post(`/api/table/${id}/records/create_batch`, { records })
    const query = (body: object, asked = '?envelope=true') => as.post(`/api/table/${id}/records/query${asked}`, body)
    const page = { fields: ['name'], limit: 2, count: true, cursor: '' }
    const bare = await query(page, '')
    const rows = [
      { id: 1, name: 'Ada' },
      { id: 2, name: 'Max' },
    ]
    expect(bare.body).toEqual(rows)
    const first = await query(page)
    expect(first.body).toEqual({ rows, total: 3, next_cursor: expect.any(String) })
    expect(headersOf(first)).toEqual(['3', first.body.next_cursor])
    const last = await query({ ...page, cursor: first.body.next_cursor })
    expect(last.body).toEqual({ rows: [{ id: 3, name: 'Eva' }], total: 3 })
    expect((await query({ limit: 1, fields: ['name'] })).body).toEqual({ rows: [{ id: 1, name: 'Ada' }] })
    expect((await query({ offset: 5, count: true })).body).toEqual({ rows: [], total: 3 })
  })

  test('is also around the rows of changes, once for an Idempotency-Key', async () => {
    const { owner, space } = await app.account()
    const as = app.as(owner)
    const { id } = (await as.post(`/api/space/${space}/tables/create`, { name: 'Files', fields: [{ name: 'Scan', type: 'file' }] })).body
    const table = `/api/table/${id}`
    const key = { 'idempotency-key': 'one' }
    const create = (query: string) => as.post(`${table}/records/create_batch${query}`, { records: [{ data: {} }, { data: {} }] }, key)
    const made = await create('?envelope=true')
    expect(made.body).toMatchObject({ rows: [{ id: 1 }, { id: 2 }], change_id: Number(made.headers.get('x-change-id')) })
    const [again, bare] = [await create('?envelope=true'), await create('')]
    expect([again.headers.get('idempotent-replayed'), again.body, bare.body]).toEqual(['true', made.body, made.body.rows])
    expect((await create('?envelope=no')).status).toBe(400)

    const upload = `${table}/record/1/files/create?envelope=true&field_id=scan&name=a.txt`
    const json = { field_id: 'scan', name: 'b.txt', data: 'Yg==' }
    expect((await as.send(upload, { method: 'PUT', body: 'a' })).body.rows).toMatchObject([{ name: 'a.txt' }])
    expect((await as.post(`${table}/record/1/files/create?envelope=true`, json)).body.rows).toMatchObject([{}, { name: 'b.txt' }])
    expect((await as.send(upload.replace('true', '1'), { method: 'PUT', body: 'a' })).status).toBe(400)
    const [file] = (await as.get(`${table}/record/1/get`)).body.data.scan
    const removed = await as.post(`${table}/record/1/files/delete?envelope=true`, { field_id: 'scan', path: file.path })
    expect(removed.body.rows).toMatchObject([{ name: 'b.txt' }])
    expect((await as.post(`${table}/fields/reorder?envelope=true`, { field_ids: ['scan'] })).body.rows[1]).toMatchObject({ id: 'scan' })
    expect((await as.post('/api/tasks/createMany?envelope=true', { tasks: [{ title: 'Call' }] })).body).toMatchObject({
      rows: [{ ok: true, task: { title: 'Call' } }],
    })
    const update = { records: [{ id: 1, data: { scan: [] } }] }
    expect((await as.post(`${table}/records/update_batch?envelope=true`, update)).body).toMatchObject({ rows: [{ id: 1 }] })
    expect(
      lists
        .filter(({ type }) => type === 'mutation')
        .map(({ name }) => name)
        .sort(),
    ).toEqual([
      ...['fields.reorder', 'files.create', 'files.delete', 'records.createBatch', 'records.updateBatch'],
      ...['tasks.createMany', 'tasks.createManyOnRecord'],
    ])
  })

  test('with a wrong value changes nothing', async () => {
    const { owner } = await app.account()
    const as = app.as(owner)
    expect((await as.post('/api/tasks/createMany?envelope=2', { tasks: [{ title: 'Call' }] })).status).toBe(400)
    expect((await as.post('/api/tasks/list?envelope=true')).body).toEqual({ rows: [], total: 0 })
  })

  test('is not around an explanation, and its key is none of a body', async () => {
    const { table_id: table } = idsFor(lists.find(({ name }) => name === 'records.query') as Operation, known)
    const as = app.as(account.owner)
    const path = `/api/table/${table}/records/query`
    const explained = await as.post(`${path}?envelope=true`, { explain: true })
    expect(explained.body).toHaveProperty('predicate')
    expect(explained.body).not.toHaveProperty('rows')
    expect((await as.post(path, { envelope: true })).body).toMatchObject({ issues: [{ path: ['envelope'] }] })
  })

  test('is asked for in vain where the answer is no list: the key is ignored as any unknown one', async () => {
    const others = operations.filter(({ meta, type, isPublic }) => !meta.isList && type === 'query' && !isPublic)
    expect(others.length).toBeGreaterThan(15)
    for (const operation of others) {
      const as = app.as(callerFor(operation, account))
      const answerTo = async (query: string) => {
        const { status, body } = await ask(as, operation, query)
        return { status, body: { ...body, request_id: '' } }
      }
      const bare = await answerTo('')
      for (const value of ['true', 'nonsense']) expect(await answerTo(`?envelope=${value}`), operation.name).toEqual(bare)
    }
  })
})
