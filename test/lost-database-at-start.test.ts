/** The database goes away while a process is starting that already answers: it goes on, and does what is left when the database is back. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type ServiceProcess, serviceProcess } from '../scripts/chaos/service-process.ts'
import { freePort } from '../scripts/free-port.ts'
import { works } from '../src/background.ts'
import { testDatabase } from './support/database.ts'
import { type DatabaseProxy, databaseProxy } from './support/database-proxy.ts'
import { endAll, launch } from './support/processes.ts'
import { until } from './support/until.ts'

const PATIENT = { everyMs: 10 }

/** The queues with a schedule, in the order in which they are written. */
const SCHEDULED = works.flatMap(({ queue, cron }) => (cron ? [queue.name] : []))
/** The lock of src/platform/database/migrations/deploy.ts. */
const DEPLOY_LOCK = 72_707_369

const dir = mkdtempSync(join(tmpdir(), 'gridpost-lost-at-start-'))
let operator: pg.Client
let proxy: DatabaseProxy
let environment: Record<string, string>
let service: ServiceProcess | undefined

beforeAll(async () => {
  operator = new pg.Client((await testDatabase()).connection)
  await operator.connect()
  await operator.query(`create function wait_for_test() returns trigger language plpgsql as
    'begin perform pg_advisory_xact_lock(1); return new; end'`)
  proxy = await databaseProxy()
  environment = {
    DATABASE_URL: proxy.url,
    DATA_DIR: join(dir, 'data'),
    SECRET_KEY: 'a key for tests, long enough to be one',
  }
})
beforeEach(async () => {
  await operator.query('delete from pgboss.schedule')
})
afterEach(async () => {
  await operator.query('select pg_advisory_unlock_all()')
  await service?.stop()
  service = undefined
  endAll()
})
afterAll(async () => {
  await proxy.cut()
  await operator.end()
  rmSync(dir, { recursive: true, force: true })
})

/** Lets the schedule of the queue wait until `release`. */
async function hold(queue: string): Promise<void> {
  await operator.query(`create or replace trigger held before insert on pgboss.schedule
    for each row when (new.name = '${queue}') execute function wait_for_test()`)
  await operator.query('select pg_advisory_lock(1)')
}

const release = () => operator.query('select pg_advisory_unlock_all()')

/** Ends what waits for the lock. @returns how many connections that were */
async function endWaiting(): Promise<number> {
  const { rowCount } = await operator.query(`select pg_terminate_backend(pid) from pg_locks
    where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`)
  return rowCount ?? 0
}

const statusOf = (url: string) =>
  fetch(url).then(
    ({ status }) => status,
    () => 0,
  )
const untilItAnswers = (url: string) => until(async () => (await statusOf(url)) === 200, 'for the first answer', PATIENT)
const schedules = async () =>
  (await operator.query<{ name: string }>('select name from pgboss.schedule')).rows.map(({ name }) => name).sort()

/** The process has answered. Loses the database, and brings it back. */
async function outage({ healthUrl, ends }: ServiceProcess): Promise<void> {
  await proxy.cut()
  await until(async () => (await statusOf(healthUrl.replace('healthz', 'readyz'))) === 503, 'for /readyz to notice', PATIENT)
  // As long as several attempts to write a schedule.
  for (let asked = 0; asked < 10; asked++) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(await statusOf(healthUrl), String(ends())).toBe(200)
  }
  await release()
  await proxy.restore()
}

test.each([
  ['a service', 'all', SCHEDULED[0]],
  ['a service', 'all', SCHEDULED[SCHEDULED.length >> 1]],
  ['a service', 'all', SCHEDULED.at(-1)],
  ['a worker', 'worker', SCHEDULED[1]],
] as const)('%s (ROLE=%s) that writes the schedule of %s', async (_, role, queue) => {
  await hold(queue ?? expect.fail('no schedule'))
  service = await serviceProcess({ name: `${role} ${queue}`, role, logDir: dir, environment })
  const starting = service.start()
  await untilItAnswers(service.healthUrl)
  await until(async () => (await endWaiting()) > 0, 'for the schedule to be written', PATIENT)
  await outage(service)
  await starting
  await expect.poll(schedules).toEqual(SCHEDULED.toSorted())
  await untilItAnswers(service.healthUrl.replace('healthz', 'readyz'))
  expect(service.ends()).toEqual([])
})

test.each([0, 60, 200])('a service that has given its first answer %i ms before', async (ms) => {
  service = await serviceProcess({ name: `after ${ms}`, role: 'all', logDir: dir, environment })
  const starting = service.start()
  await untilItAnswers(service.healthUrl)
  await new Promise((resolve) => setTimeout(resolve, ms))
  await outage(service)
  await starting
  await expect.poll(schedules).toEqual(SCHEDULED.toSorted())
  expect(service.ends()).toEqual([])
})

test('a service that is stopped before the database is back ends with 0', async () => {
  await hold(SCHEDULED[0] ?? expect.fail('no schedule'))
  const run = launch({ ...environment, PORT: '0', METRICS_PORT: '0' })
  await until(async () => (await endWaiting()) > 0, 'for the schedule to be written', PATIENT)
  await proxy.cut()
  try {
    await until(() => /listens on/.test(run.output()), run.output, PATIENT)
    run.supervisor.kill('SIGTERM')
    expect(await run.ended).toBe(0)
  } finally {
    await proxy.restore()
  }
})

test('of several processes, the first goes on while the others cannot start', async () => {
  const port = await freePort()
  const run = launch({ ...environment, PROCESSES: '2', PORT: String(port) })
  const url = `http://127.0.0.1:${port}/healthz`
  await untilItAnswers(url)
  // The second process has only begun to load its modules.
  await operator.query('select pg_advisory_lock($1)', [DEPLOY_LOCK])
  await until(async () => (await endWaiting()) > 0, 'for the second process', PATIENT)
  await proxy.cut()
  const restarts = () => [...run.output().matchAll(/a process has ended and is started again/g)].length
  await until(
    () => restarts() > 1,
    () => `for restarts: ${run.output()}`,
    PATIENT,
  )
  expect(await statusOf(url)).toBe(200)
  await release()
  await proxy.restore()
  await until(() => run.output().includes('Requests are answered by 2 processes\n'), run.output, PATIENT)
  run.supervisor.kill('SIGTERM')
  expect(await run.ended).toBe(0)
})
