/** Replicas and several processes on one port: a caller reads what they have written, whichever process answers. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestAccount, type TestApp, testApp } from './support/app.ts'
import { type Connection, endAll, startProcesses } from './support/processes.ts'
import { type Cluster, type Server, startCluster } from './support/replica.ts'

const ROUNDS = 100

let cluster: Cluster
let standby: Server
/** Makes the account and the table. */
let app: TestApp
let account: TestAccount
let tableId: number
let service: Awaited<ReturnType<typeof startProcesses>>
let both: [Connection, Connection]

beforeAll(async () => {
  cluster = await startCluster()
  standby = await cluster.replicate('standby')
  app = await testApp({ DATABASE_URL: cluster.primary.url })
  account = await app.account()
  const fields = [{ name: 'Step', type: 'number' }]
  tableId = (await app.as(account.keys.account).post(`/api/space/${account.space}/tables/create`, { name: 'Things', fields })).body.id
  service = await startProcesses({
    DATABASE_URL: cluster.primary.url,
    DATABASE_REPLICA_URLS: standby.url,
    DATA_DIR: app.settings.dataDir,
    SECRET_KEY: 'a key for tests, long enough to be one',
  })
  both = await service.both()
})

afterAll(async () => {
  endAll()
  await app?.stop()
  await cluster?.stop()
})

const records = () => `/api/table/${tableId}/records`
const readsOn = async (side: string) => {
  const text = await (await fetch(`${service.operatorUrl}/metrics`)).text()
  return Number(new RegExp(`gridpost_replica_reads_total\\{side="${side}"\\} (\\d+)`).exec(text)?.[1] ?? 0)
}

test('shows in one process what was written in the other, with and without the position', async () => {
  for (const connection of both)
    await expect.poll(async () => (await connection.send('GET', '/readyz')).body.replicas).toEqual({ read: 1, all: 1 })
  const key = account.keys.account
  const { body: made } = await both[0].send('POST', `${records()}/create`, { key, body: { data: { step: 0 } } })
  const seen: number[] = []
  for (let step = 1; step <= ROUNDS; step++) {
    const [writer, reader] = step % 2 ? both : both.toReversed()
    const path = `/api/table/${tableId}/record/${made.id}/update`
    const { headers } = await (writer as Connection).send('POST', path, { key, body: { data: { step } } })
    const position = step % 3 ? { 'x-position': String(headers['x-position']) } : {}
    const page = await (reader as Connection).send('POST', `${records()}/query`, { key, headers: position, body: {} })
    seen.push(Number(page.body[0]?.step))
  }
  expect(seen).toEqual(Array.from({ length: ROUNDS }, (_, index) => index + 1))
  expect(await readsOn('replica')).toBeGreaterThan(ROUNDS / 2)
})

test('goes on without an error when the replica is killed, and when a process is', async () => {
  const key = account.keys.account
  const ask = async (connection: Connection) => (await connection.send('POST', `${records()}/query`, { key, body: {} })).status
  await standby.kill()
  const statuses = []
  for (let count = 0; count < ROUNDS; count++) statuses.push(await ask(both[count % 2] as Connection))
  expect(new Set(statuses)).toEqual(new Set([200]))

  const [killed] = service.pids()
  process.kill(killed ?? 0, 'SIGKILL')
  await expect.poll(() => service.pids().length + Number(service.pids().includes(killed ?? 0))).toBe(2)
  for (let count = 0; count < 10; count++) {
    const connection = service.connect()
    expect(await ask(connection)).toBe(200)
    connection.close()
  }
})
