import { createHook } from 'node:async_hooks'
import type { AddressInfo } from 'node:net'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { buildApp } from '../src/app.ts'
import { rememberDevice } from '../src/auth/throttling/known-device.ts'
import { bucket, count } from '../src/auth/throttling/throttle.ts'
import { openDeps } from '../src/deps.ts'
import { sql } from '../src/platform/database/database.ts'
import { hashPassword, verifyPassword } from '../src/platform/secrets/secrets.ts'
import { type Answer, testApp } from './support/app.ts'

const app = await testApp({ TRUST_PROXY: 'true' })

/** Each test starts at an hour of its own, with the clock stopped: nothing is forgotten, and no delay passes, unless the test says so. */
let now = new Date('2030-01-01T00:00:00Z')
const at = (time: Date) => {
  now = time
  app.setClock(now)
}
const later = (seconds: number) => at(new Date(now.getTime() + seconds * 1000))
beforeEach(async () => {
  at(new Date(now.getTime() + 24 * 3_600_000))
  await app.db.write(sql`delete from sign_in_failures`)
})

let addresses = 0
/** An address that no other test uses. */
const newAddress = () => `198.51.${Math.floor(addresses / 250)}.${(addresses++ % 250) + 1}`

interface Attempt {
  email: string
  password?: string
  from: string
  device?: string
  url?: string
}

const signIn = async ({ email, password = 'wrong battery horse', from, device, url }: Attempt): Promise<Answer> => {
  const headers = { 'x-forwarded-for': from, ...(device && { cookie: device }) }
  if (!url) return app.as(null).post('/api/auth/login', { email, password }, headers)
  const body = JSON.stringify({ email, password })
  const response = await fetch(`${url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

const guess = async (attempt: Attempt, times: number) => {
  const statuses = []
  for (let time = 0; time < times; time++) statuses.push((await signIn(attempt)).status)
  return statuses
}

const deviceOf = ({ headers }: Answer) =>
  headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0] ?? '')
    .find((cookie) => cookie.startsWith('gridpost_device='))

/** The cookie by which the browser is known after signing in. */
async function knownDevice({ email, password }: { email: string; password: string }): Promise<string> {
  const answer = await signIn({ email, password, from: newAddress() })
  expect(answer.status).toBe(200)
  return deviceOf(answer) ?? ''
}

const times = (status: number, number: number) => Array.from({ length: number }, () => status)
const counted = (statuses: number[]) =>
  Object.fromEntries([...new Set(statuses)].sort().map((s) => [s, statuses.filter((x) => x === s).length]))

describe('guesses are delayed', () => {
  test('by account and address: the delay doubles, and a stranger elsewhere does not lock the person out', async () => {
    const { owner } = await app.account({ withPassword: true })
    const stranger = newAddress()
    const guesses = { email: owner.email, from: stranger }
    expect(await guess(guesses, 6)).toEqual([...times(401, 5), 429])
    for (const seconds of [1, 2, 4]) {
      const refused = await signIn(guesses)
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, String(seconds)])
      expect(refused.body).toMatchObject({ message: 'Too many failed sign-ins, please wait', code: 'TOO_MANY_REQUESTS' })
      later(seconds)
      expect((await signIn(guesses)).status).toBe(401)
    }
    expect((await signIn({ ...guesses, password: owner.password })).status).toBe(429)
    expect((await signIn({ ...guesses, password: owner.password, from: newAddress() })).status).toBe(200)
    later(8)
    expect((await signIn({ ...guesses, password: owner.password })).status).toBe(200)
    // The success has emptied the bucket.
    expect(await guess(guesses, 6)).toEqual([...times(401, 5), 429])
  })

  test('by five minutes at most, and are forgotten within hours', async () => {
    const guesses = { email: 'nobody@example.com', from: newAddress() }
    for (let failures = 0; failures < 18; failures++) {
      const { status, headers } = await signIn(guesses)
      if (status === 401) continue
      expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(300)
      later(Number(headers.get('retry-after')))
    }
    later(3 * 3600)
    expect(await guess(guesses, 6)).toEqual([...times(401, 5), 429])
  })

  test('by account, from however many addresses, also at once', async () => {
    const { owner } = await app.account({ withPassword: true })
    const device = await knownDevice(owner)
    await app.db.write(sql`delete from sign_in_failures`)
    const answers = await Promise.all(Array.from({ length: 50 }, () => signIn({ email: owner.email, from: newAddress() })))
    // On a busy machine some find the queue for hashing full: they get 503, and do not count.
    const { 401: failed = 0, 429: refused = 0, 503: turnedAway = 0 } = counted(answers.map(({ status }) => status))
    expect([failed <= 20, failed + refused + turnedAway]).toEqual([true, 50])
    for (let next = failed; next < 20; next++) expect((await signIn({ email: owner.email, from: newAddress() })).status).toBe(401)
    const right = { email: owner.email, password: owner.password, from: newAddress() }
    expect((await signIn(right)).status).toBe(429)
    expect((await signIn({ ...right, device })).status).toBe(200)
  })

  test('by address, for however many accounts, also unknown ones', async () => {
    const { owner } = await app.account({ withPassword: true })
    const device = await knownDevice(owner)
    const from = newAddress()
    const statuses = []
    for (let account = 0; account < 32; account++) statuses.push((await signIn({ email: `nobody${account}@example.com`, from })).status)
    expect(statuses).toEqual([...times(401, 30), 429, 429])
    const right = { email: owner.email, password: owner.password, from }
    expect((await signIn({ ...right, device })).status).toBe(200)
    expect((await signIn({ ...right, from: newAddress() })).status).toBe(200)
  })

  test('by the /64 of an IPv6 address', async () => {
    const email = 'six@example.com'
    const statuses = []
    for (let host = 1; host <= 7; host++) statuses.push((await signIn({ email, from: `2001:db8:0:1::${host}` })).status)
    expect(statuses).toEqual([...times(401, 5), 429, 429])
    expect((await signIn({ email, from: '2001:db8:0:2::1' })).status).toBe(401)
  })

  test('and leave nothing behind where they are refused', async () => {
    const from = newAddress()
    for (let failures = 0; failures < 30; failures++) await count(app.db, [bucket('network', from)], now)
    const rows = () => app.db.read(sql`select id from sign_in_failures`)
    const before = (await rows()).length
    const flood = await Promise.all(Array.from({ length: 30 }, (_, nth) => signIn({ email: `flood${nth}@example.com`, from })))
    expect(counted(flood.map(({ status }) => (status === 503 ? 429 : status)))).toEqual({ 429: 30 })
    expect(await rows()).toHaveLength(before)
  })

  test('over all processes together', async () => {
    const second = await openDeps(app.settings, {
      log: app.deps.log,
      publicUrl: () => app.url,
      isWorker: false,
      overrides: { clock: app.deps.clock, mailer: app.deps.mailer },
    })
    const server = await buildApp(second.deps)
    await server.listen({ port: 0, host: '127.0.0.1' })
    onTestFinished(async () => {
      await server.close()
      await second.close()
    })
    const urls = [app.url, `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`]
    const guesses = { email: 'two.processes@example.com', from: newAddress() }
    const statuses = []
    for (let time = 0; time < 8; time++) statuses.push((await signIn({ ...guesses, url: urls[time % 2] ?? '' })).status)
    expect(statuses).toEqual([...times(401, 5), ...times(429, 3)])
    const spread = await Promise.all(
      Array.from({ length: 60 }, (_, index) => signIn({ email: 'spread@example.com', from: newAddress(), url: urls[index % 2] ?? '' })),
    )
    expect(counted(spread.map(({ status }) => status))).toEqual({ 401: 20, 429: 40 })
    const from = newAddress()
    for (let failures = 0; failures < 28; failures++) await count(app.db, [bucket('network', from)], now)
    const ofNetwork = []
    for (let nth = 0; nth < 6; nth++)
      ofNetwork.push((await signIn({ email: `${nth}@network.example`, from, url: urls[nth % 2] ?? '' })).status)
    expect(ofNetwork).toEqual([401, 401, ...times(429, 4)])
  })

  test('in a batch of RPC calls as well', async () => {
    const calls = Array.from({ length: 7 }, () => ({ email: 'batch@example.com', password: 'wrong' }))
    const path = `/trpc/${calls.map(() => 'auth.login').join(',')}?batch=1`
    const { body } = await app.as(null).post(path, { ...calls }, { 'x-forwarded-for': newAddress() })
    const statuses = (body as { error: { data: { httpStatus: number } } }[]).map(({ error }) => error.data.httpStatus)
    expect(counted(statuses)).toEqual({ 401: 5, 429: 2 })
  })

  test('of the current password in a session, and of no other session', async () => {
    const { owner } = await app.account({ withPassword: true })
    const other = await signIn({ email: owner.email, password: owner.password, from: newAddress() })
    const change = (current_password: string) =>
      app.as(owner).post('/api/auth/password', { current_password, new_password: 'staple battery horse' })
    for (let failures = 0; failures < 5; failures++) expect((await change('wrong')).body.message).toBe('current_password: is wrong')
    const refused = await change(owner.password)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    await expect(
      app.as(owner).rpc.auth.password.mutate({ current_password: owner.password, new_password: 'staple battery horse' }),
    ).rejects.toMatchObject({ data: { httpStatus: 429 } })
    const elsewhere = await app
      .as(null)
      .post(
        '/api/auth/password',
        { current_password: owner.password, new_password: 'staple battery horse' },
        { cookie: other.headers.getSetCookie()[0]?.split(';')[0] ?? '' },
      )
    expect(elsewhere.status).toBe(200)
  })
})

describe('the budget of an address', () => {
  test('refuses no sign-in, however many other calls from the address were refused', async () => {
    const limited = await testApp({ TRUST_PROXY: 'true', RATE_LIMIT_PER_MINUTE: '600', RATE_LIMIT_PER_HOUR: '0' })
    onTestFinished(limited.stop)
    limited.setClock(now)
    const { owner, member } = await limited.account({ withPassword: true })
    const from = { 'x-forwarded-for': newAddress() }
    const post = (path: string, body: unknown, headers = {}) => limited.as(null).post(path, body, { ...from, ...headers })
    const login = (password: string, headers = {}) => post('/api/auth/login', { email: owner.email, password }, headers)
    const budget = ({ headers }: Answer) => ['limit', 'remaining', 'scope'].map((name) => headers.get(`x-ratelimit-${name}`))
    const device = deviceOf(await login(owner.password)) ?? ''

    const refused: Answer[] = []
    // No more at once than a busy machine answers in time.
    for (let round = 0; round < 25; round++)
      refused.push(...(await Promise.all(Array.from({ length: 8 }, () => limited.as(null).get('/api/spaces/list', from)))))
    expect(counted(refused.map(({ status }) => status))).toEqual({ 401: 149, 429: 51 })
    for (const headers of [{ cookie: device }, {}]) {
      const answer = await login(owner.password, headers)
      expect([answer.status, budget(answer)]).toEqual([200, ['150', '0', 'address']])
    }
    expect((await login('wrong battery horse')).status).toBe(401)
    expect((await post('/api/auth/forgot', { email: member.email })).status).toBe(200)
    const path = '/trpc/auth.login'
    expect((await post(path, { email: owner.email, password: owner.password }, { cookie: device })).status).toBe(200)
    for (const token of ['/api/auth/reset', '/trpc/auth.reset', '/api/nowhere'])
      expect([token, (await post(token, { token: 'forged', password: owner.password })).status]).toEqual([token, 429])
    // The throttle of sign-ins delays guesses all the same.
    const statuses = []
    for (let guesses = 0; guesses < 6; guesses++) statuses.push((await login('wrong battery horse')).status)
    expect(statuses).toEqual([...times(401, 4), 429, 429])
  })
})

describe('a known device', () => {
  test('is delayed by its own failures only', async () => {
    const { owner } = await app.account({ withPassword: true })
    const [device, otherDevice] = [await knownDevice(owner), await knownDevice(owner)]
    const from = newAddress()
    expect(await guess({ email: owner.email, from, device }, 6)).toEqual([...times(401, 5), 429])
    const right = { email: owner.email, password: owner.password, from }
    expect((await signIn({ ...right, device })).status).toBe(429)
    expect((await signIn({ ...right, device: otherDevice })).status).toBe(200)
    expect((await signIn(right)).status).toBe(200)
  })

  test('is known for the address that it was issued for, and for a year', async () => {
    const { owner, member } = await app.account({ withPassword: true })
    const device = await knownDevice(owner)
    const [issuedAt = '', nonce = '', signature = ''] = device.slice('gridpost_device='.length).split('.')
    const forged = [
      `gridpost_device=${issuedAt}.${nonce.replace(/^./, (letter) => (letter === 'a' ? 'b' : 'a'))}.${signature}`,
      `gridpost_device=${issuedAt}.${nonce}.${signature.replace(/^./, (letter) => (letter === 'a' ? 'b' : 'a'))}`,
      `gridpost_device=zzzzzz.${nonce}.${signature}`,
      'gridpost_device=',
      `gridpost_device=${'~'.repeat(5000)}`,
      `gridpost_device=${'a.'.repeat(5000)}`,
    ]
    const from = newAddress()
    await guess({ email: owner.email, from }, 5)
    const right = { email: owner.email, password: owner.password, from }
    for (const cookie of forged) expect([cookie, (await signIn({ ...right, device: cookie })).status]).toEqual([cookie, 429])
    // It proves nothing for another address.
    await guess({ email: member.email, from }, 5)
    expect((await signIn({ email: member.email, from, device })).status).toBe(429)
    expect((await signIn({ ...right, device })).status).toBe(200)
    later(366 * 86_400)
    await guess({ email: owner.email, from }, 5)
    expect((await signIn({ ...right, device })).status).toBe(429)
  })

  test('is shared by the users of a browser', async () => {
    const first = await app.account({ withPassword: true })
    const second = await app.account({ withPassword: true })
    const device = await knownDevice(first.owner)
    const shared = deviceOf(await signIn({ ...second.owner, from: newAddress(), device })) ?? ''
    const from = newAddress()
    for (const { email, password } of [first.owner, second.owner]) {
      await guess({ email, from }, 5)
      expect((await signIn({ email, password, from })).status).toBe(429)
      expect((await signIn({ email, password, from, device: shared })).status).toBe(200)
    }
  })

  test('has a cookie that scripts cannot read, and that stays after signing out', async () => {
    const { owner } = await app.account({ withPassword: true })
    const signedIn = await signIn({ email: owner.email, password: owner.password, from: newAddress() })
    const [session = '', device] = signedIn.headers.getSetCookie()
    expect(device).toMatch(/^gridpost_device=[\w.-]+; Max-Age=31536000; Path=\/; HttpOnly; SameSite=Lax$/)
    const out = await app.as(null).post('/api/auth/logout', {}, { cookie: session.split(';')[0] ?? '' })
    expect(out.headers.getSetCookie().some((cookie) => cookie.startsWith('gridpost_device'))).toBe(false)
  })
})

describe('the work for a sign-in', () => {
  /** Counts the hashes of passwords and the statements during a call. */
  async function workOf(call: () => Promise<unknown>) {
    let hashes = 0
    const hook = createHook({ init: (_, type) => void (/argon2/i.test(type) && hashes++) }).enable()
    const spies = [vi.spyOn(app.db, 'read'), vi.spyOn(app.db, 'write')]
    await call()
    hook.disable()
    // The answer does not wait for the audit log, as the next test shows, nor for what the service writes and looks for now and then.
    const own = /audit_entries|failed_sign_ins|pg_dist_|secret_key_uses/
    const awaited = spies.flatMap((spy) => spy.mock.calls.filter(([{ text }]) => !own.test(text)))
    for (const spy of spies) spy.mockRestore()
    return { hashes, statements: awaited.length }
  }

  test('is the same for unknown addresses, people without a password, and wrong passwords', async () => {
    const { owner, member } = await app.account({ withPassword: true })
    const works = []
    for (const email of [owner.email, member.email, 'nobody.at.all@example.com'])
      works.push(await workOf(() => signIn({ email, from: newAddress() })))
    expect(works[0]?.hashes).toBe(1)
    expect(works).toEqual([works[0], works[0], works[0]])
  })

  test('does not wait for the row of the audit log, which only an existing user has', async () => {
    const { owner } = await app.account({ withPassword: true })
    const failed = () =>
      app.db.read(sql`select id from audit_entries where action = 'sign_in.failed' and object->>'id' = ${String(owner.id)}`)
    await app.db.transaction(async () => {
      await app.db.write(sql`lock table audit_entries, failed_sign_ins in share mode`)
      expect((await signIn({ email: owner.email, from: newAddress() })).status).toBe(401)
      expect(await failed()).toEqual([])
    })
    await expect.poll(failed).toHaveLength(1)
  })

  test('has no hash while attempts are delayed, and one read each when they are repeated', async () => {
    const guesses = { email: 'delayed@example.com', from: newAddress() }
    await guess(guesses, 5)
    expect((await workOf(() => signIn(guesses))).hashes).toBe(0)
    expect(await workOf(() => guess(guesses, 10))).toEqual({ hashes: 0, statements: 10 })
  })

  test('has no hash for a token that does not exist', async () => {
    const invite = { token: 'forged', name: 'Eve', password: 'correct horse battery' }
    expect((await workOf(() => app.as(null).post('/api/auth/acceptInvite', invite))).hashes).toBe(0)
    expect((await workOf(() => app.as(null).post('/api/auth/reset', { token: 'forged', password: invite.password }))).hashes).toBe(0)
  })

  test('is bounded: beyond the queue strangers get 503, while a known device and the rest of the service are served', async () => {
    const { owner, keys } = await app.account({ withPassword: true })
    const device = await knownDevice(owner)
    const stored = await hashPassword('p')
    const strangers = Array.from({ length: 40 }, () => verifyPassword('p', stored, 'stranger').then(String, ({ code }) => String(code)))
    const refused = await signIn({ email: owner.email, password: owner.password, from: newAddress() })
    const served = signIn({ email: owner.email, password: owner.password, from: newAddress(), device })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
    expect((await app.as(keys.account).get('/api/key/self')).status).toBe(200)
    expect((await served).status).toBe(200)
    const results = await Promise.all(strangers)
    expect(results.filter((result) => result === 'SERVICE_UNAVAILABLE')).toHaveLength(40 - 34)
    expect(results.filter((result) => result === 'true')).toHaveLength(34)
    // What was refused has not counted as a failure.
    expect((await signIn({ email: owner.email, password: owner.password, from: newAddress() })).status).toBe(200)
  })
  test('is done for one known browser of an account at a time, so that nobody fills the queue with them', async () => {
    const [flooding, other] = [(await app.account({ withPassword: true })).owner, (await app.account({ withPassword: true })).owner]
    const device = await knownDevice(other)
    const flood = Array.from({ length: 100 }, () => {
      const proof = rememberDevice(app.settings.secretKeys, undefined, flooding.email, now)
      return signIn({ email: flooding.email, password: flooding.password, from: newAddress(), device: `gridpost_device=${proof}` })
    })
    expect((await signIn({ email: other.email, password: other.password, from: newAddress(), device })).status).toBe(200)
    const statuses = new Set((await Promise.all(flood)).map(({ status }) => status))
    expect([...statuses].sort()).toEqual([200, 429])
  })
})
