/** Tests the cancellation of jobs that convert fields and import files. Those that change records are in records-where-jobs.test.ts. */
import { afterEach, describe, expect, test } from 'vitest'
import { convert } from '../src/conversions/job/convert.ts'
import { run } from '../src/csv/imports/run-import.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { type Caller, testApp } from './support/app.ts'
import { runConversion } from './support/conversions.ts'
import { queriesOf, queriesWith } from './support/statements.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const owner = app.as(account.owner)
const cancel = (id: number, caller: Caller = account.admin) => app.as(caller).post(`/api/job/${id}/cancel`)
const job = async (id: number) => (await owner.get(`/api/job/${id}`)).body
const CANCELLED = { state: 'cancelled', error: 'The job was cancelled' }

const queries = queriesOf(app.db)
afterEach(() => Object.assign(app.db, queries))

/** Runs the change once, before the first statement with the words. */
function before(words: string, change: () => Promise<unknown>): void {
  let isDue = true
  const changing = queriesWith(queries, async ({ text }) => {
    if (!isDue || !text.includes(words)) return
    isDue = false
    await change()
  })
  Object.assign(app.db, changing)
}

describe('the conversion of a field', () => {
  async function converting() {
    const table = await makeTable(app, account, { records: [{ name: '1' }, { name: '2' }] })
    const { body } = await app.as(account.admin).post(`${table.path}/field/name/changeType`, { type: 'number' })
    return { ...table, job: body.job_id as number }
  }
  const typeOf = async (path: string) => (await owner.get(`${path}/get`)).body.fields.find(({ id }: { id: string }) => id === 'name').type
  const besides = (table: number) =>
    app.db.read(
      sql`select from pg_attribute where attrelid = to_regclass(${`t${table}.records`}) and attname like '~%' and not attisdropped`,
    )

  test('is cancelled before it begins, by admins only', async () => {
    const { path, job: id } = await converting()
    expect((await cancel(id, account.member)).status).toBe(403)
    expect((await cancel(id)).body).toEqual({ ok: true })
    expect((await cancel(id)).body).toEqual({ ok: false })
    await runConversion(systemContext(app.deps), id)
    expect([await job(id), await typeOf(path)]).toMatchObject([CANCELLED, 'text'])
  })

  test('is cancelled in the middle, and another can begin', async () => {
    const { id: table, path, job: id } = await converting()
    before('select from tables t join spaces s', () => cancel(id))
    await runConversion(systemContext(app.deps), id).catch(() => {})
    await convert(systemContext(app.deps), { conversion_id: id })
    expect([await job(id), await typeOf(path), await besides(table)]).toMatchObject([CANCELLED, 'text', []])
    const { body } = await app.as(account.admin).post(`${path}/field/name/changeType`, { type: 'number' })
    await runConversion(systemContext(app.deps), body.job_id)
    expect([(await job(body.job_id)).state, await typeOf(path)]).toEqual(['done', 'number'])
    expect((await cancel(body.job_id)).body).toEqual({ ok: false })
  })
})

describe('an import', () => {
  const importing = async (path: string, caller: Caller) =>
    (await app.as(caller).send(path, { method: 'POST', body: 'Name\na\nb\n', headers: { 'content-type': 'text/csv' } })).body
  const stored = async () => {
    const paths: string[] = []
    for await (const path of app.deps.storage.list('staged-', new Date(Date.now() + 60_000))) paths.push(path)
    return paths
  }
  const work = (id: number) => run(systemContext(app.deps), { import_id: id })

  test('into a table is cancelled by its sender or an admin, and leaves no record and no file', async () => {
    const { path } = await makeTable(app, account)
    const { job_id: id } = await importing(`${path}/import?async=true`, account.owner)
    expect((await cancel(id, account.member)).status).toBe(403)
    expect((await cancel(id)).body).toEqual({ ok: true })
    await work(id)
    expect([await job(id), (await cancel(id)).body, await stored()]).toMatchObject([CANCELLED, { ok: false }, []])
    const own = await importing(`${path}/import?async=true`, account.member)
    expect((await cancel(own.job_id, account.member)).body).toEqual({ ok: true })
    expect((await owner.post(`${path}/records/count`)).body.count).toBe(0)
  })

  test('that is cancelled while it runs creates nothing', async () => {
    const { path } = await makeTable(app, account)
    const { job_id: id } = await importing(`${path}/import?async=true`, account.member)
    before('from tables t join spaces s', () => cancel(id))
    await work(id)
    expect([await job(id), (await owner.post(`${path}/records/count`)).body.count, await stored()]).toMatchObject([CANCELLED, 0, []])
  })

  test('into a new table takes the table along', async () => {
    const { job_id: id, table_id: table } = await importing(`/api/space/${account.space}/tables/import`, account.owner)
    expect((await owner.get(`/api/table/${table}/get`)).status).toBe(200)
    expect((await cancel(id)).body).toEqual({ ok: true })
    expect((await owner.get(`/api/table/${table}/get`)).status).toBe(404)
    expect(await job(id)).toMatchObject(CANCELLED)
  })
})
