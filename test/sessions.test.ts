import { describe, expect, onTestFinished, test } from 'vitest'
import { startSession } from '../src/auth/sessions.ts'
import { createClient } from '../src/client.ts'
import { sql } from '../src/platform/database/database.ts'
import { type Person, testApp } from './support/app.ts'

const app = await testApp({ TRUST_PROXY: 'true' })
const list = async (person: Person) => (await app.as(person).get('/api/auth/sessions/list')).body
const cookieOf = ({ session }: { session: string }) => ({ cookie: `gridpost_session=${session}` })

/** Another session of the person. */
const elsewhere = async (person: Person): Promise<Person> => ({
  ...person,
  session: await startSession(app.deps, person.id, app.deps.clock()),
})

describe('the sessions of a user', () => {
  test('are listed with address and program, the last used one first', async () => {
    const { owner } = await app.account({ withPassword: true })
    app.setClock(new Date('2030-05-01T10:00:00Z'))
    onTestFinished(() => app.setClock(null))
    const signedIn = await app
      .as(null)
      .post(
        '/api/auth/login',
        { email: owner.email, password: owner.password },
        { 'x-forwarded-for': '2001:db8::7', 'user-agent': `Firefox ${'x'.repeat(1000)}` },
      )
    const browser = { ...owner, session: /gridpost_session=([\w-]+)/.exec(signedIn.headers.get('set-cookie') ?? '')?.[1] ?? '' }
    const rows = await list(browser)
    expect(rows).toHaveLength(1)
    expect(rows[0]).toEqual({
      id: expect.any(Number),
      created_at: '2030-05-01 10:00:00',
      last_seen_at: '2030-05-01 10:00:00',
      ip: '2001:db8::7',
      user_agent: `Firefox ${'x'.repeat(292)}`,
      current: true,
    })

    app.setClock(new Date('2030-05-01T10:05:00Z'))
    await app.as(null).get('/api/auth/me', { ...cookieOf(browser), 'x-forwarded-for': '203.0.113.9', 'user-agent': 'Firefox 141' })
    await expect
      .poll(async () => (await list(browser))[0])
      .toMatchObject({
        last_seen_at: '2030-05-01 10:05:00',
        ip: '203.0.113.9',
        user_agent: 'Firefox 141',
      })
    const phone = await elsewhere(browser)
    app.setClock(new Date('2030-05-01T10:07:00Z'))
    await app.as(phone).get('/api/auth/me')
    await expect.poll(async () => (await list(browser)).map(({ current }: { current: boolean }) => current)).toEqual([false, true])
  })

  test('have a cookie for TLS alone where a proxy says that the browser uses TLS, also without PUBLIC_URL', async () => {
    const { owner } = await app.account({ withPassword: true })
    const body = { email: owner.email, password: owner.password }
    const cookies = async (proto: string) =>
      (await app.as(null).post('/api/auth/login', body, { 'x-forwarded-proto': proto })).headers.getSetCookie()
    for (const cookie of await cookies('https')) expect(cookie).toContain('; Secure')
    for (const cookie of await cookies('http')) expect(cookie).not.toContain('; Secure')
  })

  test('show an address only if it is one', async () => {
    const { owner } = await app.account({ withPassword: true })
    const body = { email: owner.email, password: owner.password }
    for (const from of ['unknown', '"; drop table sessions', '10.0.0.300'])
      expect((await app.as(null).post('/api/auth/login', body, { 'x-forwarded-for': from })).status).toBe(200)
    const rows: { ip: string | null; user_agent: string | null }[] = await list(owner)
    expect(rows.filter(({ user_agent }) => user_agent !== null).map(({ ip }) => ip)).toEqual([null, null, null])
  })

  test('are ended one by one, over REST and RPC', async () => {
    const { owner } = await app.account()
    const [second, third] = [await elsewhere(owner), await elsewhere(owner)]
    const idOf = async (person: Person) => (await list(person)).find(({ current }: { current: boolean }) => current).id
    const [own, ofSecond, ofThird] = [await idOf(owner), await idOf(second), await idOf(third)]
    const ended = await app.as(owner).post(`/api/auth/session/${ofSecond}/end`)
    expect([ended.body, ended.headers.getSetCookie()]).toEqual([{ ok: true }, []])
    expect((await app.as(second).get('/api/auth/me')).status).toBe(401)
    expect((await app.as(owner).post(`/api/auth/session/${ofSecond}/end`)).body.message).toBe('Session not found')
    expect(await app.as(owner).rpc.sessions.end.mutate({ id: ofThird })).toEqual({ ok: true })
    expect((await app.as(third).get('/api/auth/me')).status).toBe(401)
    expect((await app.as(owner).rpc.sessions.list.query()).rows.map(({ id }) => id)).toEqual([own])

    const last = await app.as(owner).post(`/api/auth/session/${own}/end`)
    expect(last.body).toEqual({ ok: true })
    expect(last.headers.getSetCookie().at(-1)).toMatch(/^gridpost_session=; Max-Age=0;/)
    expect((await app.as(owner).get('/api/auth/me')).status).toBe(401)
  })

  test('belong to the user alone', async () => {
    const { owner, member, outsider, keys } = await app.account()
    const [{ id }] = await list(member)
    for (const stranger of [owner, outsider]) {
      const refused = await app.as(stranger).post(`/api/auth/session/${id}/end`)
      expect([refused.status, refused.body.message]).toEqual([404, 'Session not found'])
      await expect(app.as(stranger).rpc.sessions.end.mutate({ id })).rejects.toMatchObject({ data: { httpStatus: 404 } })
      expect((await list(stranger)).map((row: { id: number }) => row.id)).not.toContain(id)
    }
    for (const key of [keys.account, keys.personal, keys.accountReadOnly]) {
      const refused = await app.as(key).post(`/api/auth/session/${id}/end`)
      expect([refused.status, refused.body.message]).toEqual([403, 'API endpoint not available to API keys'])
      expect((await app.as(key).get('/api/auth/sessions/list')).status).toBe(403)
    }
    expect((await app.as(null).post(`/api/auth/session/${id}/end`)).status).toBe(401)
    const fromElsewhere = await app.as(member).post(`/api/auth/session/${id}/end`, {}, { origin: 'https://evil.example' })
    expect(fromElsewhere.status).toBe(403)
    expect((await app.as(member).get('/api/auth/me')).status).toBe(200)
  })

  test('are refused where the request names another user than the cookie has', async () => {
    const { owner, member, space, keys } = await app.account()
    const id = await app
      .as(owner)
      .rpc.tables.create.mutate({ space_id: space, name: 'Deals', fields: [{ name: 'Title', type: 'text' }] })
      .then((table) => table.id)
    const path = `/api/table/${id}/records/create`
    const refusal = {
      code: 'UNAUTHORIZED',
      message: 'The session is of another user',
      issues: [{ path: ['X-Session-User'], message: 'is not the user of the session' }],
    }
    const others = [`${member.id}`, '0', '-1', '', 'Ada', `0${owner.id}`, `${owner.id}.0`, `${owner.id}, ${owner.id}`, '9'.repeat(5_000)]
    for (const other of others) {
      const expecting = { 'x-session-user': other }
      const created = await app.as(owner).post(path, { data: { title: 'Mine' } }, expecting)
      expect([created.status, created.headers.get('www-authenticate')], other).toEqual([401, 'Bearer'])
      expect(created.body).toMatchObject(refusal)
      for (const plain of ['/api/auth/me', '/api/events', '/api/file/none.txt', `/api/table/${id}/export.csv`])
        expect([plain, (await app.as(owner).get(plain, expecting)).status]).toEqual([plain, 401])
      expect((await app.as(owner).post(path, '{', { ...expecting, 'content-type': 'application/json' })).status).toBe(401)
      const rpc = createClient({ baseUrl: app.url, headers: () => ({ ...cookieOf(owner), ...expecting }) })
      const calls = [rpc.auth.me.query(), rpc.records.create.mutate({ table_id: id, data: { title: 'Mine' } })]
      for (const call of await Promise.allSettled(calls)) expect(call).toMatchObject({ status: 'rejected', reason: { data: refusal } })
      // Nobody's session is needed there, and a key is not sent by accident.
      expect((await app.as(owner).get('/api/auth/methods', expecting)).status).toBe(200)
      for (const key of [keys.account, keys.personal])
        expect((await app.as(key).get(`/api/table/${id}/views/list`, { ...expecting, ...cookieOf(owner) })).status).toBe(200)
    }
    expect((await app.as(owner).get('/api/auth/logout', { 'x-session-user': `${member.id}` })).status).toBe(405)
    expect((await app.as(owner).post('/api/auth/logout', undefined, { 'x-session-user': `${member.id}` })).status).toBe(401)
    expect((await app.as(null).get('/api/auth/me', { 'x-session-user': `${owner.id}` })).body.message).toBe(
      'Sign in, or send an API key as a bearer token',
    )
    const own = { 'x-session-user': `${owner.id}` }
    expect((await app.as(owner).get('/api/auth/me', own)).body.id).toBe(owner.id)
    expect((await app.as(owner).post(path, { data: { title: 'Mine' } }, own)).body.id).toBe(1)
    const rpc = createClient({ baseUrl: app.url, headers: () => ({ ...cookieOf(owner), ...own }) })
    expect(await rpc.auth.me.query()).toMatchObject({ id: owner.id })
  })

  test('have ids that are whole numbers', async () => {
    const { owner } = await app.account()
    const statuses = []
    for (const id of ['abc', '1.5', '-1', '0', '99999999999999999999'])
      statuses.push((await app.as(owner).post(`/api/auth/session/${id}/end`)).status)
    expect(statuses).toEqual([400, 400, 404, 404, 404])
    expect((await app.as(owner).post('/api/auth/session/1/end', { force: true })).status).toBe(404)
    const [{ id }] = await list(owner)
    expect((await app.as(owner).post(`/api/auth/session/${id}/end`, { force: true })).body.message).toBe('force: is not a known key')
  })

  test('end in a browser in which their user signs in again, but neither those of other users nor those elsewhere', async () => {
    const { owner, member } = await app.account({ withPassword: true })
    const phone = await elsewhere(owner)
    const signIn = (cookie: string) =>
      app.as(null).post('/api/auth/login', { email: owner.email, password: owner.password }, { cookie: `gridpost_session=${cookie}` })
    const me = async (person: Person) => (await app.as(person).get('/api/auth/me')).status
    const again = await signIn(owner.session)
    expect([again.status, await me(owner), await me(phone)]).toEqual([200, 401, 200])
    const fixed = await signIn('a'.repeat(43))
    expect([fixed.status, fixed.headers.getSetCookie()[0]?.includes('a'.repeat(43))]).toEqual([200, false])
    expect([(await signIn(member.session)).status, await me(member)]).toEqual([200, 200])
    expect(await list(phone)).toHaveLength(4)
    const refused = await app.as(null).post('/api/auth/login', { email: owner.email, password: 'wrong' }, cookieOf(phone))
    expect([refused.status, await me(phone)]).toEqual([401, 200])
  })

  test('are 200 at most: a further one ends the one that was unused for longest', async () => {
    const { owner } = await app.account()
    await app.db.write(sql`
      insert into sessions (user_id, token_hash, expires_at, last_seen_at)
      select ${owner.id}, sha256(('many ' || ${owner.id} || ' ' || n)::bytea), now() + interval '1 day', now() - make_interval(mins => n)
      from generate_series(1, 250) n`)
    const newest = await elsewhere(owner)
    const rows = await list(newest)
    expect(rows).toHaveLength(200)
    expect((await app.as(owner).get('/api/auth/me')).status).toBe(200)
  })
})
