/** The first owner of a service without users: the link that a start prints, and what it creates (contract.md §11, First owner). */
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createAccount } from '../src/accounts/service.ts'
import { newSetupToken, setupLines } from '../src/people/first-owner.ts'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'

const app = await testApp({ PUBLIC_URL: 'https://grid.example.com', TRUST_PROXY: 'loopback' })
const HOUR = 3_600_000
const PERSON = { name: ' Ada Byron ', email: 'Ada@Example.com', password: 'correct horse battery' }
const NOT_VALID = { code: 'BAD_REQUEST', message: 'token: is not valid any more' }

/** A network of its own for each test, because a process remembers for a second which networks have failed too often. */
let network = 0
const from = (host = 1) => ({ 'x-forwarded-for': `203.0.${network}.${host}` })

beforeEach(async () => {
  network++
  await app.db.write(sql`update accounts set owner_user_id = null`)
  for (const table of [sql`spaces`, sql`users`, sql`accounts`]) await app.db.write(sql`delete from ${table}`)
})

const tokenAt = (hoursAgo = 0) => newSetupToken(app.settings.secretKeys, new Date(Date.now() - hoursAgo * HOUR))
const setUp = (changes: object = {}, headers: Record<string, string> = from()) =>
  app.as(null).post('/api/auth/setup', { token: tokenAt(), ...PERSON, ...changes }, headers)
const isSetUp = async () => !(await app.as(null).get('/api/auth/methods')).body.setup

test('a start without users prints a link, another one each time, and none once there is a user', async () => {
  const linesAt = async (url: string) => (await setupLines(app.deps))(url)
  const [[first], [second]] = await Promise.all([linesAt('https://a.example'), linesAt('https://a.example')])
  expect(first).toMatch(/^Nobody .* once and within 24 hours: https:\/\/a\.example\/setup#[\w-]{72}$/)
  expect(second).not.toBe(first)
  // What one process has printed, each accepts.
  expect((await setUp({ token: first?.split('#')[1] })).status).toBe(200)
  expect(await linesAt('https://a.example')).toEqual([])
})

test('creates the account, its owner and the space Main, and signs the owner in', async () => {
  expect(await isSetUp()).toBe(false)
  const { status, body, headers } = await setUp({ timezone: 'Europe/London', account_name: 'Sales' })
  const me = { id: body.id, name: 'Ada Byron', email: 'ada@example.com', timezone: 'Europe/London' }
  expect([status, body]).toEqual([200, { ...me, account_id: body.account_id, is_owner: true, mail_preference: 'digest' }])
  const cookies = headers.getSetCookie()
  expect(cookies.map((cookie) => cookie.split('=')[0]).sort()).toEqual(['gridpost_device', 'gridpost_session'])
  for (const cookie of cookies) expect(cookie).toMatch(/; HttpOnly; Secure; SameSite=Lax/)
  const cookie = cookies.map((one) => one.split(';')[0]).join('; ')
  expect((await app.as(null).get('/api/auth/me', { cookie })).body).toEqual(body)
  const { account_id } = body
  const spaces = await app.as(null).get('/api/spaces/list', { cookie })
  expect(spaces.body).toEqual([{ id: expect.any(Number), name: 'Main', account_id, role: 'admin' }])
  const members = await app.as(null).get(`/api/space/${spaces.body[0].id}/members/list`, { cookie })
  expect(members.body).toMatchObject([{ user_id: body.id, role: 'admin' }])
  expect(await app.db.read(sql`select name from accounts where owner_user_id = ${body.id}`)).toEqual([{ name: 'Sales' }])
  const login = await app.as(null).post('/api/auth/login', { email: 'ada@example.com', password: PERSON.password })
  expect(login.status).toBe(200)
  expect(await isSetUp()).toBe(true)
})

test('is audited as done by the owner', async () => {
  const { body } = await setUp()
  const rows = await app.db.read(sql`
    select action, actor_user_id, ip, object->>'name' as name from audit_entries where account_id = ${body.account_id} order by id`)
  const by = { actor_user_id: body.id, ip: `203.0.${network}.1` }
  expect(rows).toEqual([
    { action: 'account.created', ...by, name: 'Main' },
    { action: 'space.created', ...by, name: 'Main' },
    { action: 'sign_in.succeeded', ...by, name: null },
  ])
})

test('works over RPC, in UTC and as Main by default', async () => {
  const user = await app.as(null).rpc.auth.setup.mutate({ token: tokenAt(), ...PERSON })
  expect(user).toMatchObject({ name: 'Ada Byron', timezone: 'UTC', is_owner: true })
  expect(await app.db.read(sql`select name from accounts where id = ${user.account_id}`)).toEqual([{ name: 'Main' }])
  const again = await app.as(null).post('/trpc/auth.setup', { token: tokenAt(), ...PERSON })
  expect([again.status, again.body.error.data.message]).toEqual([409, 'Already set up'])
})

describe('the token', () => {
  test('counts for 24 hours', async () => {
    expect((await setUp({ token: tokenAt(24.1) })).body).toMatchObject(NOT_VALID)
    expect(await isSetUp()).toBe(false)
    expect((await setUp({ token: tokenAt(23.9) })).status).toBe(200)
  })

  test('counts with all that follows the # of the link', async () => {
    expect((await setUp({ token: `${tokenAt()}&more=1` })).status).toBe(200)
  })

  test.each<[string, string | (() => string)]>([
    ['another text', 'x'],
    ['a changed time', () => `B${tokenAt(24.1).slice(1)}`],
    ['a changed signature', () => tokenAt().replace(/.$/, (last) => (last === 'A' ? 'Q' : 'A'))],
    ['that of another key', () => newSetupToken({ current: Buffer.alloc(32, 7), previous: [] }, new Date())],
    ['no signature', () => tokenAt().slice(0, 30)],
    ['1,500 characters', 'x'.repeat(1_500)],
  ])('is refused for %s', async (_, token) => {
    const { status, body, headers } = await setUp({ token: typeof token === 'string' ? token : token() })
    expect([status, body, headers.getSetCookie()]).toEqual([400, expect.objectContaining(NOT_VALID), []])
    expect(await isSetUp()).toBe(false)
  })

  test('is slowed down after five wrong ones from a network, and from that network alone', async () => {
    app.setClock(new Date())
    onTestFinished(() => app.setClock(null))
    const wrong = () => setUp({ token: 'wrong' })
    for (let tries = 0; tries < 5; tries++) expect((await wrong()).status).toBe(400)
    const slowed = await wrong()
    expect([slowed.status, Number(slowed.headers.get('retry-after')) > 0]).toEqual([429, true])
    expect((await setUp()).status).toBe(429)
    expect((await setUp({}, from(2))).status).toBe(200)
  })

  test('counts wrong ones that come at once', async () => {
    app.setClock(new Date())
    onTestFinished(() => app.setClock(null))
    const statuses = (await Promise.all(Array.from({ length: 12 }, () => setUp({ token: 'wrong' })))).map(({ status }) => status)
    expect([statuses.filter((status) => status === 400).length, statuses.filter((status) => status === 429).length]).toEqual([5, 7])
  })
})

describe('with a user there', () => {
  test('it is 409, whatever the token', async () => {
    const { body: user } = await setUp()
    for (const token of [tokenAt(), 'wrong']) {
      const { status, body, headers } = await setUp({ token, email: 'other@example.com' })
      expect([status, body.message, headers.getSetCookie()]).toEqual([409, 'Already set up', []])
    }
    await app.db.write(sql`update users set status = 'deleted', disabled_from = 'active' where id = ${user.id}`)
    expect((await setUp()).status).toBe(409)
  })

  test('of several at once one wins, with one account and one space', async () => {
    const answers = await Promise.all(['a', 'b', 'c'].map((name) => setUp({ name, email: `${name}@example.com` })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    const [count] = await app.db.read(sql`
      select (select count(*)::int from users) as users, (select count(*)::int from accounts) as accounts,
        (select count(*)::int from spaces) as spaces`)
    expect(count).toEqual({ users: 1, accounts: 1, spaces: 1 })
  })

  test('it waits for a command that creates one at the same moment', async () => {
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
    const { promise: isMade, resolve: made } = Promise.withResolvers<void>()
    const command = app.db.transaction(async () => {
      await createAccount(app.db, 'Sales', { email: 'olivia@example.com', name: 'Olivia' }, new Date())
      made()
      await mayEnd
    })
    await isMade
    const request = setUp()
    await expect
      .poll(async () => (await app.db.read(sql`select 1 from pg_locks where not granted and relation = 'users'::regclass`)).length)
      .toBe(1)
    end()
    await command
    expect((await request).body).toMatchObject({ code: 'CONFLICT', message: 'Already set up' })
  })
})

test.each<[object, string]>([
  [{ token: undefined }, 'token: is required'],
  [{ token: '' }, 'token: must not be empty'],
  [{ name: ' ' }, 'name: must not be empty'],
  [{ name: 'x'.repeat(101) }, 'name: must have at most 100 characters'],
  [{ email: 'ada' }, 'email: must be an email address'],
  [{ password: 'short' }, 'password: must have 10 characters or more'],
  [{ timezone: 'Mars' }, 'timezone: must be an IANA time zone, such as Europe/Berlin'],
  [{ account_name: '' }, 'account_name: must not be empty'],
  [{ role: 'owner' }, 'role: is not a known key'],
])('refuses %j', async (changes, message) => {
  const { status, body } = await setUp(changes)
  expect([status, body.message]).toEqual([400, message])
  expect(await isSetUp()).toBe(false)
})

test('a page of another site cannot set it up', async () => {
  expect((await setUp({}, { origin: 'https://evil.example' })).status).toBe(403)
})
