/** The version of a row as a value (contract.md §9): the number in its ETag, wherever the row is answered. */
import { describe, expect, test } from 'vitest'
import { testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()

type Answer = Awaited<ReturnType<ReturnType<typeof app.as>['get']>>
type Row = Record<string, unknown> & { version: number }

interface Kind {
  create: readonly [path: string, body: object]
  update(id: number | string): readonly [path: string, body: object]
  /** Where the row is read, with its ETag. */
  get?(id: number | string): string
  /** Where it is among others. */
  list(id: number | string): Promise<Row[]>
}

const account = await app.account()
const { id: table, records } = await makeTable(app, account, { records: [{ name: 'Acme' }] })
const as = app.as(account.owner)
const rows = async (answer: Promise<Answer>): Promise<Row[]> => (await answer).body
const [record = 0] = records
const onRecord = `/api/tasks/onRecord/${table}/${record}`

const KINDS: Record<string, Kind> = {
  record: {
    create: [`/api/table/${table}/records/create`, { data: { name: 'One' } }],
    update: (id) => [`/api/table/${table}/record/${id}/update`, { data: { name: 'Two' } }],
    get: (id) => `/api/table/${table}/record/${id}/get`,
    list: () => rows(as.post(`/api/table/${table}/records/create_batch`, { records: [{ data: { name: 'A' } }, { data: { name: 'B' } }] })),
  },
  'task on a record': {
    create: [`${onRecord}/create`, { title: 'One' }],
    update: (id) => [`/api/task/${id}/update`, { title: 'Two' }],
    get: (id) => `/api/task/${id}/get`,
    list: async () => [
      ...(await rows(as.get(`${onRecord}/list`))),
      ...(await rows(as.get(`${onRecord}/list?updated_since=2000-01-01 00:00:00`))),
    ],
  },
  'standalone task': {
    create: ['/api/tasks/create', { title: 'One' }],
    update: (id) => [`/api/task/${id}/update`, { title: 'Two' }],
    get: (id) => `/api/task/${id}/get`,
    list: async () => {
      const [made] = (await as.post('/api/tasks/createMany', { tasks: [{ title: 'One of many' }] })).body as [{ task: Row }]
      return [made.task, ...(await rows(as.post('/api/tasks/list', { tab: 'all', include_done: true })))]
    },
  },
  view: {
    create: [`/api/table/${table}/views/create`, { name: 'One', type: 'grid' }],
    update: (id) => [`/api/table/${table}/view/${id}/update`, { name: 'Two' }],
    get: (id) => `/api/table/${table}/view/${id}/get`,
    list: () => rows(as.get(`/api/table/${table}/views/list`)),
  },
  signature: {
    create: ['/api/email/signatures/create', { name: 'One', html: '<p>One</p>' }],
    update: (id) => [`/api/email/signature/${id}/update`, { name: 'Two' }],
    list: () => rows(as.post('/api/email/signatures/list', {})),
  },
  field: {
    create: [`/api/table/${table}/fields/create`, { name: 'One', type: 'text' }],
    update: (id) => [`/api/table/${table}/field/${id}/update`, { name: 'Two' }],
    list: async () => (await as.get(`/api/table/${table}/get`)).body.fields,
  },
}

describe.each(Object.entries(KINDS))('a %s', (_, kind) => {
  const etagOf = ({ headers }: Answer) => headers.get('etag')
  const tag = (version: unknown) => `"${version}"`

  test('has the number of its ETag as version when it is created, read, changed, refused and listed', async () => {
    const created = await as.post(...kind.create)
    expect(created.status).toBe(200)
    expect(created.body.version).toBe(1)
    expect(etagOf(created)).toBe('"1"')
    const { id } = created.body
    const [path, changes] = kind.update(id)
    const changed = await as.post(path, changes, { 'if-match': tag(created.body.version) })
    expect([changed.status, changed.body.version, etagOf(changed)]).toEqual([200, 2, '"2"'])
    const stale = await as.post(path, changes, { 'if-match': tag(created.body.version) })
    const { change_id: _, ...current } = changed.body
    expect([stale.status, stale.body.current, etagOf(stale)]).toEqual([409, current, '"2"'])
    if (kind.get) {
      const read = await as.get(kind.get(id))
      expect([read.body.version, etagOf(read)]).toEqual([2, '"2"'])
    }
    const listed = await kind.list(id)
    expect(listed.length).toBeGreaterThan(0)
    for (const row of listed) expect(row.version, JSON.stringify(row)).toEqual(expect.any(Number))
    const same = listed.find((row) => row.id === id)
    if (same) expect(same.version).toBe(2)
    const unchanged = await as.post(path, changes)
    expect([unchanged.status, unchanged.body.version]).toEqual([200, 2])
  })
})

test('a task that is marked has a version more', async () => {
  const { body: task } = await as.post('/api/tasks/create', { title: 'Call' })
  await as.post(`/api/task/${task.id}/markDone`)
  expect((await as.get(`/api/task/${task.id}/get`)).body.version).toBe(task.version + 1)
})

test('the Default view has version 0 and no ETag', async () => {
  const { headers, body } = await as.get(`/api/table/${table}/view/0/get`)
  expect([body.version, headers.get('etag')]).toEqual([0, null])
  expect((await rows(as.get(`/api/table/${table}/views/list`)))[0]).toEqual(body)
})

test('rows of a query have the fields of their table alone', async () => {
  const [row] = await rows(as.post(`/api/table/${table}/records/query`, { limit: 1 }))
  expect(row).not.toHaveProperty('version')
})
