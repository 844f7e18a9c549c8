import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'

const app = await testApp()

describe('signing in', () => {
  test('sets a working cookie, and ends with signing out', async () => {
    const { owner } = await app.account({ withPassword: true })
    const login = await app.as(null).post('/api/auth/login', { email: owner.email.toUpperCase(), password: owner.password })
    expect(login.status).toBe(200)
    expect(login.body).toMatchObject({ id: owner.id, email: owner.email, timezone: 'UTC' })
    const [cookie = ''] = login.headers.getSetCookie()
    expect(cookie).toMatch(/^gridpost_session=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/)

    const browser = { cookie: cookie.split(';')[0] ?? '' }
    expect((await app.as(null).get('/api/auth/me', browser)).body.id).toBe(owner.id)
    const logout = await app.as(null).send('/api/auth/logout', { method: 'POST', headers: browser })
    expect(logout.body).toEqual({ ok: true })
    expect((await app.as(null).get('/api/auth/me', browser)).status).toBe(401)
  })

  test('says whether the account is theirs, also after it was handed over', async () => {
    const { owner, member } = await app.account({ withPassword: true })
    await app.db.write(sql`
      update users set password_hash = (select password_hash from users where id = ${owner.id}) where id = ${member.id}`)
    const signIn = async ({ email }: typeof owner) =>
      (await app.as(null).post('/api/auth/login', { email, password: owner.password })).body.is_owner
    const me = async (person: typeof owner) => [
      (await app.as(person).get('/api/auth/me')).body.is_owner,
      (await app.as(person).rpc.auth.me.query()).is_owner,
      (await app.as(person).post('/api/auth/profile', { name: person.name })).body.is_owner,
    ]
    expect([await signIn(owner), await me(owner), await signIn(member), await me(member)]).toEqual([
      true,
      [true, true, true],
      false,
      [false, false, false],
    ])
    await app.as(owner).post('/api/account/owner', { user_id: member.id, current_password: owner.password })
    expect([await signIn(owner), await me(owner), await signIn(member), await me(member)]).toEqual([
      false,
      [false, false, false],
      true,
      [true, true, true],
    ])
  })

  test('answers a wrong address and a wrong password alike, and slows guesses down', async () => {
    const { owner } = await app.account({ withPassword: true })
    // The first delay is one second, which may pass between two calls on a busy machine.
    app.setClock(new Date())
    onTestFinished(() => app.setClock(null))
    const wrong = () => app.as(null).post('/api/auth/login', { email: owner.email, password: 'wrong' })
    const unknown = await app.as(null).post('/api/auth/login', { email: 'nobody@example.com', password: 'wrong' })
    expect(unknown.status).toBe(401)
    for (let tries = 0; tries < 5; tries++)
      expect((await wrong()).body).toMatchObject({ message: unknown.body.message, code: 'UNAUTHORIZED' })
    const slowed = await wrong()
    expect(slowed.status).toBe(429)
    expect(Number(slowed.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await app.as(null).post('/api/auth/login', { email: owner.email, password: owner.password })).status).toBe(429)
  })

  test('slows concurrent guesses, but not correct passwords', async () => {
    const { owner } = await app.account({ withPassword: true })
    // On a busy machine the first delay may pass before the last guess has come.
    app.setClock(new Date())
    onTestFinished(() => app.setClock(null))
    const at = (password: string, count: number) =>
      Promise.all(Array.from({ length: count }, () => app.as(null).post('/api/auth/login', { email: owner.email, password })))
    for (const { status } of await at(owner.password, 8)) expect(status).toBe(200)
    const statuses = (await at('wrong battery horse', 20)).map(({ status }) => status)
    expect([statuses.filter((status) => status === 401).length, statuses.filter((status) => status === 429).length]).toEqual([5, 15])
  })

  test('extends the session and its cookie on each use', async () => {
    const { owner } = await app.account({ withPassword: true })
    app.setClock(new Date('2030-01-01T10:00:00Z'))
    const signedIn = await app.as(null).post('/api/auth/login', { email: owner.email, password: owner.password })
    const [cookie] = signedIn.headers.getSetCookie()
    const me = () => app.as(null).get('/api/auth/me', { cookie: cookie?.split(';')[0] ?? '' })
    expect((await me()).headers.get('set-cookie')).toBeNull()
    app.setClock(new Date('2030-01-20T10:00:00Z'))
    expect((await me()).headers.get('set-cookie')).toBe(cookie)
    const out = await app.as(null).post('/api/auth/logout', {}, { cookie: cookie?.split(';')[0] ?? '' })
    expect(out.headers.getSetCookie().at(-1)).toMatch(/^gridpost_session=; Max-Age=0;/)
    app.setClock(null)
  })

  test('ends the other sessions when the password changes', async () => {
    const { owner } = await app.account({ withPassword: true })
    const second =
      (await app.as(null).post('/api/auth/login', { email: owner.email, password: owner.password })).headers.get('set-cookie') ?? ''
    const wrong = await app.as(owner).post('/api/auth/password', { current_password: 'no', new_password: 'staple battery horse' })
    expect(wrong.body).toMatchObject({ message: 'current_password: is wrong', issues: [{ path: ['current_password'] }] })
    expect(
      (await app.as(owner).post('/api/auth/password', { current_password: owner.password, new_password: 'staple battery horse' })).status,
    ).toBe(200)
    expect((await app.as(owner).get('/api/auth/me')).status).toBe(200)
    expect((await app.as(null).get('/api/auth/me', { cookie: second.split(';')[0] ?? '' })).status).toBe(401)
    expect((await app.as(null).post('/api/auth/login', { email: owner.email, password: 'staple battery horse' })).status).toBe(200)
  })

  test('refuses requests that a browser sends from another site', async () => {
    const { owner } = await app.account()
    const profile = (headers: Record<string, string>) => app.as(owner).post('/api/auth/profile', { name: 'Eve' }, headers)
    expect((await profile({ 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect((await profile({ origin: 'https://evil.example' })).status).toBe(403)
    expect((await profile({ origin: 'null' })).status).toBe(403)
    expect((await app.as(owner).get('/api/auth/me')).body.name).toBe('Olga Owner')
    expect((await profile({ origin: app.url, 'sec-fetch-site': 'same-origin' })).body.name).toBe('Eve')
  })

  test('refuses requests of a page that came without TLS, whose text anybody on the way can change', async () => {
    const secure = await testApp({ PUBLIC_URL: 'https://app.example.com' })
    const { owner } = await secure.account()
    const profile = async (origin: string) => {
      const path = '/api/auth/profile'
      const headers = { cookie: `gridpost_session=${owner.session}`, host: 'app.example.com', origin, 'content-type': 'application/json' }
      const asked = request(secure.url + path, { method: 'POST', headers }).end('{"name": "Eve"}')
      const [answer] = (await once(asked, 'response')) as [IncomingMessage]
      answer.resume()
      return answer.statusCode
    }
    expect(await profile('http://app.example.com')).toBe(403)
    expect(await profile('https://app.example.com')).toBe(200)
  })

  test('keeps the version of a user if a change alters nothing', async () => {
    const { owner } = await app.account()
    const versionOf = async () => (await app.db.prisma.user.findFirstOrThrow({ where: { id: owner.id } })).version
    const profile = (body: object) => app.as(owner).post('/api/auth/profile', body)
    const { body: me } = await profile({ name: 'Olga', timezone: 'Asia/Tokyo' })
    const before = await versionOf()
    for (const same of [{}, { name: 'Olga' }, { name: 'Olga', timezone: 'Asia/Tokyo', mail_preference: me.mail_preference }]) {
      const { status, body } = await profile(same)
      expect([status, body, await versionOf()]).toEqual([200, me, before])
    }
    expect((await profile({ name: 'Olga', timezone: 'UTC' })).body).toEqual({ ...me, timezone: 'UTC' })
    expect(await versionOf()).toBe(before + 1)
  })

  test('changes the profile, and keeps the properties that are not sent', async () => {
    const { owner } = await app.account()
    const changed = await app.as(owner).rpc.auth.profile.mutate({ timezone: 'Asia/Kathmandu' })
    expect(changed).toMatchObject({ name: 'Olga Owner', timezone: 'Asia/Kathmandu' })
    const bad = await app.as(owner).post('/api/auth/profile', { timezone: 'Mars/Olympus', nickname: 'O' })
    expect(bad.status).toBe(400)
    expect(bad.body.issues).toEqual([
      { path: ['timezone'], message: 'must be an IANA time zone, such as Europe/Berlin' },
      { path: ['nickname'], message: 'is not a known key' },
    ])
  })
})
