/**
 * Sends a mail from a record and waits until the SMTP server has accepted it.
 *
 *   GRIDPOST_KEY=gp_… npx node examples/send-mail.ts <table id> <record id>
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from 'gridpost-client' // npm install http://127.0.0.1:3000/client.tgz

const client = createClient({ baseUrl: process.env.GRIDPOST_URL ?? 'http://127.0.0.1:3000', apiKey: process.env.GRIDPOST_KEY ?? '' })
const [tableId = 4, recordId = 1] = process.argv.slice(2).map(Number)

const { emails } = await client.email.recordContext.query({ tableId, recordId })
const [to] = emails
const { rows: integrations } = await client.email.smtpOptions.query({ tableId })
const [smtp] = integrations
const [from] = smtp?.fromIdentities ?? []
if (!to || !smtp || !from) throw new Error('The record needs an email address, and its space an SMTP integration with a sender')

const mail = {
  tableId,
  recordId,
  smtpIntegrationId: smtp.id,
  fromIdentity: from,
  to: [to],
  subject: 'Our talk about {{field:company}}',
  body: '<p>Dear {{field:name}},</p><p>shall we talk this week?</p>',
}

// The preview resolves the tokens and lists what would go wrong, without sending anything.
const { subject, problems } = await client.email.preview.query(mail)
if (problems.length) throw new Error(problems.join('\n'))

// If this program loses the answer and calls again with the same key, the mail is still sent only once.
const sent = await client.email.send.mutate(mail, { context: { idempotencyKey: `talk-${tableId}-${recordId}-${Date.now()}` } })
console.log(`${sent.status}: "${subject}" to ${to}`)

for (let tries = 0; tries < 40; tries++) {
  const { rows: comments } = await client.comments.list.query({ table_id: tableId, record_id: recordId })
  const status = comments.find(({ id }) => id === sent.id)?.metadata?.status
  if (status !== 'queued') {
    console.log(`${status}`)
    break
  }
  await sleep(500)
}
