import { afterEach, expect, test } from 'vitest'
import { type Sql, sql } from '../src/platform/database/database.ts'
import { type Caller, testApp } from './support/app.ts'
import { taskSupport } from './support/tasks.ts'

const app = await testApp()
const { onRecord } = taskSupport(app)

const { db } = app.deps
const { readShort, readShortPrinted, listPrinted } = db
afterEach(() => void Object.assign(db, { readShort, readShortPrinted, listPrinted }))

/** From now on: when access checks are answered, and when lists are read. */
function watched(): string[] {
  const log: string[] = []
  db.readShort = async <Row>(...parts: Parameters<typeof readShort>) => {
    const rows = await readShort<Row>(...parts)
    if (parts[1] === 'who') log.push('checked')
    return rows
  }
  const list =
    <Parts extends unknown[], Result>(read: (...parts: Parts) => Result) =>
    (...parts: Parts) => {
      log.push('list')
      return read(...parts)
    }
  Object.assign(db, { readShortPrinted: list(readShortPrinted), listPrinted: list(listPrinted) })
  return log
}

const TOGETHER = ['list', 'checked']
/** After a change of rights in the account. */
const CHECKED_AGAIN = ['list', 'checked', 'checked']
const ONE_BY_ONE = ['checked', 'list']
const mine = (caller: Caller, body: object = {}) => app.as(caller).post('/api/tasks/list', body)
const titles = ({ body }: { body: { title: string }[] }) => body.map(({ title }) => title)

test('reads the tasks of a record together with the access check, once the caller is known', async () => {
  const { create, path, member, keys } = await onRecord()
  for (const title of ['One', 'Two']) await create(member, { title })
  const log = watched()
  const first = await app.as(keys.personal).get(`${path}/list?limit=1`)
  expect(log.splice(0)).toEqual(ONE_BY_ONE)
  const second = await app.as(keys.personal).get(`${path}/list?limit=1`)
  expect(log.splice(0)).toEqual(TOGETHER)
  expect(second.body).toEqual(first.body)
  expect(second.headers.get('x-total-count')).toBe('2')
  await create(member, { title: 'Three' })
  log.splice(0)
  expect(titles(await app.as(keys.personal).get(`${path}/list`))).toEqual(['One', 'Two', 'Three'])
  expect(log.splice(0)).toEqual(TOGETHER)
})

test('reads a tab together with the access check, on REST and RPC, once it is known to be short', async () => {
  const { create, member, keys } = await onRecord()
  await create(member, { title: 'Mine' })
  const log = watched()
  const first = await mine(keys.personal, { search: 'mine' })
  expect(log.splice(0)).toEqual(ONE_BY_ONE)
  await mine(keys.personal)
  expect(log.splice(0)).toEqual([...ONE_BY_ONE, 'list'])
  expect((await mine(keys.personal, { search: 'mine' })).body).toEqual(first.body)
  expect(log.splice(0)).toEqual(TOGETHER)
  expect(await app.as(keys.personal).rpc.tasks.list.query({ search: 'mine' })).toEqual({ rows: first.body, total: 1 })
  expect(log.splice(0)).toEqual(TOGETHER)
  for (const body of [{ tab: 'all' }, { tab: 'all' }, { search: 'mine mine mine mine' }]) await mine(keys.personal, body)
  expect(log.splice(0)).toEqual([...ONE_BY_ONE, ...ONE_BY_ONE, ...ONE_BY_ONE])
})

test('reads a tab of many tasks only after the access check', async () => {
  const { create, member, keys, account } = await onRecord()
  await create(member, { title: 'The first' })
  for (let round = 0; round < 2; round++) await mine(keys.personal)
  await app.db.execute(sql`
    insert into tasks (account_id, creator_user_id, assignee_user_id, title, created_at, updated_at)
    select ${account.id}, ${member.id}, ${member.id}, 'Task ' || n, now(), now() from generate_series(1, 500) n`)
  const log = watched()
  expect((await mine(keys.personal)).headers.get('x-total-count')).toBe('501')
  expect((await mine(keys.personal)).headers.get('x-total-count')).toBe('501')
  expect(log).toEqual([...TOGETHER, ...ONE_BY_ONE])
})

test('reads a tab of few tasks with long details only after the access check', async () => {
  const { create, member, keys } = await onRecord()
  for (const title of ['One', 'Two']) await create(member, { title, details: 'a'.repeat(40_000) })
  for (let round = 0; round < 2; round++) await mine(keys.personal)
  await create(member, { title: 'Three', details: 'a'.repeat(40_000) })
  const log = watched()
  for (const body of [{}, {}, { limit: 1 }, { offset: 4 }, { search: 'one' }]) await mine(keys.personal, body)
  // The first of these lists has become so long that the tab is measured, the one beyond the end is asked for its total.
  expect(log.splice(0, 3).toSorted()).toEqual(['checked', 'list', 'list'])
  expect(log).toEqual([...ONE_BY_ONE, ...ONE_BY_ONE, ...ONE_BY_ONE, 'list', ...ONE_BY_ONE])
})

test('reads nothing ahead for changed tasks, which may be many, nor for a cursor without them', async () => {
  const { create, member, keys, path } = await onRecord()
  await create(member, { title: 'Mine' })
  for (let round = 0; round < 2; round++) await mine(keys.personal)
  const since = '2026-01-01 00:00:00'
  const log = watched()
  for (const body of [{ updated_since: since }, { cursor: 'x' }]) {
    await mine(keys.personal, body)
    await app.as(keys.personal).get(`${path}/list?${new URLSearchParams(body)}`)
  }
  expect(log).toEqual(['checked', 'checked', 'checked', 'checked'])
})

test('measures a tab of many short tasks no more often if its pages are long', async () => {
  const { member, keys, account } = await onRecord()
  await app.db.execute(sql`
    insert into tasks (account_id, creator_user_id, assignee_user_id, title, details, created_at, updated_at)
    select ${account.id}, ${member.id}, ${member.id}, 'Task ' || n, repeat('a', 100), now(), now() from generate_series(1, 200) n`)
  await mine(keys.personal)
  const log = watched()
  for (const limit of [200, 200, 50, 200]) {
    const { body } = await mine(keys.personal, { limit })
    expect(JSON.stringify(body).length > 100_000).toBe(limit === 200)
  }
  // The first of them is longer than the page after which the tab was measured.
  expect(log.filter((entry) => entry === 'list')).toHaveLength(5)
})

test('measures a tab again when its texts have grown little by little', async () => {
  const { member, keys, account } = await onRecord()
  await app.db.execute(sql`
    insert into tasks (account_id, creator_user_id, assignee_user_id, title, details, created_at, updated_at)
    select ${account.id}, ${member.id}, ${member.id}, 'Task', repeat('a', 1500), now(), now() from generate_series(1, 50) n`)
  for (let round = 0; round < 2; round++) await mine(keys.personal)
  const log = watched()
  await mine(keys.personal)
  expect(log.splice(0)).toEqual(TOGETHER)
  // Each page has an eighth more than the one before.
  for (const length of [1750, 2050, 2400]) {
    await app.db.execute(sql`update tasks set details = repeat('a', ${length}::int) where assignee_user_id = ${member.id}`)
    await mine(keys.personal)
  }
  log.splice(0)
  await mine(keys.personal)
  expect(log).toEqual(ONE_BY_ONE)
})

test('measures a tab again after fifty pages, because it may have grown', async () => {
  const { create, member, keys } = await onRecord()
  const task = await create(member, { title: 'One' })
  for (let round = 0; round < 2; round++) await mine(keys.personal)
  const log = watched()
  for (let round = 0; round < 49; round++) await mine(keys.personal, round % 2 ? {} : { search: 'one' })
  // One of the two lists before was the first after the measurement.
  expect(log.filter((entry) => entry === 'list')).toHaveLength(50)
  await app.as(member).post(`/api/task/${task.body.id}/update`, { details: 'a'.repeat(100_000) })
  log.splice(0)
  for (let round = 0; round < 50; round++) await mine(keys.personal, { search: 'two' })
  expect(log.splice(0).filter((entry) => entry === 'list')).toHaveLength(51)
  await mine(keys.personal, { search: 'two' })
  expect(log).toEqual(ONE_BY_ONE)
})

test('refuses a revoked key as before, and reads nothing more for it', async () => {
  const { path, keys, member, keyOf, account } = await onRecord()
  const revoked = await keyOf({ accountId: account.id, userId: member.id }, { kind: 'personal' })
  for (let round = 0; round < 2; round++) await app.as(revoked).get(`${path}/list`)
  await app.db.execute(sql`delete from api_keys where id = (select max(id) from api_keys where user_id = ${member.id})`)
  const log = watched()
  const refused = await app.as(revoked).get(`${path}/list`)
  expect([refused.status, refused.body.message]).toEqual([401, 'The API key is not valid'])
  expect(log.splice(0)).toEqual(CHECKED_AGAIN)
  expect((await app.as(revoked).get(`${path}/list`)).body).toEqual({ ...refused.body, request_id: expect.any(String) })
  expect(log.splice(0)).toEqual(['checked'])
  expect((await app.as(keys.personal).get(`${path}/list`)).status).toBe(200)
})

test('answers a known caller of another account as one whom it has never seen', async () => {
  const { path, create, member, keys } = await onRecord()
  await create(member, { title: 'Secret' })
  const { path: theirs, keys: others } = await onRecord()
  const unseen = [await app.as(others.accountReadOnly).get(`${path}/list`), await app.as(keys.accountOtherSpace).get(`${path}/list`)]
  await app.as(others.personal).get(`${theirs}/list`)
  const log = watched()
  const stranger = await app.as(others.personal).get(`${path}/list`)
  expect(log).toEqual(TOGETHER)
  expect([stranger.status, stranger.body.message]).toEqual([404, 'Table not found'])
  expect(unseen.map(({ status, body }) => [status, body.message])).toEqual([
    [404, 'Table not found'],
    [403, 'API key not authorized for this workspace'],
  ])
})

test('reads a task or record in the statement of its check only for callers who were admitted last time', async () => {
  const { create, member, keys, keyOf, table, record, account } = await onRecord()
  const { body: task } = await create(member, { title: 'Ours' })
  const others = await onRecord()
  const { body: own } = await others.create(others.member, { title: 'Theirs' })
  const ofTask = (id: number) => `/api/task/${id}/get`
  const ofRecord = `/api/table/${table}/record/${record}/get`
  // From here on this process knows the table, and the tables of the tasks.
  for (const path of [ofTask(task.id), ofRecord]) await app.as(keys.account).get(path)
  await app.as(others.keys.account).get(ofTask(own.id))

  /** The status, and whether the check has read what is answered. */
  async function ask(caller: Caller, path: string) {
    let isRead = false
    db.readShort = (...parts) => {
      if (parts[1] === 'who') isRead = /"#printed"/.test(parts[0].text)
      return readShort(...parts)
    }
    const { status } = await app.as(caller).get(path)
    db.readShort = readShort
    return [status, isRead]
  }

  // A record on a node, and a task with the title of one, is read after the check, whose statement the main server answers.
  const isHere = !db.isElsewhere(table)
  for (const path of [ofTask(task.id), ofRecord]) {
    const fresh = await keyOf({ accountId: account.id, userId: member.id }, { kind: 'personal' })
    expect([await ask(fresh, path), await ask(fresh, path)]).toEqual([
      [200, false],
      [200, isHere],
    ])
    expect([await ask(keys.accountOtherSpace, path), await ask(keys.accountOtherSpace, path)]).toEqual([
      [403, false],
      [403, false],
    ])
  }
  const stranger = others.keys.personal
  for (const isRead of [false, isHere]) expect(await ask(stranger, ofTask(own.id))).toEqual([200, isRead])
  for (const isRead of [isHere, false]) expect(await ask(stranger, ofTask(task.id))).toEqual([403, isRead])
})

test('refuses a member who has just been removed from the space, and leaves its tasks out', async () => {
  const { path, create, member, keys, space } = await onRecord()
  await create(member, { title: 'On the record' })
  for (let round = 0; round < 2; round++) {
    expect(titles(await app.as(keys.personal).get(`${path}/list`))).toEqual(['On the record'])
    expect(titles(await mine(keys.personal))).toEqual(['On the record'])
  }
  await app.db.execute(sql`delete from space_members where space_id = ${space} and user_id = ${member.id}`)
  const log = watched()
  expect(titles(await mine(keys.personal))).toEqual([])
  expect((await app.as(keys.personal).get(`${path}/list`)).status).toBe(403)
  expect(log).toEqual([...CHECKED_AGAIN, 'list', ...TOGETHER])
})

test('does not use what was read for an owner who is none any more', async () => {
  const { create, owner, admin, space, account } = await onRecord()
  await create(owner, { title: 'For owners' })
  await app.db.execute(sql`delete from space_members where space_id = ${space} and user_id = ${owner.id}`)
  for (let round = 0; round < 2; round++) expect(titles(await mine(owner))).toEqual(['For owners'])
  const changed = (ownerId: number): Sql => sql`update accounts set owner_user_id = ${ownerId} where id = ${account.id}`
  await app.db.execute(changed(admin.id))
  const log = watched()
  expect(titles(await mine(owner))).toEqual([])
  expect(log.splice(0)).toEqual([...CHECKED_AGAIN, 'list'])
})

test('names the refusal before the fault of a body that arrives with the access check', async () => {
  const { keys, member, keyOf, account, create } = await onRecord()
  const revoked = await keyOf({ accountId: account.id, userId: member.id }, { kind: 'personal' })
  await create(member, { title: 'Mine' })
  for (let round = 0; round < 2; round++) await mine(revoked)
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
  await app.db.execute(sql`delete from api_keys where id = (select max(id) from api_keys where user_id = ${member.id})`)
  expect((await broken(revoked)).status).toBe(401)
  expect((await broken(revoked)).status).toBe(401)
})

test('sends no text ahead that PostgreSQL cannot store', async () => {
  const { create, member, keys } = await onRecord()
  await create(member, { title: 'Mine' })
  for (let round = 0; round < 2; round++) await mine(keys.personal)
  const log = watched()
  for (const search of ['a\0b', 'a\ud800b']) {
    const refused = { message: expect.stringMatching(/^search: must not contain/) }
    expect((await mine(keys.personal, { search })).body).toMatchObject(refused)
    await expect(app.as(keys.personal).rpc.tasks.list.query({ search })).rejects.toMatchObject(refused)
  }
  expect(log).toEqual(['checked', 'checked', 'checked', 'checked'])
})

test('passes the failure of a read on to a caller who is admitted, and to nobody else', async () => {
  const { path, keys, create, member, keyOf, account } = await onRecord()
  await create(member, { title: 'Mine' })
  const revoked = await keyOf({ accountId: account.id, userId: member.id }, { kind: 'personal' })
  for (const key of [keys.personal, revoked]) await app.as(key).get(`${path}/list`)
  await app.db.execute(sql`delete from api_keys where id = (select max(id) from api_keys where user_id = ${member.id})`)
  db.readShortPrinted = async () => Promise.reject(new Error('the read has failed'))
  expect((await app.as(revoked).get(`${path}/list`)).status).toBe(401)
  expect((await app.as(keys.personal).get(`${path}/list`)).status).toBe(500)
})
