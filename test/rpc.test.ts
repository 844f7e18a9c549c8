import { expect, test } from 'vitest'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'

const app = await testApp()
const { owner, space, keys } = await app.account()
const table = (await app.as(owner).post(`/api/space/${space}/tables/create`, { name: 'Calls', fields: [{ name: 'Text', type: 'text' }] }))
  .body.id

const call = (body: RequestInit['body'], type: string | null, path = 'records.create', headers: Record<string, string> = {}) =>
  app.as(keys.account).send(`/trpc/${path}`, {
    method: 'POST',
    ...(body !== undefined && { body }),
    headers: { ...(type !== null && { 'content-type': type }), ...headers },
  })
const record = JSON.stringify({ table_id: table, data: { text: 'Called' } })
const count = async () => (await app.as(owner).post(`/api/table/${table}/records/count`, {})).body.count

test('accepts bodies of every content type, as REST does', async () => {
  for (const type of ['application/json', 'APPLICATION/JSON; charset="utf-8"', 'application/vnd.api+json'])
    expect((await call(record, type)).status, type).toBe(200)
  for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'application/json', null])
    expect((await call(type && '', type, 'tasks.badgeCount')).body.error.data.message, String(type)).toBe('Task is not on a record')
})

test('answers at most 64 MB to a batch: the calls beyond get an error of their own', async () => {
  const fields = [{ name: 'Text', type: 'long_text' }]
  const { id } = (await app.as(owner).post(`/api/space/${space}/tables/create`, { name: 'Large', fields })).body
  await app.db.write(sql`
    insert into ${recordsOf(id)} (text, created_at, updated_at) select repeat('x', 100000), now(), now() from generate_series(1, 280)`)
  const page = { table_id: id, limit: 1_000 }
  const path = `${Array(3).fill('records.query').join()}?batch=1`
  const answer = await fetch(`${app.url}/trpc/${path}`, {
    method: 'POST',
    body: JSON.stringify({ 0: page, 1: page, 2: page }),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${keys.account}` },
  })
  expect(answer.status).toBe(207)
  // To parse it would take longer than all the rest.
  const bytes = Buffer.from(await answer.arrayBuffer())
  const refusal = bytes.indexOf('{"error":{"message":"The answers to the batch have more than 64 MB; send fewer calls at once"')
  expect(refusal).toBeGreaterThan(-1)
  expect(bytes.indexOf('{"error"', refusal + 1)).toBe(-1)
  expect(bytes.indexOf('{"error"')).toBe(refusal)
})

test('refuses a body that is not JSON in UTF-8 with the common error body, and changes nothing', async () => {
  const before = await count()
  const bytes = new Uint8Array([...new TextEncoder().encode(`{"table_id":${table},"data":{"text":"`), 0xff, 0x22, 0x7d, 0x7d])
  const form = new FormData()
  form.set('table_id', String(table))
  const JSON_ONLY = 'The body must be application/json in UTF-8'
  const cases: [RequestInit['body'], string | null, number, string, Record<string, string>?][] = [
    [record, 'text/plain', 415, `${JSON_ONLY}; text/plain was sent`],
    [record, 'application/json; charset=utf-16', 415, `${JSON_ONLY}; application/json; charset=utf-16 was sent`],
    [record, 'application/octet-stream', 415, `${JSON_ONLY}; application/octet-stream was sent`],
    [
      record,
      'application/json',
      415,
      `${JSON_ONLY}; application/json with the Content-Encoding gzip was sent`,
      { 'content-encoding': 'gzip' },
    ],
    [form, null, 415, `${JSON_ONLY}; multipart/form-data; boundary=`],
    [bytes, 'application/json', 400, 'The body is not valid UTF-8'],
    ['{', 'application/json', 400, 'The body is not valid JSON'],
    [`"${'x'.repeat(4 * 1_048_576)}"`, 'application/json', 413, 'The body is too large'],
  ]
  for (const [body, type, status, message, headers] of cases) {
    const answer = await call(body, type, 'records.create', headers)
    expect([answer.status, answer.body.error.data], `${type}: ${message}`).toMatchObject([
      status,
      { message: expect.stringContaining(message), httpStatus: status },
    ])
    expect(answer.body.error.data.request_id).toBe(answer.headers.get('x-request-id'))
  }
  expect(await count()).toBe(before)
})

test('names the first thousand of more invalid inputs, as REST does', async () => {
  const unknown = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]))
  const inputs = [
    unknown(1_500),
    { records: Array.from({ length: 4 }, () => ({ data: {}, ...unknown(400) })) },
    { records: Array.from({ length: 750 }, () => ({ data: { text: '\0' }, 'a\0': 1 })) },
  ]
  for (const input of inputs) {
    const rest = await app.as(keys.account).post(`/api/table/${table}/records/create_batch`, input)
    const rpc = await app.as(keys.account).post('/trpc/records.createBatch', { table_id: table, ...input })
    for (const { message, issues } of [rest.body, rpc.body.error.data]) {
      expect(issues).toHaveLength(1_000)
      expect(message).toContain(issues[0].message)
    }
  }
})

test('has no other methods, and no connection parameters', async () => {
  for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY']) {
    const answer = await app.as(keys.account).send('/trpc/spaces.list', { method, headers: { 'content-type': 'application/json' } })
    expect([answer.status, answer.body.message], method).toEqual([405, 'Only GET and POST are allowed here'])
  }
  const head = await app.as(keys.account).send('/trpc/spaces.list', { method: 'HEAD' })
  expect([head.status, head.headers.get('allow')]).toEqual([405, 'GET, POST'])
  const answer = await app.as(keys.account).get('/trpc/spaces.list?connectionParams=1')
  expect([answer.status, answer.body.error.data]).toMatchObject([400, { message: 'connectionParams: is not a known key' }])
  expect(answer.body.error.data.request_id).toMatch(/^req-/)
})
