/** Many callers delete, restore, undo and write the same records at once: nothing is lost, doubled or half-done (contract.md §10). */
import { expect, test } from 'vitest'
import { historyOf, recordsOf, sql } from '../src/platform/database/database.ts'
import { type Answer, type Caller, testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp({ RATE_LIMIT_PER_MINUTE: '1000000' })
const SEED = 20261129
const RECORDS = 8
const CALLERS = 8
const STEPS = 40

const FIELDS = [
  { name: 'Name', type: 'text' },
  { name: 'Amount', type: 'number' },
  { name: 'Papers', type: 'file' },
]

/** The same pseudo-random numbers below 1 in each run; which caller gets them differs. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return state / 2 ** 32
  }
}

/** What callers may be told when others are faster. */
const EXPECTED = [200, 404, 409]

test('every record is there or deleted, with all that was acknowledged', async () => {
  const account = await app.account()
  const table = await makeTable(app, account, {
    fields: FIELDS,
    records: Array.from({ length: RECORDS }, (_, index) => ({ name: `N${index}` })),
  })
  const { id: tableId, path, records } = table
  const callers: Caller[] = [account.member, account.owner, account.keys.account, account.keys.personal]
  const next = numbers(SEED)
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(next() * items.length)] as Item
  const [made, wrong, changes]: [Map<string, number>, unknown[], number[]] = [new Map(), [], []]
  let counter = 0

  const said = (what: string, answer: Answer) => {
    if (!EXPECTED.includes(answer.status)) wrong.push([what, answer.status, answer.body])
    if (answer.status === 200 && answer.body.change_id) changes.push(answer.body.change_id)
    return answer.status === 200
  }
  const deeds: ((caller: Caller, record: number) => Promise<unknown>)[] = [
    async (caller, record) => said('delete', await app.as(caller).post(`${path}/record/${record}/delete`)),
    async (caller) => {
      const record_ids = records.filter(() => next() < 0.3)
      if (record_ids.length) said('delete_batch', await app.as(caller).post(`${path}/records/delete_batch`, { record_ids }))
    },
    async (caller, record) => said('restore', await app.as(caller).post(`${path}/record/${record}/restore`)),
    async (caller) => {
      const gone = (await app.as(caller).get(`${path}/records/deleted`)).body
      await Promise.all(
        gone.map(async ({ id }: { id: number }) => said('restore', await app.as(caller).post(`${path}/record/${id}/restore`))),
      )
    },
    async () => {
      const change = pick(changes.slice(-20))
      if (change) said('undo', await app.as(account.admin).post(`${path}/change/${change}/undo`))
    },
    async (caller, record) => said('update', await app.as(caller).post(`${path}/record/${record}/update`, { data: { amount: ++counter } })),
    async (caller) => {
      const updates = records.filter(() => next() < 0.3).map((id) => ({ id, data: { amount: ++counter } }))
      if (updates.length)
        said('update_batch', await app.as(caller).post(`${path}/records/update_batch?envelope=true`, { records: updates }))
    },
    async (caller, record) => {
      const content = `comment ${++counter}`
      if (said('comment', await app.as(caller).post(`${path}/record/${record}/comments/create`, { content }))) made.set(content, record)
    },
    async (caller, record) => {
      const title = `task ${++counter}`
      const task = await app
        .as(caller)
        .post(`/api/tasks/onRecord/${tableId}/${record}/create`, { title, external_id: pick(['a', 'b', title]) })
      // An external id that is taken is 409.
      if (!said('task', task)) return
      made.set(title, record)
      const content = `on task ${++counter}`
      if (said('task comment', await app.as(caller).post(`/api/task/${task.body.id}/comments/create`, { content })))
        made.set(content, record)
      await app.as(caller).post(`/api/task/${task.body.id}/markDone`)
    },
    async (_, record) => {
      const follower = pick([account.member, account.viewer, account.admin])
      said('subscribe', await app.as(follower).post(`/api/subscriptions/${tableId}/${record}/subscribe`, { force: true }))
    },
    async (caller, record) => {
      const name = `file-${++counter}.txt`
      const upload = { field_id: 'papers', name, type: 'text/plain', data: Buffer.from(name).toString('base64') }
      said('file', await app.as(caller).post(`${path}/record/${record}/files/create`, upload))
    },
  ]
  const work = async () => {
    for (let step = 0; step < STEPS; step++) await pick(deeds)(pick(callers), pick(records))
  }
  await Promise.all(Array.from({ length: CALLERS }, work))
  expect(wrong).toEqual([])

  const live = await app.db
    .records(tableId)
    .read<{ id: number; version: number }>(sql`select id, version from ${recordsOf(tableId)} order by id`)
  const deleted = await app.db.read<{ id: number; version: number }>(
    sql`select record_id as id, version from deleted_records where table_id = ${tableId} order by record_id`,
  )
  expect([...live, ...deleted].map(({ id }) => id).sort((a, b) => a - b)).toEqual(records)
  const isLive = new Set(live.map(({ id }) => id))

  // The rows of deleted records are aside, those of the others are not.
  const rows = await app.db.read<{ name: string; record_id: number; is_aside: boolean }>(sql`
    select content as name, record_id, false as is_aside from record_comments where table_id = ${tableId}
    union all select title, record_id, false from tasks where table_id = ${tableId}
    union all select c.content, k.record_id, false from task_comments c join tasks k on k.id = c.task_id where k.table_id = ${tableId}
    union all select 'subscription', record_id, false from subscriptions where table_id = ${tableId}
    union all select 'notification', record_id, false from notifications where table_id = ${tableId}
    union all select coalesce(d.content->>'title', d.content->>'content', 'row'), d.record_id, true from deleted_rows d where d.table_id = ${tableId}`)
  expect(rows.filter(({ record_id, is_aside }) => isLive.has(record_id) === is_aside)).toEqual([])
  const counts = new Map<string, number>()
  for (const { name, record_id } of rows) if (made.get(name) === record_id) counts.set(name, (counts.get(name) ?? 0) + 1)
  expect([...made.keys()].filter((name) => counts.get(name) !== 1)).toEqual([])
  expect(made.size).toBeGreaterThan(5)

  // Each version is that of one entry; a deletion is one.
  const entries = await app.db
    .records(tableId)
    .read<{ record_id: number; versions: number[] }>(
      sql`select h.record_id, array_agg(h.version order by h.version) as versions from ${historyOf(tableId)} h group by 1`,
    )
  const last = new Map([
    ...live.map(({ id, version }) => [id, version] as const),
    ...deleted.map(({ id, version }) => [id, version + 1] as const),
  ])
  for (const { record_id, versions } of entries)
    expect([record_id, versions]).toEqual([record_id, Array.from({ length: last.get(record_id) ?? 0 }, (_, index) => index + 1)])

  // All of it can be restored, and then nothing is aside.
  for (const { id } of deleted) expect((await app.as(account.member).post(`${path}/record/${id}/restore`)).status).toBe(200)
  expect(await app.db.read(sql`select 1 from deleted_rows where table_id = ${tableId}`)).toEqual([])
  for (const record of records) {
    const { body } = await app.as(account.owner).get(`${path}/record/${record}/get`)
    for (const file of body.data.papers) expect((await app.as(account.owner).get(`/api/file/${file.path}`)).status).toBe(200)
  }
})
