/** Runs the jobs of large tables in a worker; indexes.test.ts and change-type.test.ts cover their details. */
import { expect, test, vi } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp({}, { worker: true })
const account = await app.account()
const as = app.as(account.admin)

test('a worker builds the indexes of a saved view, and converts a field', async () => {
  const { body: table } = await as.post(`/api/space/${account.space}/tables/create`, {
    name: 'Orders',
    fields: [
      { name: 'Number', type: 'text' },
      { name: 'Due', type: 'date' },
    ],
  })
  await app.db.write(
    sql([
      `insert into t${table.id}.records (created_at, updated_at, number, due)
       select now(), now(), i::text, date '2026-01-01' + i % 300 from generate_series(1, 21000) i`,
    ] as never),
  )
  const view = await as.post(`/api/table/${table.id}/views/create`, { name: 'Next', type: 'calendar', config: { startField: 'due' } })
  expect(view.status, JSON.stringify(view.body)).toBe(200)
  const states = async () =>
    (await as.get(`/api/table/${table.id}/indexes`)).body.map(
      (index: { fields: string[]; state: string }) => `${index.fields} ${index.state}`,
    )
  await expect.poll(states).toEqual(['id ready', 'due,id ready', 'number,id ready', 'number ready'])

  const { body: change } = await as.post(`/api/table/${table.id}/field/number/changeType`, { type: 'number' })
  const job = async () => (await as.get(`/api/job/${change.job_id}`)).body
  await expect.poll(job).toEqual({
    state: 'done',
    done: 21_000,
    total: 21_000,
    error: null,
    converts: 21_000,
    failing: 0,
    fails: [],
  })
  const { body } = await as.post(`/api/table/${table.id}/records/query`, { filters: [{ column: 'number', compare: '>', value: 20_999 }] })
  expect(body.map(({ number }: { number: number }) => number)).toEqual([21_000])
  await expect.poll(states).toEqual(['id ready', 'due,id ready'])
})

test('the conversions of an account wait for the first one of another account, not the other way round', async () => {
  const other = await app.account()
  const started: { account: string; job: number }[] = []
  // No job runs before all of them wait.
  const waiting: Parameters<typeof app.deps.jobs.send>[] = []
  const sending = vi.spyOn(app.deps.jobs, 'send').mockImplementation(async (...job) => void waiting.push(job))
  for (const [name, owner, count] of [
    ['busy', account, 6],
    ['other', other, 1],
  ] as const)
    for (let n = 0; n < count; n++) {
      const table = await makeTable(app, owner, { records: [{ name: String(n) }] })
      const { body } = await app.as(owner.owner).post(`${table.path}/field/name/changeType`, { type: 'number' })
      started.push({ account: name, job: body.job_id })
    }
  sending.mockRestore()
  await app.db.transaction(async () => {
    for (const job of waiting) await app.deps.jobs.send(...job)
  })
  const states = async () =>
    await app.db.read(sql`select from field_conversions where account_id in (${account.id}, ${other.id}) and state <> 'done'`)
  await expect.poll(async () => (await states()).length).toBe(0)
  const begun = await app.db.read<{ id: number }>(sql`
    select (data->>'conversion_id')::int as id from pgboss.job
    where name = 'conversions.check' and (data->>'conversion_id')::int = any(${started.map(({ job }) => job)}::int[]) order by started_on`)
  const order = begun.map(({ id }) => started.find(({ job }) => job === id)?.account)
  expect(order.slice(0, 2).toSorted()).toEqual(['busy', 'other'])
})
