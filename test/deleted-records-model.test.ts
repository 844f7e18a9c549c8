/**
 * Random sequences of creates, updates, links, tasks, comments, deletions and restores by several callers against a model that remembers
 * everything.
 */
import { expect, test } from 'vitest'
import { type Caller, type TestAccount, testApp } from './support/app.ts'
import { makeTable, type TestTable } from './support/tables.ts'

const app = await testApp()

/** The same pseudo-random numbers in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

interface Known {
  name: string
  amount: number | null
  version: number
  tasks: KnownTask[]
  comments: string[]
  /** Linked records, also those that are deleted and not shown. */
  friends: number[]
}

interface KnownTask {
  title: string
  external: string | null
}

interface Model {
  live: Map<number, Known>
  deleted: Map<number, Known>
}

/** What a deed knows: a caller, the records, and a source of chance. */
interface Turn {
  account: TestAccount
  table: TestTable
  live: Map<number, Known>
  deleted: Map<number, Known>
  as: ReturnType<typeof app.as>
  next: (below: number) => number
  /** A record that is not deleted; 0 and undefined if there is none. */
  id: number
  known: Known | undefined
  post(path: string, body: object, status?: number): Promise<{ id: number; version: number; deleted: number }>
}

async function step(account: TestAccount, table: TestTable, { live, deleted }: Model, next: (below: number) => number): Promise<void> {
  const callers: Caller[] = [account.owner, account.member, account.keys.account, account.keys.personal]
  const as = app.as(callers[next(callers.length)] as Caller)
  const post: Turn['post'] = async (path, body, status = 200) => {
    const answer = await as.post(path, body)
    expect([path, answer.status, answer.body.message]).toEqual([path, status, status === 200 ? undefined : answer.body.message])
    return answer.body
  }
  const id = one(live, next)
  await DEEDS[next(DEEDS.length)]?.({ account, table, live, deleted, as, next, id, known: live.get(id), post })
}

const one = (ids: Map<number, Known>, next: Turn['next']) => [...ids.keys()].sort((a, b) => a - b)[next(ids.size)] ?? 0
const some = (ids: Iterable<number>, most: number, next: Turn['next']) =>
  [...ids]
    .sort((a, b) => a - b)
    .filter(() => next(3) === 0)
    .slice(0, most)

async function createRecord({ table, live, next, post }: Turn): Promise<void> {
  const name = `N${next(1_000)}`
  const made = await post(`${table.path}/records/create`, { data: { name } })
  live.set(made.id, { name, amount: null, version: 1, tasks: [], comments: [], friends: [] })
}

async function updateRecord({ table, next, id, known, post }: Turn): Promise<void> {
  if (!known) return
  known.amount = next(1_000) / 100
  known.version = (await post(`${table.path}/record/${id}/update`, { data: { amount: known.amount } })).version
}

async function addTask({ account, table, live, next, id, known, post }: Turn): Promise<void> {
  if (!known) return
  const external = next(2) ? `X${next(4)}` : null
  const task = { title: `T${next(1_000)}`, external }
  const isTaken = external !== null && takenIn(live).has(external)
  const body = { title: task.title, external_id: external, assignee_user_id: account.owner.id }
  await post(`/api/tasks/onRecord/${table.id}/${id}/create`, body, isTaken ? 409 : 200)
  if (!isTaken) known.tasks.push(task)
}

/** A list replaces the links, also those to deleted records. These cannot be linked. */
async function linkRecords({ table, live, deleted, next, id, known, post }: Turn): Promise<void> {
  if (!known) return
  const gone = next(4) ? [] : some(deleted.keys(), 1, next)
  const friends = some(live.keys(), 3, next)
  const answer = await post(`${table.path}/record/${id}/update`, { data: { friends: [...friends, ...gone] } }, gone.length ? 400 : 200)
  if (gone.length) return
  if (friends.join() !== known.friends.join()) known.version++
  known.friends = friends
  expect(answer.version).toBe(known.version)
}

async function comment({ table, next, id, known, post }: Turn): Promise<void> {
  if (!known) return
  known.comments.push(`C${next(1_000)}`)
  await post(`${table.path}/record/${id}/comments/create`, { content: known.comments.at(-1) })
}

async function deleteRecords({ table, live, deleted, next, post }: Turn): Promise<void> {
  const going = some(live.keys(), 4, next)
  const { deleted: count } = await post(`${table.path}/records/delete_batch`, { record_ids: [...going, ...some(deleted.keys(), 2, next)] })
  expect(count).toBe(going.length)
  for (const gone of going) {
    deleted.set(gone, live.get(gone) as Known)
    live.delete(gone)
  }
}

/** Of two restores at once one wins. */
async function restoreRecord({ table, live, deleted, as, next }: Turn): Promise<void> {
  const back = one(deleted, next)
  if (!back) return
  const answers = await Promise.all([1, 2].map(() => as.post(`${table.path}/record/${back}/restore`)))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
  const restored = deleted.get(back) as Known
  restored.version += 2
  const taken = takenIn(live)
  for (const task of restored.tasks) if (task.external !== null && taken.has(task.external)) task.external = null
  expect(answers.find(({ status }) => status === 200)?.body.version).toBe(restored.version)
  live.set(back, restored)
  deleted.delete(back)
}

async function restoreWhatIsThere({ table, id, known, post }: Turn): Promise<void> {
  if (known) await post(`${table.path}/record/${id}/restore`, {}, 409)
}

async function changeWhatIsGone({ table, deleted, next, post }: Turn): Promise<void> {
  const gone = one(deleted, next)
  if (!gone) return
  await post(`${table.path}/record/${gone}/update`, { data: { amount: 1 } }, 404)
  await post(`/api/tasks/onRecord/${table.id}/${gone}/create`, { title: 'x' }, 404)
  await post(`${table.path}/record/${gone}/comments/create`, { content: 'x' }, 404)
}

/** What is done more often stands here more often. */
const DEEDS: ((turn: Turn) => Promise<void>)[] = [
  ...[createRecord, updateRecord, addTask, addTask, linkRecords, linkRecords, comment],
  ...[deleteRecords, deleteRecords, restoreRecord, restoreWhatIsThere, changeWhatIsGone],
]

/** The external ids that tasks have. */
const takenIn = (live: Model['live']) => new Set([...live.values()].flatMap(({ tasks }) => tasks.map(({ external }) => external)))

/** What the API shows of all records. */
async function shown(account: TestAccount, table: TestTable, { live, deleted }: Model) {
  const as = app.as(account.owner)
  const rows = (await as.post(`${table.path}/records/query`, { limit: 200, include: ['version', 'badges'] })).body
  const tasks = (await as.post('/api/tasks/list', { tab: 'all', limit: 200 })).body
  const gone = (await as.get(`${table.path}/records/deleted?limit=200`)).body
  const comments = new Map<number, string[]>()
  for (const id of live.keys())
    comments.set(
      id,
      (await as.get(`${table.path}/record/${id}/comments/get?limit=100`)).body
        .map(({ content }: { content: string }) => content)
        .toReversed(),
    )
  expect(rows.map((row: Record<string, unknown>) => [row.id, row.name, row.amount, row._version])).toEqual(
    [...live].sort(([a], [b]) => a - b).map(([id, { name, amount, version }]) => [id, name, amount, version]),
  )
  const badges = rows.map(({ id, _badges }: { id: number; _badges: { open_tasks: number; comments: number } }) => [
    ...[id, _badges.open_tasks, _badges.comments],
  ])
  expect(badges).toEqual([...live].sort(([a], [b]) => a - b).map(([id, known]) => [id, known.tasks.length, known.comments.length]))
  const wanted = [...live.values()].flatMap((each) => each.tasks.map(({ title, external }) => `${title} ${external}`))
  // A task without an external id does not have the key.
  const listed = tasks.map(({ title, external_id = null }: { title: string; external_id?: string | null }) => `${title} ${external_id}`)
  expect(listed.sort()).toEqual(wanted.sort())
  const linked = rows.map(({ friends }: { friends: { id: number }[] }) => friends.map(({ id }) => id))
  expect(linked).toEqual([...live].sort(([a], [b]) => a - b).map(([, { friends }]) => friends.filter((id) => live.has(id))))
  for (const [id, known] of live) expect(comments.get(id)).toEqual(known.comments)
  expect(gone.map(({ id, title }: { id: number; title: string }) => [id, title]).sort()).toEqual(
    [...deleted].map(([id, { name }]) => [id, name]).sort(),
  )
}

test.each([1, 2, 3])('a sequence with the seed %i shows what the model has', async (seed) => {
  const account = await app.account()
  const table = await makeTable(app, account, {
    fields: [
      { name: 'Name', type: 'text' },
      { name: 'Amount', type: 'number', decimals: 2 },
    ],
  })
  const friends = { name: 'Friends', type: 'multi_lookup', table: table.id }
  expect((await app.as(account.admin).post(`${table.path}/fields/create`, friends)).status).toBe(200)
  const next = numbers(seed)
  const model: Model = { live: new Map(), deleted: new Map() }
  for (let count = 1; count <= 200; count++) {
    await step(account, table, model, next)
    if (count % 25 === 0) await shown(account, table, model)
  }
  expect(model.live.size + model.deleted.size).toBeGreaterThan(5)
})
