/** A worker is killed in the middle of a change of many records: another one goes on, and each record is changed once. */
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { resumeAll } from '../src/records/where/run-job.ts'
import { testApp } from './support/app.ts'
import { testDatabase } from './support/database.ts'
import { fillTable, makeTable } from './support/tables.ts'
import { workerProcess } from './support/worker-process.ts'

const app = await testApp()
const account = await app.account()
const member = app.as(account.member)
const blocker = new pg.Client((await testDatabase()).connection)
const ROWS = 2_000
const worker = workerProcess(app)

beforeAll(() => blocker.connect())
afterAll(async () => {
  await worker.kill()
  await blocker.end()
})

const isBlocking = async () => {
  const { rows } = await blocker.query('select pg_backend_pid() as pid')
  await expect
    .poll(() => app.db.read(sql`select 1 from pg_stat_activity where ${rows[0].pid}::int = any(pg_blocking_pids(pid))`))
    .not.toEqual([])
}

const EVERY = { filter: { all: [] }, expect: ROWS }
test.each([
  ['update_where', { ...EVERY, data: { amount: 1 } }],
  ['delete_where', EVERY],
])('%s changes each record once if its worker is killed, and then ends as another goes on or is cancelled', async (operation, body) => {
  for (const isCancelled of [false, true]) {
    const { id, path } = await makeTable(app, account, { fields: [{ name: 'Amount', type: 'number' }] })
    await fillTable(app, id, ROWS, { amount: 'null' })
    const { job_id, change_id } = (await member.post(`${path}/records/${operation}`, body)).body
    /** The records that have the change in their history, each once. */
    const entered = async () => {
      const [found] = await app.db.read<{ n: number }>(
        sql([`select count(*)::int as n from t${id}.history where change_id = ${change_id}`] as never),
      )
      return found?.n
    }
    const job = async () => (await member.get(`/api/job/${job_id}`)).body
    // The worker comes as far as this record, in the middle of a batch.
    await blocker.query('begin')
    await blocker.query(`select from t${id}.records where id = 1000 for update`)
    await worker.start()
    await isBlocking()
    await worker.kill()
    await blocker.query('rollback')

    const left = async () => (await member.post(`${path}/records/count`, { where: { amount: ['is_empty', ''] } })).body.count
    const { changed, done, state } = await job()
    expect([state, done, ROWS - (await left()), await entered()]).toEqual(['running', changed, changed, changed])
    expect(changed).toBeGreaterThan(0)

    if (isCancelled) {
      expect((await member.post(`/api/job/${job_id}/cancel`)).body).toEqual({ ok: true })
    } else {
      // As if the job had made no progress for ten minutes, after which a schedule sends it again.
      await app.db.write(sql`update bulk_changes set updated_at = updated_at - interval '11 minutes' where id = ${job_id}`)
      await resumeAll(systemContext(app.deps))
    }
    await worker.start()
    const expected = isCancelled ? { state: 'cancelled', changed } : { state: 'done', changed: ROWS }
    await expect.poll(job).toMatchObject({ ...expected, done: expected.changed, skipped: 0 })
    expect([await left(), await entered()]).toEqual([ROWS - expected.changed, expected.changed])
    const versions = await app.db.read<{ version: number }>(sql([`select distinct version from t${id}.records where amount = 1`] as never))
    if (operation === 'update_where') expect(versions).toEqual([{ version: 2 }])
    await worker.kill()
  }
})

test('an undo of a deletion restores each record once if its worker is killed', async () => {
  const { id, path } = await makeTable(app, account, { fields: [{ name: 'Amount', type: 'number' }] })
  await fillTable(app, id, ROWS, { amount: 'i' })
  const task = await member.post(`/api/tasks/onRecord/${id}/1500/create`, { title: 'Call' })
  const job = async (jobId: number) => (await member.get(`/api/job/${jobId}`)).body
  const deletion = (await member.post(`${path}/records/delete_where`, EVERY)).body
  await worker.start()
  await expect.poll(() => job(deletion.job_id)).toMatchObject({ state: 'done', changed: ROWS })
  await worker.kill()
  const count = async () => (await member.post(`${path}/records/count`, {})).body.count
  expect(await count()).toBe(0)

  const { job_id, change_id } = (await member.post(`${path}/change/${deletion.change_id}/undo`)).body
  await blocker.query('begin')
  await blocker.query(`select from deleted_records where table_id = ${id} and record_id = 1000 for update`)
  await worker.start()
  await isBlocking()
  await worker.kill()
  await blocker.query('rollback')
  const { changed, done, state } = await job(job_id)
  expect([state, done, await count()]).toEqual(['running', changed, changed])
  expect([changed > 0, changed < 1_000]).toEqual([true, true])

  await app.db.write(sql`update bulk_changes set updated_at = updated_at - interval '11 minutes' where id = ${job_id}`)
  await resumeAll(systemContext(app.deps))
  await worker.start()
  await expect.poll(() => job(job_id)).toMatchObject({ state: 'done', changed: ROWS, skipped: 0 })
  await worker.kill()
  const [found] = await app.db.read(
    sql([
      `select count(*)::int as records, min(version) as least, max(version) as most, sum(amount)::int as amounts,
        (select count(*)::int from t${id}.history where change_id = ${change_id} and kind = 'restore') as entries,
        (select count(*)::int from deleted_records where table_id = ${id}) as deleted from t${id}.records`,
    ] as never),
  )
  expect(found).toEqual({ records: ROWS, least: 3, most: 3, amounts: (ROWS * (ROWS + 1)) / 2, entries: ROWS, deleted: 0 })
  expect((await member.get(`/api/task/${task.body.id}/get`)).status).toBe(200)
})
