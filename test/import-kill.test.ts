/** A worker is killed in the middle of an import: another one goes on, and every row becomes one record. */
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resumeAll } from '../src/csv/imports/run-import.ts'
import { systemContext } from '../src/platform/context.ts'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { testDatabase } from './support/database.ts'
import { makeTable } from './support/tables.ts'
import { workerProcess } from './support/worker-process.ts'

const app = await testApp()
const [table, row] = [new pg.Client((await testDatabase()).connection), new pg.Client((await testDatabase()).connection)]
const ROWS = 2_500
const worker = workerProcess(app)

beforeAll(async () => {
  await Promise.all([table.connect(), row.connect()])
})
afterAll(async () => {
  await worker.kill()
  await Promise.all([table.end(), row.end()])
})

/** Waits until a statement of the worker waits for a lock that the client holds. */
const isBlockedBy = async (client: pg.Client) => {
  const { rows } = await client.query('select pg_backend_pid() as pid')
  await expect
    .poll(() => app.db.read(sql`select 1 from pg_stat_activity where ${rows[0].pid}::int = any(pg_blocking_pids(pid))`))
    .not.toEqual([])
}

/** Waits until PostgreSQL has noticed the death of the worker, which held the lock of the import. */
const isForgotten = () =>
  expect.poll(() => app.db.read(sql`select 1 from pg_locks where locktype = 'advisory' and classid = ${0x637376}`)).toEqual([])

test.each([
  ['before its records are inserted', false],
  ['after its records are inserted, before they are committed', true],
])('every row becomes one record if the worker is killed %s', async (_, isInserted) => {
  const account = await app.account()
  const { path, id } = await makeTable(app, account, { fields: [{ name: 'Name', type: 'text' }], records: [] })
  // The worker comes as far as the records, and then as far as the row of its import, which it ends in the same transaction.
  await table.query(`begin; lock table t${id}.records in share mode`)
  const body = `Name\n${Array.from({ length: ROWS }, (_, number) => `row ${number}`).join('\n')}\n`
  const { job_id } = (
    await app.as(account.member).send(`${path}/import?async=true`, { method: 'POST', body, headers: { 'content-type': 'text/csv' } })
  ).body
  await worker.start()
  await isBlockedBy(table)
  if (isInserted) {
    await row.query('begin')
    await row.query('select 1 from record_imports where id = $1 for update', [job_id])
    await table.query('rollback')
    await isBlockedBy(row)
  }
  await worker.kill()
  await Promise.all([table.query('rollback'), row.query('rollback')])
  await isForgotten()
  const count = async () => (await app.as(account.member).post(`${path}/records/count`, {})).body.count
  expect(await count()).toBe(0)
  expect((await app.as(account.member).get(`/api/job/${job_id}`)).body).toMatchObject({ state: 'running', issues: [] })

  // As if the import had made no progress for ten minutes, after which a schedule sends its job again.
  await app.db.write(sql`update record_imports set updated_at = updated_at - interval '11 minutes' where id = ${job_id}`)
  await resumeAll(systemContext(app.deps))
  await worker.start()
  const job = async () => (await app.as(account.member).get(`/api/job/${job_id}`)).body
  await expect
    .poll(job)
    .toEqual({ state: 'done', done: ROWS, total: ROWS, error: null, created: ROWS, change_id: expect.any(Number), issues: [] })
  expect(await count()).toBe(ROWS)
  const [names] = await app.db.read<{ n: number }>(sql`select count(distinct name)::int4 as n from ${recordsOf(id)}`)
  expect(names?.n).toBe(ROWS)
  const left = async () => {
    const keys: string[] = []
    for await (const key of app.deps.storage.list('staged-', new Date(Date.now() + 60_000))) keys.push(key)
    return keys
  }
  // The worker removes the file after the commit that ends the import.
  await expect.poll(left).toEqual([])
  await worker.kill()
  await isForgotten()
})
