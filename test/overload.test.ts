/** One account floods the service. Locks hold its requests, so that the tests do not depend on the speed of the machine. */
import { expect, test, vi } from 'vitest'
import type { Answer, TestAccount } from './support/app.ts'
import { testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()
/** More than the number of requests that can wait or be served until the lock is released. */
const FLOOD = 1_500
/** So many are refused at least. */
const REFUSED = 300

/** Sends all requests at once, and collects the answers as they come. */
function flood(ask: (index: number) => Promise<Answer>) {
  const answers: Answer[] = []
  const all = Promise.all(Array.from({ length: FLOOD }, async (_, index) => void answers.push(await ask(index))))
  return { answers, all, refused: () => answers.filter(({ status }) => status === 503) }
}

/** Locks something for the time of the function, as a long transaction of another program would. */
async function withLock<T>(statement: string, fn: () => Promise<T>): Promise<T> {
  const client = await app.db.connect()
  try {
    // By itself PostgreSQL would end it after 30 seconds, in which a slow machine does not answer a flood.
    await client.query('begin; set local idle_in_transaction_session_timeout = 0')
    await client.query(statement)
    return await fn()
  } finally {
    await client.end()
  }
}

const withRecord = async (account: TestAccount) => {
  const { id, path, records } = await makeTable(app, account, { records: [{ name: 'first' }] })
  const as = app.as(account.keys.account)
  return { id, path, record: `${path}/record/${records[0]}`, recordId: records[0] as number, as }
}

/** Every kind of request works for the account. */
async function expectServed({ as, path, record }: Awaited<ReturnType<typeof withRecord>>): Promise<void> {
  for (let round = 0; round < 5; round++) {
    const answers = [
      await as.get(`${record}/get`),
      await as.post(`${record}/update`, { data: { name: `changed ${round}` } }),
      await as.post(`${path}/records/query`, { search: 'changed' }),
      await app.as(null).get('/healthz'),
      await app.as(null).get('/readyz'),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  }
}

test('refuses a flood of writes with 503 and Retry-After, and serves other accounts and health checks', async () => {
  const [flooder, other] = [await withRecord(await app.account()), await withRecord(await app.account())]
  await expectServed(other)
  await expectServed(flooder)
  const body = { table_id: flooder.id, record_id: flooder.recordId, data: { name: 'flood' } }
  const { all } = await withLock(`select from "t${flooder.id}".records for update`, async () => {
    const flooding = flood((index) =>
      index % 2 ? flooder.as.post(`${flooder.record}/update`, { data: body.data }) : flooder.as.post('/trpc/records.update', body),
    )
    await expect.poll(() => flooding.refused().length).toBeGreaterThan(REFUSED)
    await expectServed(other)
    expect(new Set(flooding.answers.map(({ status }) => status))).toEqual(new Set([503]))
    for (const { headers, body } of flooding.refused()) {
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      expect(body.error?.data ?? body).toMatchObject({ message: expect.stringContaining('retry'), code: 'SERVICE_UNAVAILABLE' })
    }
    return flooding
  })
  await all
  await expectServed(flooder)
})

test('refuses a flood of queries, and serves the queries of other accounts', async () => {
  const [flooder, other] = [await withRecord(await app.account()), await withRecord(await app.account())]
  await expectServed(other)
  await expectServed(flooder)
  const { all } = await withLock(`lock table "t${flooder.id}".records in access exclusive mode`, async () => {
    const flooding = flood(() => flooder.as.post(`${flooder.path}/records/query`, { search: 'flood' }))
    await expect.poll(() => flooding.refused().length).toBeGreaterThan(REFUSED)
    await expectServed(other)
    return flooding
  })
  await all
  await expectServed(flooder)
})

test('answers a flood of tracking pixels with the image, whether or not they are recorded', async () => {
  const other = await withRecord(await app.account())
  await expectServed(other)
  const { all, answers } = await withLock('lock table email_opens, outbound_emails in access exclusive mode', async () => {
    const flooding = flood(() => app.as(null).get(`/email/pixel/${'a'.repeat(32)}.png`))
    await expect.poll(() => flooding.answers.length).toBeGreaterThan(REFUSED)
    await expectServed(other)
    return flooding
  })
  await all
  expect(new Set(answers.map(({ status, headers }) => `${status} ${headers.get('content-type')}`))).toEqual(new Set(['200 image/png']))
})

test('answers a flood of readiness checks with one look at the database', async () => {
  const isReady = vi.spyOn(app.deps.jobs, 'isReady')
  const query = vi.spyOn(app.db, 'read')
  const answers = await Promise.all(Array.from({ length: 200 }, () => app.as(null).get('/readyz')))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  // A look is used again for a quarter of a second, in which a slow machine may not answer all.
  expect(isReady.mock.calls.length).toBeLessThan(40)
  expect(query.mock.calls.length).toBeLessThan(80)
  vi.restoreAllMocks()
})

test('is not ready if a check hangs, and starts none a second time', async () => {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const isReady = vi.spyOn(app.deps.jobs, 'isReady').mockReturnValue(promise)
  const ready = () => app.as(null).get('/readyz')
  await expect.poll(async () => (await ready()).body).toEqual({ ok: false, database: true, migrations: true, queue: false, storage: true })
  const { status } = await ready()
  expect([status, isReady.mock.calls.length]).toEqual([503, 1])
  resolve(true)
  vi.restoreAllMocks()
  await expect.poll(async () => (await ready()).status).toBe(200)
})
