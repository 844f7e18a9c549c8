/** The loss of the primary, with synchronous replication and real servers. Before them stands a switch, or HAProxy where it is installed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../scripts/free-port.ts'
import { systemContext } from '../src/platform/context.ts'
import { sweepReminders } from '../src/tasks/reminders/reminder-sweep.ts'
import { type As, type TestAccount, type TestApp, testApp } from './support/app.ts'
import { programAt } from './support/installed.ts'
import { type Cluster, type Server, startCluster } from './support/replica.ts'
import { openStream } from './support/streams.ts'
import { until } from './support/until.ts'

let cluster: Cluster
let standby: Server
let toServer: Proxy
let app: TestApp
let account: TestAccount
let key: As
let tableId: number
let position: string

/** What the service connects to. */
interface Proxy {
  url: string
  /** Sends connections to another server. HAProxy finds it itself. */
  turnTo(other: Server): void
  close(): void
}

const socketOf = ({ connection: { host, port } }: Server) => join(host, `.s.PGSQL.${port}`)
const urlOn = (port: number, { connection: { user, database } }: Server) => `postgresql://${user}@127.0.0.1:${port}/${database}`

/** Forwards TCP connections to the socket of a server. */
async function openSwitch(first: Server): Promise<Proxy> {
  let target = first
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const database = createConnection(socketOf(target))
    for (const [from, to] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: urlOn((server.address() as AddressInfo).port, first),
    turnTo(other: Server) {
      target = other
      for (const socket of sockets) socket.destroy()
    },
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

const haproxy = programAt('haproxy')

/** The sample with the addresses of the test in place of those of servers. */
async function startHaproxy(first: Server, second: Server): Promise<Proxy> {
  await first.query('create role haproxy login')
  const port = await freePort()
  const sample = readFileSync(new URL('../deploy/haproxy.cfg', import.meta.url), 'utf8')
  const configuration = sample
    .replace('bind 127.0.0.1:5433', `bind 127.0.0.1:${port}`)
    .replace('db1.example:5432', `unix@${socketOf(first)}`)
    .replace('db2.example:5432', `unix@${socketOf(second)}`)
  const file = join(first.connection.host, 'haproxy.cfg')
  writeFileSync(file, configuration)
  const child = spawn(haproxy ?? '', ['-db', '-f', file], { stdio: 'ignore' })
  const url = urlOn(port, first)
  await untilChecked(url, child)
  return { url, turnTo: () => {}, close: () => child.kill('SIGKILL') }
}

/** HAProxy sends connections to both servers, in turn, until its first checks have ended. */
async function untilChecked(url: string, child: ChildProcess): Promise<void> {
  let onPrimary = 0
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`HAProxy ended with ${child.exitCode}`)
    onPrimary = (await isPrimary(url)) ? onPrimary + 1 : 0
    return onPrimary === 4
  }, 'for HAProxy to send four connections in turn to the primary')
}

async function isPrimary(url: string): Promise<boolean> {
  const client = new pg.Client(url)
  // HAProxy closes connections to a server that its first check has found not to be the primary.
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ is_primary: boolean }>('select not pg_is_in_recovery() as is_primary')
    return rows[0]?.is_primary ?? false
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

/** Records whose creation was acknowledged, and the statuses of those that were not. */
interface Written {
  names: Set<string>
  refused: Set<number>
  lastRefusalAt: number
}

/** Creates records until told to stop, each with a name of its own. */
async function write(writer: number, until: () => boolean, written: Written): Promise<void> {
  for (let count = 0; !until(); count++) {
    const name = `${writer}-${count}`
    const { status } = await key.post(`/api/table/${tableId}/records/create`, { data: { name } })
    if (status === 200) written.names.add(name)
    else {
      written.refused.add(status)
      written.lastRefusalAt = performance.now()
      await sleep(50)
    }
  }
}

/** Sends the reminders that are due ten minutes from now. */
async function sweep(): Promise<void> {
  app.setClock(new Date(Date.now() + 11 * 60_000))
  await sweepReminders(systemContext(app.deps), async () => {}).finally(() => app.setClock(null))
}

const reminders = async () => {
  const { body } = await app.as(account.member).post('/api/notifications/list', { filter: 'all', limit: 200 })
  return body.filter(({ event_type }: { event_type: string }) => event_type === 'TASK_REMINDER')
}

/** Changes the type of the field, and waits for the job that does it. */
async function convert(type: string): Promise<void> {
  const { body } = await key.post(`/api/table/${tableId}/field/name/changeType`, { type })
  const isDone = async () => {
    const { state } = (await key.get(`/api/job/${body.job_id}`)).body
    if (state === 'failed' || state === 'refused') expect.fail(state)
    return state === 'done'
  }
  await until(isDone, 'for the end of the conversion')
}

const PROXIES = [
  { name: 'a switch', openProxy: openSwitch, isSkipped: false },
  { name: 'HAProxy', openProxy: startHaproxy, isSkipped: haproxy === undefined },
]

describe.for(PROXIES)('behind $name', ({ openProxy, isSkipped }) => {
  if (isSkipped) return test.skip('is not installed')

  beforeAll(async () => {
    cluster = await startCluster()
    standby = await cluster.replicate('standby')
    await cluster.primary.query("alter system set synchronous_standby_names = '*'")
    await cluster.primary.query('select pg_reload_conf()')
    const inSync = () => cluster.primary.query("select from pg_stat_replication where sync_state = 'sync'")
    await until(async () => (await inSync()).length, 'for the standby to be in sync')
    toServer = await openProxy(cluster.primary, standby)
    app = await testApp({ DATABASE_URL: toServer.url, DATABASE_REPLICA_URLS: standby.url }, { worker: true, isElsewhere: false })
    account = await app.account()
    key = app.as(account.keys.account)
    const fields = [{ name: 'Name', type: 'text' }]
    tableId = (await key.post(`/api/space/${account.space}/tables/create`, { name: 'Things', fields })).body.id
  })

  afterAll(async () => {
    await app?.stop()
    toServer?.close()
    await cluster?.stop()
  })

  test('goes on with the promoted replica within ten seconds: nothing acknowledged is lost, reminders fire once, streams go on', async () => {
    // Until the primary has been asked for the first time, positions are unknown.
    await expect.poll(() => app.deps.replicas?.all[0]?.isRead).toBe(true)
    const stream = await openStream(app.url, account.member)
    const dueAt = new Date(Date.now() + 20 * 60_000).toISOString()
    const due = { title: 'Before', due_date: dueAt.slice(0, 10), due_time: dueAt.slice(11, 16), reminder_offset_mins: 10 }
    expect((await app.as(account.member).post('/api/tasks/create', due)).status).toBe(200)
    position = (await key.post(`/api/table/${tableId}/records/create`, { data: { name: 'first' } })).headers.get('x-position') ?? ''
    expect(position).toMatch(/^\d+\.1\./)
    const written: Written = { names: new Set(), refused: new Set(), lastRefusalAt: 0 }
    let isOver = false
    const writers = [1, 2, 3].map((writer) => write(writer, () => isOver, written))
    await until(() => written.names.size >= 50, 'for fifty records')

    // A sweep that is cut off has either sent the reminder or not.
    const cutOff = sweep().catch(() => {})
    await cluster.primary.kill()
    const lostAt = performance.now()
    await standby.query('select pg_promote()')
    // Nobody follows it, so it would wait for ever.
    await standby.query("alter system set synchronous_standby_names = ''")
    await standby.query('select pg_reload_conf()')
    toServer.turnTo(standby)

    const before = written.names.size
    await until(() => written.names.size >= before + 50, 'for fifty more records')
    expect(written.lastRefusalAt - lostAt).toBeLessThan(10_000)
    isOver = true
    await Promise.all(writers)
    expect([...written.refused]).toEqual([503])

    const { rows } = await app.as(account.member).rpc.records.query.query({ table_id: tableId, limit: 1 })
    expect(rows).toHaveLength(1)
    const stored = await standby.query<{ name: string }>(`select name from t${tableId}.records`)
    const names = new Set(stored.map(({ name }) => name))
    expect([...written.names].filter((name) => !names.has(name))).toEqual([])

    await cutOff
    await sweep()
    await sweep()
    expect(await reminders()).toHaveLength(1)
    await convert('long_text')

    const { body: after } = await app.as(account.member).post('/api/tasks/create', { title: 'After' })
    await until(() => stream.heard.some(({ task_id }) => task_id === after.id), 'for the event of the task')
    expect(new Set(stream.heard.map(({ id }) => id)).size).toBe(stream.heard.length)
    stream.cut()
  })

  test('has put the replica aside that is now the primary, and ignores positions of the time before', async () => {
    const created = await key.post(`/api/table/${tableId}/records/create`, { data: { name: 'later' } })
    expect(created.headers.get('x-position')).toMatch(/^\d+\.2\./)
    const page = await key.post(
      `/api/table/${tableId}/records/query`,
      { filters: [{ column: 'id', compare: 'eq', value: created.body.id }] },
      { 'x-position': position },
    )
    expect(page.body).toMatchObject([{ name: 'later' }])
    expect(app.deps.replicas?.all.map(({ obstacle }) => obstacle)).toEqual(['it is not a replica, or no longer'])
  })
})
