/** A caller whom the process knows is refused like one whom it has never seen, as soon as a right has ended (docs/decisions/0034-access-versions.md). */
import { describe, expect, test } from 'vitest'
import { type Sql, sql } from '../src/platform/database/database.ts'
import type { FilterInput, GroupInput } from '../src/views/schema.ts'
import { type Caller, testApp } from './support/app.ts'
import { makeRecords, makeTable, makeView } from './support/tables.ts'
import { taskSupport } from './support/tasks.ts'

const app = await testApp()
const { db } = app.deps

/** Asks until everything is remembered that can be. */
async function become(ask: () => Promise<unknown>): Promise<void> {
  for (let time = 0; time < 3; time++) await ask()
}

describe('a list of tasks', () => {
  const { onRecord } = taskSupport(app)
  const mine = (caller: Caller, body: object = {}) => app.as(caller).post('/api/tasks/list', body)
  const titles = ({ body }: { body: { title: string }[] }) => body.map(({ title }) => title)

  test('refuses a revoked key, and goes on answering the others', async () => {
    const { path, keys, member, keyOf, account } = await onRecord()
    const revoked = await keyOf({ accountId: account.id, userId: member.id }, { kind: 'personal' })
    await become(() => app.as(revoked).get(`${path}/list`))
    await db.write(sql`delete from api_keys where id = (select max(id) from api_keys where user_id = ${member.id})`)
    const refused = await app.as(revoked).get(`${path}/list`)
    expect([refused.status, refused.body.message]).toEqual([401, 'The API key is not valid'])
    expect((await app.as(revoked).get(`${path}/list`)).body).toEqual({ ...refused.body, request_id: expect.any(String) })
    expect((await app.as(keys.personal).get(`${path}/list`)).status).toBe(200)
  })

  test('answers a known caller of another account as one whom the process has never seen', async () => {
    const { path, create, member, keys } = await onRecord()
    await create(member, { title: 'Secret' })
    const { path: theirs, keys: others } = await onRecord()
    const unseen = [await app.as(others.accountReadOnly).get(`${path}/list`), await app.as(keys.accountOtherSpace).get(`${path}/list`)]
    await become(() => app.as(others.personal).get(`${theirs}/list`))
    const stranger = await app.as(others.personal).get(`${path}/list`)
    expect([stranger.status, stranger.body.message]).toEqual([404, 'Table not found'])
    expect(unseen.map(({ status, body }) => [status, body.message])).toEqual([
      [404, 'Table not found'],
      [403, 'API key not authorized for this workspace'],
    ])
  })

  test('refuses a member who has just been removed from the space, and leaves its tasks out', async () => {
    const { path, create, member, keys, space } = await onRecord()
    await create(member, { title: 'On the record' })
    for (let round = 0; round < 2; round++) {
      expect(titles(await app.as(keys.personal).get(`${path}/list`))).toEqual(['On the record'])
      expect(titles(await mine(keys.personal))).toEqual(['On the record'])
    }
    await db.write(sql`delete from space_members where space_id = ${space} and user_id = ${member.id}`)
    expect(titles(await mine(keys.personal))).toEqual([])
    expect((await app.as(keys.personal).get(`${path}/list`)).status).toBe(403)
  })

  test('leaves out the tasks of a space for an owner who is none any more', async () => {
    const { create, owner, admin, space, account } = await onRecord()
    await create(owner, { title: 'For owners' })
    await db.write(sql`delete from space_members where space_id = ${space} and user_id = ${owner.id}`)
    await become(async () => expect(titles(await mine(owner))).toEqual(['For owners']))
    const changed = (ownerId: number): Sql => sql`update accounts set owner_user_id = ${ownerId} where id = ${account.id}`
    await db.write(changed(admin.id))
    expect(titles(await mine(owner))).toEqual([])
  })

  test('names the refusal before the fault of the body', async () => {
    const { keys, member, keyOf, account, create } = await onRecord()
    const revoked = await keyOf({ accountId: account.id, userId: member.id }, { kind: 'personal' })
    await create(member, { title: 'Mine' })
    await become(() => mine(revoked))
    const broken = (caller: Caller) =>
      app.as(caller).send('/api/tasks/list', { method: 'POST', body: '{"tab":', headers: { 'content-type': 'application/json' } })
    expect((await broken(revoked)).status).toBe(400)
    expect((await mine(revoked, { tab: 'yours' })).status).toBe(400)
    expect((await mine(revoked, { cursor: 'x' })).status).toBe(400)
    expect((await broken(keys.account)).status).toBe(403)
    const { status } = await app
      .as(revoked)
      .send('/api/tasks/list', { method: 'POST', body: 'tab=my', headers: { 'content-type': 'text/plain' } })
    expect(status).toBe(415)
    await db.write(sql`delete from api_keys where id = (select max(id) from api_keys where user_id = ${member.id})`)
    expect((await broken(revoked)).status).toBe(401)
    expect((await broken(revoked)).status).toBe(401)
  })

  test('refuses text that PostgreSQL cannot store', async () => {
    const { create, member, keys } = await onRecord()
    await create(member, { title: 'Mine' })
    for (const search of ['a\0b', 'a\ud800b']) {
      const refused = { message: expect.stringMatching(/^search: must not contain/) }
      expect((await mine(keys.personal, { search })).body).toMatchObject(refused)
      await expect(app.as(keys.personal).rpc.tasks.list.query({ search })).rejects.toMatchObject(refused)
    }
  })

  test('is the same on REST and RPC, and names the total of a page beyond its end', async () => {
    const { create, member, keys } = await onRecord()
    await create(member, { title: 'Mine' })
    const { body } = await mine(keys.personal, { search: 'mine' })
    expect(await app.as(keys.personal).rpc.tasks.list.query({ search: 'mine' })).toEqual({ rows: body, total: 1 })
    const beyond = await mine(keys.personal, { offset: 4 })
    expect([beyond.body, beyond.headers.get('x-total-count')]).toEqual([[], '1'])
  })
})

describe('a page of records', async () => {
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
    await makeRecords(app, account, table.id, rows)
    const view = await makeView(app, account, table.id, { order_by: 'amount', order_dir: 'A' })
    const page = (caller: Caller, body: object = { view_id: view.id }) => app.as(caller).post(`${table.path}/records/query`, body)
    // From here on this process knows the table, the view and the users whom its pages name.
    await become(() => page(owner))
    return { ...table, view, page }
  }
  const amounts = ({ body }: { body: { amount: number }[] }) => body.map(({ amount }) => amount)

  test('is the same on REST and RPC', async () => {
    const { id, page, view } = await filled()
    const first = await page(keys.personal)
    expect(amounts(first)).toEqual([1, 2, 3])
    expect(first.body[0].owner).toMatchObject({ id: member.id, name: member.name })
    expect((await app.as(keys.personal).rpc.records.query.query({ table_id: id, view_id: view.id })).rows).toEqual(first.body)
  })

  test.each<[object, number]>([
    [{ view_id: 2_000_000_000 }, 500],
    [{ limit: 'many' }, 400],
    [{ cursor: 'x' }, 400],
    [{ record_id: 1 }, 400],
    [{ filters: [{ column: 'amount', compare: 'between', value: 1 }] }, 400],
  ])('answers the wrong input %j of a known caller as that of an unknown one', async (body, status) => {
    const { page } = await filled()
    const unknown = await page(await newKey(), body)
    await become(() => page(keys.personal))
    const known = await page(keys.personal, body)
    expect([known.status, known.body.message]).toEqual([status, unknown.body.message])
  })

  test('is refused to a key that was revoked', async () => {
    const { page } = await filled()
    const revoked = await newKey()
    await become(() => page(revoked))
    await db.write(sql`delete from api_keys where id = (select max(id) from api_keys where user_id = ${member.id})`)
    expect([(await page(revoked)).status, (await page(revoked)).status]).toEqual([401, 401])
  })

  test('is refused to a known caller of another account, who learns nothing of the table', async () => {
    const { page } = await filled()
    const other = await app.account()
    const own = await makeTable(app, other, { fields: FIELDS })
    await become(() => app.as(other.keys.personal).post(`${own.path}/records/query`, {}))
    const { status, body } = await page(other.keys.personal)
    expect([status, body.message]).toEqual([500, 'Not Authorized'])
  })

  test('is of the present day of a caller who has moved to another time zone', async () => {
    const { page } = await filled()
    const zoned = async (name: string) => {
      await db.write(sql`update users set timezone = ${name} where id = ${member.id}`)
      return page(keys.personal, { filters: [{ column: 'created_at', compare: '>=', value: 'tomorrow' }] })
    }
    expect((await zoned('UTC')).body).toEqual([])
    // At each instant it is tomorrow in one of the two zones, as seen from the other.
    app.setClock(new Date(Date.now() - 86_400_000))
    try {
      expect(amounts(await zoned('Etc/GMT+12')).toSorted()).toEqual([1, 2, 3])
    } finally {
      app.setClock(null)
    }
  })

  test('is read by the present definition of the table, which another process has changed', async () => {
    const { id, page } = await filled()
    await become(() => page(keys.personal))
    await db.write(sql`update fields set name = 'Sum' where table_id = ${id} and id = 'amount'`)
    await db.write(sql`update tables set version = version + 1 where id = ${id}`)
    expect(amounts(await page(keys.personal))).toEqual([1, 2, 3])
  })

  test('with an input that cannot be read is refused for the caller first, and leaves no rejection behind', async () => {
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
})

test('a task in full costs a known caller of another account neither its comments nor its followers', async () => {
  const { onRecord } = taskSupport(app)
  const { create, member, keys, space } = await onRecord()
  const { body: task } = await create(member, { title: 'Ours' })
  const others = await onRecord()
  const get = (caller: Caller) => app.as(caller).get(`/api/task/${task.id}/get`)
  await become(() => get(keys.account))
  await become(() => app.as(others.keys.account).get('/api/spaces/list'))
  const { read } = db
  let plan = ''
  db.read = async (statement, options) => {
    if (statement.label === 'who' && statement.text.includes('task_comments')) {
      const explained = { text: `explain (analyze, timing off, costs off, summary off) ${statement.text}`, values: statement.values }
      plan = JSON.stringify(await read(explained))
    }
    return read(statement, options)
  }
  try {
    expect((await get(others.keys.account)).status).toBe(403)
    if (!db.isElsewhere(others.table)) expect(plan).toMatch(/task_comments/)
    expect(plan).not.toMatch(/task_comments[^"]*rows=[1-9]/)
  } finally {
    db.read = read
  }
  await db.write(sql`delete from space_members where space_id = ${space} and user_id = ${member.id}`)
  expect((await get(keys.personal)).status).toBe(403)
})
