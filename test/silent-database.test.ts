/** A database that keeps its connections open and answers nothing, as a suspended one does, and one behind a firewall that drops packets. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { closeIfSilent } from '../src/platform/database/statements/silent-connections.ts'
import { type Answer, testApp } from './support/app.ts'
import { databaseProxy } from './support/database-proxy.ts'
import { makeTable } from './support/tables.ts'

const SILENT_MS = 2_000
const proxy = await databaseProxy()
const app = await testApp({ DATABASE_URL: proxy.url }, { databaseSilentMs: SILENT_MS })
/** On a busy machine a database that is well may also be silent for that long. */
const patient = await testApp()

test('gets 503 with Retry-After in bounded time, and everything works again once it answers', async () => {
  const account = await patient.account()
  const { path, records } = await makeTable(patient, account, { fields: [{ name: 'Name', type: 'text' }], records: [{ name: 'first' }] })
  const as = app.as(account.keys.account)
  const kinds: (() => Promise<Answer>)[] = [
    () => as.get(`${path}/record/${records[0]}/get`),
    () => as.post(`${path}/records/query`, { search: 'first', limit: 10 }),
    () => as.post(`${path}/records/create`, { data: { name: 'new' } }),
    () => as.post(`${path}/records/create`, { data: { name: 'new' } }, { 'idempotency-key': `${Math.random()}` }),
    () => as.get(`${path}/export.csv`),
    () => app.as(account.owner).get('/api/auth/me'),
  ]
  const slowest = kinds.map(() => 0)
  const ask = () =>
    Promise.all(
      [...kinds, ...kinds, ...kinds].map(async (kind, index) => {
        const startedAt = performance.now()
        const answer = await kind()
        const which = index % kinds.length
        slowest[which] = Math.max(slowest[which] ?? 0, performance.now() - startedAt)
        return answer
      }),
    )
  const isServed = async () => (await ask()).every(({ status }) => status === 200)
  await expect.poll(isServed).toBe(true)

  const pending = ask()
  proxy.hang()
  const answers = [...(await pending), ...(await ask())].filter(({ status }) => status !== 200)
  // A silent connection, a wait for another one, and an attempt to open one take less than five seconds; a busy machine is slower.
  expect(Math.max(...slowest), String(slowest)).toBeLessThan(15_000)
  expect(answers.length).toBeGreaterThanOrEqual(18)
  for (const { status, headers, body } of answers) {
    expect([status, body.message]).toEqual([503, expect.stringMatching(/^(The database is not available|Too busy; retry)$/)])
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  }
  expect((await app.as(null).get('/healthz')).status).toBe(200)

  proxy.resume()
  await expect.poll(isServed).toBe(true)
})

test('is not taken for silent while it has nothing to answer', async () => {
  const idle = sleep(2 * SILENT_MS)
  const inTransaction = app.db.transaction(async () => {
    const backend = async () => (await app.db.read<{ pid: number }>(sql`select pg_backend_pid() as pid`))[0]?.pid
    const before = await backend()
    await idle
    expect(await backend()).toBe(before)
  })
  const [client, unlimited] = [await app.db.connect(), await app.db.connect(Number.POSITIVE_INFINITY)]
  const slow = unlimited.query(`select pg_sleep(${(2 * SILENT_MS) / 1000})`)
  await idle
  expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  await expect(client.query('select pg_sleep(30)')).rejects.toThrow('Connection terminated')
  await Promise.all([inTransaction, slow])
  await unlimited.end()
})

/** A message of the protocol of PostgreSQL. */
const message = (type: string, body: string) => {
  const head = Buffer.alloc(5, type)
  head.writeInt32BE(4 + body.length, 1)
  return Buffer.concat([head, Buffer.from(body, 'latin1')])
}

test('is closed if it tells the error of a statement and then never ends it, as a coordinator does whose node hangs', async () => {
  const READY = message('Z', 'I')
  const REFUSED = message('E', 'SERROR\0C57014\0Mcanceling statement due to statement timeout\0\0')
  const server = createServer((socket) => {
    socket
      .on('error', () => {})
      .once('data', () => {
        socket.write(Buffer.concat([message('R', '\0\0\0\0'), READY]))
        socket.once('data', () => socket.write(REFUSED))
      })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = new pg.Client({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, ssl: false })
  client.on('error', () => {})
  await client.connect()
  closeIfSilent(client, SILENT_MS)
  await expect(client.query('insert')).rejects.toThrow('canceling statement')
  await expect(client.query('rollback')).rejects.toThrow('Connection terminated')
  server.close()
})
