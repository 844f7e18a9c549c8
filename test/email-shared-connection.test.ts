/** Mails that share a connection, and outcomes that share a transaction: what is wrong with one of them is not the trouble of the others. */
import { setImmediate } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { type Lease, leaseDue } from '../src/email/outbound/lease.ts'
import { failedForAll, type Outcome } from '../src/email/outbound/outcome.ts'
import type { Sending } from '../src/email/outbound/prefetch.ts'
import { sendInTurn } from '../src/email/outbound/sending.ts'
import { openSettling } from '../src/email/outbound/settling.ts'
import { serverWait } from '../src/email/outbound/slots.ts'
import { openStamping } from '../src/email/outbound/stamping.ts'
import { systemContext } from '../src/platform/context.ts'
import { recordsOf, type Sql, sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { testDatabase } from './support/database.ts'
import { startSmtp } from './support/smtp.ts'
import { makeTable } from './support/tables.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp()
const context = () => systemContext(app.deps)
const recorder = { ...openStamping(context), ...openSettling(context) }

/** Three mails, each on a record of its own by default, and leased. They go over one connection unless each has an integration of its own. */
async function leased({ integrations = 1, onRecords = [0, 1, 2] } = {}) {
  await app.db.write(sql`update outbound_emails set due_at = null`)
  smtp.received.length = 0
  const account = await app.account()
  const { id: table, records } = await makeTable(app, account, { records: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] })
  const ids: number[] = []
  for (let index = 0; index < integrations; index++) {
    const settings = { label: 'Desk', host: '127.0.0.1', port: smtp.port, tls: 'none', from_domains: ['example.com'], max_connections: 1 }
    ids.push((await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, settings)).body.id)
  }
  for (const [index, onRecord] of onRecords.entries()) {
    const mail = {
      tableId: table,
      recordId: records[onRecord],
      smtpIntegrationId: ids[index % ids.length],
      fromIdentity: { email: 'desk@example.com' },
    }
    await app.as(account.keys.account).post('/api/email/send', { ...mail, to: ['ann@customer.example'], subject: `mail ${index}` })
  }
  const mailsPerConnection = new Map(ids.map((id) => [id, 10]))
  const leases = await leaseDue(context(), { limit: 60, slots: [], unreachedIds: [], mailsPerConnection })
  expect(leases).toHaveLength(3)
  const [{ smtp_integration_id: integrationId, account_id: accountId }] = leases as [Lease]
  const place = { integrationId, accountId, isWaiting: false, characters: 0 }
  const wait = serverWait(place, () => {})
  const send = (asked = leases.length, leaseMore: Sending['leaseMore'] = async () => []) =>
    sendInTurn(context, { ...recorder, wait }, Object.assign(place, { held: new Set(leases.slice(0, asked)), asked, leaseMore }))
  return { account, table, leases: leases.toSorted((a, b) => a.comment_id - b.comment_id) as [Lease, Lease, Lease], send, place }
}

test('a mail counts with its size as long as the server has it', async () => {
  const { leases, send, place } = await leased()
  const body = `<p>${'a'.repeat(100_000)}</p>`
  await app.db.write(sql`
    update outbound_emails set request = jsonb_set(request, '{body}', ${JSON.stringify(body)}::jsonb) where comment_id = ${leases[0].comment_id}`)
  const sizes: number[] = []
  smtp.on.recipient = async () => void sizes.push(place.characters)
  smtp.onContent.meanwhile = async () => void sizes.push(place.characters)
  onTestFinished(() => {
    smtp.on = {}
    smtp.onContent = {}
  })
  await send()
  const [first = 0, ...others] = sizes
  expect(first).toBeGreaterThan(200_000)
  expect(others[0]).toBe(first)
  expect(others.slice(1).every((characters) => characters > 0 && characters < 1_000)).toBe(true)
  expect([others.length, place.characters]).toEqual([5, 0])
})

test('a table whose records cannot be read fails its mails, and not the process', async () => {
  const { table, leases, send } = await leased()
  const unhandled = vi.fn()
  process.on('unhandledRejection', unhandled)
  onTestFinished(() => void process.off('unhandledRejection', unhandled))
  await app.db.write(sql`alter table ${recordsOf(table)} rename to hidden`)
  await send()
  await setImmediate()
  expect(unhandled).not.toHaveBeenCalled()
  // Nothing is lost: they all wait for another attempt.
  const waiting = sql`select 1 from outbound_emails where account_id = ${leases[0].account_id} and leased_until is null and due_at is not null`
  expect(await app.db.read(waiting)).toHaveLength(3)
})

test.each([0, 1, 2])('a mail that cannot be loaded, number %i of its connection, does not hold up the others', async (index) => {
  const { leases, send } = await leased()
  const { comment_id } = leases[index] as Lease
  await app.db.write(sql`update record_comments set metadata = metadata - 'recipients' where id = ${comment_id}`)
  await send()
  const others = [0, 1, 2].filter((other) => other !== index)
  expect(smtp.received.map(({ email }) => email.subject)).toEqual(others.map((other) => `mail ${other}`))
})

test.each<[string, Sql | undefined]>([
  ['as they were read', undefined],
  ['changed while they were handed over', sql`update record_comments set metadata = metadata || '{"since": "changed"}'`],
  [
    'of an integration that has failed meanwhile',
    sql`update smtp_integrations set faults = 1, failing_since = now(), failing_message = 'Away'`,
  ],
])('mails that were delivered are recorded once, with one event each: %s', async (_, change) => {
  const { account, leases, send } = await leased()
  // All three were read before the first of them was handed over.
  if (change) smtp.onContent = { meanwhile: async () => void (await app.db.write(sql`${change} where account_id = ${account.id}`)) }
  await send()
  smtp.onContent = {}
  const mails = await app.db.read(sql`
    select o.attempts, o.due_at, o.leased_until, o.attempted_at is not null as is_stamped, c.metadata->>'status' as status,
      c.metadata->'recipients'->0->>'status' as recipient, c.metadata->>'sentAt' is not null as is_dated, c.metadata->>'since' as since,
      (select count(*) from events e where e.comment_id = c.id and e.type = 'email.status') as events
    from outbound_emails o join record_comments c on c.id = o.comment_id where o.account_id = ${account.id}`)
  const recorded = { attempts: 1, due_at: null, leased_until: null, is_stamped: true, status: 'sent', recipient: 'sent', is_dated: true }
  const since = change?.sql.includes('since"') ? 'changed' : null
  expect(mails).toEqual(leases.map(() => ({ ...recorded, since, events: 1 })))
  expect(smtp.received).toHaveLength(3)
  expect(await app.db.read(sql`select from smtp_integrations where account_id = ${account.id} and failing_since is not null`)).toEqual([])
})

test('the next mails are leased while the last ones are sent', async () => {
  const { account, leases, send } = await leased()
  const sentBefore: number[] = []
  await send(2, async (most) => {
    sentBefore.push(smtp.received.length)
    return leases.slice(2, 2 + most)
  })
  expect(smtp.received.map(({ email }) => email.subject)).toEqual(['mail 0', 'mail 1', 'mail 2'])
  // The only mail of the second group asks for no third one.
  expect(sentBefore).toEqual([0])
  const unfinished = sql`select from outbound_emails where account_id = ${account.id} and (leased_until is not null or due_at is not null)`
  expect(await app.db.read(unfinished)).toEqual([])
})

test('a mail that was leased ahead refers to the one of its record that was sent meanwhile', async () => {
  const { leases, send } = await leased({ onRecords: [0, 1, 0] })
  await send(2, async () => [leases[2]])
  expect(smtp.received.map(({ email }) => email.inReplyTo)).toEqual([undefined, undefined, smtp.received[0]?.email.messageId])
})

test('mails that are leased for a connection that hangs are given back, also when they come late', async () => {
  const { leases, send } = await leased()
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
  const { promise: more, resolve: lease } = Promise.withResolvers<Lease[]>()
  smtp.on.recipient = () => isOver
  const sending = send(2, () => more)
  const given = async () =>
    (
      await app.db.read<{ id: number }>(
        sql`select comment_id as id from outbound_emails where leased_until is null and due_at is not null order by 1`,
      )
    ).map(({ id }) => id)
  await expect.poll(given).toEqual([leases[1].comment_id])
  lease([leases[2]])
  await expect.poll(given).toEqual([leases[1].comment_id, leases[2].comment_id])
  delete smtp.on.recipient
  end()
  await sending
  expect(smtp.received.map(({ email }) => email.subject)).toEqual(['mail 0'])
})

test('when the next mails cannot be leased, those of the connection are sent', async () => {
  const { send } = await leased()
  await send(3, async () => {
    throw new Error('The database is away')
  })
  expect(smtp.received).toHaveLength(3)
})

/** Another transaction, and what it gets to hear when it asks for a lock that somebody else has. */
async function otherTransaction() {
  const other = new pg.Client((await testDatabase()).connection)
  await other.connect()
  onTestFinished(() => other.end())
  await other.query("begin; set local lock_timeout = '300ms'")
  return other
}

const somebodyWaits = async () =>
  (await app.db.read(sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)).length

const noSuchUser = (address: string): Outcome => ({
  accepted: new Set(),
  refused: new Map([[address, { kind: 'permanent', code: '550', enhanced: '5.1.1', message: '550 5.1.1 No such user' }]]),
})

test('addresses that several mails suppress in one transaction are locked in their own order', async () => {
  const { account, leases } = await leased()
  const other = await otherTransaction()
  const suppress = (email: string) =>
    other.query(`insert into email_suppressions (account_id, email, reason) values (${account.id}, $1, 'complaint')`, [email])
  await suppress('ann@gone.example')
  const settled = [
    recorder.settle({ lease: leases[0], outcome: noSuchUser('bob@gone.example') }),
    recorder.settle({ lease: leases[1], outcome: noSuchUser('ann@gone.example') }),
  ]
  await expect.poll(somebodyWaits).toBe(1)
  await suppress('bob@gone.example')
  await other.query('commit')
  await Promise.all(settled)
  const rows = await app.db.read(sql`select email, reason from email_suppressions where account_id = ${account.id} order by email`)
  expect(rows).toEqual(['ann@gone.example', 'bob@gone.example'].map((email) => ({ email, reason: 'complaint' })))
})

test('integrations that several mails find failing are locked in their own order', async () => {
  const { leases } = await leased({ integrations: 3 })
  const other = await otherTransaction()
  const [first, second] = leases
  const lock = (id: number) => other.query('update smtp_integrations set label = label where id = $1', [id])
  await lock(first.smtp_integration_id)
  const failing = (lease: Lease) => {
    const outcome = {
      ...failedForAll({ kind: 'temporary', code: 'EAUTH', enhanced: null, message: 'Wrong password' }),
      fault: { version: 1 },
    }
    return recorder.settle({ lease, outcome })
  }
  // The earlier mail is of the later integration.
  const settled = [
    failing({ ...first, smtp_integration_id: second.smtp_integration_id }),
    failing({ ...second, smtp_integration_id: first.smtp_integration_id }),
  ]
  await expect.poll(somebodyWaits).toBe(1)
  await lock(second.smtp_integration_id)
  await other.query('commit')
  await Promise.all(settled)
})
