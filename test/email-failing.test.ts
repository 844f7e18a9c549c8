/** Faults of an integration: the server refuses the connection or the sign-in, or its certificate is not valid. Its mails wait. */
import { generate } from 'selfsigned'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { markFailing } from '../src/email/outbound/faults.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { forgetQueuedMails, untilNoneIsOnItsWay } from './support/queued-mails.ts'
import { startSmtp } from './support/smtp.ts'
import { makeTable } from './support/tables.ts'

const smtp = await startSmtp()
const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }])
const untrusted = await startSmtp({ key, cert })
afterAll(() => Promise.all([smtp.close(), untrusted.close()]))
const app = await testApp({}, { worker: true })

beforeEach(async () => {
  await forgetQueuedMails(app)
  smtp.received.length = 0
  smtp.login = undefined
  smtp.onGreeting = {}
  // A kept connection has its greeting behind it.
  smtp.endConnections()
})

async function desk(integration: object = {}) {
  const account = await app.account()
  const { id: table, records } = await makeTable(app, account, { records: [{ name: 'Acme' }], fields: [{ name: 'Name', type: 'text' }] })
  const settings = { label: 'Desk', host: 'localhost', port: smtp.port, tls: 'none', from_domains: ['example.com'], ...integration }
  const { body: created } = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, settings)
  const as = app.as(account.keys.account)
  const send = async (subject: string): Promise<number> => {
    const mail = { tableId: table, recordId: records[0], smtpIntegrationId: created.id, fromIdentity: { email: 'desk@example.com' } }
    return (await as.post('/api/email/send', { ...mail, to: ['ann@customer.example'], subject })).body.id
  }
  const metadata = async (id: number) => {
    const { body } = await as.get(`/api/table/${table}/record/${records[0]}/comments/get`)
    return body.find((comment: { id: number }) => comment.id === id).metadata
  }
  const listed = async () => (await app.as(account.admin).get(`/api/space/${account.space}/smtp/list`)).body[0]
  const offered = async () => (await as.post('/api/email/smtpOptions', { tableId: table })).body[0]
  const notices = async (person: typeof account.admin) =>
    (await app.as(person).post('/api/notifications/list')).body.filter(
      ({ event_type }: { event_type: string }) => event_type === 'SMTP_FAILING',
    )
  const change = (path: string, body: object = {}) => app.as(account.admin).post(`/api/smtp/${created.id}/${path}`, body)
  return { ...account, table, record: records[0] as number, created, send, metadata, listed, offered, notices, change }
}

const arrived = () => smtp.received.map(({ email }) => email.subject)

test('a wrong password holds the mails back, is shown, and tells the admins once; a new password sends them at once', async () => {
  smtp.login = { user: 'desk', password: 'right' }
  const { created, send, metadata, listed, offered, notices, change, admin, owner, member } = await desk({
    username: 'desk',
    password: 'wrong',
  })
  expect(created.failing).toBeNull()
  const mails = [await send('one'), await send('two')]
  const sent = () => Promise.all(mails.map(metadata))
  await expect
    .poll(async () => (await listed()).failing)
    .toEqual({
      since: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      message: expect.stringContaining('535'),
    })
  expect((await offered()).failing.message).toContain('535')
  // The one that is tried first holds back the other.
  expect((await sent()).map(({ error }) => error?.code)).toContain('535')
  for (const mail of await sent()) expect(mail).toMatchObject({ status: 'queued', recipients: [{ status: 'queued' }] })
  for (const person of [admin, owner]) {
    const [notice, ...others] = await notices(person)
    expect([notice.message, notice.summary, others]).toEqual([expect.stringContaining('“Desk”'), expect.stringContaining('535'), []])
  }
  expect(await notices(member)).toEqual([])

  expect((await change('update', { password: 'right' })).body.failing).toBeNull()
  await expect.poll(() => arrived().toSorted()).toEqual(['one', 'two'])
  await expect.poll(async () => (await sent()).map(({ error }) => error)).toEqual([null, null])
})

test('a server that refuses connections is tried again, one mail at a time, and at once after a successful test', async () => {
  smtp.onGreeting = { code: 554 }
  const { send, listed, change } = await desk()
  for (const subject of ['one', 'two', 'three']) await send(subject)
  await expect.poll(async () => (await listed()).failing?.message).toContain('554')
  expect((await change('test')).body).toMatchObject({ ok: false, error: { code: '554' } })
  // The mails that were under way when the first one failed have ended.
  await untilNoneIsOnItsWay(app)
  const before = smtp.connections
  await app.db.write(sql`update smtp_integrations set paused_until = localtimestamp`)
  await expect.poll(() => smtp.connections).toBe(before + 1)
  await expect
    .poll(async () => (await app.db.read(sql`select 1 from smtp_integrations where paused_until > localtimestamp`)).length)
    .toBe(1)
  expect(smtp.connections).toBe(before + 1)

  smtp.onGreeting = {}
  expect((await change('test')).body).toEqual({ ok: true, error: null })
  await expect.poll(() => arrived().length).toBe(3)
  expect((await listed()).failing).toBeNull()
})

test.each([
  [0, 60],
  [1, 120],
  [5, 1920],
  [6, 3600],
  [40, 3600],
])('after %i failed tries the next one follows within %i seconds, at a random time of their second half', async (faults, seconds) => {
  const { created, id, space, table, record } = await desk()
  const used = { integration_id: created.id, version: 1, account_id: id, space_id: space, table_id: table, record_id: record }
  const failure = { kind: 'permanent', code: '554', enhanced: null, message: '554 No' } as const
  const pauses: number[] = []
  for (let index = 0; index < 5; index++) {
    await app.db.write(sql`update smtp_integrations set faults = ${faults}, paused_until = null where id = ${created.id}`)
    // In one transaction the time of the database stands still.
    await app.db.transaction(async () => {
      await markFailing(systemContext(app.deps), used, failure)
      const [row] = await app.db.read<{ pause: number }>(
        sql`select extract(epoch from paused_until - localtimestamp)::float8 as pause from smtp_integrations where id = ${created.id}`,
      )
      pauses.push(row?.pause ?? 0)
    })
  }
  // The instant is stored to the millisecond.
  for (const pause of pauses) expect(pause).toBeGreaterThan(seconds / 2 - 0.001)
  for (const pause of pauses) expect(pause).toBeLessThan(seconds + 0.001)
  expect(new Set(pauses).size).toBeGreaterThan(1)
})

test('a certificate that is not trusted holds the mails back', async () => {
  const { send, listed, metadata } = await desk({ port: untrusted.port, tls: 'starttls' })
  const id = await send('one')
  await expect.poll(async () => (await listed()).failing?.message).toMatch(/certificate/i)
  expect((await metadata(id)).status).toBe('queued')
})

test('a server that works again ends the fault with the next mail', async () => {
  smtp.onGreeting = { code: 550 }
  const { send, listed } = await desk()
  await send('one')
  await expect.poll(async () => (await listed()).failing).not.toBeNull()
  smtp.onGreeting = {}
  await app.db.write(sql`update smtp_integrations set paused_until = localtimestamp`)
  await expect.poll(arrived).toEqual(['one'])
  await expect.poll(async () => (await listed()).failing).toBeNull()
})

test('a mail is dropped when its integration has failed for two days', async () => {
  smtp.onGreeting = { code: 554 }
  const { send, listed, metadata } = await desk()
  const [old, young] = [await send('old'), await send('young')]
  await expect.poll(async () => (await listed()).failing).not.toBeNull()
  await app.db.write(sql`update outbound_emails set created_at = created_at - interval '49 hours' where comment_id = ${old}`)
  await expect.poll(async () => (await metadata(old)).status).toBe('dropped')
  expect((await metadata(old)).error).toMatchObject({ code: 'INTEGRATION_FAILING', message: expect.stringContaining('554') })
  expect((await metadata(young)).status).toBe('queued')
})

test('a mail whose tokens no SECRET_KEY can read waits for two days, whatever its attempts, and holds back no other', async () => {
  const { created, send, metadata, listed } = await desk()
  const pause = (until: object) => app.db.write(sql`update smtp_integrations set paused_until = ${until} where id = ${created.id}`)
  await pause(sql`localtimestamp + interval '1 hour'`)
  const [lost, found, other] = [await send('lost'), await send('found'), await send('other')]
  await app.db.write(sql`
    update outbound_emails set attempts = 6, tokens_encrypted = tokens_encrypted || '\\x00'::bytea where comment_id in (${lost}, ${found})`)
  await pause(sql`null`)
  await expect.poll(arrived).toEqual(['other'])
  for (const id of [lost, found])
    await expect
      .poll(() => metadata(id))
      .toMatchObject({ status: 'queued', error: { code: 'TOKENS_UNREADABLE', message: expect.stringContaining('SECRET_KEY') } })
  expect([(await listed()).failing, (await metadata(other)).status]).toEqual([null, 'sent'])
  // The operator brings back the key of one of them. The other has waited for long enough.
  await app.db.write(sql`
    update outbound_emails set tokens_encrypted = substr(tokens_encrypted, 1, length(tokens_encrypted) - 1), due_at = created_at where comment_id = ${found}`)
  await app.db.write(sql`
    update outbound_emails set created_at = created_at - interval '49 hours', due_at = created_at where comment_id = ${lost}`)
  await expect.poll(arrived).toEqual(['other', 'found'])
  await expect.poll(() => metadata(lost)).toMatchObject({ status: 'dropped', error: { code: 'TOKENS_UNREADABLE' } })
})

test.each([
  ['a server that is busy', { code: 421 }, {}],
  ['a server that nobody reaches', {}, { port: 1 }],
])('%s is no fault: the mail is repeated by itself', async (_, greeting, integration) => {
  smtp.onGreeting = greeting
  const { send, listed, metadata } = await desk(integration)
  const id = await send('one')
  await expect.poll(async () => (await metadata(id)).error).not.toBeNull()
  expect([(await metadata(id)).status, (await listed()).failing]).toEqual(['queued', null])
})
