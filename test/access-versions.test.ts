/** A process uses again what an access check found, until something that the check depends on is changed, by anybody (docs/decisions/0034-access-versions.md). */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { sessionSeconds, startSession } from '../src/auth/sessions.ts'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { ACCESS_CHANGES, hashOf } from './support/access-changes.ts'
import { type Answer, type Caller, testApp } from './support/app.ts'
import { lockWaits } from './support/servers.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()
const { db } = app.deps
const { read } = db
afterEach(() => {
  vi.restoreAllMocks()
  Object.assign(db, { read })
  app.setClock(null)
})

const statusOf = ({ status, body }: Answer) => (status === 200 ? '200' : `${status} ${body.message}`)

async function withRecord() {
  const account = await app.account()
  const table = await makeTable(app, account, { records: [{ name: 'One' }] })
  return { ...account, table: table.id, record: table.records[0] as number }
}
type Ground = Awaited<ReturnType<typeof withRecord>>

const getRecord = (caller: Caller, { table, record }: Pick<Ground, 'table' | 'record'>) =>
  app.as(caller).get(`/api/table/${table}/record/${record}/get`)

/** Asks until everything is remembered that can be. */
async function become<T>(ask: () => Promise<T>): Promise<void> {
  for (let time = 0; time < 3; time++) await ask()
}

/** The statements of access checks, from now on. */
function checks(): string[] {
  const texts: string[] = []
  db.read = (statement, options) => {
    if (statement.label === 'who') texts.push(statement.text)
    return read(statement, options)
  }
  return texts
}

const versionOf = async (accountId: number): Promise<string | undefined> =>
  (await db.read<{ version: string }>(sql`select version from access_versions where account_id = ${accountId}`))[0]?.version

describe('the check of a caller who was admitted before', () => {
  test('reads the version of the account in place of the key, the user, the space and the table', async () => {
    const ground = await withRecord()
    const first = await getRecord(ground.keys.personal, ground)
    const texts = checks()
    const second = await getRecord(ground.keys.personal, ground)
    expect(second.body).toEqual(first.body)
    expect(texts).toHaveLength(1)
    expect(texts[0]).toContain('access_versions')
    for (const name of ['api_keys', 'accounts', 'spaces', 'space_members', 'tables']) expect(texts[0]).not.toContain(`${name} `)
    // Another resource on the same table shares what is known of it. For another space the caller is looked up, and what was known stays.
    texts.length = 0
    const paths = [`/api/table/${ground.table}/get`, `/api/space/${ground.space}/get`]
    for (const path of [...paths, ...paths]) await app.as(ground.keys.personal).get(path)
    expect(texts.map((text) => text.includes('api_keys'))).toEqual([false, true, false, false])
  })

  test('gives the same answers for another user of the account, and none to a stranger', async () => {
    const ground = await withRecord()
    await become(() => getRecord(ground.keys.account, ground))
    expect(statusOf(await getRecord(ground.keys.personalOutsider, ground))).toBe('404 Table not found')
    expect(statusOf(await getRecord('gp_user_unknown', ground))).toBe('401 The API key is not valid')
    expect(statusOf(await getRecord(ground.keys.personalViewer, ground))).toBe('200')
    expect(statusOf(await app.as(ground.keys.personalViewer).post(`/api/table/${ground.table}/records/create`, { data: {} }))).toBe(
      '403 Not authorized',
    )
  })

  test('notes the use of a key once a minute', async () => {
    const ground = await withRecord()
    const noting = vi.spyOn(db, 'write')
    const noted = () => noting.mock.calls.filter(([{ text }]) => text.includes('update api_keys set last_used_at')).length
    const uses: [second: number, noted: number][] = [
      [0, 1],
      [20, 1],
      [40, 1],
      [59, 1],
      [61, 2],
      [90, 2],
      [119, 2],
      [122, 3],
    ]
    for (const [second, times] of uses) {
      app.setClock(new Date(Date.UTC(2026, 2, 1, 12, 0, second)))
      await become(() => getRecord(ground.keys.personal, ground))
      await expect.poll(noted).toBe(times)
      // The next lookup of the caller reads what was noted.
      await Promise.all(noting.mock.results.map(({ value }) => value))
    }
  })

  test('of a session that was extended by its own use is not refused for its former end', async () => {
    const start = Date.now()
    app.setClock(new Date(start))
    const ground = await withRecord()
    const end = start + sessionSeconds(app.settings) * 1_000
    app.setClock(new Date(end - 20_000))
    await become(() => getRecord(ground.member, ground))
    app.setClock(new Date(end + 5_000))
    expect(statusOf(await getRecord(ground.member, ground))).toBe('200')
  })

  test('refuses writes of a read-only key, and what is outside of the spaces of a key, as before', async () => {
    const ground = await withRecord()
    const create = (caller: Caller) => app.as(caller).post(`/api/table/${ground.table}/records/create`, { data: { name: 'Two' } })
    await become(() => getRecord(ground.keys.accountReadOnly, ground))
    expect(statusOf(await create(ground.keys.accountReadOnly))).toBe('403 API key is read-only')
    await become(() => app.as(ground.keys.accountOtherSpace).get('/api/spaces/list'))
    expect(statusOf(await getRecord(ground.keys.accountOtherSpace, ground))).toBe('403 API key not authorized for this workspace')
    expect(statusOf(await create(ground.keys.account))).toBe('200')
  })

  test('knows of the principal what the selects of all resources use', () => {
    const folder = join(import.meta.dirname, '../src')
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
    const used = files
      .filter((name) => !name.endsWith('authenticate.ts'))
      .flatMap((name) => readFileSync(join(folder, name), 'utf8').match(/\bp\.p_\w+/g) ?? [])
    expect([...new Set(used)].sort()).toEqual(['p.p_account_id', 'p.p_is_owner', 'p.p_space_ids', 'p.p_user_id'])
  })
})

describe('a process that remembers nothing', async () => {
  const forgetful = await testApp({ REMEMBER_ACCESS: 'false' })

  test.each(ACCESS_CHANGES)('refuses the next request after %s', async (_, change, callerOf, expected) => {
    const account = await forgetful.account()
    const { id: table, records } = await makeTable(forgetful, account, { records: [{ name: 'One' }] })
    const caller = callerOf({ ...account, table })
    const get = () => forgetful.as(caller).get(`/api/table/${table}/record/${records[0]}/get`)
    await become(get)
    expect(statusOf(await get())).toBe('200')
    await forgetful.db.write(change({ ...account, table }))
    expect(statusOf(await get())).toBe(expected)
  })

  test('looks the caller up for each request', async () => {
    const account = await forgetful.account()
    const texts: string[] = []
    const { db } = forgetful.deps
    const { read } = db
    db.read = (statement, options) => {
      if (statement.label === 'who') texts.push(statement.text)
      return read(statement, options)
    }
    await become(() => forgetful.as(account.keys.personal).get(`/api/space/${account.space}/get`))
    db.read = read
    expect(texts.map((text) => text.includes('api_keys'))).toEqual([true, true, true])
  })
})

describe('the next request knows of', () => {
  test.each(ACCESS_CHANGES)('%s', async (_, change, callerOf, expected) => {
    const ground = await withRecord()
    const caller = callerOf(ground)
    await become(() => getRecord(caller, ground))
    expect(statusOf(await getRecord(caller, ground))).toBe('200')
    await db.write(change(ground))
    expect(statusOf(await getRecord(caller, ground))).toBe(expected)
  })

  test('a lower role and a higher one, each time', async () => {
    const ground = await withRecord()
    const setRole = (role: string) =>
      db.write(sql`update space_members set role = ${role} where space_id = ${ground.space} and user_id = ${ground.member.id}`)
    const write = () => app.as(ground.member).post(`/api/table/${ground.table}/record/${ground.record}/update`, { data: { name: 'Two' } })
    for (let round = 0; round < 20; round++) {
      await setRole('viewer')
      expect(statusOf(await write())).toBe('403 Not authorized')
      await setRole('member')
      expect(statusOf(await write())).toBe('200')
    }
  })

  test('another name and time zone of the caller, and another name and definition of the table', async () => {
    const ground = await withRecord()
    const me = () => app.as(ground.keys.personal).get('/api/key/self')
    await become(me)
    await become(() => getRecord(ground.keys.personal, ground))
    await db.write(sql`update users set name = 'Nora New', timezone = 'Asia/Tokyo' where id = ${ground.member.id}`)
    expect((await me()).body.acts_as).toMatchObject({ name: 'Nora New', timezone: 'Asia/Tokyo' })
    await app.as(ground.owner).post(`/api/table/${ground.table}/fields/create`, { name: 'Amount', type: 'number' })
    expect((await getRecord(ground.keys.personal, ground)).body.data).toEqual({ name: 'One', amount: null })
  })

  test('a deleted record, because records are never remembered', async () => {
    const ground = await withRecord()
    await become(() => getRecord(ground.member, ground))
    await db.write(sql`delete from ${recordsOf(ground.table)} where id = ${ground.record}`)
    expect(statusOf(await getRecord(ground.member, ground))).toBe('404 Record not found')
  })

  test('the end of a key that was in the future when the key was remembered', async () => {
    const ground = await withRecord()
    const end = new Date(Date.now() + 3_600_000)
    await db.write(
      sql`update api_keys set expires_at = ${end}::timestamptz at time zone 'UTC' where token_hash = ${hashOf(ground.keys.personal)}`,
    )
    app.setClock(new Date(end.getTime() - 5_000))
    await become(() => getRecord(ground.keys.personal, ground))
    app.setClock(new Date(end.getTime() + 1_000))
    expect(statusOf(await getRecord(ground.keys.personal, ground))).toBe('401 The API key has expired')
  })
})

describe('a transaction', () => {
  test('that has not ended, or was rolled back, changes nothing', async () => {
    const ground = await withRecord()
    const client = await db.connect()
    try {
      for (const end of ['rollback', 'commit']) {
        await become(() => getRecord(ground.member, ground))
        await client.query('begin')
        await client.query('delete from space_members where space_id = $1 and user_id = $2', [ground.space, ground.member.id])
        await become(() => getRecord(ground.member, ground))
        expect(statusOf(await getRecord(ground.member, ground))).toBe('200')
        await client.query(end)
        expect(statusOf(await getRecord(ground.member, ground))).toBe(end === 'commit' ? '403 Not authorized' : '200')
      }
    } finally {
      await client.end()
    }
  })

  test('changes the version at its commit only, and once, so that another one of the account need not wait for it', async () => {
    const ground = await withRecord()
    const before = await versionOf(ground.id)
    const [first, second] = [await db.connect(), await db.connect()]
    try {
      for (const client of [first, second]) await client.query("begin; set local statement_timeout = '5s'")
      await first.query("update users set name = name || '!' where account_id = $1", [ground.id])
      await second.query('update tables set version = version + 1 where id = $1', [ground.table])
      await second.query('commit')
      const between = await versionOf(ground.id)
      expect(between).not.toBe(before)
      await first.query('commit')
      expect(await versionOf(ground.id)).not.toBe(between)
    } finally {
      await first.end()
      await second.end()
    }
  })

  test('that waits for another one of the account at its commit changes the version once more', async () => {
    const ground = await withRecord()
    const holder = await db.connect()
    try {
      await holder.query('begin; set constraints all immediate')
      await holder.query("update users set name = name || '!' where id = $1", [ground.viewer.id])
      const renamed = app.as(ground.member).post('/api/auth/profile', { name: 'Nora New' })
      await expect.poll(async () => (await lockWaits()).length).toBe(1)
      const first = await holder.query('select version from access_versions where account_id = $1', [ground.id])
      await holder.query('commit')
      expect(statusOf(await renamed)).toBe('200')
      expect(await versionOf(ground.id)).not.toBe(first.rows[0].version)
    } finally {
      await holder.end()
    }
  })

  test('that adds a table, a space, a user or a member changes the version, because its id may be given again after a failover', async () => {
    const ground = await withRecord()
    const additions = [
      sql`insert into tables (account_id, space_id, name) values (${ground.id}, ${ground.space}, 'Another')`,
      sql`insert into spaces (account_id, name) values (${ground.id}, 'Another')`,
      sql`insert into users (account_id, email, name) values (${ground.id}, ${`${ground.id}@example.com`}, 'Another')`,
      sql`insert into space_members (account_id, space_id, user_id, role) values (${ground.id}, ${ground.otherSpace}, ${ground.viewer.id}, 'viewer')`,
    ]
    for (const addition of additions) {
      const before = await versionOf(ground.id)
      await db.write(addition)
      expect(await versionOf(ground.id)).not.toBe(before)
    }
  })

  test('that moves a table to another account changes the versions of both', async () => {
    const ground = await withRecord()
    const other = await app.account()
    const versions = () => Promise.all([ground.id, other.id].map(versionOf))
    const before = await versions()
    await db.write(sql`update tables set account_id = ${other.id}, space_id = ${other.space} where id = ${ground.table}`)
    const after = await versions()
    expect(after.map((version, index) => version === before[index])).toEqual([false, false])
  })

  test.each(['sessions', 'api_keys'])('that truncates %s changes the version', async (name) => {
    const ground = await app.account()
    const client = await db.connect()
    try {
      await client.query("begin; set local lock_timeout = '5s'")
      const version = async () =>
        (await client.query('select version from access_versions where account_id = $1', [ground.id])).rows[0].version
      const before = await version()
      await client.query(`truncate ${name}`)
      expect(await version()).not.toBe(before)
    } finally {
      await client.query('rollback')
      await client.end()
    }
  })

  test('that truncates another table that a check reads would do the same', async () => {
    const triggers = await db.read<{ name: string }>(sql`
      select tgrelid::regclass::text as name from pg_trigger where tgfoid = 'all_access_changed'::regproc and tgenabled = 'O' order by 1`)
    expect(triggers.map(({ name }) => name)).toEqual(['api_keys', 'sessions', 'space_members', 'spaces', 'tables', 'users'])
  })
})

test('remembers nothing of an account without a version', async () => {
  const ground = await withRecord()
  await become(() => getRecord(ground.member, ground))
  await db.write(sql`delete from access_versions where account_id = ${ground.id}`)
  const texts = checks()
  await become(() => getRecord(ground.member, ground))
  expect(statusOf(await getRecord(ground.member, ground))).toBe('200')
  expect(texts.filter((text) => text.includes('from sessions s'))).toHaveLength(4)
  await db.write(sql`delete from sessions where user_id = ${ground.member.id}`)
  expect(statusOf(await getRecord(ground.member, ground))).toBe('401 The session has ended, please sign in again')
})

test('keeps the version when a key or a session is used, or another is added, or one that ended long ago is deleted', async () => {
  const ground = await withRecord()
  const before = await versionOf(ground.id)
  await db.write(sql`update api_keys set last_used_at = now() where account_id = ${ground.id}`)
  await db.write(sql`update sessions set last_seen_at = now(), expires_at = expires_at + interval '1 day', ip = '::1', user_agent = 'x'
    where user_id = ${ground.member.id}`)
  await ground.keyOf({ accountId: ground.id, userId: ground.member.id }, { kind: 'personal' })
  await startSession(app.deps, ground.member.id, new Date())
  // One that ended long ago is deleted with many others.
  await startSession(app.deps, ground.member.id, new Date(Date.now() - sessionSeconds(app.settings) * 1_000 - 7_205_000))
  const { changed: deleted } = await db.write(
    sql`delete from sessions where user_id = ${ground.member.id} and expires_at < (now() at time zone 'UTC')`,
  )
  expect([deleted, await versionOf(ground.id)]).toEqual([1, before])
})
