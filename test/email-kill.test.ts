/** A worker is killed at each point of the dialogue with the SMTP server: a mail is delivered once, or its outcome is unknown, never twice. */
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { testDatabase } from './support/database.ts'
import { startSmtp, type TestSmtp } from './support/smtp.ts'
import { makeTable } from './support/tables.ts'
import { workerProcess } from './support/worker-process.ts'

const smtp = await startSmtp()
const app = await testApp()
const worker = workerProcess(app, { SMTP_ALLOW_PRIVATE: 'true' })
let send: () => Promise<number>
let locker: pg.Client

beforeAll(async () => {
  locker = new pg.Client((await testDatabase()).connection)
  await locker.connect()
  const account = await app.account()
  const { id: table, records } = await makeTable(app, account, { records: [{ name: 'Acme' }], fields: [{ name: 'Name', type: 'text' }] })
  const integration = { label: 'Desk', host: '127.0.0.1', port: smtp.port, tls: 'none', from_domains: ['example.com'] }
  const { body } = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, integration)
  send = async () => {
    const mail = { tableId: table, recordId: records[0], smtpIntegrationId: body.id, fromIdentity: { email: 'desk@example.com' } }
    const sent = await app.as(account.keys.account).post('/api/email/send', { ...mail, to: ['ann@customer.example'], subject: 'Offer' })
    return sent.body.id
  }
})
afterAll(async () => {
  await worker.kill()
  await locker.end()
  await smtp.close()
})

/** As if a minute had passed: the lease of the killed worker has expired. */
const expire = (id: number) =>
  app.db.write(sql`update outbound_emails set leased_until = leased_until - interval '2 minutes', attempted_at = attempted_at - interval '2 minutes'
    where comment_id = ${id}`)

const metadata = async (id: number) =>
  (
    await app.db.read<{ metadata: { status: string; error: { code: string } | null } }>(
      sql`select metadata from record_comments where id = ${id}`,
    )
  )[0]?.metadata

interface Points {
  kill: () => Promise<never>
  /** Locks the row of the mail, so that the worker comes no further than its next statement. */
  lock: () => Promise<void>
}

/** The points at which the server kills the worker, how many mails it then has taken in all, and the error of the mail. */
test.each<[string, (points: Points) => Partial<TestSmtp>, number, string | undefined]>([
  ['when it has connected', ({ kill }) => ({ on: { connect: kill } }), 1, undefined],
  ['after MAIL FROM', ({ kill }) => ({ on: { sender: kill } }), 1, undefined],
  ['after RCPT TO', ({ kill }) => ({ on: { recipient: kill } }), 1, undefined],
  ['after the content, before its end', ({ kill, lock }) => ({ on: { recipient: lock, firstBytes: kill } }), 1, undefined],
  ['after the end of the content', ({ kill }) => ({ onContent: { meanwhile: kill } }), 0, 'OUTCOME_UNKNOWN'],
  ['after the answer', ({ kill, lock }) => ({ onContent: { meanwhile: lock }, on: { answered: kill } }), 1, 'OUTCOME_UNKNOWN'],
])('a mail is not delivered twice when its worker is killed %s', async (_, points, deliveries, error) => {
  smtp.received.length = 0
  await worker.start()
  const { promise: isKilled, resolve } = Promise.withResolvers<void>()
  Object.assign(
    smtp,
    points({
      kill: async () => {
        await worker.kill()
        resolve()
        return new Promise<never>(() => {})
      },
      lock: async () => {
        await locker.query('begin')
        await locker.query('select 1 from outbound_emails for update')
      },
    }),
  )
  const id = await send()
  await isKilled
  await locker.query('rollback')
  Object.assign(smtp, { on: {}, onContent: {} })
  await expire(id)

  await worker.start()
  await expect.poll(async () => (await metadata(id))?.status).toBe('sent')
  await worker.kill()
  expect((await metadata(id))?.error?.code).toBe(error)
  expect(smtp.received).toHaveLength(deliveries)
})
