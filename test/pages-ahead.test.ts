/** Short pages of records, which are read together with the access check (docs/decisions/0031-reads-ahead.md). */
import { afterEach, describe, expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import type { FilterInput, GroupInput } from '../src/views/schema.ts'
import { type Caller, testApp } from './support/app.ts'
import { makeRecords, makeTable, makeView } from './support/tables.ts'

const app = await testApp()
const { db } = app.deps
const { readShort, queryPrinted, queryShortPrinted } = db
afterEach(() => void Object.assign(db, { readShort, queryPrinted, queryShortPrinted }))

/** From now on every page counts as short. Notes when access checks are answered, and when pages are read ahead or in the usual way. */
function watched({ isShort = true } = {}): { log: string[] } {
  const log: string[] = []
  db.readShort = async <Row>(...parts: Parameters<typeof readShort>) => {
    const rows = await readShort<Row>(...parts)
    if (parts[1] === 'who') log.push('checked')
    return rows
  }
  db.queryPrinted = (...parts) => {
    log.push('usual')
    return queryPrinted(...parts)
  }
  db.queryShortPrinted = async (statement, label, following) => {
    log.push('ahead')
    return isShort ? queryPrinted(statement, label, new AbortController().signal, following) : null
  }
  return { log }
}

const TOGETHER = ['ahead', 'checked']
/** After a change of rights in the account. */
const CHECKED_AGAIN = ['ahead', 'checked', 'checked']
const ONE_BY_ONE = ['checked', 'usual']

const account = await app.account()
const { owner, member, keys } = account
const newKey = () => account.keyOf({ accountId: account.id, userId: member.id }, { kind: 'personal' })
const FIELDS = [
  { name: 'Name', type: 'text' },
  { name: 'Amount', type: 'number' },
  { name: 'Owner', type: 'user' },
]

async function filled() {
  const table = await makeTable(app, account, { fields: FIELDS })
  const rows = [3, 1, 2].map((amount) => ({ name: `Record ${amount}`, amount, owner: member.id }))
  const records = await makeRecords(app, account, table.id, rows)
  const view = await makeView(app, account, table.id, { order_by: 'amount', order_dir: 'A' })
  const page = (caller: Caller, body: object = { view_id: view.id }) => app.as(caller).post(`${table.path}/records/query`, body)
  // From here on this process knows the table, the view and the users whom its pages name.
  await page(owner)
  return { ...table, records, view, page }
}

const amounts = ({ body }: { body: { amount: number }[] }) => body.map(({ amount }) => amount)

test('reads a page together with the access check, on REST and RPC, once the caller is known', async () => {
  const { id, page, view } = await filled()
  const { log } = watched()
  const first = await page(keys.personal)
  expect([amounts(first), log.splice(0)]).toEqual([[1, 2, 3], ONE_BY_ONE])
  expect(first.body[0].owner).toMatchObject({ id: member.id, name: member.name })
  /** On a busy machine a page may take so long that it is read again. */
  const readTogether = (ask: () => Promise<unknown>) =>
    expect
      .poll(async () => {
        log.length = 0
        expect(await ask()).toEqual(first.body)
        return log
      })
      .toEqual(TOGETHER)
  await readTogether(async () => (await page(keys.personal)).body)
  const { rpc } = app.as(keys.personal)
  await readTogether(async () => (await rpc.records.query.query({ table_id: id, view_id: view.id })).rows)
})

test('reads a page that is not known to be short after the access check', async () => {
  const { page } = await filled()
  await page(keys.personal)
  const { log } = watched({ isShort: false })
  expect(amounts(await page(keys.personal))).toEqual([1, 2, 3])
  expect(log).toEqual(['ahead', 'checked', 'usual'])
})

test('reads each page of a walk ahead, and names the next cursor', async () => {
  const { page } = await filled()
  await page(keys.personal)
  const { log } = watched()
  const found: number[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const answer: Awaited<ReturnType<typeof page>> = await page(keys.personal, { order_by: 'amount', cursor, limit: 2 })
    found.push(...amounts(answer))
    cursor = answer.headers.get('x-next-cursor')
  }
  expect(found).toEqual([1, 2, 3])
  // The end of the walk is in two index ranges, which are read in the usual way.
  expect(log.slice(0, 2)).toEqual(TOGETHER)
})

test('reads no search, no count and no explanation ahead', async () => {
  const { page, view, id } = await filled()
  await page(keys.personal)
  const { log } = watched()
  for (const more of [{ search: 'record' }, { count: true }])
    expect((await page(keys.personal, { view_id: view.id, ...more })).status).toBe(200)
  await page(keys.personal, { view_id: view.id, explain: true })
  await app.as(keys.personal).post(`/api/table/${id}/records/explain`, { view_id: view.id })
  expect(log.filter((entry) => entry === 'ahead')).toEqual([])
})

test.each<[object, number]>([
  [{ view_id: 2_000_000_000 }, 500],
  [{ limit: 'many' }, 400],
  [{ cursor: 'x' }, 400],
  [{ record_id: 1 }, 400],
  [{ filters: [{ column: 'amount', compare: 'between', value: 1 }] }, 400],
])('answers the wrong input %j as it does without reading ahead', async (body, status) => {
  const { page } = await filled()
  const unknown = await page(await newKey(), body)
  await page(keys.personal)
  const known = await page(keys.personal, body)
  expect([known.status, known.body.message]).toEqual([status, unknown.body.message])
})

describe('what was read ahead is not used', () => {
  test('for a key that was revoked', async () => {
    const { page } = await filled()
    const revoked = await newKey()
    await page(revoked)
    await db.execute(sql`delete from api_keys where id = (select max(id) from api_keys where user_id = ${member.id})`)
    const { log } = watched()
    const refused = await page(revoked)
    expect([refused.status, log.splice(0)]).toEqual([401, CHECKED_AGAIN])
    expect([(await page(revoked)).status, log]).toEqual([401, ['checked']])
  })

  test('for a caller of another account, who learns nothing of the table', async () => {
    const { page } = await filled()
    const other = await app.account()
    const own = await makeTable(app, other, { fields: FIELDS })
    await app.as(other.keys.personal).post(`${own.path}/records/query`, {})
    const { log } = watched()
    const { status, body } = await page(other.keys.personal)
    expect([status, body.message, log]).toEqual([500, 'Not Authorized', TOGETHER])
  })

  test('by a caller who has moved to another time zone', async () => {
    const { page } = await filled()
    const day = { filters: [{ column: 'created_at', compare: '>=', value: 'today' }] }
    expect((await page(keys.personal, day)).status).toBe(200)
    await db.execute(sql`update users set timezone = 'Pacific/Kiritimati' where id = ${member.id}`)
    const { log } = watched()
    await page(keys.personal, day)
    expect(log).toEqual([...CHECKED_AGAIN, 'usual'])
  })

  test('if the table has been changed since this process read its definition', async () => {
    const { id, page } = await filled()
    await page(keys.personal)
    const { log } = watched()
    // Another process changes the table: a version that this one has not seen.
    await db.execute(sql`update fields set name = 'Sum' where table_id = ${id} and id = 'amount'`)
    await db.execute(sql`update tables set version = version + 1 where id = ${id}`)
    expect(amounts(await page(keys.personal))).toEqual([1, 2, 3])
    expect(log).toEqual([...CHECKED_AGAIN, 'usual'])
  })
})

test('answers a known caller whose input cannot be read ahead as any other, and leaves no rejection behind', async () => {
  const { id, page } = await filled()
  const other = await app.account()
  const theirs = await makeTable(app, other, { fields: FIELDS })
  const left: unknown[] = []
  const leave = (reason: unknown) => left.push(reason)
  process.on('unhandledRejection', leave)
  try {
    const key = await newKey()
    await page(key)
    let filter: GroupInput | FilterInput = { column: 'name', compare: '=', value: 'x' }
    for (let depth = 0; depth < 40; depth++) filter = { all: [filter] }
    for (const [table_id, refusal] of [
      [theirs.id, 'Not Authorized'],
      [id, 'filter: must not be nested deeper than 64'],
    ] as const) {
      await expect(app.as(key).rpc.records.query.query({ table_id, filter: filter as GroupInput })).rejects.toThrow(refusal)
      const rest = await app.as(key).post(`/api/table/${table_id}/records/query`, { filter })
      expect(rest.body.message).toBe(refusal)
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  } finally {
    process.off('unhandledRejection', leave)
  }
  expect(left).toEqual([])
})
