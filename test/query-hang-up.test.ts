/** A query is cancelled when its client disconnects, and its connection serves the next query. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { sqlState } from '../src/platform/database/database-errors.ts'
import { testApp } from './support/app.ts'
import { lockWaits, onEveryServer } from './support/servers.ts'
import { queriesAround } from './support/statements.ts'
import { until } from './support/until.ts'

const app = await testApp()
const account = await app.account()
const { body: table } = await app
  .as(account.owner)
  .post(`/api/space/${account.space}/tables/create`, { name: 'Deals', fields: [{ name: 'Paid', type: 'checkbox' }] })

/** Returns how statements ended, as SQLSTATE. */
const ended: (string | undefined)[] = []
const noting = queriesAround(app.db, (run) =>
  run().catch((error: unknown) => {
    ended.push(sqlState(error))
    throw error
  }),
)
Object.assign(app.db, noting)

const CANCELED = '57014'
/** A page that was short before waits on the connection of such pages first, and is not sent to the pool any more for a caller who has left. */
const NOT_SENT_AGAIN = 'SERVICE_UNAVAILABLE'

test.each([
  ['records/query by REST', `/api/table/${table.id}/records/query`, {}],
  ['records/count by REST', `/api/table/${table.id}/records/count`, {}],
  ['records/groups by REST', `/api/table/${table.id}/records/groups`, { by: 'paid' }],
  ['records/aggregate by REST', `/api/table/${table.id}/records/aggregate`, { measures: [{ fn: 'checked', field: 'paid' }] }],
  ['records/board by REST', `/api/table/${table.id}/records/board`, { by: 'paid' }],
  ['records.query by RPC', '/trpc/records.query', { table_id: table.id, count: true }],
])('%s', async (_, path, body) => {
  // While another transaction locks the table, the query waits; its lock_timeout would end it after 5 s with another error.
  const holder = await app.db.connect()
  try {
    await holder.query('begin')
    await holder.query(`lock table t${table.id}.records in access exclusive mode`)
    const before = ended.length
    const waiting = async () => (await lockWaits()).length
    const leaving = new AbortController()
    const answer = fetch(app.url + path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', authorization: `Bearer ${account.keys.account}` },
      signal: leaving.signal,
    })
    await until(async () => (await waiting()) > 0, 'for the query to wait for the lock')
    leaving.abort()
    await expect(answer).rejects.toThrow()
    await until(async () => (await waiting()) === 0 && ended.length > before, 'for the end of the query')
    const isPage = path.includes('query')
    expect(isPage ? [CANCELED, NOT_SENT_AGAIN] : [CANCELED]).toEqual(expect.arrayContaining(ended.slice(before)))
  } finally {
    await holder.end()
  }
  const after = await Promise.all(
    Array.from({ length: 12 }, () => app.as(account.keys.account).post(`/api/table/${table.id}/records/query`)),
  )
  expect(after.map(({ status }) => status)).toEqual(after.map(() => 200))
})

test('an answer in time does not count as a disconnect', async () => {
  const before = ended.length
  for (let round = 0; round < 20; round++)
    expect((await app.as(account.keys.account).post(`/api/table/${table.id}/records/query`)).body).toEqual([])
  expect(ended.length).toBe(before)
})

test('a wave of slow queries leaves connections to writers, and each query is answered in turn', async () => {
  const as = app.as(account.keys.account)
  const { body: other } = await as.post(`/api/space/${account.space}/tables/create`, { name: 'Notes' })
  // Two of the ten connections of the service, or of the four to a node of the tests, are kept free, and two more of those for others.
  const most = app.db.isElsewhere(table.id) ? 1 : 6
  const holder = await app.db.connect()
  const startedAt = performance.now()
  try {
    await holder.query('begin')
    await holder.query(`lock table t${table.id}.records in access exclusive mode`)
    const wave = Array.from({ length: 30 }, () => as.post(`/api/table/${table.id}/records/query`))
    const waiting = () => onEveryServer(sql`select from pg_locks where not granted and relation = to_regclass(${`t${table.id}.records`})`)
    await until(async () => (await waiting()).length >= most, `for ${most} queries to wait for the lock`)
    for (let turn = 0; turn < 5; turn++) expect((await as.post(`/api/table/${other.id}/records/create`, { data: {} })).status).toBe(200)
    // The queries take longer than a request waits for a connection, and less than it waits for a permit.
    await sleep(Math.max(0, startedAt + 2_500 - performance.now()))
    await holder.query('commit')
    const answers = await Promise.all(wave)
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  } finally {
    await holder.end()
  }
})
