/** Inputs that would keep the process busy for long are refused, or are read in small steps. The tests count steps, they measure no time. */
import { beforeAll, describe, expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'

const app = await testApp()
const { owner, space, keys } = await app.account()
const { id: table } = (
  await app.as(owner).post(`/api/space/${space}/tables/create`, {
    name: 'Wide',
    fields: Array.from({ length: 290 }, (_, index) => ({ id: `field_${index}`, name: `Field ${index}`, type: 'number' })),
  })
).body

describe('a large body that takes long to parse is refused', () => {
  const send = (path: string, body: string) =>
    app.as(keys.account).send(path, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
  const manyKeys = (count: number) => `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join(',')}}`

  test.each([
    ['keys that all differ', () => `{"records":[{"data":${manyKeys(800_000)}}]}`, 'must have at most 2000 different keys'],
    ['nested brackets', () => '['.repeat(5_000_000), 'must not be nested deeper than 100'],
    ['empty objects', () => `{"records":[${'{},'.repeat(1_500_000)}{}]}`, 'must have at most 1200000 arrays and objects'],
  ])('for %s', async (_, body, reason) => {
    const { status, body: answer } = await send(`/api/table/${table}/records/create_batch`, body())
    expect([status, answer.code, answer.message]).toEqual([400, 'BAD_REQUEST', `The body ${reason}`])
  })

  test('over RPC', async () => {
    const { status, body } = await send('/trpc/records.createBatch', manyKeys(200_000))
    expect([status, body.error.data.message]).toEqual([400, 'The body must have at most 20000 different keys'])
  })

  test('but not a batch of 1,000 records with all fields', async () => {
    const data = Object.fromEntries(Array.from({ length: 290 }, (_, index) => [`field_${index}`, index]))
    const { status, body } = await app
      .as(keys.account)
      .post(`/api/table/${table}/records/create_batch`, { records: Array(1_000).fill({ data }) })
    expect([status, body.length]).toEqual([200, 1_000])
  })
})

describe('a page of more than 32 MB is refused with what to do', () => {
  const tooLarge = [400, 'BAD_REQUEST', 'The page has more than 32 MB; ask for fewer rows with limit']
  const as = app.as(owner)
  const refusal = ({ status, body }: Awaited<ReturnType<typeof as.get>>) => [status, body.code, body.message]
  let record: number

  beforeAll(async () => {
    record = (await as.post(`/api/table/${table}/records/create`, { data: {} })).body.id
  })

  test('of tasks of a record and of a user', async () => {
    const tasks = Array.from({ length: 30 }, (_, index) => ({ title: `Task ${index}`, details: '€'.repeat(100_000) }))
    const onRecord = `/api/tasks/onRecord/${table}/${record}`
    for (let count = 0; count < 120; count += tasks.length) expect((await as.post(`${onRecord}/createMany`, { tasks })).status).toBe(200)
    expect(refusal(await as.get(`${onRecord}/list?limit=200`))).toEqual(tooLarge)
    expect((await as.get(`${onRecord}/list?limit=100`)).body).toHaveLength(100)
    expect(refusal(await as.post('/api/tasks/list', { tab: 'my', limit: 200 }))).toEqual(tooLarge)
    expect((await as.post('/api/tasks/list', { tab: 'my' })).body).toHaveLength(50)
  })

  test('of comments on a record, also over RPC', async () => {
    const comments = `/api/table/${table}/record/${record}/comments`
    for (let count = 0; count < 12; count++) await as.post(`${comments}/create`, { content: 'Long' })
    await app.db.write(sql`update record_comments set content = repeat('€', 1_048_576) where record_id = ${record}`)
    expect(refusal(await as.get(`${comments}/get`))).toEqual(tooLarge)
    expect((await as.get(`${comments}/get?limit=10`)).body).toHaveLength(10)
    await expect(as.rpc.comments.list.query({ table_id: table, record_id: record })).rejects.toThrow('more than 32 MB')
  })
})

test('a batch names its first hundred refused values, and a body its first thousand invalid texts', async () => {
  const create = `/api/table/${table}/records/create_batch`
  const data = Object.fromEntries(Array.from({ length: 290 }, (_, index) => [`field_${index}`, 'no number']))
  const refused = await app.as(keys.account).post(create, { records: Array(10).fill({ data }) })
  expect(refused.body.issues.map(({ path }: { path: unknown[] }) => path[1])).toEqual(Array(100).fill(0))
  const invalid = await app.as(keys.account).post(create, { records: [{ data: { field_0: Array(2_000).fill('\0') } }] })
  expect([invalid.status, invalid.body.issues.length]).toEqual([400, 1_000])
})
