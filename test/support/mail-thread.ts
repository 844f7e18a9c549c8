/** A mail that was sent from a record, and what comes back for it. */
import type { TestApp } from './app.ts'
import { untilRead } from './mail-desk.ts'
import type { TestSmtp } from './smtp.ts'
import { makeTable } from './tables.ts'
import { until } from './until.ts'

export interface Comment {
  id: number
  type: string
  user_name: string
  content: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads answers of every shape.
  metadata: any
}

/** Sends a mail from a new record through the test's server, to Ann. @param app with CATCH_DOMAIN reply.example.net */
export async function mailThread(app: TestApp, smtp: TestSmtp) {
  const account = await app.account()
  const { id: table, records } = await makeTable(app, account, { records: [{ name: 'Acme' }], fields: [{ name: 'Name', type: 'text' }] })
  const integration = { label: 'Desk', host: '127.0.0.1', port: smtp.port, tls: 'none', from_domains: ['example.com'] }
  const { body: created } = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, integration)
  const as = app.as(account.keys.account)
  const comments = async (): Promise<Comment[]> =>
    (await as.get(`/api/table/${table}/record/${records[0]}/comments/get?limit=100`)).body.toReversed()
  const mail = { tableId: table, recordId: records[0], smtpIntegrationId: created.id, fromIdentity: { email: 'desk@example.com' } }
  await as.post('/api/email/send', { ...mail, to: ['ann@customer.example'], subject: 'Our offer' })
  await until(async () => (await comments())[0]?.metadata.status === 'sent', 'for the mail to be sent')
  const address = /reply-[0-9a-f]{16}@reply\.example\.net/.exec(smtp.received.at(-1)?.raw ?? '')?.[0] as string
  /** The answers so far, when every stored message has been read. */
  const answers = async (): Promise<Comment[]> => {
    await untilRead(app)
    return (await comments()).slice(1)
  }
  return { ...account, table, record: records[0], address, answers }
}
