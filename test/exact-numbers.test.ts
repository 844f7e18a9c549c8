/** Numbers are answered with all their digits on every road, survive clients that read them as doubles, and are compared as people mean it. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createClient } from '../src/client.ts'
import { testApp } from './support/app.ts'
import { makeTable, type TestTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const as = app.as(account.keys.account)

/** The text of an answer: parsed, it would lose what these tests are about. */
async function textOf(path: string, body?: object, headers: Record<string, string> = {}): Promise<string> {
  const answer = await fetch(app.url + path, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${account.keys.account}`, ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
  return answer.text()
}

const DIGITS = [
  '1234567890.12345678',
  '99999999999.99999999',
  '-999999999999999.99999999',
  '123456789012345.6',
  '0.00000001',
  '9007199254740993',
]
const STORED = DIGITS.filter((text) => !text.startsWith('9007'))
const fields = [
  { name: 'Name', type: 'text' },
  { name: 'N', type: 'number', decimals: 8 },
  { name: 'R', type: 'number', decimals: 2 },
]
const numbers = (records: object[] = []) => makeTable(app, account, { fields, records })
/** As JSON spells it: small numbers with an exponent. */
const json = (text: string) => (text === '0.00000001' ? '1e-8' : text)

describe('a number', () => {
  test('comes as decimal text where a client asks for its digits and JavaScript has fewer', async () => {
    const { id, records } = await numbers(STORED.map((text) => ({ name: text, n: text })))
    const exact = createClient({ baseUrl: app.url, apiKey: account.keys.account, exactNumbers: true })
    const shown = (text: string) => (String(Number(text)) === text || text === '0.00000001' ? Number(text) : text)
    const { rows } = await exact.records.query.query({ table_id: id })
    expect(rows.map((row) => row.n)).toEqual(STORED.map(shown))
    // Two calls share a request.
    const both = await Promise.all(records.slice(0, 2).map((record_id) => exact.records.get.query({ table_id: id, record_id })))
    expect(both.map(({ data }) => data.n)).toEqual(STORED.slice(0, 2).map(shown))
    // Every digit comes back as it was.
    const { data } = await exact.records.update.mutate({ table_id: id, record_id: records[1] ?? 0, data: { n: rows[1]?.n } })
    expect(data.n).toBe(STORED[1])
  })

  test.each(STORED)('%s is answered with all its digits, wherever', async (text) => {
    const { id, path, records } = await numbers([{ name: text, n: text }])
    const [record] = records
    const n = `"n":${json(text)},`
    const wanted = { data: { name: text, n: text } }
    const query = { filters: [{ column: 'n', compare: '=', value: text }] }
    const rpc = (name: string, input: object) => `/trpc/${name}?input=${encodeURIComponent(JSON.stringify(input))}`
    const roads: Record<string, string> = {
      create: await textOf(`${path}/records/create`, wanted),
      'create on RPC': await textOf('/trpc/records.create', { table_id: id, ...wanted }),
      batch: await textOf(`${path}/records/create_batch`, { records: [wanted] }),
      get: await textOf(`${path}/record/${record}/get`),
      'get on RPC': await textOf(rpc('records.get', { table_id: id, record_id: record })),
      update: await textOf(`${path}/record/${record}/update`, { data: { name: 'x' } }),
      query: await textOf(`${path}/records/query`, query),
      'query on RPC': await textOf(rpc('records.query', { table_id: id, ...query })),
      page: await textOf(`${path}/records/query`, { ...query, cursor: '' }),
      'a stale update': await textOf(`${path}/record/${record}/update`, { data: { name: 'y' } }, { 'if-match': '"1"' }),
    }
    for (const [road, answer] of Object.entries(roads)) expect([road, answer.includes(n)], answer).toEqual([road, true])
    expect(await textOf(`${path}/export.csv`)).toContain(`,${text},`)
    const explained = { explain: true, record_id: record, filters: [{ column: 'n', compare: '!=', value: text }] }
    expect(await textOf(`${path}/records/query`, explained)).toContain(`"actual":${json(text)}`)
  })

  test('is replayed with all its digits', async () => {
    const { path } = await numbers()
    const headers = { 'idempotency-key': randomUUID() }
    const body = { data: { n: DIGITS[0] } }
    const first = await textOf(`${path}/records/create`, body, headers)
    expect(first).toContain(`"n":${DIGITS[0]},`)
    expect(await textOf(`${path}/records/create`, body, headers)).toBe(first)
  })

  test('beyond the limits is refused', async () => {
    const { path } = await numbers()
    expect((await as.post(`${path}/records/create`, { data: { n: DIGITS.at(-1) } })).status).toBe(400)
  })

  test('of many digits is whole in a mail', async () => {
    const { id, records } = await numbers([{ n: DIGITS[0], r: '1234567890123.5' }])
    const { body } = await app.as(account.owner).post('/api/email/preview', {
      tableId: id,
      recordId: records[0],
      ...{ smtpIntegrationId: await integration(), fromIdentity: { email: 'sales@example.com' }, to: ['ann@example.com'] },
      ...{ subject: '{{field:n}} {{field:r}} {{field:n|iso}}', body: '<p>{{field:n}}</p>' },
    })
    expect(body.subject).toBe(`${DIGITS[0]} 1234567890123.50 ${DIGITS[0]}`)
  })
})

async function integration(): Promise<number> {
  const { body, status } = await app.as(account.owner).post(`/api/space/${account.space}/smtp/create`, {
    ...{ label: 'Mail', host: '127.0.0.1', port: 2_525, tls: 'none', from_domains: ['example.com'] },
  })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.id
}

describe('a number that a client sends back as the double that it has read', () => {
  const storedIn = async ({ path, records }: TestTable) => /"n":([^,]*)/.exec(await textOf(`${path}/record/${records[0]}/get`))?.[1]
  const update = ({ path, records }: TestTable, data: object) => as.post(`${path}/record/${records[0]}/update`, { data })

  test.each(STORED)('leaves %s as it is, and its version, too', async (text) => {
    const table = await numbers([{ name: 'x', n: text }])
    const read = (await as.get(`${table.path}/record/${table.records[0]}/get`)).body.data
    const { headers } = await update(table, read)
    expect([await storedIn(table), headers.get('etag')]).toEqual([json(text), '"1"'])
    expect((await update(table, { ...read, name: 'y' })).headers.get('etag')).toBe('"2"')
    expect(await storedIn(table)).toBe(json(text))
    await as.rpc.records.update.mutate({ table_id: table.id, record_id: table.records[0] as number, data: read })
    expect(await storedIn(table)).toBe(json(text))
  })

  test('changes if it is another double, or a text', async () => {
    const table = await numbers([{ n: '99999999999.99999999' }])
    await update(table, { n: 100000000000 })
    expect(await storedIn(table)).toBe('99999999999.99999999')
    await update(table, { n: 99999999999.9999 })
    expect(await storedIn(table)).toBe('99999999999.9999')
    await update(table, { n: '99999999999.99999999' })
    await update(table, { n: '100000000000' })
    expect(await storedIn(table)).toBe('100000000000')
    await update(table, { n: null })
    expect(await storedIn(table)).toBe('null')
    await update(table, { n: 0.1 + 0.2 })
    expect(await storedIn(table)).toBe('0.3')
  })
})

describe('an operand', () => {
  const found = async ({ path }: TestTable, column: string, compare: string, value: unknown) =>
    (await as.post(`${path}/records/query`, { filters: [{ column, compare, value }] })).body
      .map(({ name }: { name: string }) => name)
      .join(' ')

  test('of = and != counts as rounded if it is closer than 10^-9 to that', async () => {
    const records = ['0.3', '0.7', '-0.3', '3'].map((text) => ({ name: text, n: text, r: text }))
    const table = await numbers(records)
    const CASES: [unknown, string][] = [
      [0.1 + 0.2, '0.3'],
      ['0.30000000000000004', '0.3'],
      [-(0.1 + 0.2), '-0.3'],
      [0.1 * 7, '0.7'],
      ['0.3000000009', '0.3'],
      ['0.2999999991', '0.3'],
      ['3.0000000000000001', '3'],
      ['300e-2', '3'],
      [1.1 + 1.9, '3'],
      [2.9999999999, '3'],
    ]
    for (const [value, names] of CASES) {
      for (const column of ['n', 'r']) expect([column, value, await found(table, column, '=', value)]).toEqual([column, value, names])
      const others = records.map(({ name }) => name).filter((name) => name !== names)
      expect(await found(table, 'r', '!=', value)).toBe(others.join(' '))
    }
    for (const value of ['0.300000001', '0.299999999', 0.301, 0.305, '1e-9', '1e-100'])
      expect([value, await found(table, 'r', '=', value)]).toEqual([value, ''])
    expect(await found(table, 'id', '=', 2.0000000001)).toBe('0.7')
  })

  test('of the other compares is taken as it is', async () => {
    const table = await numbers([{ name: 'a', r: 0.3 }])
    expect(await found(table, 'r', '<', 0.1 + 0.2)).toBe('a')
    expect(await found(table, 'r', '>=', 0.1 + 0.2)).toBe('')
    expect(await found(table, 'r', '<=', 0.1 + 0.2)).toBe('a')
    expect(await found(table, 'r', '>', '0.2999999999')).toBe('a')
  })

  test('finds a number by all its digits, and in no other record', async () => {
    const table = await numbers([
      { name: 'a', n: '1234567890.12345678' },
      { name: 'b', n: '1234567890.12345677' },
    ])
    expect(await found(table, 'n', '=', '1234567890.12345678')).toBe('a')
    expect(await found(table, 'n', '<', '1234567890.12345678')).toBe('b')
  })
})
