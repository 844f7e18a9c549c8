/** The database goes away while a mail is handed over: the answer of the SMTP server is recorded when it is back. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { testApp } from './support/app.ts'
import { databaseProxy } from './support/database-proxy.ts'
import { startSmtp } from './support/smtp.ts'
import { makeTable } from './support/tables.ts'

const database = await databaseProxy()
const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp({ DATABASE_URL: database.url }, { worker: true })

test.each([
  ['accepted', undefined, 'sent'],
  ['refused', 550, 'dropped'],
])('a mail that the server %s while the database was away is recorded as that', async (_, code, status) => {
  const account = await app.account()
  const { id: table, records } = await makeTable(app, account, { records: [{ name: 'Acme' }], fields: [{ name: 'Name', type: 'text' }] })
  const integration = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, {
    label: 'Desk',
    host: '127.0.0.1',
    port: smtp.port,
    tls: 'none',
    from_domains: ['example.com'],
  })
  smtp.received.length = 0
  smtp.onContent = { ...(code && { code }), meanwhile: database.cut }
  const as = app.as(account.keys.personal)
  const { body } = await as.post('/api/email/send', {
    tableId: table,
    recordId: records[0],
    smtpIntegrationId: integration.body.id,
    fromIdentity: { email: 'desk@example.com' },
    to: ['ann@customer.example'],
    subject: 'Our offer',
  })
  const isAway = () => as.get('/readyz').then(({ status }) => status === 503)
  await expect.poll(isAway).toBe(true)
  await sleep(2_000)
  await database.restore()

  const metadata = async () => (await as.get(`/api/table/${table}/record/${records[0]}/comments/get`)).body[0]?.metadata
  await expect.poll(async () => (await metadata())?.status).toBe(status)
  expect((await metadata()).recipients).toMatchObject([{ email: 'ann@customer.example', status }])
  expect((await metadata()).error?.code).toBe(code && String(code))
  expect(smtp.received).toHaveLength(code ? 0 : 1)
  expect(body.status).toBe('queued')
})
