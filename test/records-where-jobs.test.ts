/** Tests update_where and delete_where of more than 1,000 records, which a job changes in batches. */
import { afterEach, describe, expect, test } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { resumeAll, run } from '../src/records/where/run-job.ts'
import { type Answer, type Caller, testApp } from './support/app.ts'
import { queriesOf, queriesWith } from './support/statements.ts'
import { fillTable, makeTable } from './support/tables.ts'

const app = await testApp({ RATE_LIMIT_PER_MINUTE: '100000' })
const account = await app.account()
const stranger = await app.account()
const member = app.as(account.member)
const owner = app.as(account.owner)
const ROWS = 1_500

const FIELDS = [
  { name: 'Name', type: 'text' },
  { name: 'Stage', type: 'select', options: ['Lead', 'Won', 'Lost'] },
  { name: 'Amount', type: 'number' },
  { name: 'Secret', type: 'text', admin_only: true },
]
async function numbers(rows = ROWS) {
  const table = await makeTable(app, account, { fields: FIELDS })
  await fillTable(app, table.id, rows, { name: `'r' || i`, amount: 'i' })
  return table
}
type Table = Awaited<ReturnType<typeof numbers>>

const update = (table: Table, body: object, caller: Caller = account.member) =>
  app.as(caller).post(`${table.path}/records/update_where`, body)
const remove = (table: Table, body: object, caller: Caller = account.member) =>
  app.as(caller).post(`${table.path}/records/delete_where`, body)
const EVERY = { filter: { all: [] } }
const SET = { ...EVERY, data: { stage: 'Won' }, expect: ROWS }

/** Starts a job. @returns its id */
async function started(answer: Promise<Answer>): Promise<number> {
  const { status, body } = await answer
  expect([status, body]).toEqual([200, { matched: expect.any(Number), job_id: expect.any(Number), change_id: expect.any(Number) }])
  return body.job_id
}
const work = (id: number) => run(systemContext(app.deps), { bulk_change_id: id })
const job = async (id: number, caller: Caller = account.member) => (await app.as(caller).get(`/api/job/${id}`)).body
const countOf = async (table: Table, where: object) => (await owner.post(`${table.path}/records/count`, { where })).body.count as number

const queries = queriesOf(app.db)
afterEach(() => Object.assign(app.db, queries))

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

describe('a job', () => {
  test('changes all records that matched, as one change', async () => {
    const table = await numbers()
    const { body } = await update(table, SET)
    expect(body).toEqual({ matched: ROWS, job_id: expect.any(Number), change_id: expect.any(Number) })
    const waiting = { state: 'running', done: 0, total: ROWS, error: null, change_id: body.change_id, matched: ROWS }
    expect(await job(body.job_id)).toEqual({ ...waiting, changed: 0, skipped: 0, skips: [] })
    expect(await member.rpc.jobs.get.query({ job_id: body.job_id })).toEqual({ ...waiting, changed: 0, skipped: 0, skips: [] })
    expect(await countOf(table, { stage: 'Won' })).toBe(0)
    await work(body.job_id)
    expect(await job(body.job_id)).toEqual({ ...waiting, state: 'done', done: ROWS, changed: ROWS, skipped: 0, skips: [] })
    expect(await countOf(table, { stage: 'Won' })).toBe(ROWS)
    for (const record of [1, ROWS]) {
      const [entry] = (await member.get(`${table.path}/record/${record}/history`)).body
      expect(entry).toMatchObject({ change_id: body.change_id, records: ROWS, kind: 'update', user_id: account.member.id })
    }
    const [kept] = await app.db.read(sql`select conditions, data, record_ids from bulk_changes where id = ${body.job_id}`)
    expect(kept).toEqual({ conditions: null, data: null, record_ids: [] })
  })

  test('changes what matched at its start, and ends', async () => {
    const table = await numbers()
    const id = await started(update(table, { where: { amount: ['>=', 100] }, data: { amount: 200 }, expect: 1_401 }))
    const added = (await owner.post(`${table.path}/records/create`, { data: { amount: 300 } })).body.id
    await work(id)
    expect(await job(id)).toMatchObject({ state: 'done', done: 1_401, matched: 1_401, changed: 1_400, skipped: 0 })
    expect(await countOf(table, { amount: 200 })).toBe(1_401)
    expect((await owner.get(`${table.path}/record/${added}/get`)).body.data.amount).toBe(300)
  })

  test('leaves records that no longer match, and those that are gone, and names them', async () => {
    const table = await numbers()
    const id = await started(update(table, { where: { amount: ['>', 0] }, data: { amount: 0 }, expect: ROWS }))
    const away = () =>
      Promise.all([
        owner.post(`${table.path}/record/1100/update`, { data: { amount: null } }),
        owner.post(`${table.path}/record/1101/delete`),
      ])
    beforeBatch(3, away)
    await work(id)
    const skips = [
      { record_id: 1_100, field: null, reason: 'changed since' },
      { record_id: 1_101, field: null, reason: 'deleted' },
    ]
    expect(await job(id)).toMatchObject({ state: 'done', done: ROWS, changed: ROWS - 2, skipped: 2, skips })
    expect((await owner.get(`${table.path}/record/1100/get`)).body).toMatchObject({ data: { amount: null }, version: 2 })
  })

  test('names the first hundred that it has left', async () => {
    const table = await numbers()
    const id = await started(remove(table, { where: { amount: ['>', 0] }, expect: ROWS }))
    await app.db.write(sql([`update t${table.id}.records set amount = -1 where id % 10 = 0`] as never))
    await work(id)
    const { skips, ...figures } = await job(id)
    expect(figures).toMatchObject({ state: 'done', changed: 1_350, skipped: 150 })
    expect(skips.map(({ record_id }: { record_id: number }) => record_id)).toEqual(Array.from({ length: 100 }, (_, at) => 10 * at + 10))
    expect(await countOf(table, {})).toBe(150)
  })

  test('deletes records with their tasks, and audits each batch', async () => {
    const table = await numbers()
    const task = (await member.post(`/api/tasks/onRecord/${table.id}/1200/create`, { title: 'Call' })).body
    const id = await started(remove(table, { where: { amount: ['>', 100] }, expect: 1_400 }, account.keys.account))
    await work(id)
    expect(await job(id)).toMatchObject({ state: 'done', changed: 1_400 })
    expect([await countOf(table, {}), (await owner.get(`/api/task/${task.id}/get`)).status]).toEqual([100, 404])
    const entries = await app.db.read<{ n: number; key: number; actor_user_id: number }>(sql`
      select (detail->>'count')::int as n, api_key_id as key, actor_user_id from audit_entries
      where action = 'records.deleted' and table_id = ${table.id}`)
    expect(entries.length).toBeGreaterThan(1)
    expect(entries.reduce((sum, { n }) => sum + n, 0)).toBe(1_400)
    for (const entry of entries) expect(entry).toMatchObject({ key: expect.any(Number), actor_user_id: account.owner.id })
  })

  test('keeps the conditions of its view and the time of its request', async () => {
    const table = await numbers()
    await app.db.write(sql([`update t${table.id}.records set stage = 1, created_at = now() - interval '1 minute'`] as never))
    const filters = [{ column: 'stage', compare: '=', value: 'Lead' }]
    const { body: view } = await owner.post(`${table.path}/views/create`, { name: 'Leads', type: 'grid', filters })
    const where = { created_at: ['<=', 'now'] }
    const id = await started(update(table, { view_id: view.id, append_filters: true, where, data: { stage: 'Lost' }, expect: ROWS }))
    expect((await owner.post(`${table.path}/view/${view.id}/delete`)).status).toBe(200)
    await work(id)
    expect(await job(id)).toMatchObject({ state: 'done', changed: ROWS })
  })

  test('is one for each caller and Idempotency-Key', async () => {
    const table = await numbers()
    const send = () => member.post(`${table.path}/records/update_where`, SET, { 'idempotency-key': 'a-job' })
    const first = await send()
    expect(first.body.job_id).toEqual(expect.any(Number))
    expect((await send()).body).toEqual(first.body)
    await work(first.body.job_id)
    expect((await send()).body).toEqual(first.body)
    expect((await job(first.body.job_id)).changed).toBe(ROWS)
  })
})

describe('what is refused', () => {
  test('more than 100,000 records, and an expectation that is no longer true', async () => {
    const table = await numbers(100_001)
    for (const send of [(body: object) => update(table, { ...body, data: { stage: 'Won' } }), (body: object) => remove(table, body)]) {
      for (const mode of [{ dry_run: true }, { expect: 100_001 }]) {
        const { status, body } = await send({ ...EVERY, ...mode })
        expect([status, body.message]).toEqual([400, '100001 records match; one request may change at most 100000'])
      }
      const { status, body } = await send({ ...EVERY, expect: 100_000 })
      expect([status, body.matched]).toEqual([409, 100_001])
      expect((await send({ where: { amount: ['>', 1] }, dry_run: true })).body).toEqual({ matched: 100_000 })
    }
  })

  test('a job whose records have just become others', async () => {
    const table = await numbers()
    let isDue = true
    const changing = queriesWith(queries, async ({ text }) => {
      if (!isDue || !/order by r\.id limit/.test(text)) return
      isDue = false
      await owner.post(`${table.path}/record/5/delete`)
    })
    Object.assign(app.db, changing)
    const { status, body } = await update(table, SET)
    expect([status, body.matched]).toEqual([409, ROWS - 1])
  })

  test('more than twenty unfinished jobs of an account', async () => {
    const busy = await app.account()
    const table = await makeTable(app, busy, { fields: FIELDS })
    await fillTable(app, table.id, ROWS, { amount: 'i' })
    const path = `${table.path}/records/update_where`
    const send = () => app.as(busy.member).post(path, SET)
    for (let number = 0; number < 20; number++) expect((await send()).status).toBe(200)
    const { status, body } = await send()
    expect([status, body.message]).toEqual([409, 'The account has 20 unfinished changes of many records; wait for one of them'])
  })

  test('a job of another account, and one that the caller could not have started', async () => {
    const table = await numbers()
    const id = await started(update(table, SET))
    for (const path of [`/api/job/${id}`, `/api/job/${id}/cancel`]) {
      const call = (caller: Caller) => (path.endsWith('cancel') ? app.as(caller).post(path) : app.as(caller).get(path))
      for (const caller of [stranger.owner, stranger.keys.account]) expect((await call(caller)).status).toBe(404)
      expect((await call(account.viewer)).status).toBe(403)
      expect((await call(null)).status).toBe(401)
    }
    const readOnly = await account.keyOf({ accountId: account.id, userId: account.owner.id }, { kind: 'account', read_only: true })
    expect((await app.as(readOnly).post(`/api/job/${id}/cancel`)).body.message).toBe('API key is read-only')
    expect((await job(id)).state).toBe('running')
  })
})

describe('a cancellation', () => {
  const cancel = (id: number, caller: Caller = account.member) => app.as(caller).post(`/api/job/${id}/cancel`)
  const CANCELLED = { state: 'cancelled', error: 'The job was cancelled' }

  test('before the first batch changes nothing', async () => {
    const table = await numbers()
    const id = await started(update(table, SET))
    expect((await cancel(id)).body).toEqual({ ok: true })
    expect((await cancel(id)).body).toEqual({ ok: false })
    expect((await member.rpc.jobs.cancel.mutate({ job_id: id })).ok).toBe(false)
    await work(id)
    expect(await job(id)).toMatchObject({ ...CANCELLED, done: 0, changed: 0 })
    expect(await countOf(table, { stage: 'Won' })).toBe(0)
  })

  test.each([2, 3, 4])('before batch %s keeps what is changed', async (number) => {
    const table = await numbers()
    const id = await started(update(table, SET))
    beforeBatch(number, () => cancel(id))
    await work(id)
    const { changed, done, ...ended } = await job(id)
    expect(ended).toMatchObject(CANCELLED)
    expect([done, await countOf(table, { stage: 'Won' })]).toEqual([changed, changed])
    expect(changed).toBeGreaterThan(0)
    expect(changed).toBeLessThan(ROWS)
  })

  test('while a batch is written waits for it', async () => {
    const table = await numbers()
    const id = await started(update(table, SET))
    let cancelled: Promise<Answer> | undefined
    const changing = queriesWith(queries, async ({ text }) => {
      if (/^\s*update bulk_changes set done/.test(text)) cancelled ??= cancel(id)
    })
    Object.assign(app.db, changing)
    await work(id)
    expect((await cancelled)?.body).toEqual({ ok: true })
    const { state, changed } = await job(id)
    expect([state, await countOf(table, { stage: 'Won' })]).toEqual(['cancelled', changed])
    expect(changed).toBeGreaterThan(0)
  })

  test('after the end is false', async () => {
    const table = await numbers()
    const id = await started(update(table, SET))
    await work(id)
    expect((await cancel(id)).body).toEqual({ ok: false })
    expect((await job(id)).state).toBe('done')
  })

  test('is for whoever started the job, and for admins', async () => {
    const table = await numbers()
    const byAdmin = await started(update(table, SET, account.admin))
    expect((await cancel(byAdmin)).body.message).toBe('Not authorized')
    expect((await cancel(byAdmin, account.keys.account)).body).toEqual({ ok: true })
    const byMember = await started(update(table, SET))
    expect((await cancel(byMember, account.keys.personal)).status).toBe(200)
    expect((await cancel(await started(update(table, SET)), account.admin)).body).toEqual({ ok: true })
    expect((await cancel(999_999)).status).toBe(404)
  })
})

describe('a job ends', () => {
  const cases: [string, (table: Table) => Promise<unknown>, string, string][] = [
    [
      'when a field that it writes is deleted',
      (table) => owner.post(`${table.path}/field/stage/delete`),
      'failed',
      "'stage' is not a field",
    ],
    ['when a field of its conditions is deleted', (table) => owner.post(`${table.path}/field/amount/delete`), 'failed', "'amount' is not"],
    ['when the table is deleted', (table) => owner.post(`${table.path}/delete`), 'cancelled', 'The table has been deleted'],
  ]
  test.each(cases)('%s, and says why', async (_, change, state, error) => {
    const table = await numbers()
    const id = await started(update(table, { where: { amount: ['>', 0] }, data: { stage: 'Won' }, expect: ROWS }))
    beforeBatch(2, () => change(table))
    await work(id)
    const ended = await job(id)
    expect([ended.state, ended.error]).toEqual([state, expect.stringContaining(error)])
    expect(ended.changed).toBeGreaterThan(0)
    expect(ended.changed).toBeLessThan(ROWS)
  })

  test('when its key is deleted', async () => {
    const table = await numbers()
    const { body: key } = await app.as(account.owner).post('/api/keys/create', { kind: 'account', name: 'Bulk' })
    const id = await started(update(table, SET, key.secret))
    beforeBatch(2, () => app.as(account.owner).post(`/api/key/${key.id}/delete`))
    await work(id)
    const { state, error, changed } = await job(id)
    expect([state, error]).toEqual(['failed', 'The sender has lost the right to do this: the API key was deleted'])
    expect([changed > 0, await countOf(table, { stage: 'Won' })]).toEqual([true, changed])
  })

  test('when its sender may no longer write, or not the field', async () => {
    const other = await app.account()
    const [path, { id: user }] = [`/api/space/${other.space}/member`, other.member]
    const begin = async (data: object, caller: Caller) => {
      const table = await makeTable(app, other, { fields: FIELDS })
      await fillTable(app, table.id, ROWS, { amount: 'i' })
      return (await app.as(caller).post(`${table.path}/records/update_where`, { ...EVERY, data, expect: ROWS })).body.job_id as number
    }
    const role = (name: string) => app.as(other.owner).post(`${path}/${user}/update`, { role: name })
    const lost = await begin({ stage: 'Won' }, other.member)
    beforeBatch(2, () => role('viewer'))
    await work(lost)
    const ended = await job(lost, other.owner)
    expect([ended.state, ended.error]).toEqual(['failed', 'The sender has lost the right to do this: Not authorized'])
    await role('admin')
    const secret = await begin({ secret: 'x' }, other.member)
    beforeBatch(2, () => role('member'))
    await work(secret)
    expect(await job(secret, other.owner)).toMatchObject({ state: 'failed', error: 'Not authorized' })
  })

  test('goes on when a field is added, renamed or deleted that it does not need', async () => {
    const table = await numbers()
    const id = await started(update(table, SET))
    beforeBatch(2, async () => {
      await owner.post(`${table.path}/fields/create`, { name: 'New', type: 'text' })
      await owner.post(`${table.path}/field/amount/delete`)
      await owner.post(`${table.path}/field/stage/update`, { name: 'State' })
    })
    await work(id)
    expect(await job(id)).toMatchObject({ state: 'done', changed: ROWS })
  })
})

describe('two workers', () => {
  test('change each record once', async () => {
    const table = await numbers()
    const id = await started(update(table, { where: { amount: ['>', 0] }, data: { stage: 'Won' }, expect: ROWS }))
    await Promise.all([work(id), work(id), work(id)])
    expect(await job(id)).toMatchObject({ state: 'done', done: ROWS, changed: ROWS, skipped: 0 })
    const [versions] = await app.db.read(sql([`select min(version) as low, max(version) as high from t${table.id}.records`] as never))
    expect(versions).toEqual({ low: 2, high: 2 })
  })

  test('change the same records by two jobs, one after the other', async () => {
    const table = await numbers()
    const first = await started(update(table, { where: { amount: ['>', 0] }, data: { amount: 0 }, expect: ROWS }))
    const second = await started(update(table, { where: { amount: ['>', 0] }, data: { amount: -1 }, expect: ROWS }))
    await Promise.all([work(first), work(second)])
    const [one, two] = [await job(first), await job(second)]
    expect([one.state, two.state, one.changed + two.changed]).toEqual(['done', 'done', ROWS])
    expect([await countOf(table, { amount: 0 }), await countOf(table, { amount: -1 })]).toEqual([one.changed, two.changed])
  })
})

test('a job that was lost is sent again, and old ones are forgotten', async () => {
  const table = await numbers()
  const [lost, old] = [await started(update(table, SET)), await started(update(table, SET))]
  await member.post(`/api/job/${old}/cancel`)
  await app.db.write(sql`update bulk_changes set updated_at = now() - interval '11 minutes' where id = ${lost}`)
  await app.db.write(sql`update bulk_changes set updated_at = now() - interval '31 days' where id = ${old}`)
  const sent: object[] = []
  const context = systemContext(app.deps)
  const send = async (_: unknown, data: object) => void sent.push(data)
  await resumeAll({ ...context, jobs: { ...context.jobs, send: send as typeof context.jobs.send } })
  expect(sent).toContainEqual({ bulk_change_id: lost })
  expect((await member.get(`/api/job/${old}`)).status).toBe(404)
})

test('a failing batch is tried again, at last with an end', async () => {
  const table = await numbers()
  const id = await started(update(table, SET))
  await app.db.write(sql([`alter table t${table.id}.records add check (amount <> 700 or stage is null)`] as never))
  await expect(work(id)).rejects.toThrow()
  const { state, changed } = await job(id)
  expect([state, await countOf(table, { stage: 'Won' })]).toEqual(['running', changed])
  // Attempts count from the last progress on.
  let failures = 1
  while ((await job(id)).state === 'running' && failures < 20) await work(id).catch(() => failures++)
  const ended = await job(id)
  expect(ended).toMatchObject({ state: 'failed', error: 'The job failed 8 times' })
  expect(await countOf(table, { stage: 'Won' })).toBe(ended.changed)
})
