/** Undo of changes of more than 1,000 records, by a job (contract.md §10). */
import { afterEach, expect, test } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { historyOf, recordsOf, sql } from '../src/platform/database/database.ts'
import { run } from '../src/records/where/run-job.ts'
import { type Caller, testApp } from './support/app.ts'
import { queriesOf, queriesWith } from './support/statements.ts'
import { fillTable, makeTable, type TestTable } from './support/tables.ts'

const app = await testApp({ RATE_LIMIT_PER_MINUTE: '100000' })
const account = await app.account()
const { member, admin } = account
const ROWS = 1_200

const queries = queriesOf(app.db)
afterEach(() => Object.assign(app.db, queries))

const FIELDS = [
  { name: 'Name', type: 'text' },
  { name: 'Amount', type: 'number' },
]

/** A table whose amounts a job has set to zero. @returns it with the id of that change */
async function zeroed(): Promise<TestTable & { changeId: number }> {
  const table = await makeTable(app, account, { fields: FIELDS })
  await fillTable(app, table.id, ROWS, { name: `'r' || i`, amount: 'i' })
  const every = { filter: { all: [] }, data: { amount: 0 }, expect: ROWS }
  const { body } = await app.as(member).post(`${table.path}/records/update_where`, every)
  await work(body.job_id)
  return { ...table, changeId: body.change_id }
}

const work = (id: number) => run(systemContext(app.deps), { bulk_change_id: id })
const undo = (table: TestTable, changeId: number, caller: Caller = member) => app.as(caller).post(`${table.path}/change/${changeId}/undo`)
const jobOf = async (id: number) => (await app.as(member).get(`/api/job/${id}`)).body
const amountsOf = async (table: TestTable) =>
  (await app.db.read<{ amount: number }>(sql`select amount from ${recordsOf(table.id)} order by id`)).map(({ amount }) => amount)
const ORIGINAL = Array.from({ length: ROWS }, (_, index) => index + 1)

/** Runs the change before the batch with the number, from 1, is locked. */
function beforeBatch(number: number, change: () => Promise<unknown>): void {
  let batches = 0
  const changing = queriesWith(queries, async ({ text }) => {
    if (!/record_ids\[done \+ 1/.test(text)) return
    batches++
    if (batches === number) await change()
  })
  Object.assign(app.db, changing)
}

test('sets back what was not changed since, as one change, and its undo makes the change again', async () => {
  const table = await zeroed()
  const ids = await app.db.read<{ id: number }>(sql`select id from ${recordsOf(table.id)} order by id limit 2`)
  const [first, second] = ids.map(({ id }) => id) as [number, number]
  await app.as(member).post(`${table.path}/record/${first}/update`, { data: { amount: 7 } })
  await app.as(member).post(`${table.path}/record/${second}/delete`)
  const { status, headers, body } = await undo(table, table.changeId)
  expect([status, body]).toEqual([200, { job_id: expect.any(Number), change_id: expect.any(Number) }])
  expect(headers.get('x-change-id')).toBe(String(body.change_id))
  expect(await jobOf(body.job_id)).toMatchObject({ state: 'running', matched: ROWS, changed: 0 })
  await work(body.job_id)
  expect(await jobOf(body.job_id)).toMatchObject({
    ...{ state: 'done', done: ROWS, total: ROWS, matched: ROWS, changed: ROWS - 2, skipped: 2, change_id: body.change_id },
    skips: [
      { record_id: first, field: 'amount', reason: 'changed since' },
      { record_id: second, field: null, reason: 'deleted' },
    ],
  })
  const back = [7, ...ORIGINAL.slice(2)]
  expect(await amountsOf(table)).toEqual(back)
  const [entries] = await app.db.read(sql`
    select count(*)::int as n, min(h.kind) as kind, min(h.undoes) as undoes
    from ${historyOf(table.id)} h where h.change_id = ${body.change_id}::bigint`)
  expect(entries).toEqual({ n: ROWS - 2, kind: 'undo', undoes: table.changeId })
  expect((await undo(table, table.changeId)).body).toEqual({ undone: 0, skipped: 0, skips: [], change_id: null })
  const redo = await undo(table, body.change_id)
  await work(redo.body.job_id)
  expect(await amountsOf(table)).toEqual(back.map((amount, index) => (index ? 0 : amount)))
})

test('of two undos at once one wins', async () => {
  const table = await zeroed()
  const answers = await Promise.all([undo(table, table.changeId), undo(table, table.changeId, admin), undo(table, table.changeId)])
  const jobs = answers.flatMap(({ body }) => body.job_id ?? [])
  expect(jobs).toHaveLength(1)
  expect(answers.map(({ body }) => body.undone ?? 'job').sort()).toEqual([0, 0, 'job'])
  await work(jobs[0])
  expect(await amountsOf(table)).toEqual(ORIGINAL)
})

test('stops when it is cancelled; what is set back stays', async () => {
  const table = await zeroed()
  const { job_id } = (await undo(table, table.changeId)).body
  beforeBatch(2, async () => expect((await app.as(member).post(`/api/job/${job_id}/cancel`)).body).toEqual({ ok: true }))
  await work(job_id)
  const { state, changed } = await jobOf(job_id)
  expect([state, changed > 0, changed < ROWS]).toEqual(['cancelled', true, true])
  expect(await amountsOf(table)).toEqual(ORIGINAL.map((amount, index) => (index < changed ? amount : 0)))
})

test('is refused while a job still makes the change', async () => {
  const table = await zeroed()
  const { job_id, change_id } = (await undo(table, table.changeId)).body
  beforeBatch(2, async () => {
    const answer = await undo(table, change_id)
    expect([answer.status, answer.body.message]).toEqual([409, 'The change is still being made; wait for its job, or cancel it'])
  })
  await work(job_id)
  expect(await jobOf(job_id)).toMatchObject({ state: 'done', changed: ROWS })
})

test('ends when the sender has lost the right', async () => {
  const table = await zeroed()
  const writer = await app.person(account.id, 'Wanda Writer')
  await app.as(admin).post(`/api/space/${account.space}/members/add`, { email: writer.email, role: 'admin' })
  const { job_id } = (await undo(table, table.changeId, writer)).body
  // A member may undo changes of their own alone.
  await app.as(admin).post(`/api/space/${account.space}/member/${writer.id}/update`, { role: 'member' })
  await work(job_id)
  expect(await jobOf(job_id)).toMatchObject({ state: 'failed', changed: 0 })
  expect(await amountsOf(table)).toEqual(Array(ROWS).fill(0))
})
