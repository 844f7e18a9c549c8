import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PgBoss } from 'pg-boss'
import { afterAll, afterEach, expect, test } from 'vitest'
import { type ServiceProcess, serviceProcess } from '../scripts/chaos/service-process.ts'
import { works } from '../src/background.ts'
import { queueOptions } from '../src/platform/jobs/queue.ts'
import { testApp } from './support/app.ts'
import { testDatabase } from './support/database.ts'
import { lockWaits } from './support/servers.ts'
import { fillTable, makeTable } from './support/tables.ts'
import { until } from './support/until.ts'

const dir = mkdtempSync(join(tmpdir(), 'gridpost-lost-workers-'))
const workers: ServiceProcess[] = []
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.stop()
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

test('gives every queue a heartbeat', () => {
  for (const { queue } of works) expect([queue.name, queueOptions(queue).heartbeatSeconds]).toEqual([queue.name, expect.any(Number)])
})

/** Several batches of a conversion. */
const ROWS = 20_000

/** Lets conversions wait in the middle until the transaction ends that it leaves open. */
const HALFWAY = `
  begin;
  create function wait_for_test() returns trigger language plpgsql as 'begin perform pg_advisory_xact_lock(1); return new; end';
  create trigger halfway before update on field_conversions for each row
    when (new.state = 'running' and new.exact_state is null and new.done > ${ROWS / 2}) execute function wait_for_test();
  commit;
  begin;
  select pg_advisory_xact_lock(1)`

/** A busy machine gets more. */
const A_MINUTE = { withinMs: 120_000, everyMs: 500 }

/** A killed worker has claimed its job, and sends neither a result nor a heartbeat. */
test('runs the job of a killed worker again within a minute', async () => {
  const killed = new PgBoss({ ...(await testDatabase()).connection, migrate: false, supervise: false, schedule: false } as object)
  killed.on('error', () => {})
  await killed.start()
  const id = await killed.send('upkeep', {})
  const [claimed] = await killed.fetch('upkeep')
  expect(claimed?.id).toBe(id)
  await killed.stop({ graceful: false })

  const app = await testApp({}, { worker: true })
  const state = async () =>
    (await app.db.read<{ state: string }>({ text: `select state from pgboss.job where id = '${id}'`, values: [] }))[0]?.state
  await until(async () => (await state()) === 'completed', 'for the job to be completed', A_MINUTE)
})

/** Starts a worker on this file's database, as a process of its own. */
async function startWorker(name: string): Promise<ServiceProcess> {
  const worker = await serviceProcess({
    name,
    role: 'worker',
    logDir: dir,
    environment: { DATABASE_URL: (await testDatabase()).url, DATA_DIR: dir, SECRET_KEY: 'a key for tests, long enough to be one' },
  })
  await worker.start()
  workers.push(worker)
  return worker
}

test('goes on with the conversion of a killed worker within a minute', async () => {
  const app = await testApp()
  const account = await app.account()
  const as = app.as(account.owner)
  const table = await makeTable(app, account, { fields: [{ name: 'Cell', type: 'text' }] })
  await fillTable(app, table.id, ROWS, { cell: 'i::text' })
  const locker = await app.db.connect()
  await locker.query(HALFWAY)
  const first = await startWorker('first')
  const { body } = await as.post(`${table.path}/field/cell/changeType`, { type: 'number' })
  const job = async () => (await as.get(`/api/job/${body.job_id}`)).body
  // The worker may also wait for a moment before the first batch, for a vacuum of the new table, when the check has counted the records.
  await expect.poll(async () => (await lockWaits()).map(({ query }) => query.includes('last_id'))).toEqual([true])
  await first.kill()
  await locker.end()
  const { done } = await job()
  expect(done).toBeGreaterThan(0)
  // PostgreSQL may still commit the batch that waited, because it has been sent as a whole.
  expect(done).toBeLessThan(ROWS)

  await startWorker('second')
  await until(async () => (await job()).state === 'done', 'for the conversion', A_MINUTE)
  expect((await as.get(`${table.path}/get`)).body.fields[1]).toMatchObject({ id: 'cell', type: 'number' })
})

test('goes on with schedules and jobs when the clock is set back by an hour', async () => {
  const app = await testApp()
  const worker = await startWorker('behind')
  const lastPass = async () =>
    (await app.db.read<{ at: string }>({ text: 'select cron_on::text as at from pgboss.version', values: [] }))[0]?.at
  worker.shiftClock(-3_600_000)
  const before = await lastPass()
  await expect.poll(lastPass, { interval: 200 }).not.toBe(before)
  const between = await lastPass()
  await expect.poll(lastPass, { interval: 200 }).not.toBe(between)
})
