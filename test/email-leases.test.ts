/** Workers lease queued mails: each mail to one worker, within the connections of its integration, fairly among accounts. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import pg from 'pg'
import { expect, test } from 'vitest'
import { startDispatcher } from '../src/email/outbound/dispatcher.ts'
import {
  type Lease,
  LeaseLost,
  leaseDue,
  leaseNext,
  releaseLeases,
  renewLeases,
  stampAttempt,
  stampAttempts,
} from '../src/email/outbound/lease.ts'
import { failedForAll } from '../src/email/outbound/outcome.ts'
import { openSettling } from '../src/email/outbound/settling.ts'
import { freeSlots, fullAccounts, hasRoom } from '../src/email/outbound/slots.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { testDatabase } from './support/database.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()

/** An account that has mails waiting for each of some integrations. */
async function waiting(mails: number, integrations: object[]) {
  await app.db.write(sql`update outbound_emails set due_at = null`)
  const account = await app.account()
  const { id: table, records } = await makeTable(app, account, { records: [{ name: 'Acme' }], fields: [{ name: 'Name', type: 'text' }] })
  for (const integration of integrations) {
    const settings = { label: 'Desk', host: '127.0.0.1', port: 1, tls: 'none', from_domains: ['example.com'], ...integration }
    const { body } = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, settings)
    for (let index = 0; index < mails; index++) {
      const mail = { tableId: table, recordId: records[0], smtpIntegrationId: body.id, fromIdentity: { email: 'desk@example.com' } }
      await app.as(account.keys.account).post('/api/email/send', { ...mail, to: ['ann@customer.example'] })
    }
  }
  return account.id
}

const lease = (load: object = {}) => leaseDue(systemContext(app.deps), { limit: 60, slots: [], unreachedIds: [], ...load })
const passTime = (seconds: number) =>
  app.db.write(sql`
    update outbound_emails set leased_until = leased_until - ${seconds} * interval '1 second', attempted_at = attempted_at - ${seconds} * interval '1 second'`)
async function otherClient(): Promise<pg.Client> {
  const client = new pg.Client((await testDatabase()).connection)
  await client.connect()
  return client
}

const ids = (leases: Lease[]) => leases.map(({ comment_id }) => comment_id).toSorted((a, b) => a - b)

test('a worker that stops gives back the mails that it has not handed over', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  await waiting(3, [{ port: (silent.address() as AddressInfo).port }])
  const underWay = async () => (await app.db.read(sql`select 1 from outbound_emails where leased_until is not null`)).length
  await app.db.write(sql`update outbound_emails set leased_until = null`)
  const stop = startDispatcher(app.deps)
  await expect.poll(underWay).toBe(3)
  const startedAt = performance.now()
  await stop()
  // It would wait 25 s for mails that have been handed over.
  expect(performance.now() - startedAt).toBeLessThan(15_000)
  expect(await underWay()).toBe(0)
  expect(await lease()).toHaveLength(3)
  silent.close()
})

test('workers that ask at once get each mail once, and no more connections than the integration has', async () => {
  await waiting(8, [{ max_connections: 5 }])
  const leased = (await Promise.all([lease(), lease(), lease()])).flat()
  expect(new Set(ids(leased)).size).toBe(leased.length)
  expect(leased).toHaveLength(5)
  expect(await lease()).toEqual([])
})

test('a lease expires unless it is renewed', async () => {
  await waiting(1, [{}])
  const first = await lease()
  await passTime(20)
  await renewLeases(app.db, first)
  await passTime(20)
  expect(await lease()).toEqual([])
  await passTime(20)
  const second = await lease()
  expect(ids(second)).toEqual(ids(first))
  expect(second[0]?.lease).not.toBe(first[0]?.lease)
  // The first worker comes too late.
  await renewLeases(app.db, first)
  await passTime(35)
  expect(ids(await lease())).toEqual(ids(first))
})

test('a stamped mail is left to its worker for a minute', async () => {
  await waiting(1, [{}])
  const leased = await lease()
  await app.db.write(sql`update outbound_emails set attempted_at = localtimestamp where comment_id = ${leased[0]?.comment_id}`)
  await passTime(40)
  expect(await lease()).toEqual([])
  await passTime(40)
  expect(ids(await lease())).toEqual(ids(leased))
})

test('an attempt that was given back, or has ended, is not stamped any more', async () => {
  await waiting(2, [{}])
  const leased = (await lease()) as [Lease, Lease]
  const context = () => systemContext(app.deps)
  await releaseLeases(context(), [leased[0]])
  const refused = failedForAll({ kind: 'temporary', code: '451', enhanced: null, message: 'Try again later' })
  await openSettling(context).settle({ lease: leased[1], outcome: refused })
  expect(await stampAttempts(context(), leased, false)).toEqual(['lost', 'lost'])
  await expect(stampAttempt(context(), leased[0])).rejects.toThrow(LeaseLost)
  // Their outcome would be unknown, and they would never be sent.
  expect(await app.db.read(sql`select from outbound_emails where due_at is not null and attempted_at is not null`)).toEqual([])
})

test('the integrations of an account take turns, and so do accounts', async () => {
  const account = await waiting(6, [{ max_connections: 20 }, { max_connections: 20 }])
  const leased = await lease({ limit: 4 })
  expect(new Set(leased.map(({ smtp_integration_id }) => smtp_integration_id)).size).toBe(2)
  expect(leased.map(({ account_id }) => account_id)).toEqual([account, account, account, account])
})

test('an account gets at most twenty mails at once, and those it has under way count', async () => {
  const account = await waiting(12, [{ max_connections: 20 }, { max_connections: 20 }])
  expect(await lease({ slots: Array(15).fill({ accountId: account, isWaiting: false }) })).toHaveLength(5)
  expect(await lease()).toHaveLength(19)
})

test('connections that wait for their server take no places, but their account comes last, and has no more than its share', async () => {
  const flood = await waiting(4, [{ max_connections: 20 }])
  const open = Array(200).fill({ accountId: flood, isWaiting: true })
  expect(await lease({ slots: open, fullAccountIds: [flood] })).toEqual([])
  const other = await waiting(1, [{}])
  await app.db.write(sql`update outbound_emails set due_at = created_at where account_id = ${flood}`)
  expect((await lease({ slots: open, limit: 1 })).map(({ account_id }) => account_id)).toEqual([other])
  expect(await lease({ slots: open })).toHaveLength(4)
  expect([fullAccounts(open), freeSlots(open), hasRoom(open, flood)]).toEqual([[], 60, true])
  const half = Array(300).fill({ accountId: flood, isWaiting: true })
  expect([fullAccounts(half), freeSlots(half), hasRoom(half, flood), hasRoom(half, other)]).toEqual([[flood], 60, false, true])
})

test('large mails that are with their servers leave memory for those of other accounts', () => {
  const [flood, other] = [1, 2]
  const large = { accountId: flood, isWaiting: true, characters: 2 * 1_048_576 }
  const few = Array(15).fill(large)
  expect([fullAccounts(few), hasRoom(few, flood)]).toEqual([[], true])
  const half = Array(16).fill(large)
  expect([fullAccounts(half), hasRoom(half, flood), hasRoom(half, other)]).toEqual([[flood], false, true])
  // They were leased at once, before they were read. Another account still gets connections.
  const more = [...Array(40).fill(large), { accountId: other, isWaiting: false }]
  expect([fullAccounts(more), hasRoom(more, other)]).toEqual([[flood], true])
})

test('an integration whose server was not reached gets one connection', async () => {
  await waiting(4, [{}])
  const [first, ...others] = await lease({ limit: 1 })
  const unreachedIds = [first?.smtp_integration_id]
  expect(others).toEqual([])
  expect(await lease({ unreachedIds })).toEqual([])
  await passTime(40)
  expect(await lease({ unreachedIds })).toHaveLength(1)
})

test('the rate of an integration is for all workers together', async () => {
  await waiting(12, [{ rate_per_minute: 120, max_connections: 20 }])
  const startedAt = performance.now()
  const leased = [await Promise.all([lease(), lease()]), await lease()].flat(2)
  // Two at once, and on a busy machine those whose time has come meanwhile.
  expect(leased.length).toBeGreaterThanOrEqual(2)
  expect(leased.length).toBeLessThanOrEqual(2 + (performance.now() - startedAt) / 500)
  await app.db.write(sql`update smtp_integrations set rate_at = rate_at - interval '500 milliseconds'`)
  expect(await lease()).not.toEqual([])
})

test('a mail that another transaction has locked is left for later, and delays no other', async () => {
  await waiting(2, [{}])
  const [first, second] = (
    await app.db.read<{ id: number }>(sql`select comment_id as id from outbound_emails where due_at is not null order by 1`)
  ).map(({ id }) => id)
  const other = await otherClient()
  await other.query('begin')
  await other.query('select 1 from outbound_emails where comment_id = $1 for update', [first])
  const leased = await lease()
  expect(ids(leased)).toEqual([second])
  await other.query('rollback')
  expect(ids(await lease())).toEqual([first])
  await other.query('begin')
  await other.query('select 1 from outbound_emails where comment_id = $1 for update', [second])
  // Renewing does not wait for it either.
  await renewLeases(app.db, leased)
  await other.end()
})

test('workers lock the integrations that have a rate in the order of their ids', async () => {
  await waiting(1, Array(6).fill({ rate_per_minute: 60 }))
  // Those that come last are due first.
  await app.db.write(sql`update outbound_emails set due_at = due_at - smtp_integration_id * interval '1 second' where due_at is not null`)
  const [lowest, ...others] = (
    await app.db.read<{ id: number }>(sql`select smtp_integration_id as id from outbound_emails where due_at is not null order by 1`)
  ).map(({ id }) => id)
  const other = await otherClient()
  await other.query('begin')
  await other.query('select 1 from smtp_integrations where id = $1 for update', [lowest])
  const leasing = lease()
  const isWaiting = () => app.db.read(sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
  await expect.poll(isWaiting).toHaveLength(1)
  // The worker that waits for the first has locked none of the others.
  await other.query('select 1 from smtp_integrations where id = any($1) for update nowait', [others])
  await other.query('rollback')
  expect(await leasing).toHaveLength(6)
  await other.end()
})

test('a rate of less than one mail in a second is kept, too', async () => {
  await waiting(2, [{ rate_per_minute: 7 }])
  expect(await lease()).toHaveLength(1)
  expect(await lease()).toEqual([])
  await app.db.write(sql`update smtp_integrations set rate_at = rate_at - interval '9 seconds'`)
  expect(await lease()).toHaveLength(1)
})

test('a connection takes several mails of a quick server at once, in the order in which they are due', async () => {
  await waiting(7, [{ max_connections: 2 }])
  const integrations = await app.db.read<{ id: number }>(
    sql`select distinct smtp_integration_id as id from outbound_emails where due_at is not null`,
  )
  const mailsPerConnection = new Map(integrations.map(({ id }) => [id, 3]))
  const leased = await lease({ mailsPerConnection })
  const [first = 0] = ids(leased)
  const byConnection = [...Map.groupBy(leased, ({ lease }) => lease).values()].map((mails) =>
    mails.map(({ comment_id }) => comment_id - first),
  )
  expect(byConnection.toSorted(([a = 0], [b = 0]) => a - b)).toEqual([
    [0, 2, 4],
    [1, 3, 5],
  ])
  // Both connections are taken, also for a worker that knows nothing of the server.
  expect(await lease({ mailsPerConnection })).toEqual([])
  await app.db.write(sql`update outbound_emails set due_at = null, leased_until = null where lease = ${leased[0]?.lease}`)
  expect(await lease()).toHaveLength(1)
})

/** An integration with one connection, which has one of six mails. */
async function connected() {
  await waiting(6, [{ max_connections: 1 }])
  const [first] = (await lease()) as [Lease]
  const integrationId = first.smtp_integration_id
  const next = (most = 2) => leaseNext(systemContext(app.deps), { integrationId, lease: first.lease }, most)
  const change = (assignment: object) => app.db.write(sql`update smtp_integrations set ${assignment} where id = ${integrationId}`)
  return { first, next, change, integrationId }
}

test('a connection takes more mails under its number, in the order in which they are due', async () => {
  const { first, next } = await connected()
  const [more, others] = await Promise.all([next(), next()])
  expect(
    [more, others]
      .flat()
      .map(({ comment_id }) => comment_id - first.comment_id)
      .toSorted(),
  ).toEqual([1, 2, 3, 4])
  expect(more[0]?.comment_id).toBe((more[1]?.comment_id ?? 0) - 1)
  expect(new Set([...more, ...others].map(({ lease }) => lease))).toEqual(new Set([first.lease]))
  // It is still one connection.
  expect(await lease()).toEqual([])
})

test.each<[string, object]>([
  ['has a rate', sql`rate_per_minute = 600`],
  ['fails', sql`failing_since = now()`],
  ['is paused', sql`paused_until = localtimestamp + interval '1 minute'`],
])('a connection takes no more mails when its integration %s', async (_, assignment) => {
  const { next, change } = await connected()
  await change(assignment)
  expect(await next()).toEqual([])
})

test('a connection takes no more mails when its integration may have fewer connections', async () => {
  const { next, change } = await connected()
  await change(sql`max_connections = 2`)
  expect(await lease()).toHaveLength(1)
  await change(sql`max_connections = 1`)
  expect(await next()).toEqual([])
  await change(sql`max_connections = 2`)
  expect(await next()).toHaveLength(2)
})

test('a connection never takes a mail again that it has given back', async () => {
  const { first, next } = await connected()
  await releaseLeases(systemContext(app.deps), [first, ...(await next())])
  expect(await next(10)).toHaveLength(3)
  expect(ids(await lease())).toEqual([])
  await app.db.write(sql`update outbound_emails set leased_until = null`)
  expect((await lease())[0]?.comment_id).toBe(first.comment_id)
})

test('a connection leaves a mail that another transaction has locked for later', async () => {
  const { first, next } = await connected()
  const other = await otherClient()
  await other.query('begin')
  await other.query('select 1 from outbound_emails where comment_id = $1 for update', [first.comment_id + 1])
  expect(ids(await next(1))).toEqual([first.comment_id + 2])
  await other.query('rollback')
  expect(ids(await next(1))).toEqual([first.comment_id + 1])
  await other.end()
})

test('a connection takes one mail at once if the rate is limited, or the server was not reached', async () => {
  await waiting(4, [{ rate_per_minute: 120, max_connections: 3 }, { max_connections: 3 }])
  const integrations = await app.db.read<{ id: number }>(
    sql`select distinct smtp_integration_id as id from outbound_emails where due_at is not null order by 1`,
  )
  const [, unreached] = integrations.map(({ id }) => id)
  const mailsPerConnection = new Map(integrations.map(({ id }) => [id, 10]))
  const leased = await lease({ mailsPerConnection, unreachedIds: [unreached] })
  expect(leased.map(({ smtp_integration_id }) => smtp_integration_id === unreached).toSorted()).toEqual([false, false, true])
  expect(new Set(leased.map(({ lease }) => lease)).size).toBe(3)
})

test('attempts are stamped together; those of another worker, and of locked rows, are left out', async () => {
  await waiting(4, [{ max_connections: 4 }])
  const leases = (await lease()) as [Lease, Lease, Lease, Lease]
  const [, lost, locked, deleted] = leases
  await app.db.write(sql`update outbound_emails set lease = lease + 1 where comment_id = ${lost.comment_id}`)
  await app.db.write(sql`delete from outbound_emails where comment_id = ${deleted.comment_id}`)
  const other = await otherClient()
  await other.query('begin')
  await other.query('select 1 from outbound_emails where comment_id = $1 for update', [locked.comment_id])
  const stamp = (withComments: boolean) => stampAttempts(systemContext(app.deps), leases, withComments)
  expect(await stamp(false)).toEqual(['stamped', 'lost', 'locked', 'locked'])
  // An attempt is stamped once.
  expect(await stamp(true)).toEqual(['lost', 'lost', 'locked', 'locked'])
  await other.query('rollback')
  await other.query('begin')
  await other.query('select 1 from record_comments where id = $1 for update', [locked.comment_id])
  expect(await stamp(true)).toEqual(['lost', 'lost', 'locked', 'locked'])
  expect(await stamp(false)).toEqual(['lost', 'lost', 'stamped', 'locked'])
  await other.end()
})
