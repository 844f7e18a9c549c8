/** Signing in to the demo account with one click: exactly where /dev/mail answers without a token (contract.md §11). */
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { buildApp } from '../src/app.ts'
import { createClient } from '../src/client.ts'
import { forgetLogin, keepLogin } from '../src/demo/login.ts'
import { mountCatcher, startCatcher } from '../src/email/catcher/catcher.ts'
import { sql } from '../src/platform/database/database.ts'
import type { Settings } from '../src/settings.ts'
import { type Person, testApp } from './support/app.ts'

const app = await testApp()
const withoutUsers = (await app.as(null).get('/api/auth/methods')).body
const { owner, member, viewer, admin, id: accountId, space } = await app.account({ withPassword: true })
const stranger = await app.account()
const { dataDir } = app.settings
const personOf = ({ name, email }: Person) => ({ name, email, password: 'is not asked for' })
const login = {
  account_id: accountId,
  space_id: space,
  owner: personOf(owner),
  member: personOf(member),
  viewer: personOf(viewer),
  keys: { account: 'gp_acct_x', personal: 'gp_user_x' },
}
keepLogin(dataDir, login)

const catcher = await startCatcher()
async function serving(changed: Partial<Settings> = {}) {
  const settings = { ...app.settings, databaseUrl: undefined, ...changed }
  const service = await buildApp({ ...app.deps, settings })
  mountCatcher(service, catcher, settings)
  return service
}
const open = await serving()
await open.listen({ port: 0, host: '127.0.0.1' })
const { port } = open.server.address() as AddressInfo
const url = `http://127.0.0.1:${port}`
afterAll(async () => {
  await open.close()
  await catcher.close()
})

const LOCAL = { host: 'localhost:3000' }
type Sent = { headers?: Record<string, string>; peer?: string; service?: typeof open }
const ask = async (
  method: 'GET' | 'POST',
  path: string,
  body: object | undefined,
  { headers = {}, peer = '127.0.0.1', service = open }: Sent,
) => {
  const answer = await service.inject({
    method,
    url: path,
    remoteAddress: peer,
    headers: { ...LOCAL, ...headers },
    ...(body && { payload: body }),
  })
  return { status: answer.statusCode, body: answer.json(), cookies: [answer.headers['set-cookie'] ?? []].flat(), headers: answer.headers }
}
const methodsOf = (sent: Sent = {}) => ask('GET', '/api/auth/methods', undefined, sent)
const signIn = (body: object, sent: Sent = {}) => ask('POST', '/api/auth/demo', body, sent)

const DEMO = [
  { name: owner.name, email: owner.email, role: 'owner' },
  { name: member.name, email: member.email, role: 'member' },
  { name: viewer.name, email: viewer.email, role: 'viewer' },
]
const NOT_FOUND = { code: 'NOT_FOUND', message: 'Demo user not found' }

test('a program on this machine sees the users of the demo account, on REST and RPC', async () => {
  expect(await methodsOf()).toMatchObject({ status: 200, body: { password: true, setup: false, demo: DEMO } })
  const client = createClient({ baseUrl: url })
  expect(await client.auth.methods.query()).toEqual({ password: true, setup: false, demo: DEMO })
})

test('signs in as each of them with the cookies and the answer of a sign-in', async () => {
  for (const { name, email } of DEMO) {
    const { status, body, cookies } = await signIn({ email: ` ${email.toUpperCase()} ` })
    expect([status, body]).toEqual([200, expect.objectContaining({ name, email, account_id: accountId })])
    expect(cookies.map((cookie) => cookie.split('=')[0]).sort()).toEqual(['gridpost_device', 'gridpost_session'])
    for (const cookie of cookies) expect(cookie).toMatch(/; HttpOnly; SameSite=Lax/)
    const cookie = cookies.map((one) => one.split(';')[0]).join('; ')
    const me = await ask('GET', '/api/auth/me', undefined, { headers: { cookie } })
    expect([me.status, me.body]).toEqual([200, body])
  }
})

test('ends the session that the browser had, and is written to the audit log', async () => {
  const first = await signIn({ email: member.email })
  const cookie = first.cookies.map((one) => one.split(';')[0]).join('; ')
  await signIn({ email: member.email }, { headers: { cookie } })
  expect((await ask('GET', '/api/auth/me', undefined, { headers: { cookie } })).status).toBe(401)
  const [entry] = await app.db.read<object>(sql`
    select action, actor_user_id, object->>'id' as user_id, ip from audit_entries where account_id = ${accountId} order by id desc limit 1`)
  expect(entry).toEqual({ action: 'sign_in.succeeded', actor_user_id: member.id, user_id: String(member.id), ip: '127.0.0.1' })
})

test('signs in over RPC', async () => {
  const answer = await ask('POST', '/trpc/auth.demo', { email: viewer.email }, {})
  expect([answer.status, answer.body.result.data.email, answer.cookies.length]).toEqual([200, viewer.email, 2])
})

describe('elsewhere', () => {
  test.each<[string, Sent]>([
    ['through a proxy', { headers: { 'x-forwarded-for': '127.0.0.1' } }],
    ['through another proxy', { headers: { via: '1.1 proxy' } }],
    ['from another machine', { peer: '203.0.113.9' }],
    ['under another name', { headers: { host: 'rebound.example:3000' } }],
  ])('%s neither shows nor signs in the demo’s users', async (_, sent) => {
    expect(await methodsOf(sent)).toMatchObject({ status: 200, body: { password: true, setup: false } })
    expect((await methodsOf(sent)).body).not.toHaveProperty('demo')
    const { status, body, cookies } = await signIn({ email: owner.email }, sent)
    expect([status, body, cookies]).toEqual([404, expect.objectContaining(NOT_FOUND), []])
  })

  test.each<[Partial<Settings>]>([
    [{ publicUrl: 'https://gridpost.example.com' }],
    [{ publicUrl: 'http://127.0.0.1:3000' }],
    [{ trustProxy: 'loopback' }],
    [{ host: '0.0.0.0' }],
    [{ databaseUrl: 'postgres://127.0.0.1/gridpost' }],
  ])('with the settings %j neither', async (changed) => {
    const service = await serving(changed)
    expect((await methodsOf({ service })).body).toEqual({ password: true, setup: false })
    expect((await signIn({ email: owner.email }, { service })).status).toBe(404)
    expect((await ask('POST', '/trpc/auth.demo', { email: owner.email }, { service })).status).toBe(404)
    await service.close()
  })

  test('a page of another site cannot sign in', async () => {
    const { status, cookies } = await signIn({ email: owner.email }, { headers: { origin: 'https://evil.example' } })
    expect([status, cookies]).toEqual([403, []])
  })
})

test('users of no demo, and addresses that nobody has, are not found', async () => {
  for (const email of [admin.email, stranger.owner.email, 'nobody@demo.example']) {
    const { status, body, cookies } = await signIn({ email })
    expect([email, status, body, cookies]).toEqual([email, 404, expect.objectContaining(NOT_FOUND), []])
  }
})

test.each<[object, string]>([
  [{}, 'email: is required'],
  [{ email: 'nobody' }, 'email: must be an email address'],
  [{ email: 1 }, 'email: must be text'],
  [{ email: 'a@demo.example', password: 'x' }, 'password: is not a known key'],
])('refuses %j', async (body, message) => {
  expect(await signIn(body)).toMatchObject({ status: 400, body: { message } })
})

test('a user who is not active any more is not shown, and cannot sign in', async () => {
  await app.db.write(sql`update users set status = 'invited' where id = ${viewer.id}`)
  expect((await methodsOf()).body.demo).toEqual(DEMO.slice(0, 2))
  expect((await signIn({ email: viewer.email })).status).toBe(404)
  await app.db.write(sql`update users set status = 'active' where id = ${viewer.id}`)
})

test('without the file of the demo account there is none', async () => {
  forgetLogin(dataDir)
  expect((await methodsOf()).body).toEqual({ password: true, setup: false })
  expect((await signIn({ email: owner.email })).status).toBe(404)
  keepLogin(dataDir, login)
})

test('a service without users says that it is not set up', async () => {
  expect(withoutUsers).toEqual({ password: true, setup: true })
  expect((await app.as(null).get('/api/auth/methods')).body).toEqual({ password: true, setup: false })
})
