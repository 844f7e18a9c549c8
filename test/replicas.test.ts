/** Reads on replicas, with real ones: each is a base copy of the running server. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { raw, sql } from '../src/platform/database/database.ts'
import { encodePosition } from '../src/platform/http/procedures/signed-position.ts'
import { tokenHash } from '../src/platform/secrets/secrets.ts'
import { type Answer, type As, type TestAccount, type TestApp, testApp } from './support/app.ts'
import { type Cluster, type Server, startCluster } from './support/replica.ts'
import { openStream } from './support/streams.ts'
import { until } from './support/until.ts'

let cluster: Cluster
let standby: Server
let app: TestApp
/** A second process of the service. */
let other: TestApp
let account: TestAccount
let key: As
let tableId: number

const environmentOf = () => ({ DATABASE_URL: cluster.primary.url, DATABASE_REPLICA_URLS: standby.url, LOG_LEVEL: 'silent' })

beforeAll(async () => {
  cluster = await startCluster({ isOwnSystem: true })
  standby = await cluster.replicate('first')
  // A busy machine makes the replica lag, which the tests of other reasons must not see.
  const environment = { ...environmentOf(), REPLICA_MAX_LAG_MS: '60000' }
  // These tests break the replica one after another, as if it came and went. A replica has the records of the main server only.
  const options = { replicaSteadyMs: 0, isElsewhere: false }
  app = await testApp(environment, options)
  other = await testApp(environment, options)
  account = await app.account()
  key = app.as(account.keys.account)
  const fields = [
    { name: 'Name', type: 'text' },
    { name: 'Step', type: 'number' },
  ]
  tableId = (await key.post(`/api/space/${account.space}/tables/create`, { name: 'Things', fields })).body.id
})

beforeEach(async () => {
  await judged('read')
  await judged('read', other)
})

afterAll(async () => {
  await app?.stop()
  await other?.stop()
  await cluster?.stop()
})

const replicaOf = (of: TestApp) => of.deps.replicas?.all[0] ?? expect.fail('no replica')

/** Waits until the service reads the replica, or has put it aside for the reason. @returns how long it took, in milliseconds */
async function judged(expected: 'read' | RegExp, of = app): Promise<number> {
  const startedAt = performance.now()
  const reason = () => replicaOf(of).obstacle
  const isAsExpected = () => (expected === 'read' ? reason() === null : expected.test(reason() ?? ''))
  await until(isAsExpected, () => `for another state of the replica: ${reason() ?? 'it is read'}`, { everyMs: 5 })
  return performance.now() - startedAt
}

/** A replica is put aside within a second; a busy machine gets more. */
const SOON_MS = 5_000
/** A busy machine may also answer a check too late. */
const AWAY = /it does not answer$/

const queryOf = (id: number) => ({ filters: [{ column: 'id', compare: 'eq', value: id }] })
const recordsPath = () => `/api/table/${tableId}/records`

async function readsOn(side: 'replica' | 'primary', of = app): Promise<number> {
  const text = await of.deps.metrics.text(of.deps)
  return Number(new RegExp(`gridpost_replica_reads_total\\{side="${side}"\\} (\\d+)`).exec(text)?.[1] ?? 0)
}

async function newRecord(name: string): Promise<{ id: number; position: string }> {
  const { body, headers, status } = await key.post(`${recordsPath()}/create`, { data: { name, step: 0 } })
  expect(status).toBe(200)
  return { id: body.id, position: headers.get('x-position') ?? '' }
}

/** Waits until the replica has what is committed now. */
async function caughtUp(): Promise<void> {
  const [now] = await cluster.primary.query<{ lsn: string }>('select pg_current_wal_lsn()::text as lsn')
  const hasIt = async () => (await standby.query('select 1 where pg_last_wal_replay_lsn() >= $1::pg_lsn', [now?.lsn])).length === 1
  await until(hasIt, 'for the replica to catch up')
}

/** Lets the replica replay commits later than it could: with an hour never, as long as a test runs. */
async function delayed(delay: string): Promise<void> {
  await standby.query(`alter system set recovery_min_apply_delay = '${delay}'`)
  await standby.query('select pg_reload_conf()')
  // Until its process for that has read the setting, it would still replay what the test writes next.
  if (delay === '1h') await until(holdsCommit, 'for the replica to hold a commit back')
}

async function holdsCommit(): Promise<boolean> {
  await cluster.primary.query("select pg_logical_emit_message(true, 'test', 'a commit')")
  const waiting = "select 1 from pg_stat_activity where backend_type = 'startup' and wait_event = 'RecoveryApplyDelay'"
  return (await standby.query(waiting)).length > 0
}

describe('a caller reads what they have written', () => {
  test('in each of 2,000 pairs, in whichever process; an ungated read on the replica misses some', async () => {
    const pairs = { done: 0, stale: 0, staleUngated: 0 }
    const ungated = new pg.Pool({ ...standby.connection, max: 4 })
    const before = (await readsOn('replica')) + (await readsOn('replica', other))
    const readUngated = async (id: number, step: number) => {
      const { rows } = await ungated.query(`select step from t${tableId}.records where id = $1`, [id])
      pairs.staleUngated += Number(Number(rows[0]?.step) !== step)
    }
    const pair = async (reader: As, id: number, step: number, sendsBack: boolean) => {
      const written = await key.post(`/api/table/${tableId}/record/${id}/update`, { data: { step } })
      const position = written.headers.get('x-position') ?? expect.fail('no position')
      if (step > 450) await readUngated(id, step)
      const page = await reader.post(`${recordsPath()}/query`, queryOf(id), sendsBack ? { 'x-position': position } : {})
      pairs.stale += Number(page.body[0]?.step !== step)
      if (++pairs.done === 1_800) await delayed('30ms')
    }
    /** Half of the callers send their position back, and half read in the other process. */
    const writeAndRead = async (caller: number) => {
      const reader = (caller % 2 ? other : app).as(account.keys.account)
      const { id } = await newRecord(`caller ${caller}`)
      for (let step = 1; step <= 500; step++) await pair(reader, id, step, caller < 2)
    }
    try {
      await Promise.all([0, 1, 2, 3].map(writeAndRead))
      // However late a busy machine comes to the ungated read.
      const { id } = await newRecord('not replayed')
      await caughtUp()
      await delayed('1h')
      for (let step = 451; pairs.staleUngated === 0; step++) await pair(key, id, step, true)
    } finally {
      await delayed('0')
      await ungated.end()
    }
    expect(pairs.stale).toBe(0)
    expect(pairs.done).toBeGreaterThanOrEqual(2_000)
    expect((await readsOn('replica')) + (await readsOn('replica', other)) - before).toBeGreaterThan(100)
  }, 300_000)

  test('over RPC and in a session, whose position is in a cookie', async () => {
    const member = app.as(account.member)
    const { body } = await member.post(`${recordsPath()}/create`, { data: { name: 'mine' } })
    const renamed = await member.post(`/api/table/${tableId}/record/${body.id}/update`, { data: { name: 'still mine' } })
    const cookie = renamed.headers.getSetCookie().find((text) => text.startsWith('gridpost_position=')) ?? expect.fail('no cookie')
    expect(cookie).toMatch(/; HttpOnly; SameSite=Lax$/)
    expect(cookie.split(';')[0]?.split('=')[1]).toBe(renamed.headers.get('x-position'))
    // As long as a replica that is read may lag, and three seconds more.
    expect(renamed.headers.getSetCookie()).toContain('gridpost_wrote=1; Max-Age=63; Path=/; HttpOnly; SameSite=Lax')
    const cookies = `gridpost_session=${account.member.session}; ${cookie.split(';')[0]}`
    const page = await app.as(null).post(`${recordsPath()}/query`, queryOf(body.id), { cookie: cookies })
    expect(page.body).toMatchObject([{ name: 'still mine' }])
    await member.rpc.records.update.mutate({ table_id: tableId, record_id: body.id, data: { name: 'by RPC' } })
    expect((await member.rpc.records.query.query({ table_id: tableId, ...queryOf(body.id) })).rows).toMatchObject([{ name: 'by RPC' }])
  })

  test('in a session of which an older answer arrives after a newer one, as those of two writes at once may', async () => {
    const member = app.as(account.member)
    const { id } = await newRecord('before')
    const rename = async (name: string) => {
      const { headers, status } = await member.post(`/api/table/${tableId}/record/${id}/update`, { data: { name } })
      expect(status).toBe(200)
      return headers.getSetCookie().map((text) => text.split(';')[0] ?? '')
    }
    const older = await rename('older')
    // The replica replays the first of the writes, and the second later than the read.
    await caughtUp()
    await delayed('1h')
    try {
      const newer = await rename('newer')
      const jar = new Map([...newer, ...older].map((text) => text.split('=', 2) as [string, string]))
      const cookie = [['gridpost_session', account.member.session], ...jar].map((pair) => pair.join('=')).join('; ')
      for (const service of [app, other]) {
        const { body } = await service.as(null).post(`${recordsPath()}/query`, queryOf(id), { cookie })
        expect(body).toMatchObject([{ name: 'newer' }])
      }
    } finally {
      await delayed('0')
    }
  })

  test('after a change of the fields that the replica has not replayed, although their own write is older', async () => {
    const { id, position } = await newRecord('typed')
    await delayed('1h')
    try {
      const added = await key.post(`/api/table/${tableId}/fields/create`, { name: 'Added', type: 'text' })
      expect(added.status).toBe(200)
      const page = await key.post(`${recordsPath()}/query`, queryOf(id), { 'x-position': position })
      expect(page.body).toMatchObject([{ name: 'typed', added: null }])
    } finally {
      await delayed('0')
    }
  })

  test('and finds what an event tells of, although a replica shows it later than the primary', async () => {
    const { id } = await newRecord('with a task')
    const member = app.as(account.keys.personal)
    const own = await member.post(`${recordsPath()}/create`, { data: { name: 'own' } })
    const stream = await openStream(app.url, account.keys.personal)
    await delayed('600ms')
    try {
      const task = await key.post(`/api/tasks/onRecord/${tableId}/${id}/create`, { title: 'Told' })
      await until(() => stream.heard.some(({ task_id }) => task_id === task.body.id), 'for the event of the task', { everyMs: 5 })
      const position = own.headers.get('x-position') ?? ''
      const list = await member.get(`/api/tasks/onRecord/${tableId}/${id}/list`, { 'x-position': position })
      expect(list.body).toMatchObject([{ title: 'Told' }])
    } finally {
      stream.cut()
      await delayed('0')
    }
  })

  test('and finds what an event of a live table tells of, and what several became', async () => {
    const member = app.as(account.keys.personal)
    const own = await member.post(`${recordsPath()}/create`, { data: { name: 'own' } })
    const stream = await openStream(other.url, account.keys.personal, undefined, [tableId])
    await delayed('600ms')
    try {
      const made = await Promise.all(['first', 'second', 'third'].map((name) => key.post(`${recordsPath()}/create`, { data: { name } })))
      const counted = () => stream.heard.reduce((sum, { count = 1 }) => sum + count, 0)
      await until(() => counted() === made.length, 'for the events of the records', { everyMs: 5 })
      const position = own.headers.get('x-position') ?? ''
      for (const { body } of made) {
        const page = await app.as(account.keys.personal).post(`${recordsPath()}/query`, queryOf(body.id), { 'x-position': position })
        expect(page.body).toMatchObject([{ id: body.id }])
      }
    } finally {
      stream.cut()
      await delayed('0')
    }
  })

  test('even if the answer to a write could not name a position', async () => {
    const { id } = await newRecord('unknown')
    expect((await key.post(`${recordsPath()}/query`, queryOf(id), { 'x-position': 'unknown' })).body).toMatchObject([{ name: 'unknown' }])
  })
})

describe('a position that does not count', () => {
  /** A position that the service has signed for the key. By default one that the replica has passed. */
  const signed = ({ timeline = 1, lsn = 1, systemId = app.deps.replicas?.systemId ?? '' } = {}) =>
    encodePosition({ timeline, lsn }, { systemId, tokenHash: tokenHash(account.keys.account) }, app.deps.settings.secretKeys)
  /** Reads a record that the replica does not have yet, and that a position before it would hide. */
  async function readNew(positionOf: (position: string) => string) {
    await caughtUp()
    await delayed('1h')
    try {
      const { id, position } = await newRecord('mine')
      const page = await key.post(`${recordsPath()}/query`, queryOf(id), { 'x-position': positionOf(position) })
      return [page.status, ...page.body.map(({ name }: { name: string }) => name)]
    } finally {
      await delayed('0')
    }
  }

  test('would hide a record that the replica does not have yet', async () => {
    await expect.poll(() => readNew(() => signed())).toEqual([200])
  })

  const forms: [string, (position: string) => string][] = [
    ['forged', (position) => position.replace(/\.[0-9a-f]+\.([\w-]+)$/, '.1.$1')],
    ['of an earlier timeline', () => signed({ timeline: 0 })],
    ['of a later timeline', () => signed({ timeline: 2 })],
    ['of another system', () => signed({ systemId: '1' })],
    ['garbage', () => 'x'.repeat(4_000)],
    ['empty', () => ''],
    ['a list', () => ','.repeat(500)],
  ]
  test.each(forms)('is ignored: %s', async (_, changed) => {
    expect(await readNew(changed)).toEqual([200, 'mine'])
  })

  test('is ignored if it was answered to another caller', async () => {
    const { position } = await newRecord('before')
    const member = app.as(account.keys.personal)
    await delayed('1h')
    try {
      const { body } = await member.post(`${recordsPath()}/create`, { data: { name: 'of the member' } })
      // With the position, which the replica has replayed, it would be asked, and would not have the record.
      expect((await member.post(`${recordsPath()}/query`, queryOf(body.id), { 'x-position': position })).body).toHaveLength(1)
    } finally {
      await delayed('0')
    }
  })
})

describe('on the replica', () => {
  test('at least 80 % of the reads are answered while it is quiet, and none that is about rights', async () => {
    const { id } = await newRecord('quiet')
    const shareOfReplica = async () => {
      const [onReplica, onPrimary] = [await readsOn('replica'), await readsOn('primary')]
      for (let count = 0; count < 50; count++) {
        await key.post(`${recordsPath()}/query`, queryOf(id))
        await key.get(`/api/tasks/onRecord/${tableId}/${id}/list`)
      }
      const [replica, primary] = [(await readsOn('replica')) - onReplica, (await readsOn('primary')) - onPrimary]
      return replica / (replica + primary)
    }
    // While it still replays what was written before, the replica is not quiet.
    await expect.poll(shareOfReplica, { interval: 0 }).toBeGreaterThan(0.8)
    const before = [await readsOn('replica'), await readsOn('primary')]
    await app.as(account.owner).get('/api/keys/list')
    await app.as(account.owner).get('/api/auth/sessions/list')
    await app.as(account.owner).get('/api/audit/list')
    expect([await readsOn('replica'), await readsOn('primary')]).toEqual(before)
  })

  test.each([
    ['counts', () => key.post(`${recordsPath()}/count`, {})],
    ['groups', () => key.post(`${recordsPath()}/groups`, { by: 'created_by' })],
    ['boards', () => key.post(`${recordsPath()}/board`, { by: 'created_by' })],
    ['explanations', () => key.post(`${recordsPath()}/explain`, {})],
    ['exports', () => key.get(`/api/table/${tableId}/export.csv`)],
    ['lists of views', () => key.get(`/api/table/${tableId}/views/list`)],
  ] as [string, () => Promise<Answer>][])('%s are answered', async (_, ask) => {
    const before = await readsOn('replica')
    const readsAfter = async () => {
      expect((await ask()).status).toBe(200)
      return readsOn('replica')
    }
    // One that has not replayed in time what was written before is not asked.
    await expect.poll(readsAfter).toBeGreaterThan(before)
  })

  test('what it cannot do is asked of the primary: unlogged tables, row locks, and what conflicts with its replay', async () => {
    const replicas = app.deps.replicas ?? expect.fail()
    const reading = <T>(fn: () => T) => replicas.reading({ position: replicas.currentPosition(), patienceMs: 60_000 }, fn)
    expect(await reading(() => app.db.read(sql`select count(*) as n from rate_windows`))).toEqual([{ n: 0 }])
    expect(await reading(() => app.db.read(sql`select id from tables where id = ${tableId} for update`))).toEqual([{ id: tableId }])
    expect(await reading(() => app.db.write(sql`insert into rate_windows values ('x', 1, now()) returning id`))).toEqual([{ id: 'x' }])
    await standby.query("alter system set max_standby_streaming_delay = '0'")
    await standby.query('select pg_reload_conf()')
    await newRecord('conflict')
    const slow = reading(() =>
      app.db.read<{ where: boolean }>(
        sql`select pg_is_in_recovery() as where, case when pg_is_in_recovery() then pg_sleep(150) end from t${raw(String(tableId))}.records limit 1`,
      ),
    )
    await expect.poll(() => standby.query("select from pg_stat_activity where wait_event = 'PgSleep'")).toHaveLength(1)
    await cluster.primary.query(`begin; lock table t${tableId}.records in access exclusive mode; commit`)
    expect(await slow).toMatchObject([{ where: false }])
  })
})

describe('a replica', () => {
  /** Reads all the time until `until` resolves. @returns the statuses that were not 200, and the longest time in milliseconds */
  async function readWhile(until: Promise<unknown>, of = app) {
    const { id } = await newRecord('read')
    const seen = { statuses: new Set<number>(), longestMs: 0, count: 0 }
    let isOver = false
    const over = until.finally(() => {
      isOver = true
    })
    const readers = [of.as(account.keys.account), of.as(account.member)].map(async (caller) => {
      while (!isOver) {
        const startedAt = performance.now()
        const { status, body } = await caller.post(`${recordsPath()}/query`, queryOf(id))
        seen.statuses.add(body.length === 1 ? status : 0)
        seen.longestMs = Math.max(seen.longestMs, performance.now() - startedAt)
        seen.count++
      }
    })
    await Promise.all([over, ...readers])
    return { statuses: [...seen.statuses], longestMs: seen.longestMs }
  }

  /** @returns the lines without that of a check which a busy machine answers late */
  async function warningsDuring(run: () => Promise<void>, of = app): Promise<string[]> {
    const warn = vi.spyOn(of.deps.log, 'warn')
    try {
      await run()
      return warn.mock.calls.map((call) => String(call.at(-1))).filter((line) => !AWAY.test(line))
    } finally {
      warn.mockRestore()
    }
  }

  test('is put aside without an error while its replay is paused, with one line', async () => {
    const warnings = await warningsDuring(async () => {
      const paused = standby.query('select pg_wal_replay_pause()').then(() => judged(/^its replay is paused$/))
      const { statuses } = await readWhile(paused)
      expect(statuses).toEqual([200])
      expect(await paused).toBeLessThan(SOON_MS)
      await expect.poll(async () => (await app.as(null).get('/readyz')).body).toMatchObject({ ok: true, replicas: { read: 0, all: 1 } })
    })
    expect(warnings).toEqual([`The replica ${replicaOf(app).name} is not read: its replay is paused`])
    await standby.query('select pg_wal_replay_resume()')
    await expect.poll(async () => (await app.as(null).get('/readyz')).body).toMatchObject({ ok: true, replicas: { read: 1, all: 1 } })
  })

  test('is put aside without an error when it is suspended, killed and started again', async () => {
    standby.suspend()
    const suspended = judged(AWAY)
    const { statuses, longestMs } = await readWhile(suspended)
    standby.resume()
    expect(statuses).toEqual([200])
    expect(await suspended).toBeLessThan(SOON_MS)
    expect(longestMs).toBeLessThan(2 * SOON_MS)
    await judged('read')
    const killed = await readWhile(standby.kill().then(() => judged(AWAY)))
    expect(killed.statuses).toEqual([200])
    const started = await readWhile(standby.start().then(() => judged('read')))
    expect(started.statuses).toEqual([200])
  })

  test('that lags by more than REPLICA_MAX_LAG_MS is put aside, and taken back when it has caught up', async () => {
    const strict = await testApp(environmentOf(), { replicaSteadyMs: 0, isElsewhere: false })
    try {
      await judged('read', strict)
      const warnings = await warningsDuring(async () => {
        await delayed('4s')
        expect((await readWhile(judged(/^it lags$/, strict), strict)).statuses).toEqual([200])
      }, strict)
      expect(warnings).toEqual([`The replica ${replicaOf(strict).name} is not read: it lags by more than 1000 ms`])
      await delayed('0')
      await judged('read', strict)
    } finally {
      await strict.stop()
    }
  })

  test('that comes and goes stays aside for a growing time, with one line each time', async () => {
    const flapping = await testApp({ ...environmentOf(), REPLICA_MAX_LAG_MS: '60000' }, { isElsewhere: false })
    await judged('read', flapping)
    const warn = vi.spyOn(flapping.deps.log, 'warn')
    const seconds: number[] = []
    for (let turn = 0; turn < 4; turn++) {
      await judged('read', flapping)
      // As several statements that fail at once on a connection that is lost; the checks go on to find it well.
      for (let failed = 0; failed < 5; failed++) replicaOf(flapping).suspect()
      seconds.push((await judged('read', flapping)) / 1_000)
    }
    for (const [turn, least] of [0, 1, 2, 4].entries()) expect(seconds[turn], String(seconds)).toBeGreaterThanOrEqual(least)
    const { name } = replicaOf(flapping)
    // A check that a busy machine answers late counts as another turn.
    expect(warn.mock.calls.length).toBeGreaterThanOrEqual(4)
    expect(warn.mock.calls).toEqual(
      [undefined, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000]
        .slice(0, warn.mock.calls.length)
        .map((asideMs) => [
          expect.objectContaining({ replica: name, lagMs: expect.any(Number), ...(asideMs && { asideMs }) }),
          `The replica ${name} is not read: it does not answer`,
        ]),
    )
    await flapping.stop()
  })

  test('of another system, or that is none, is refused with one line, and the service does without', async () => {
    const foreign = await startCluster()
    const theirs = await foreign.replicate('theirs')
    const lines: string[] = []
    const nowhere = 'postgresql://nobody@127.0.0.1:1/none'
    const urls = [theirs.url, cluster.primary.url, nowhere].join(', ')
    const alone = await testApp({ DATABASE_URL: cluster.primary.url, DATABASE_REPLICA_URLS: urls }, { isElsewhere: false })
    vi.spyOn(alone.deps.log, 'warn').mockImplementation((...args: unknown[]) => void lines.push(String(args.at(-1))))
    const { id } = await newRecord('alone')
    const nameOf = ({ connection: { host, port, database } }: Server) => `${host}:${port}/${database}`
    const reasons = [
      `The replica ${nameOf(theirs)} is not read: it is a replica of another database system`,
      `The replica ${nameOf(cluster.primary)} is not read: it is not a replica, or no longer`,
      'The replica 127.0.0.1:1/none is not read: it does not answer',
    ]
    await expect.poll(() => lines).toEqual(expect.arrayContaining(reasons))
    lines.length = 0
    await sleep(500)
    const page = await alone.as(account.keys.account).post(`${recordsPath()}/query`, queryOf(id))
    const reads = [await readsOn('replica', alone), await readsOn('primary', alone)]
    await alone.stop()
    await foreign.stop()
    expect(page.body).toMatchObject([{ name: 'alone' }])
    expect(reads).toEqual([0, 1])
    // None of them is said again. A check that a busy machine answers late has a reason of its own, said once.
    expect(lines.filter((line) => reasons.includes(line))).toEqual([])
  })

  const MIGRATION = '99990101000000_of_a_test'
  const migrate = () =>
    cluster.primary.query(
      'insert into _prisma_migrations (id, checksum, finished_at, migration_name, applied_steps_count) values ($1, $1, now(), $1, 1)',
      [MIGRATION],
    )
  /** As a restore of the primary does. */
  const goBack = () => cluster.primary.query('delete from _prisma_migrations where migration_name = $1', [MIGRATION])
  /** More than one check of the replica, whose judgement is that of the present migrations then. */
  const checked = async () => {
    await caughtUp()
    await sleep(600)
    await judged('read')
  }

  test.each([
    ['an earlier', migrate],
    ['a later', goBack],
  ])('of %s migration is put aside with one line and without an error, until it has the same', async (which, change) => {
    if (change === goBack) await migrate()
    await checked()
    const [has] = await standby.query<{ last: string }>('select max(migration_name) as last from _prisma_migrations')
    await delayed('1h')
    try {
      const warnings = await warningsDuring(async () => {
        const aside = change().then(() => judged(new RegExp(`^it is at ${which} migration`)))
        expect((await readWhile(aside)).statuses).toEqual([200])
        const [onReplica, onPrimary] = [await readsOn('replica'), await readsOn('primary')]
        expect((await readWhile(sleep(600))).statuses).toEqual([200])
        expect(await readsOn('replica')).toBe(onReplica)
        expect(await readsOn('primary')).toBeGreaterThan(onPrimary)
      })
      expect(warnings).toEqual([`The replica ${replicaOf(app).name} is not read: it is at ${which} migration, ${has?.last}`])
    } finally {
      await delayed('0')
    }
    await judged('read')
    await goBack()
    await checked()
  })
})

test('a key that was revoked is refused at once, however far the replica is', async () => {
  const secret = await account.keyOf({ accountId: account.id, userId: account.owner.id }, { kind: 'account' })
  const { body } = await app.as(secret).get('/api/key/self')
  await delayed('1h')
  try {
    expect((await app.as(account.owner).post(`/api/key/${body.key.id}/delete`)).status).toBe(200)
    expect((await app.as(secret).post(`${recordsPath()}/query`, {})).status).toBe(401)
  } finally {
    await delayed('0')
  }
})
