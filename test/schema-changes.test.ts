/** Changes a table's fields while other transactions read, write and vacuum it. */
import { describe, expect, test } from 'vitest'
import { testApp } from './support/app.ts'
import { beginsChange, queriesOf, queriesWith } from './support/statements.ts'
import { fillTable, makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()

async function dealsTable(rows: number): Promise<number> {
  const fields = [
    { name: 'Company', type: 'text' },
    { name: 'Stage', type: 'select', options: ['New', 'Open', 'Won'] },
    { name: 'Tags', type: 'multi_select', options: ['Red', 'Green', 'Blue'] },
    { name: 'Amount', type: 'number' },
  ]
  const { id } = await makeTable(app, account, { fields })
  const tags = 'array[1 + i % 3, 1 + (i + 1) % 3]'
  await fillTable(app, id, rows, { company: "'Company ' || i", stage: '1 + i % 3', tags, amount: 'i + 0.25' })
  return id
}

const post = (path: string, body?: object) => app.as(account.admin).post(path, body)

test('a change of one of two tables that were made alike leaves the other as it is', async () => {
  const [one, other] = [await dealsTable(0), await dealsTable(0)]
  const fieldsOf = async (table: number) => {
    // Both are read by a query first, from which they are known.
    for (const id of [one, other]) await post(`/api/table/${id}/records/query`, {})
    return (await app.as(account.admin).get(`/api/table/${table}/get`)).body.fields
  }
  const before = await fieldsOf(other)
  expect(before).toEqual(await fieldsOf(one))
  await post(`/api/table/${one}/field/stage/update`, { options: ['New', 'Lost'], force: true })
  await post(`/api/table/${one}/fields/create`, { name: 'Age', type: 'number' })
  await post(`/api/table/${one}/field/company/update`, { name: 'Firm' })
  expect(await fieldsOf(other)).toEqual(before)
  expect((await fieldsOf(one)).map(({ name }: { name: string }) => name)).toEqual(expect.arrayContaining(['Firm', 'Stage', 'Age']))
  const create = (table: number, data: object) => post(`/api/table/${table}/records/create`, { data })
  expect((await create(one, { company: 'A', age: 3, stage: 'Lost' })).status).toBe(200)
  expect((await create(other, { company: 'A', stage: 'Won' })).status).toBe(200)
  expect((await create(other, { age: 3 })).body.message).toContain("'age' is not a field of this table")
})

/**
 * Sends queries and `change` while a connection locks the table, and unlocks it before `change` is awaited. The second attempt of the change waits
 * until then, so that it does not give up on a slow machine. @returns the answers
 */
async function whileHeld(table: number, hold: string, change: () => ReturnType<typeof post>) {
  const queries = queriesOf(app.db)
  const [begun, unlocked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let attempts = 0
  const before = async () => {
    begun.resolve()
    if (++attempts > 1) await unlocked.promise
  }
  Object.assign(
    app.db,
    queriesWith(queries, (statement) => beginsChange(statement) && before()),
  )
  const other = await app.db.connect()
  try {
    await other.query(`begin; ${hold}`)
    const changed = change()
    await begun.promise
    const answers = []
    for (let n = 0; n < 5; n++) {
      answers.push(await post(`/api/table/${table}/records/query`, { limit: 1 }))
      answers.push(await post(`/api/table/${table}/records/create`, { data: { company: `Meanwhile ${n}` } }))
    }
    await other.query('rollback')
    unlocked.resolve()
    return { answers, changed: await changed }
  } finally {
    unlocked.resolve()
    await other.end()
    Object.assign(app.db, queries)
  }
}

describe('a change of the fields', () => {
  test('lets others read and write while it waits for a long read', async () => {
    const table = await dealsTable(100)
    const { answers, changed } = await whileHeld(table, `select count(*) from t${table}.records`, () =>
      post(`/api/table/${table}/fields/create`, { name: 'Added', type: 'text' }),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(changed.status, JSON.stringify(changed.body)).toBe(200)
    expect((await post(`/api/table/${table}/records/create`, { data: { added: 'x' } })).body.data.added).toBe('x')
  })

  test('lets others read and write while it waits for a vacuum', async () => {
    const table = await dealsTable(100)
    const { answers, changed } = await whileHeld(table, `lock table t${table}.records in share update exclusive mode`, () =>
      post(`/api/table/${table}/field/amount/delete`),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(changed.status, JSON.stringify(changed.body)).toBe(200)
  })

  test('is 503 when the table stays locked, and changes nothing', async () => {
    const table = await dealsTable(1)
    const other = await app.db.connect()
    await other.query(`begin; select count(*) from t${table}.records`)
    const { status, headers } = await post(`/api/table/${table}/field/amount/delete`)
    expect(status).toBe(503)
    expect(headers.get('retry-after')).not.toBeNull()
    await other.query('rollback')
    await other.end()
    expect((await app.as(account.admin).get(`/api/table/${table}/get`)).body.fields.map(({ id }: { id: string }) => id)).toContain('amount')
  })
})

test('a table whose name another transaction is taking is 503 until that one ends', async () => {
  const other = await app.db.connect()
  await other.query(`begin; insert into tables (account_id, space_id, name) values (${account.id}, ${account.space}, 'Taken')`)
  const create = () => post(`/api/space/${account.space}/tables/create`, { name: 'taken' })
  expect((await create()).status).toBe(503)
  await other.query('commit')
  await other.end()
  expect((await create()).status).toBe(409)
})
