import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccount, createUser } from '../src/accounts/service.ts'
import { startSession } from '../src/auth/sessions.ts'
import type { NewKey } from '../src/keys/schema.ts'
import { insertKey } from '../src/keys/service.ts'
import { ident, sql } from '../src/platform/database/database.ts'
import { type TestApp, testApp } from './support/app.ts'

let app: TestApp
beforeAll(async () => {
  app = await testApp()
  app.setClock(new Date('2026-03-30T09:30:00.700Z'))
})
afterAll(() => app.setClock(null))

/** What differs from row to row or, as the time of a space, comes from the database's clock. */
const TABLES = {
  accounts: [],
  users: ['email'],
  sessions: ['token_hash'],
  spaces: ['name', 'created_at', 'updated_at'],
  space_members: ['created_at'],
  api_keys: ['token_hash'],
}
/** The sequence of each id, by its column. */
const IDS: Record<string, string> = { account_id: 'accounts', owner_user_id: 'users', user_id: 'users', space_id: 'spaces' }

interface Row {
  [column: string]: unknown
}

type Tables = Record<string, Row[]>
const highest = (rows: Row[] = []) => Math.max(0, ...rows.map(({ id }) => Number(id ?? 0)))

async function allRows(): Promise<Tables> {
  const read = (table: string) => app.db.read<Row>(sql`select * from ${ident(table)} order by 1, 2`)
  return Object.fromEntries(await Promise.all(Object.keys(TABLES).map(async (table) => [table, await read(table)] as const)))
}

/** The rows that a function adds to each table. */
async function added(make: () => Promise<unknown>): Promise<Tables> {
  const before = await allRows()
  await make()
  const after = await allRows()
  const rowsOf = (table: string) => (after[table] ?? []).slice(before[table]?.length)
  return Object.fromEntries(Object.keys(TABLES).map((table) => [table, rowsOf(table).map((row) => comparable(table, row, before))]))
}

/** The row with its ids counted from the first new one of their table, and with only the types of its own values. */
function comparable(table: string, row: Row, before: Tables): Row {
  const own: string[] = TABLES[table as keyof typeof TABLES]
  const counted = (column: string, value: unknown) => {
    if (own.includes(column)) return typeof value
    if (column === 'space_ids') return (value as number[]).map((id) => id - highest(before.spaces))
    const sequence = column === 'id' ? table : IDS[column]
    return sequence ? Number(value) - highest(before[sequence]) : value
  }
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, counted(column, value)]))
}

async function byTheService(timezone: string) {
  const { db, deps } = app
  const at = deps.clock()
  const user = (name: string) => ({ name, timezone, email: `${name.replace(' ', '.').toLowerCase()}.${timezone}@example.com` })
  const { accountId, ownerId } = await createAccount(db, 'Test', user('Olga Owner'), at)
  await startSession(deps, ownerId, at)
  const [admin = 0, member = 0, viewer = 0] = await inTurn(['Ada Admin', 'Max Member', 'Vera Viewer'], async (name) => {
    const id = await createUser(db, accountId, user(name), at)
    await startSession(deps, id, at)
    return id
  })
  const other = await createAccount(db, 'Other', user('Sam Stranger'), at)
  await startSession(deps, other.ownerId, at)
  await app.makeSpace(accountId, ownerId, { [admin]: 'admin', [member]: 'member', [viewer]: 'viewer' })
  const otherSpace = await app.makeSpace(accountId, ownerId, {})
  const owner = { accountId, userId: ownerId }
  const outsider = { accountId: other.accountId, userId: other.ownerId }
  const keys: [{ accountId: number; userId: number }, Omit<NewKey, 'name'>][] = [
    [owner, { kind: 'account' }],
    [owner, { kind: 'account', read_only: true }],
    [owner, { kind: 'account', space_ids: [otherSpace] }],
    [{ accountId, userId: member }, { kind: 'personal' }],
    [{ accountId, userId: viewer }, { kind: 'personal' }],
    [outsider, { kind: 'personal' }],
    [outsider, { kind: 'account' }],
  ]
  await inTurn(keys, ([actor, key]) => insertKey(db, actor, { name: 'Test key', ...key }, at))
}

async function inTurn<Item, Result>(items: readonly Item[], step: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  for (const item of items) results.push(await step(item))
  return results
}

test('an account for tests has the rows that the service writes for one', async () => {
  const timezone = 'Pacific/Apia'
  const fromTests = await added(() => app.account({ timezone }))
  const fromService = await added(() => byTheService(timezone))
  expect(fromTests).toEqual(fromService)
  expect(Object.entries(fromTests).map(([table, rows]) => `${table}: ${rows.length}`)).toEqual([
    'accounts: 2',
    'users: 5',
    'sessions: 5',
    'spaces: 2',
    'space_members: 5',
    'api_keys: 7',
  ])
})

test('its owner signs in with the password', async () => {
  const { owner } = await app.account({ withPassword: true })
  const { email, password } = owner
  expect((await app.as(null).post('/api/auth/login', { email, password })).status).toBe(200)
  expect((await app.as(null).post('/api/auth/login', { email, password: `${password}!` })).status).toBe(401)
})
