import { describe, expect, test } from 'vitest'
import { startSession } from '../src/auth/sessions.ts'
import { createLimits } from '../src/platform/http/load/rate-limits.ts'
import { newKeySecret } from '../src/platform/secrets/secrets.ts'
import { readSettings } from '../src/settings.ts'
import { type Caller, testApp } from './support/app.ts'
import { databaseWith } from './support/statements.ts'

const app = await testApp({ RATE_LIMIT_PER_MINUTE: '40', RATE_LIMIT_PER_HOUR: '100' })
const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
const minute = (at: string) => app.setClock(new Date(`${tomorrow}T${at}Z`))

describe('rate limits', () => {
  test('report the remaining requests, and refuse with Retry-After when the minute is used up', async () => {
    const { keys } = await app.account()
    minute('10:00:10')
    const first = await app.as(keys.account).get('/api/spaces/list')
    const headers = ({ headers }: typeof first) =>
      ['limit', 'remaining', 'reset', 'scope'].map((name) => headers.get(`x-ratelimit-${name}`))
    expect(headers(first)).toEqual(['40', '39', '50', 'account'])
    for (let left = 38; left >= 0; left--) expect(headers(await app.as(keys.account).get('/api/spaces/list'))[1]).toBe(String(left))
    const refused = await app.as(keys.account).get('/api/spaces/list')
    expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([429, 'TOO_MANY_REQUESTS', '50'])
    expect(headers(refused)).toEqual(['40', '0', '50', 'account'])
    minute('10:01:00')
    expect((await app.as(keys.account).get('/api/spaces/list')).status).toBe(200)
  })

  test('count a broken body that is read while access is checked once, and are named before its fault', async () => {
    const { keys } = await app.account()
    minute('10:45:00')
    const as = app.as(keys.personal)
    const list = () => as.post('/api/tasks/list', {})
    const broken = () => as.send('/api/tasks/list', { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } })
    const asked: unknown[] = []
    for (const ask of [list, broken, list]) {
      const { status, headers } = await ask()
      asked.push([status, headers.get('x-ratelimit-remaining')])
    }
    expect(asked).toEqual([
      [200, '9'],
      [400, '8'],
      [200, '7'],
    ])
    for (let left = 6; left >= 0; left--) await list()
    expect((await broken()).status).toBe(429)
  })

  test('count each request once, also a wrong one', async () => {
    const { owner, space, keys } = await app.account()
    minute('10:30:00')
    const table = (await app.as(owner).post(`/api/space/${space}/tables/create`, { name: 'Counted', fields: [] })).body.id
    const as = app.as(keys.account)
    const create = `/api/table/${table}/records/create`
    const send = (body: string, type: string) => as.send(create, { method: 'POST', body, headers: { 'content-type': type } })
    const wrong = [
      () => as.get('/api/table/abc/get'),
      () => as.get(`/api/table/${table}/record/abc/get`),
      () => send('{', 'application/json'),
      () => send('a=1', 'text/plain'),
      () => as.post('/trpc/records.create', { table_id: 'abc' }),
    ]
    for (const [index, ask] of wrong.entries()) {
      const { status, headers } = await ask()
      expect([Math.floor(status / 100), headers.get('x-ratelimit-remaining')], String(index)).toEqual([4, String(39 - index)])
    }
  })

  test('give the sessions of a user as much as an account, and their keys a quarter, each in a count of their own', async () => {
    const { id: accountId, member, owner, space, keys, keyOf } = await app.account()
    minute('11:00:00')
    const second = { ...member, session: await startSession(app.deps, member.id, app.deps.clock()) }
    const another = await keyOf({ accountId, userId: member.id }, { kind: 'personal' })
    const budget = async (caller: Caller) => {
      const { status, headers } = await app.as(caller).get(`/api/space/${space}/get`)
      return [status, ...['limit', 'remaining', 'scope'].map((name) => headers.get(`x-ratelimit-${name}`))]
    }
    for (let left = 38; left >= 0; left -= 2) {
      expect(await budget(member)).toEqual([200, '40', String(left + 1), 'user'])
      expect(await budget(second)).toEqual([200, '40', String(left), 'user'])
    }
    for (const caller of [member, second]) expect(await budget(caller)).toEqual([429, '40', '0', 'user'])
    for (let left = 8; left >= 0; left -= 2) {
      expect(await budget(keys.personal)).toEqual([200, '10', String(left + 1), 'user'])
      expect(await budget(another)).toEqual([200, '10', String(left), 'user'])
    }
    for (const caller of [keys.personal, another]) expect(await budget(caller)).toEqual([429, '10', '0', 'user'])
    expect(await budget(owner)).toEqual([200, '40', '39', 'user'])
    expect(await budget(keys.account)).toEqual([200, '40', '39', 'account'])
  })

  test('are 600 requests a minute by default, for sessions too', async () => {
    const { rateLimitPerMinute: perMinute, rateLimitPerHour: perHour } = readSettings({
      SECRET_KEY: 'a key for tests, long enough to be one',
    })
    const limits = createLimits(app.db, { perMinute, perHour })
    const limitOf = async (kind: string) => {
      const actor = { kind, accountId: 900_500, userId: 900_500 } as Parameters<typeof limits.take>[0]
      return (await limits.take(actor, new Date('2030-01-01T18:00:00Z')))?.limit
    }
    expect([await limitOf('account'), await limitOf('session'), await limitOf('personal')]).toEqual([600, 600, 150])
    expect(perHour).toBe(20_000)
  })

  test('also apply to the hour', async () => {
    const { keys } = await app.account()
    let served = 0
    for (let at = 0; at < 4; at++) {
      minute(`12:0${at}:00`)
      for (let count = 0; count < 35; count++) served += (await app.as(keys.account).get('/api/spaces/list')).status === 200 ? 1 : 0
    }
    expect(served).toBe(100)
    app.setClock(null)
  })

  test("refuse a request beyond the minute's limit, even if it is the last of the hour", async () => {
    const { id } = await app.account()
    const limits = createLimits(app.db, { perMinute: 2, perHour: 3 })
    const actor = { kind: 'account', accountId: id } as Parameters<typeof limits.take>[0]
    const taken = []
    for (let count = 0; count < 3; count++) taken.push(await limits.take(actor, new Date('2030-01-01T14:00:00Z')))
    expect(taken.map((budget) => budget?.isExceeded)).toEqual([false, false, true])
    expect(taken[2]).toMatchObject({ limit: 2, resetSeconds: 60 })
  })

  test('are reported by address to callers without valid credentials, on REST, RPC, unknown paths, procedures and methods', async () => {
    minute('15:00:30')
    const { keys } = await app.account()
    const budget = ({ headers }: { headers: Headers }) =>
      ['limit', 'remaining', 'reset', 'scope'].map((name) => headers.get(`x-ratelimit-${name}`))
    const wrongKey = newKeySecret('account')
    const asked = [
      [401, () => app.as(null).get('/api/spaces/list')],
      [401, () => app.as('no key').post('/api/table/1/records/query', { limit: 'x' })],
      [401, () => app.as(wrongKey).get('/api/file/x')],
      [401, () => app.as(wrongKey).get('/trpc/spaces.list')],
      [401, () => app.as(null).send('/api/tasks/create', { method: 'POST', body: 'a=1', headers: { 'content-type': 'text/plain' } })],
      [404, () => app.as(keys.account).get('/api/nowhere')],
      [404, () => app.as(keys.account).get('/trpc/no.such.procedure')],
      [405, () => app.as(keys.account).get('/api/tasks/list')],
      [401, () => app.as(null).post('/api/auth/login', { email: 'nobody@example.com', password: 'not a password' })],
    ] as const
    for (const [index, [status, ask]] of asked.entries()) {
      const answer = await ask()
      expect([answer.status, budget(answer)], String(index)).toEqual([status, ['10', String(9 - index), '30', 'address']])
    }
    // A known caller of a row that does not exist is counted as itself.
    const missing = await app.as(keys.account).get('/api/table/2000000000/get')
    expect([missing.status, budget(missing)]).toEqual([404, ['40', '39', '30', 'account']])
    for (let left = 9 - asked.length; left >= 0; left--) expect(budget(await app.as(null).get('/api/spaces/list'))[1]).toBe(String(left))
    for (const path of ['/api/spaces/list', '/api/nowhere', '/api/tasks/list', '/trpc/spaces.list', '/trpc/no.such.procedure']) {
      const refused = await app.as(null).get(path)
      expect([refused.status, refused.headers.get('retry-after'), budget(refused)[1]], path).toEqual([429, '30', '0'])
    }
    expect((await app.as(keys.account).get('/api/spaces/list')).status).toBe(200)
    minute('15:01:00')
    expect((await app.as(null).get('/api/spaces/list')).status).toBe(401)
    app.setClock(null)
  })

  test('count the requests of all processes together', async () => {
    const { id } = await app.account()
    const now = new Date('2030-01-01T13:00:00Z')
    const processes = [0, 1, 2].map(() => createLimits(app.db, { perMinute: 40, perHour: 0 }))
    const actor = { kind: 'account', accountId: id } as Parameters<(typeof processes)[0]['take']>[0]
    const tries = await Promise.all(Array.from({ length: 150 }, (_, index) => processes[index % 3]?.take(actor, now)))
    expect(tries.filter((budget) => !budget?.isExceeded)).toHaveLength(40)
  })

  test('are those of the present minute after the clock was a day ahead', async () => {
    const { id } = await app.account()
    const limits = createLimits(app.db, { perMinute: 2, perHour: 100 })
    const actor = { kind: 'account', accountId: id } as Parameters<typeof limits.take>[0]
    const taken = async (at: string, times: number) => {
      for (let time = 1; time < times; time++) await limits.take(actor, new Date(at))
      return (await limits.take(actor, new Date(at)))?.isExceeded
    }
    expect(await taken('2030-01-02T17:00:00Z', 3)).toBe(true)
    expect(await taken('2030-01-01T17:00:00Z', 3)).toBe(true)
    expect(await taken('2030-01-01T17:01:00Z', 2)).toBe(false)
  })

  test('count many accounts that ask several processes at once, each for itself, in few statements', async () => {
    const now = new Date('2030-01-01T16:00:00Z')
    let statements = 0
    const db = databaseWith(app.db, () => {
      statements++
    })
    const processes = [0, 1].map(() => createLimits(db, { perMinute: 3, perHour: 5 }))
    const accounts = Array.from({ length: 30 }, (_, index) => 900_000 + index)
    const tries = await Promise.all(
      Array.from({ length: 4 }, (_, turn) =>
        accounts.map(async (accountId) => {
          const actor = { kind: 'account', accountId } as Parameters<(typeof processes)[0]['take']>[0]
          return { accountId, isExceeded: (await processes[turn % 2]?.take(actor, now))?.isExceeded }
        }),
      ).flat(),
    )
    const served = accounts.map((account) => tries.filter(({ accountId, isExceeded }) => accountId === account && !isExceeded).length)
    expect(served).toEqual(accounts.map(() => 3))
    // By themselves they would take more than 200.
    expect(statements).toBeLessThan(30)
  })
})
