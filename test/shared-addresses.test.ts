/** Sign-ins of many people behind one address, beside somebody who guesses passwords there. */
import { createHook } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { isKnownPair, pairOf, rememberPair } from '../src/auth/throttling/known-pair.ts'
import { attemptOfStranger } from '../src/auth/throttling/strangers.ts'
import { bucket, count } from '../src/auth/throttling/throttle.ts'
import { works } from '../src/background.ts'
import { networkOf, siteOf } from '../src/platform/access/network.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { AppError } from '../src/platform/errors.ts'
import { tokenHash } from '../src/platform/secrets/secrets.ts'
import type { SecretKeys } from '../src/settings.ts'
import { type Answer, testApp } from './support/app.ts'

const app = await testApp({ TRUST_PROXY: 'true' })
const PASSWORD = 'correct horse battery'

/** Each test has a day of its own, with the clock stopped: nothing is forgotten unless the test says so. */
let now = new Date('2031-01-01T00:00:00Z')
const later = (seconds: number) => {
  now = new Date(now.getTime() + seconds * 1000)
  app.setClock(now)
}
beforeEach(async () => {
  later(86_400)
  await app.db.write(sql`delete from sign_in_failures`)
})

let addresses = 0
/** An address that no other test uses. */
const newAddress = () => `203.0.${Math.floor(addresses / 250)}.${(addresses++ % 250) + 1}`

let people = 0
/** Active users with a password, in one account. */
async function users(number: number): Promise<string[]> {
  const { owner, id } = await app.account({ withPassword: true })
  const emails = Array.from({ length: number }, () => `person.${people++}@example.com`)
  await app.db.write(sql`
    insert into users (account_id, email, name, password_hash)
    select ${id}, email, 'Person', (select password_hash from users where id = ${owner.id}) from unnest(${emails}::text[]) as email`)
  return emails
}

const names = (number: number) => Array.from({ length: number }, () => `nobody.${people++}@example.com`)

const signIn = (email: string, from: string, { password = PASSWORD, cookie = '' } = {}): Promise<Answer> =>
  app.as(null).post('/api/auth/login', { email, password }, { 'x-forwarded-for': from, ...(cookie && { cookie }) })
const guess = (email: string, from: string) => signIn(email, from, { password: 'wrong battery horse' })

const statusesOf = (answers: Answer[]) => {
  const counts: Record<string, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** Calls the function for each of the items, one after the other. */
async function oneByOne<Item, Result>(items: readonly Item[], fn: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  for (const item of items) results.push(await fn(item))
  return results
}

/** Counts as many failures as an address may have without an effect, or `left` fewer. */
async function fill(from: string, left = 0, at = now) {
  const site = siteOf(from)
  const buckets = [bucket('network', networkOf(from)), ...(site ? [bucket('site', site)] : [])]
  for (let failures = left; failures < 30; failures++) expect(await count(app.db, buckets, at)).toBe(0)
}

async function timed(call: () => Promise<Answer>): Promise<Answer & { ms: number }> {
  const startedAt = performance.now()
  return { ...(await call()), ms: performance.now() - startedAt }
}

/** Counts the hashes of passwords during the call. */
async function hashesOf(call: () => Promise<unknown>): Promise<number> {
  let hashes = 0
  const hook = createHook({ init: (_, type) => void (/argon2/i.test(type) && hashes++) }).enable()
  await call()
  hook.disable()
  return hashes
}

const refusalFrom = (network: string) => `Too many failed sign-ins from ${network}, please wait`

describe('an address that has failed too often', () => {
  test('has 30 failures without an effect, whoever they are for, and one more each two minutes', async () => {
    const from = newAddress()
    await fill(from, 5)
    expect(statusesOf(await oneByOne(names(5), (name) => guess(name, from)))).toEqual({ 401: 5 })
    const [another = '', last = ''] = names(2)
    const refused = await guess(another, from)
    expect([refused.status, refused.headers.get('retry-after'), refused.body.message]).toEqual([429, '120', refusalFrom(from)])
    later(119)
    expect((await guess(another, from)).headers.get('retry-after')).toBe('1')
    later(1)
    expect((await guess(another, from)).status).toBe(401)
    expect((await guess(last, from)).status).toBe(429)
    expect((await guess(last, newAddress())).status).toBe(401)
  })

  test('gets the same answer a second later, whatever the attempt was', async () => {
    const from = newAddress()
    await fill(from)
    const [known = '', failed = '', deleted = '', wrong = ''] = await users(4)
    await app.db.write(sql`update users set status = 'deleted' where email = ${deleted}`)
    await count(app.db, [bucket('pair', pairOf(failed, from))], now)
    const [nobody = ''] = names(1)
    const attempts: [string, () => Promise<Answer>, number][] = [
      ['a name that no user has', () => guess(nobody, from), 0],
      ['a wrong password', () => guess(wrong, from), 1],
      ['the same again', () => guess(wrong, from), 0],
      ['the right one after it', () => signIn(wrong, from), 0],
      ['the right one of a user whose pair has a failure', () => signIn(failed, from), 0],
      ['the right one of a user who is not active', () => signIn(deleted, from), 0],
    ]
    for (const [what, attempt, checked] of attempts) {
      let answer: Awaited<ReturnType<typeof timed>> | undefined
      const hashes = await hashesOf(async () => {
        answer = await timed(attempt)
      })
      const { request_id: _, ...body } = answer?.body ?? {}
      expect([what, answer?.status, body, hashes]).toEqual([what, 429, { message: refusalFrom(from), code: 'TOO_MANY_REQUESTS' }, checked])
      expect(answer?.ms).toBeGreaterThanOrEqual(995)
      expect(answer?.headers.get('retry-after')).toBe('120')
    }
    expect((await signIn(known, from)).status).toBe(200)
  })

  test('gets it for many attempts at once as well, whether a user has the name or not', async () => {
    const from = newAddress()
    await fill(from)
    const [user = ''] = await users(1)
    const [nobody = '', first = ''] = names(2)
    await guess(first, from)
    for (const name of [user, nobody]) {
      const answers = await Promise.all(Array.from({ length: 40 }, () => timed(() => guess(name, from))))
      expect(new Set(answers.map(({ status, body }) => `${status} ${body.message}`))).toEqual(new Set([`429 ${refusalFrom(from)}`]))
      expect(Math.min(...answers.map(({ ms }) => ms))).toBeGreaterThanOrEqual(995)
    }
  })

  test('lets the right password of any number of users in, one after the other', async () => {
    const from = newAddress()
    await fill(from)
    expect(statusesOf(await oneByOne(await users(14), (email) => signIn(email, from)))).toEqual({ 200: 14 })
  })

  test('has ten wrong passwords of users checked at once, and one each 30 seconds', async () => {
    const from = newAddress()
    await fill(from)
    const [right = '', next = '', ...others] = await users(14)
    const answers: Answer[] = []
    const guessAll = async () => void answers.push(...(await Promise.all(others.map((email) => guess(email, from)))))
    expect(await hashesOf(guessAll)).toBe(10)
    expect(statusesOf(answers)).toEqual({ 429: 12 })
    // Names that no user has take no place, and none is left in any case.
    expect(await hashesOf(() => Promise.all([...names(5), right].map((name) => signIn(name, from))))).toBe(0)
    later(30)
    expect((await signIn(right, from)).status).toBe(200)
    // Its place was given back.
    expect((await signIn(next, from)).status).toBe(200)
    expect((await signIn(next, newAddress())).status).toBe(200)
  })

  test('names that no user has take no place of a check', async () => {
    const from = newAddress()
    await fill(from)
    expect(statusesOf(await Promise.all(names(40).map((name) => guess(name, from))))).toEqual({ 429: 40 })
    const [right = ''] = await users(1)
    expect((await signIn(right, from)).status).toBe(200)
  })

  test('has wrong passwords counted for the user and the pair', async () => {
    const [email = ''] = await users(1)
    for (let failures = 0; failures < 19; failures++) await count(app.db, [bucket('account', email)], now)
    const [from, elsewhere] = [newAddress(), newAddress()]
    await fill(from)
    expect((await guess(email, from)).body.message).toBe(refusalFrom(from))
    const refused = await signIn(email, elsewhere)
    expect([refused.status, refused.body.message]).toEqual([429, 'Too many failed sign-ins, please wait'])
  })

  test('is given back the failures of a user who signs in after them', async () => {
    const from = newAddress()
    const [email = ''] = await users(1)
    await fill(from, 6)
    expect(statusesOf(await oneByOne([1, 2, 3, 4], () => guess(email, from)))).toEqual({ 401: 4 })
    expect((await signIn(email, from)).status).toBe(200)
    expect(statusesOf(await oneByOne(names(8), (name) => guess(name, from)))).toEqual({ 401: 6, 429: 2 })
  })

  test('names no text that a proxy has passed on', async () => {
    await fill('<b>anything')
    expect((await guess(names(1)[0] ?? '', '<b>anything')).body.message).toBe(refusalFrom('this address'))
  })

  test('is one address, whether it is written as IPv4 or as IPv6, with a port or without', async () => {
    await fill('198.18.0.7')
    for (const from of [
      '198.18.0.7',
      '::ffff:198.18.0.7',
      '::ffff:c612:7',
      '0:0:0:0:0:ffff:c612:7',
      '198.18.0.7:50123',
      '[::ffff:c612:7]:443',
    ])
      expect((await guess(names(1)[0] ?? '', from)).body.message).toBe(refusalFrom('198.18.0.7'))
    const [email = ''] = await users(1)
    expect((await signIn(email, '::ffff:c612:8')).status).toBe(200)
    await fill('198.18.0.8')
    await guess(email, '198.18.0.8')
    // The pair is known: it has a failure of five, and the address does not count.
    expect((await signIn(email, '198.18.0.8')).status).toBe(200)
  })

  test('is an IPv6 /64, or its /48 after four times as many failures', async () => {
    const networkOfSite = (network: number, host = 1) => `2001:db8:7:${network}::${host}`
    for (let network = 1; network <= 4; network++) await fill(networkOfSite(network))
    expect((await guess(names(1)[0] ?? '', networkOfSite(1, 2))).body.message).toBe(refusalFrom('2001:db8:7:1::/64'))
    const refused = await guess(names(1)[0] ?? '', networkOfSite(5))
    expect([refused.body.message, refused.headers.get('retry-after')]).toEqual([refusalFrom('2001:db8:7::/48'), '30'])
    const [email = '', ...others] = await users(73)
    expect((await signIn(email, networkOfSite(5))).status).toBe(200)
    expect((await guess(names(1)[0] ?? '', '2001:db8:8::1')).status).toBe(401)
    // Each /64 has ten checks, and the /48 four times as many.
    const checks: number[] = []
    for (let network = 11; network <= 16; network++)
      checks.push(
        await hashesOf(() =>
          Promise.all(others.slice((network - 11) * 12, (network - 10) * 12).map((one) => guess(one, networkOfSite(network)))),
        ),
      )
    expect(checks).toEqual([10, 10, 10, 10, 0, 0])
  })

  test('has 40 passwords checked at once and 190 in the first hour, of 80 made-up names and 1,000 users', async () => {
    const from = newAddress()
    const real = await users(1_000)
    const isReal = new Set(real)
    const left = [...names(80), ...real]
    const checked: string[] = []
    const attempt = async (email: string) => {
      const outcome = await attemptOfStranger(
        { db: app.db, now },
        { email, ip: from },
        {
          find: async () => (isReal.has(email) ? email : null),
          check: async () => {
            checked.push(email)
            return null
          },
        },
      )
      expect(outcome === null || outcome instanceof AppError).toBe(true)
    }
    for (let at = 0; at < left.length; at += 40) await Promise.all(left.slice(at, at + 40).map(attempt))
    expect(checked).toHaveLength(40)
    for (let seconds = 30; seconds <= 3_600; seconds += 30) {
      later(30)
      const untried = real.filter((email) => !checked.includes(email))
      await Promise.all(untried.slice(0, 8).map(attempt))
      if (seconds % 600 === 0) expect(checked.length).toBeLessThanOrEqual(40 + (seconds / 3_600) * 150)
    }
    expect(checked).toHaveLength(190)
    expect(new Set(checked).size).toBe(190)
  })
})

describe('a user who has signed in from the network before', () => {
  test('is not delayed by others there: 200 people in new browsers within 10 seconds, beside somebody who guesses', async () => {
    app.setClock(null)
    onTestFinished(() => app.setClock(now))
    const from = newAddress()
    const emails = await users(200)
    for (const email of emails) await rememberPair({ ...systemContext(app.deps), now: new Date() }, pairOf(email, from))
    await fill(from, 0, new Date())
    let isOver = false
    const attacker = (async () => {
      const victims = [...names(60), ...(await users(60))]
      while (!isOver) {
        await Promise.all(victims.splice(0, 10).map((name) => guess(name, from)))
        await guess('nobody@example.com', from)
      }
    })()
    const sent = emails.map(async (email, index) => {
      await sleep(index * 50)
      return signIn(email, from)
    })
    const { 429: refused = 0, 503: busy = 0, 200: signedIn = 0 } = statusesOf(await Promise.all(sent))
    isOver = true
    await attacker
    expect((await guess('nobody@example.com', from)).body.message).toBe(refusalFrom(from))
    expect([refused, signedIn + busy]).toEqual([0, 200])
    expect(signedIn).toBeGreaterThan(0)
  })

  test('is delayed by the failures of the pair, which count for the user, but not for the network', async () => {
    const from = newAddress()
    const [email = ''] = await users(1)
    expect((await signIn(email, from)).status).toBe(200)
    expect(statusesOf(await oneByOne([1, 2, 3, 4, 5, 6], () => guess(email, from)))).toEqual({ 401: 5, 429: 1 })
    const refused = await signIn(email, from)
    expect([refused.headers.get('retry-after'), refused.body.message]).toEqual(['1', 'Too many failed sign-ins, please wait'])
    await fill(from)
    expect((await guess(names(1)[0] ?? '', from)).body.message).toBe(refusalFrom(from))
    later(1)
    expect((await signIn(email, from)).status).toBe(200)
    for (let failures = 0; failures < 20; failures++) await count(app.db, [bucket('account', email)], now)
    expect((await signIn(email, from)).status).toBe(429)
  })

  /** Whether the user signs in from there although its pair has failures and the network has too many, which only a known pair may. */
  async function isKnown(email: string, from: string, password = PASSWORD) {
    // A process remembers for a second that a bucket is full.
    later(2)
    await app.db.write(sql`delete from sign_in_failures`)
    await fill(from)
    for (let failures = 0; failures < 2; failures++) await count(app.db, [bucket('pair', pairOf(email, from))], now)
    const { status } = await signIn(email, from, { password })
    expect([200, 429]).toContain(status)
    return status === 200
  }

  test('is known there and nowhere else, and nobody else is, for 90 days from the last time', async () => {
    const [from, elsewhere] = ['2001:db8:9:1::1', '2001:db8:9:2::1']
    const [email = '', other = ''] = await users(2)
    expect(await isKnown(email, from)).toBe(false)
    await app.db.write(sql`delete from sign_in_failures`)
    later(2)
    expect((await signIn(email, from)).status).toBe(200)
    expect(await isKnown(other, from)).toBe(false)
    expect(await isKnown(email, elsewhere)).toBe(false)
    later(89 * 86_400)
    // Another address of the /64. The sign-in counts as the last one.
    expect(await isKnown(email, '2001:db8:9:1:ffff::2')).toBe(true)
    later(90 * 86_400 - 3)
    expect(await isKnown(email, from)).toBe(true)
    later(90 * 86_400 - 2)
    expect(await isKnown(email, from)).toBe(false)
  })

  test('is kept as a keyed hash, until the clean-up after 90 days', async () => {
    const from = newAddress()
    const [email = ''] = await users(1)
    const forget = () => works.find(({ queue }) => queue.name === 'auth.forget')?.run(systemContext(app.deps), {} as never)
    const rows = () => app.db.read<{ id: Buffer }>(sql`select id from known_pairs where used_at = ${now.toISOString()}::timestamp`)
    expect((await signIn(email, from)).status).toBe(200)
    const kept = await rows()
    expect(kept.map(({ id }) => id.length)).toEqual([32])
    later(90 * 86_400 - 1)
    await forget()
    expect(await app.db.read(sql`select from known_pairs where id = ${kept[0]?.id ?? null}`)).toHaveLength(1)
    later(1)
    await forget()
    expect(await app.db.read(sql`select from known_pairs where id = ${kept[0]?.id ?? null}`)).toEqual([])
  })

  test('stays known while SECRET_KEY is replaced', async () => {
    const pair = pairOf('person@example.com', newAddress())
    const { current } = app.settings.secretKeys
    const isKnownWith = (secretKeys: SecretKeys) =>
      isKnownPair({ ...systemContext(app.deps), settings: { ...app.settings, secretKeys } }, pair)
    await rememberPair(systemContext(app.deps), pair)
    const next = Buffer.from('another key that is long enough to be one')
    expect(await isKnownWith({ current, previous: [] })).toBe(true)
    expect(await isKnownWith({ current: next, previous: [current] })).toBe(true)
    expect(await isKnownWith({ current: next, previous: [] })).toBe(false)
  })

  test('becomes known by a known browser, a mailed link and an invitation, but not by a new password in a session or a key', async () => {
    const [byBrowser, byLink, byInvitation, bySession, byFailure] = [newAddress(), newAddress(), newAddress(), newAddress(), newAddress()]
    const { owner, space, admin, keys } = await app.account({ withPassword: true })
    const from = (address: string, cookie = '') => ({ 'x-forwarded-for': address, ...(cookie && { cookie }) })
    const cookies = (await signIn(owner.email, newAddress())).headers.getSetCookie().map((cookie) => cookie.split(';')[0] ?? '')
    const [session = '', device = ''] = cookies
    expect((await signIn(owner.email, byBrowser, { cookie: device })).status).toBe(200)
    expect(await isKnown(owner.email, byBrowser)).toBe(true)

    await guess(owner.email, byFailure)
    expect(await isKnown(owner.email, byFailure)).toBe(false)
    const change = { current_password: PASSWORD, new_password: 'staple battery horse' }
    expect((await app.as(null).post('/api/auth/password', change, from(bySession, session))).status).toBe(200)
    expect((await app.as(keys.account).get('/api/key/self', from(bySession))).status).toBe(200)
    expect(await isKnown(owner.email, bySession, 'staple battery horse')).toBe(false)

    const [token, invited] = ['a token of a mailed link', `invited.${owner.id}@example.com`]
    await app.db.write(sql`
      insert into password_resets (user_id, token_hash, expires_at)
      values (${owner.id}, ${tokenHash(token)}, ${inSeconds(3_600)}::timestamp)`)
    expect((await app.as(null).post('/api/auth/reset', { token, password: PASSWORD }, from(byLink))).status).toBe(200)
    expect(await isKnown(owner.email, byLink)).toBe(true)

    await app.as(admin).rpc.spaces.addMember.mutate({ space_id: space, email: invited, role: 'viewer' })
    await app.db.write(sql`
      insert into invites (user_id, token_hash, expires_at)
      select id, ${tokenHash(token)}, ${inSeconds(3_600)}::timestamp from users where email = ${invited}`)
    const accepted = await app.as(null).post('/api/auth/acceptInvite', { token, name: 'Ida', password: PASSWORD }, from(byInvitation))
    expect(accepted.status).toBe(200)
    expect(await isKnown(invited, byInvitation)).toBe(true)
  })
})

/** The text of an instant so many seconds from now. */
function inSeconds(seconds: number): string {
  return new Date(now.getTime() + seconds * 1000).toISOString()
}
