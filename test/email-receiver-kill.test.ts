/** What the receiver has acknowledged survives the end of its process, and what it has not is sent again by the client. */
import { afterAll, expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { testDatabase } from './support/database.ts'
import { mailThread } from './support/mail-thread.ts'
import { programs } from './support/programs.ts'
import { startSmtp } from './support/smtp.ts'
import { type SmtpClient, smtpClient } from './support/smtp-client.ts'

const SECRET_KEY = 'a key for tests, long enough to be one'
const smtp = await startSmtp()
afterAll(() => smtp.close())
const { url: DATABASE_URL } = await testDatabase()
const app = await testApp({ CATCH_DOMAIN: 'reply.example.net' }, { worker: true })
const receiving = { DATABASE_URL, SECRET_KEY, ROLE: 'web', CATCH_DOMAIN: 'reply.example.net', INBOUND_SMTP: 'lmtp://127.0.0.1:0' }

const content = (id: string) =>
  `From: Ann <ann@customer.example>\r\nSubject: Re: Our offer\r\nMessage-ID: <${id}@customer.example>\r\n\r\nText of ${id}\r\n`

/** A process of the service, and a client that has named the recipient and may send the content. */
async function receiver(address: string) {
  const started = programs(receiving)
  const service = await started.start()
  const port = Number(/received at lmtp:\/\/127\.0\.0\.1:(\d+)/.exec(service.output())?.[1])
  const client = await smtpClient(port)
  await client.answer()
  await client.command('LHLO client.example')
  await client.command('MAIL FROM:<ann@customer.example>')
  expect(await client.command(`RCPT TO:<${address}>`)).toMatch(/^250/)
  expect(await client.command('DATA')).toMatch(/^354/)
  return { client, kill: () => started.cleanUp() }
}

const readAll = async (answers: () => Promise<{ content: string }[]>) => (await answers()).map(({ content }) => content)

test('a mail that was answered with 250 becomes a comment, even if the process is killed at once', async () => {
  const { address, answers } = await mailThread(app, smtp)
  const { client, kill } = await receiver(address)
  client.write(`${content('one')}.\r\n`)
  expect(await client.answer()).toMatch(/^250/)
  await kill()
  expect(await client.answer()).toBe('closed')
  expect(await readAll(answers)).toEqual(['Text of one'])
})

test('a mail that was not answered leaves nothing behind, and is added once when it is sent again', async () => {
  const { address, answers } = await mailThread(app, smtp)
  const first = await receiver(address)
  first.client.write(content('two'))
  await first.kill()
  expect(await first.client.answer()).toBe('closed')
  expect(await app.db.read(sql`select id from inbound_emails where raw::text like '%' || encode('Text of two', 'hex') || '%'`)).toEqual([])

  const second = await receiver(address)
  await sendTwice(second.client, address, 'two')
  await second.kill()
  expect(await readAll(answers)).toEqual(['Text of two'])
})

/** As a client does that has lost the answer. */
async function sendTwice(client: SmtpClient, address: string, id: string): Promise<void> {
  client.write(`${content(id)}.\r\n`)
  expect(await client.answer()).toMatch(/^250/)
  await client.command('MAIL FROM:<ann@customer.example>')
  await client.command(`RCPT TO:<${address}>`)
  await client.command('DATA')
  client.write(`${content(id)}.\r\n`)
  expect(await client.answer()).toMatch(/^250/)
}

test('an address that is in use, and a certificate that is missing, end the start with one line', async () => {
  const address = await mailThread(app, smtp)
  const { client, kill } = await receiver(address.address)
  const port = client.socket.remotePort
  const taken = programs({ ...receiving, INBOUND_SMTP: `127.0.0.1:${port}` })
  await expect(taken.start()).rejects.toThrow(`Gridpost cannot start. INBOUND_SMTP: ${port} is in use on 127.0.0.1`)
  const missing = programs({ ...receiving, INBOUND_SMTP_CERT: '/nowhere/cert.pem', INBOUND_SMTP_KEY: '/nowhere/key.pem' })
  await expect(missing.start()).rejects.toThrow('Gridpost cannot start. INBOUND_SMTP_CERT: ENOENT')
  await Promise.all([kill(), taken.cleanUp(), missing.cleanUp()])
})
