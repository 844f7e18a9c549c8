/** The emails of a sender who is disabled before they are sent (contract.md §9, People of an account). */
import { afterAll, beforeEach, expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { type Caller, testApp } from './support/app.ts'
import { forgetQueuedMails } from './support/queued-mails.ts'
import { startSmtp } from './support/smtp.ts'
import { makeTable } from './support/tables.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp({}, { worker: true })

beforeEach(async () => {
  await forgetQueuedMails(app)
  smtp.received.length = 0
  smtp.recipients.clear()
  smtp.onContent = {}
  app.setClock(null)
})

const HOUR = 3_600_000
const inAnHour = () => new Date(Date.now() + HOUR).toISOString()
const REASON = { code: 'SENDER_DISABLED', enhanced: null, message: 'The sender was disabled before the mail was sent' }

/** @param port of the SMTP server; nothing listens at port 1, so that mails stay queued */
async function desk({ port = smtp.port } = {}) {
  const account = await app.account()
  const { id: table, path, records } = await makeTable(app, account, { records: [{ name: 'Acme' }] })
  const server = { label: 'Desk', host: '127.0.0.1', port, tls: 'none', from_domains: ['example.com'] }
  const { body: integration } = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, server)
  const from = `desk-${integration.id}@example.com`
  const send = async (caller: Caller, more: object = {}): Promise<number> => {
    const mail = { tableId: table, recordId: records[0], smtpIntegrationId: integration.id, fromIdentity: { email: from } }
    const { status, body } = await app.as(caller).post('/api/email/send', { ...mail, to: ['ann@customer.example'], ...more })
    expect([status, body.message]).toEqual([202, undefined])
    return body.id
  }
  const comments = async () => (await app.as(account.owner).get(`${path}/record/${records[0]}/comments/get?limit=100`)).body
  const metadataOf = async (id: number) => (await comments()).find((comment: { id: number }) => comment.id === id).metadata
  const statusOf = async (id: number) => (await metadataOf(id)).status
  const received = () => smtp.received.filter(({ email }) => email.from?.address === from)
  const call = async (what: 'disable' | 'enable') =>
    expect((await app.as(account.owner).post(`/api/user/${account.member.id}/${what}`)).body).toEqual({ ok: true })
  return { ...account, table, send, metadataOf, statusOf, received, call }
}

test('are dropped at once while they wait, by session and by personal key, and those of others go on', async () => {
  const { member, admin, viewer, owner, keys, send, metadataOf, statusOf, call, received, space } = await desk()
  await app.as(owner).post(`/api/space/${space}/member/${viewer.id}/update`, { role: 'member' })
  const mine = [await send(member, { sendAt: inAnHour() }), await send(keys.personal, { sendAt: inAnHour(), cc: ['bob@customer.example'] })]
  const others = [
    await send(admin, { sendAt: inAnHour() }),
    await send(keys.account, { sendAt: inAnHour() }),
    await send(keys.personalViewer, { sendAt: inAnHour() }),
  ]
  await call('disable')
  for (const id of mine) {
    const metadata = await metadataOf(id)
    expect(metadata).toMatchObject({ status: 'dropped', droppedAt: expect.stringMatching(/^\d{4}-/), error: REASON })
    for (const recipient of metadata.recipients) expect(recipient).toMatchObject({ status: 'dropped', error: REASON })
  }
  for (const id of others) expect(await statusOf(id)).toBe('queued')
  const [entry] = (await app.as(owner).get('/api/audit/list?action=user.disabled')).body
  expect(entry.detail).toEqual({ sessions: 1, keys: 1, mails: 2 })

  await call('enable')
  for (const id of mine) expect(await statusOf(id)).toBe('dropped')
  app.setClock(new Date(Date.now() + HOUR + 1_000))
  for (const id of others) await expect.poll(() => statusOf(id)).toBe('sent')
  expect(received()).toHaveLength(others.length)
})

test('are dropped for those recipients that still wait', async () => {
  const { member, send, metadataOf, call } = await desk()
  smtp.recipients.set('later@customer.example', 450)
  const id = await send(member, { to: ['ann@customer.example', 'later@customer.example'] })
  const statesOf = async () => (await metadataOf(id)).recipients.map(({ status }: { status: string }) => status)
  await expect.poll(statesOf).toEqual(['sent', 'queued'])
  await expect.poll(() => app.db.read(sql`select 1 from outbound_emails where comment_id = ${id} and leased_until is not null`)).toEqual([])
  await call('disable')
  expect(await statesOf()).toEqual(['sent', 'dropped'])
  expect(await metadataOf(id)).toMatchObject({ status: 'sent', error: REASON })
})

test('are dropped by the worker if they come into the queue later', async () => {
  const { member, send, metadataOf, statusOf, call, received } = await desk()
  const id = await send(member, { sendAt: inAnHour() })
  await app.db.write(sql`update outbound_emails set due_at = null where comment_id = ${id}`)
  await call('disable')
  expect(await statusOf(id)).toBe('queued')
  await app.db.write(sql`update outbound_emails set due_at = localtimestamp - interval '1 second' where comment_id = ${id}`)
  await expect.poll(() => statusOf(id)).toBe('dropped')
  expect((await metadataOf(id)).error).toEqual(REASON)
  expect(received()).toEqual([])
})

test.each(['a member', 'a key of the account'])('are sent after all when %s retries them', async (who) => {
  const { member, admin, keys, send, statusOf, call, received } = await desk()
  const ids = [await send(member, { sendAt: inAnHour() }), await send(keys.personal, { sendAt: inAnHour() })]
  await call('disable')
  for (const id of ids) {
    const retried = await app.as(who === 'a member' ? admin : keys.account).post(`/api/email/${id}/retry`)
    expect([retried.status, retried.body.message]).toEqual([200, undefined])
    await expect.poll(() => statusOf(id)).toBe('sent')
  }
  expect(received()).toHaveLength(2)
})

test('is delivered if it is being handed over', async () => {
  const { member, send, metadataOf, statusOf, call, received } = await desk()
  smtp.onContent = { meanwhile: () => call('disable') }
  const id = await send(member)
  await expect.poll(() => statusOf(id)).toBe('sent')
  expect(received()).toHaveLength(1)
  expect((await metadataOf(id)).error).toBeNull()
})

test('is not tried again if the server has refused it for now while the sender was disabled', async () => {
  const { member, send, metadataOf, statusOf, call, received } = await desk()
  smtp.onContent = { code: 451, meanwhile: () => call('disable') }
  const id = await send(member)
  await expect.poll(async () => (await metadataOf(id)).error?.code).toBe('451')
  smtp.onContent = {}
  await app.db.write(sql`update outbound_emails set due_at = localtimestamp - interval '1 second' where comment_id = ${id}`)
  await expect.poll(() => statusOf(id)).toBe('dropped')
  expect((await metadataOf(id)).error).toEqual(REASON)
  expect(received()).toEqual([])
})

test('takes mails from workers that have leased them and not handed them over', async () => {
  const { member, send, statusOf, call, received } = await desk({ port: 1 })
  const id = await send(member)
  await app.db.write(
    sql`update outbound_emails set lease = 77, leased_until = localtimestamp + interval '1 minute' where comment_id = ${id}`,
  )
  await call('disable')
  expect(await statusOf(id)).toBe('dropped')
  expect(await app.db.read(sql`select lease, leased_until, due_at from outbound_emails where comment_id = ${id}`)).toEqual([
    { lease: null, leased_until: null, due_at: null },
  ])
  expect(received()).toEqual([])
})

test('are dropped in any number', async () => {
  const { member, send, call, table } = await desk({ port: 1 })
  const first = await send(member, { sendAt: inAnHour() })
  await app.db.write(sql`
    with made as (
      insert into record_comments (account_id, space_id, table_id, record_id, type, user_id, user_name, content, attachments, metadata, created_at)
      select account_id, space_id, table_id, record_id, type, user_id, user_name, content, attachments, metadata, created_at
      from record_comments, generate_series(1, 1200) where id = ${first} returning id
    )
    insert into outbound_emails (comment_id, account_id, space_id, table_id, record_id, smtp_integration_id, request, message_id,
      pixel_token_hash, tokens_encrypted, due_at)
    select m.id, o.account_id, o.space_id, o.table_id, o.record_id, o.smtp_integration_id, o.request, o.message_id || m.id,
      decode(md5(m.id::text), 'hex'), o.tokens_encrypted, o.due_at
    from outbound_emails o, made m where o.comment_id = ${first}`)
  await call('disable')
  const states = await app.db.read(sql`
    select metadata->>'status' as status, count(*)::int as count from record_comments where table_id = ${table} group by 1`)
  expect(states).toEqual([{ status: 'dropped', count: 1201 }])
})
