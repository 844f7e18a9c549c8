/**
 * A client that follows a live table, reads again what each message names and nothing else, has the table in the end: after random work of
 * several callers at two processes, while its connection is cut and resumed at either of them. On failure the seed is printed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type As, type Caller, type TestAccount, testApp } from './support/app.ts'
import { type Heard, openStream, type TestStream } from './support/streams.ts'
import { makeTable, type TestTable } from './support/tables.ts'
import { until } from './support/until.ts'

const SEED = 20261129
const RUNS = 5
const STEPS = 90
/** Between two operations of a caller, at most. */
const PAUSE_MS = 60

const app = await testApp()
const other = await testApp()

type Row = { id: number } & Record<string, unknown>

/** All that a frontend with the table open does. */
class Follower {
  readonly rows = new Map<number, Row>()
  readonly heard: Heard[] = []
  #stream: TestStream | undefined
  #taken = 0
  #reading: Promise<void> = Promise.resolve()
  readonly #as: As
  readonly #caller: Caller
  readonly #table: TestTable

  constructor(caller: Caller, table: TestTable) {
    this.#caller = caller
    this.#as = app.as(caller)
    this.#table = table
  }

  async start(): Promise<void> {
    this.#stream = await openStream(app.url, this.#caller, undefined, [this.#table.id])
    await this.#readAll()
  }

  /** Loses the connection and resumes at one of the processes. */
  async reconnect(at: { url: string }, awayMs: number): Promise<void> {
    this.#stream?.cut()
    this.take()
    await sleep(awayMs)
    this.#taken = 0
    this.#stream = await openStream(at.url, this.#caller, this.#stream?.lastId(), [this.#table.id])
  }

  /** Reads what the messages name that have come since the last call. */
  take(): void {
    for (; this.#taken < (this.#stream?.heard.length ?? 0); this.#taken++) {
      const event = this.#stream?.heard[this.#taken] as Heard
      this.heard.push(event)
      this.#reading = this.#reading.then(() => (event.record_id === undefined ? this.#readAll() : this.#read(event.record_id)))
    }
  }

  async caughtUp(): Promise<void> {
    this.take()
    await this.#reading
  }

  stop(): void {
    this.#stream?.cut()
  }

  async #read(id: number): Promise<void> {
    const [row] = await readTable(this.#as, this.#table, [{ column: 'id', compare: 'eq', value: id }])
    if (row) this.rows.set(id, row)
    else this.rows.delete(id)
  }

  async #readAll(): Promise<void> {
    const rows = await readTable(this.#as, this.#table)
    this.rows.clear()
    for (const row of rows) this.rows.set(row.id, row)
  }
}

async function readTable(as: As, { path }: TestTable, filters: object[] = []): Promise<Row[]> {
  const { status, body } = await as.post(`${path}/records/query`, { filters, limit: 1_000 })
  expect(status).toBe(200)
  return body
}

interface Step {
  by: 'member' | 'admin' | 'key'
  isElsewhere: boolean
  kind: number
  pick: number
  value: number
}
const step: fc.Arbitrary<Step> = fc.record({
  by: fc.constantFrom('member', 'admin', 'key'),
  isElsewhere: fc.boolean(),
  kind: fc.nat({ max: 99 }),
  pick: fc.nat(),
  value: fc.nat({ max: 5 }),
})
const cut = fc.record({ after: fc.integer({ min: 1, max: 12 }), isElsewhere: fc.boolean(), awayMs: fc.integer({ min: 0, max: 60 }) })

interface World {
  table: TestTable
  ids: number[]
  changes: number[]
}

/** The operations and how often each is chosen. */
const WORK: [upTo: number, run: (as: As, world: World, step: Step) => Promise<unknown>][] = [
  [
    20,
    (as, { table, ids }, { value }) =>
      as.post(`${table.path}/records/create`, { data: { name: `a${value}` } }).then(({ body }) => ids.push(body.id)),
  ],
  [50, (as, { table, ids }, { pick, value }) => as.post(`${table.path}/record/${one(ids, pick)}/update`, { data: { name: `u${value}` } })],
  [60, (as, { table, ids }, { pick }) => as.post(`${table.path}/record/${one(ids, pick)}/delete`)],
  [68, (as, { table, ids }, { pick }) => as.post(`${table.path}/record/${one(ids, pick)}/restore`)],
  [
    76,
    async (as, { table, ids }, { value }) => {
      const records = Array.from({ length: value + 1 }, (_, n) => ({ data: { name: `b${n}`, step: n } }))
      const { body } = await as.post(`${table.path}/records/create_batch`, { records })
      ids.push(...body.map(({ id }: Row) => id))
    },
  ],
  [
    84,
    (as, { table, ids }, { pick, value }) =>
      as.post(`${table.path}/records/update_batch`, {
        records: [...new Set([one(ids, pick), one(ids, pick + 1)])].map((id) => ({ id, data: { step: value } })),
      }),
  ],
  [
    90,
    (as, { table }, { value }) => {
      const filters = [{ column: 'step', compare: 'eq', value }]
      return as.post(`${table.path}/records/update_where`, { filters, data: { name: `w${value}` }, expect: 2 })
    },
  ],
  [97, (as, { table, changes }, { pick }) => as.post(`/api/table/${table.id}/change/${one(changes, pick)}/undo`)],
  [100, (as, { table }, { value }) => as.post(`${table.path}/fields/create`, { name: `More ${value}`, type: 'number' })],
]
const one = (ids: readonly number[], pick: number) => ids[pick % Math.max(ids.length, 1)] ?? 0

async function work(account: TestAccount, world: World, steps: readonly Step[]): Promise<void> {
  const callers = { member: account.member, admin: account.admin, key: account.keys.account }
  for (const each of steps) {
    const as = (each.isElsewhere ? other : app).as(callers[each.by])
    await sleep(each.pick % PAUSE_MS)
    const [, run] = WORK.find(([upTo]) => each.kind < upTo) ?? []
    const answer = await run?.(as, world, each)
    const change = (answer as { body?: { change_id?: number | null } } | undefined)?.body?.change_id
    if (change) world.changes.push(change)
  }
}

test('a follower that reads what the messages name has the table in the end, however often its connection is lost', async () => {
  const types = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: STEPS, maxLength: STEPS }), fc.array(cut, { maxLength: 6 }), async (steps, cuts) => {
      const account = await app.account()
      const fields = [
        { name: 'Name', type: 'text' },
        { name: 'Step', type: 'number' },
      ]
      const table = await makeTable(app, account, { fields, records: [{ name: 'One' }, { name: 'Two' }] })
      const world: World = { table, ids: [...table.records], changes: [] }
      const follower = new Follower(account.viewer, table)
      await follower.start()
      const third = Math.ceil(steps.length / 3)
      let isOver = false
      const writers = [0, 1, 2].map((n) => work(account, world, steps.slice(n * third, (n + 1) * third)))
      const following = (async () => {
        for (const { after, isElsewhere, awayMs } of cuts) {
          const goal = follower.heard.length + after
          while (follower.heard.length < goal && !isOver) {
            follower.take()
            await sleep(5)
          }
          await follower.reconnect(isElsewhere ? other : app, awayMs)
        }
      })()
      await Promise.all(writers)
      isOver = true
      await following
      const expected = await readTable(app.as(account.viewer), table)
      const inOrder = (rows: Iterable<Row>) => JSON.stringify([...rows].toSorted((a, b) => a.id - b.id))
      await until(
        async () => {
          await follower.caughtUp()
          return inOrder(follower.rows.values()) === inOrder(expected)
        },
        () => `for ${inOrder(expected)}, not ${inOrder(follower.rows.values())}`,
      )
      follower.stop()
      for (const { type } of follower.heard) types.add(type)
    }),
    { seed: SEED, numRuns: RUNS, endOnFailure: true },
  )
  expect([...types]).toEqual(expect.arrayContaining(['record.created', 'record.updated', 'records.changed']))
}, 240_000)
