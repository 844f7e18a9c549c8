/** Mails that share a connection: what is wrong with one of them is not the trouble of the others. */
import { setImmediate } from 'node:timers/promises'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { type Lease, leaseDue } from '../src/email/outbound/lease.ts'
import { sendInTurn } from '../src/email/outbound/sending.ts'
import { openSettling } from '../src/email/outbound/settling.ts'
import { openStamping } from '../src/email/outbound/stamping.ts'
import { systemContext } from '../src/platform/context.ts'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { startSmtp } from './support/smtp.ts'
import { makeTable } from './support/tables.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp()
const context = () => systemContext(app.deps)
const recorder = { ...openStamping(context), ...openSettling(context) }

/** Three mails, each on a record of its own, and leased. They go over one connection unless each has an integration of its own. */
async function leased({ integrations = 1 } = {}) {
  await app.db.execute(sql`update outbound_emails set due_at = null`)
  smtp.received.length = 0
  const account = await app.account()
  const { id: table, records } = await makeTable(app, account, { records: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] })
  const ids: number[] = []
  for (let index = 0; index < integrations; index++) {
    const settings = { label: 'Desk', host: '127.0.0.1', port: smtp.port, tls: 'none', from_domains: ['example.com'], max_connections: 1 }
    ids.push((await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, settings)).body.id)
  }
  for (const [index, recordId] of records.entries()) {
    const mail = { tableId: table, recordId, smtpIntegrationId: ids[index % ids.length], fromIdentity: { email: 'desk@example.com' } }
    await app.as(account.keys.account).post('/api/email/send', { ...mail, to: ['ann@customer.example'], subject: `mail ${index}` })
  }
  const mailsPerConnection = new Map(ids.map((id) => [id, 10]))
  const leases = await leaseDue(context(), { limit: 60, accountIds: [], unreachedIds: [], mailsPerConnection })
  expect(leases).toHaveLength(3)
  const [{ smtp_integration_id: integrationId, account_id: accountId }] = leases as [Lease]
  const send = () => sendInTurn(context, recorder, { integrationId, accountId, held: new Set(leases) })
  return { account, table, leases: leases.toSorted((a, b) => a.comment_id - b.comment_id) as [Lease, Lease, Lease], send }
}

test('a table whose records cannot be read fails its mails, and not the process', async () => {
  const { table, leases, send } = await leased()
  const unhandled = vi.fn()
  process.on('unhandledRejection', unhandled)
  onTestFinished(() => void process.off('unhandledRejection', unhandled))
  await app.db.execute(sql`alter table ${recordsOf(table)} rename to hidden`)
  await send()
  await setImmediate()
  expect(unhandled).not.toHaveBeenCalled()
  // Nothing is lost: they all wait for another attempt.
  const waiting = sql`select 1 from outbound_emails where account_id = ${leases[0].account_id} and leased_until is null and due_at is not null`
  expect(await app.db.query(waiting)).toHaveLength(3)
})

test.each([0, 1, 2])('a mail that cannot be loaded, number %i of its connection, does not hold up the others', async (index) => {
  const { leases, send } = await leased()
  const { comment_id } = leases[index] as Lease
  await app.db.execute(sql`update record_comments set metadata = metadata - 'recipients' where id = ${comment_id}`)
  await send()
  const others = [0, 1, 2].filter((other) => other !== index)
  expect(smtp.received.map(({ email }) => email.subject)).toEqual(others.map((other) => `mail ${other}`))
})
