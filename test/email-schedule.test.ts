/** Scheduled sending, cancelling and retrying (contract.md §8). */
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { leaseDue } from '../src/email/outbound/lease.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { tokenHash } from '../src/platform/secrets/secrets.ts'
import { type Caller, testApp } from './support/app.ts'
import { forgetQueuedMails } from './support/queued-mails.ts'
import { startSmtp } from './support/smtp.ts'
import { makeTable } from './support/tables.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp({}, { worker: true })

beforeEach(async () => {
  // Mails that other tests have left waiting stay where they are.
  await forgetQueuedMails(app)
  smtp.received.length = 0
  smtp.recipients.clear()
  smtp.onContent = {}
  smtp.on = {}
  app.setClock(null)
})

const HOUR = 3_600_000
const DAY = 24 * HOUR
const inFuture = (ms: number) => new Date(Date.now() + ms).toISOString()

/** @param port of the SMTP server; nothing listens at port 1, so that mails stay queued */
async function desk({ port = smtp.port } = {}) {
  const account = await app.account()
  const { id: table, records } = await makeTable(app, account, { records: [{ name: 'Acme' }], fields: [{ name: 'Name', type: 'text' }] })
  const record = records[0] as number
  const server = { label: 'Desk', host: '127.0.0.1', port, tls: 'none', from_domains: ['example.com'] }
  const { body: integration } = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, server)
  const from = `desk-${integration.id}@example.com`
  /** The mails from this desk that have arrived. Those of an earlier test may still be on their way. */
  const received = () => smtp.received.filter(({ email }) => email.from?.address === from)
  const mail = (more: object = {}) => ({
    tableId: table,
    recordId: record,
    smtpIntegrationId: integration.id as number,
    fromIdentity: { email: from },
    to: ['ann@customer.example'],
    subject: 'For {{field:name}}',
    body: '<p>Dear {{field:name}}</p>',
    ...more,
  })
  const send = (more: object = {}, caller: Caller = account.member) => app.as(caller).post('/api/email/send', mail(more))
  const call = (what: 'cancel' | 'retry', id: number, caller: Caller = account.member) => app.as(caller).post(`/api/email/${id}/${what}`)
  const comment = async (id: number) =>
    (await app.as(account.member).get(`/api/table/${table}/record/${record}/comments/get?limit=100`)).body.find(
      (row: { id: number }) => row.id === id,
    )
  const statusOf = async (id: number) => (await comment(id)).metadata.status
  const recipientsOf = async (id: number) => (await comment(id)).metadata.recipients.map(({ status }: { status: string }) => status)
  /** A mail that the server has refused for all of its recipients. */
  const dropped = async (more: object = {}) => {
    const { body } = await send(more)
    await expect.poll(() => statusOf(body.id)).toBe('dropped')
    return body.id as number
  }
  return {
    ...account,
    table,
    record,
    integrationId: integration.id as number,
    mail,
    send,
    call,
    comment,
    statusOf,
    recipientsOf,
    dropped,
    received,
  }
}

describe('a mail with sendAt', () => {
  test('waits until then, and goes with the values that the record has by then', async () => {
    const { send, comment, statusOf, keys, table, record, received } = await desk()
    const sendAt = inFuture(3 * DAY)
    const { status, body } = await send({ sendAt })
    expect(status).toBe(202)
    const at = sendAt.slice(0, 19).replace('T', ' ')
    expect(body.comment.metadata).toMatchObject({ status: 'queued', sendAt: at })
    expect(await leaseDue(systemContext(app.deps), { limit: 60, slots: [], unreachedIds: [] })).toEqual([])
    await app.as(keys.account).post(`/api/table/${table}/record/${record}/update`, { data: { name: 'Zenith' } })
    app.setClock(new Date(Date.now() + 3 * DAY + 1_000))
    await expect.poll(() => statusOf(body.id)).toBe('sent')
    expect(received().map(({ email }) => email.subject)).toEqual(['For Zenith'])
    expect(await comment(body.id)).toMatchObject({ content: '<p>Dear Zenith</p>', metadata: { subject: 'For Zenith', sendAt: at } })
  })

  test.each([
    ['not again when it goes', 'Dear Ann', '<p data-mark="1">Dear Ann</p>'],
    ['again when it goes if it has tokens, whose values may be part of a link', 'Dear {{field:name}}', '<p>Dear Acme</p>'],
  ])('is sanitised when it is accepted, and %s', async (_, words, html) => {
    const { send, comment, statusOf } = await desk()
    const { body } = await send({ sendAt: inFuture(HOUR), body: `<p data-mark="1">${words}</p>` })
    expect((await comment(body.id)).content).toBe(`<p>${words}</p>`)
    // What the sanitiser would remove shows whether it sees the body once more.
    await app.db.write(sql`
      update outbound_emails set request = jsonb_set(request, '{body}', to_jsonb(${`<p data-mark="1">${words}</p>`}::text)) where comment_id = ${body.id}`)
    app.setClock(new Date(Date.now() + 2 * HOUR))
    await expect.poll(() => statusOf(body.id)).toBe('sent')
    expect((await comment(body.id)).content).toBe(html)
  })

  test('works on RPC, and has no sendAt in its metadata without one', async () => {
    const { mail, member } = await desk({ port: 1 })
    const sendAt = inFuture(HOUR)
    const scheduled = await app.as(member).rpc.email.send.mutate(mail({ sendAt }))
    expect(scheduled.comment.metadata.sendAt).toBe(sendAt.slice(0, 19).replace('T', ' '))
    expect(await app.as(member).rpc.email.cancel.mutate({ comment_id: scheduled.id })).toEqual({ ok: true })
    expect((await app.as(member).rpc.email.retry.mutate({ comment_id: scheduled.id })).metadata).toMatchObject({
      status: 'queued',
      sendAt: null,
    })
    expect((await app.as(member).rpc.email.send.mutate(mail())).comment.metadata).not.toHaveProperty('sendAt')
  })

  test('does not count the time before as time that it has waited for a failing integration', async () => {
    const { send, statusOf, comment, integrationId } = await desk()
    const { body } = await send({ sendAt: inFuture(3 * DAY) })
    await app.db.write(sql`
      update smtp_integrations set failing_since = localtimestamp, failing_message = '535 No', faults = 1 where id = ${integrationId}`)
    app.setClock(new Date(Date.now() + 3 * DAY + 1_000))
    await expect.poll(() => statusOf(body.id)).toBe('sent')
    expect((await comment(body.id)).metadata.error).toBeNull()
  })

  test.each<[string, unknown, string]>([
    ['in the past', '2020-01-01T00:00:00Z', 'sendAt: must not be in the past'],
    ['in the last second', '2026-06-01T11:59:59Z', 'sendAt: must not be in the past'],
    ['over a year ahead', '2027-06-01T12:00:01Z', 'sendAt: must be at most a year ahead'],
    ['over a year ahead by its offset', '2027-06-01T12:00:00-01:00', 'sendAt: must be at most a year ahead'],
    ['without a time', '2026-07-01', 'sendAt: must be an instant'],
    ['of a day that does not exist', '2026-06-31T12:00:00Z', 'sendAt: must be an instant'],
    ['of an hour that does not exist', '2026-07-01T25:00:00Z', 'sendAt: must be an instant'],
    ['with an offset that does not exist', '2026-07-01T12:00:00+25:00', 'sendAt: must be an instant'],
    ['in the year 10000', '+010000-01-01T00:00:00Z', 'sendAt: must be an instant'],
    ['in words', 'tomorrow', 'sendAt: must be an instant'],
    ['that is empty', '', 'sendAt: must be an instant'],
    ['with a line break', '2026-07-01T12:00:00Z\n', 'sendAt: must be an instant'],
    ['with NUL', '2026-07-01T12:00:00Z\0', 'sendAt'],
    ['with spaces around it', ' 2026-07-01T12:00:00Z ', 'sendAt: must be an instant'],
    ['with a space before its offset', '2026-07-01T12:00:00 +02:00', 'sendAt: must be an instant'],
    ['with half an offset', '2026-07-01T12:00:00+02', 'sendAt: must be an instant'],
    ['with a zone by name', '2026-07-01T12:00:00Z[Europe/Berlin]', 'sendAt: must be an instant'],
    ['at 24 hours', '2026-07-01T24:00:00Z', 'sendAt: must be an instant'],
    ['at a leap second', '2026-06-30T23:59:60Z', 'sendAt: must be an instant'],
    ['on 29 February of a usual year', '2027-02-29T12:00:00Z', 'sendAt: must be an instant'],
    ['before our era', '-002026-07-01T12:00:00Z', 'sendAt: must be an instant'],
    ['in the basic form of ISO 8601', '20260701T120000Z', 'sendAt: must be an instant'],
    ['in digits of another script', '２０２６-07-01T12:00:00Z', 'sendAt: must be an instant'],
    ['that is a number in quotes', '1782900000', 'sendAt: must be an instant'],
    ['in a word of PostgreSQL', 'infinity', 'sendAt: must be an instant'],
    ['that is long', '2'.repeat(100_000), 'sendAt: must be an instant'],
    ['that is a number', 1_782_900_000, 'sendAt: must be'],
    ['that is true', true, 'sendAt: must be'],
    ['that is a list', ['2026-07-01T12:00:00Z'], 'sendAt: must be'],
    ['that is an object', { at: '2026-07-01T12:00:00Z' }, 'sendAt: must be'],
  ])('%s is refused by send and preview', async (_, sendAt, message) => {
    const { send, mail, keys } = await desk({ port: 1 })
    app.setClock(new Date('2026-06-01T12:00:00.400Z'))
    for (const answer of [await send({ sendAt }), await app.as(keys.account).post('/api/email/preview', mail({ sendAt }))]) {
      expect([answer.status, answer.body.code]).toEqual([400, 'BAD_REQUEST'])
      expect(answer.body.message).toContain(message)
    }
  })

  test.each<[string, unknown]>([
    ['this second', '2026-06-01 12:00:00'],
    ['a year ahead', '2027-06-01T12:00:00.999Z'],
    ['with an offset', '2026-06-01T14:00:00+02:00'],
    ['to the minute', '2026-07-01 08:30'],
    ['in small letters', '2026-07-01t08:30:00z'],
    ['with an offset without a colon', '2026-07-01T08:30:00-0930'],
    ['null', null],
  ])('%s is accepted', async (_, sendAt) => {
    const { send, mail, keys } = await desk({ port: 1 })
    app.setClock(new Date('2026-06-01T12:00:00.400Z'))
    expect((await send({ sendAt })).status).toBe(202)
    expect((await app.as(keys.account).post('/api/email/preview', mail({ sendAt }))).status).toBe(200)
  })
})

describe('cancelling', () => {
  test('drops a mail that waits, once', async () => {
    const { send, call, comment, statusOf, space, table, member, received } = await desk()
    const { body } = await send({ sendAt: inFuture(HOUR), cc: ['bob@customer.example'] })
    const [first, second] = await Promise.all([call('cancel', body.id), call('cancel', body.id)])
    expect([first.body, second.body].toSorted((a, b) => Number(a.ok) - Number(b.ok))).toEqual([{ ok: false }, { ok: true }])
    expect((await call('cancel', body.id)).body).toEqual({ ok: false })
    const error = { code: 'CANCELLED', enhanced: null, message: expect.any(String) }
    expect((await comment(body.id)).metadata).toMatchObject({
      status: 'dropped',
      droppedAt: expect.stringMatching(/^\d{4}-/),
      error,
      recipients: [
        { status: 'dropped', error },
        { status: 'dropped', error },
      ],
    })
    app.setClock(new Date(Date.now() + 2 * HOUR))
    const { body: other } = await send()
    await expect.poll(() => statusOf(other.id)).toBe('sent')
    expect(received()).toHaveLength(1)
    const events = await app.db.read<{ type: string }>(sql`select type from events where comment_id = ${body.id} order by id`)
    expect(events.map(({ type }) => type)).toEqual(['comment.created', 'email.status'])
    const entries = await app.db.read(sql`
      select actor_user_id, space_id, table_id from audit_entries where action = 'email.cancelled' and object->>'id' = ${String(body.id)}`)
    expect(entries).toEqual([{ actor_user_id: member.id, space_id: space, table_id: table }])
  })

  test('drops a mail that waits for a retry, with the code CANCELLED whatever the server said before', async () => {
    const { send, call, comment, recipientsOf } = await desk()
    smtp.recipients.set('gone@customer.example', 550)
    smtp.recipients.set('full@customer.example', 451)
    const { body } = await send({ to: ['gone@customer.example', 'full@customer.example'] })
    await expect.poll(() => recipientsOf(body.id)).toEqual(['dropped', 'queued'])
    await app.db.write(sql`update outbound_emails set due_at = localtimestamp + interval '1 hour' where comment_id = ${body.id}`)
    expect((await call('cancel', body.id)).body).toEqual({ ok: true })
    const { metadata } = await comment(body.id)
    expect(metadata).toMatchObject({ status: 'dropped', error: { code: 'CANCELLED' } })
    expect(metadata.recipients.map(({ error }: { error: { code: string } }) => error.code)).toEqual(['550', 'CANCELLED'])
  })

  test('with discard takes the mail back: its comment goes, and its files can be sent again', async () => {
    const { send, call, comment, mail, member, record, table, received, space } = await desk()
    const upload = { name: 'offer.txt', type: 'text/plain', data: 'aGVsbG8=' }
    const { body: file } = await app.as(member).post(`/api/table/${table}/record/${record}/comments/upload`, upload)
    const { body } = await send({ sendAt: inFuture(HOUR / 2), attachments: [file] })
    const answers = await Promise.all([1, 2].map(() => app.as(member).post(`/api/email/${body.id}/cancel`, { discard: true })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404])
    expect(await comment(body.id)).toBeUndefined()
    expect(await app.db.read(sql`select 1 from outbound_emails where comment_id = ${body.id}`)).toEqual([])
    for (const what of ['cancel', 'retry'] as const) expect((await call(what, body.id)).status).toBe(404)
    const events = await app.db.read<{ type: string }>(sql`select type from events where comment_id = ${body.id} order by id`)
    expect(events.map(({ type }) => type)).toEqual(['comment.created', 'comment.deleted'])
    const entries = await app.db.read(sql`
      select space_id, detail from audit_entries where action = 'email.cancelled' and object->>'id' = ${String(body.id)}`)
    expect(entries).toEqual([{ space_id: space, detail: { discarded: true } }])
    app.setClock(new Date(Date.now() + HOUR))
    const again = await send({ attachments: [file] })
    await expect.poll(async () => (await comment(again.body.id)).metadata.status).toBe('sent')
    expect(received().map(({ email }) => email.messageId)).toEqual([again.body.comment.metadata.messageId])
    const rpc = await app.as(member).rpc.email.send.mutate({ ...mail({ sendAt: inFuture(HOUR) }) })
    expect(await app.as(member).rpc.email.cancel.mutate({ comment_id: rpc.id, discard: true })).toEqual({ ok: true })
  })

  test('with discard is for the sender alone, and 409 for a mail that does not wait', async () => {
    const { send, call, comment, admin, owner, member, viewer, outsider, keys, dropped } = await desk()
    const discard = (id: number, caller: Caller | null) => app.as(caller).post(`/api/email/${id}/cancel`, { discard: true })
    const { body } = await send({ sendAt: inFuture(HOUR) })
    for (const caller of [admin, owner, viewer, keys.account]) expect((await discard(body.id, caller)).status).toBe(403)
    expect([(await discard(body.id, outsider)).status, (await discard(body.id, null)).status]).toEqual([404, 401])
    for (const wrong of ['yes', 1, {}])
      expect((await app.as(member).post(`/api/email/${body.id}/cancel`, { discard: wrong })).status).toBe(400)
    expect((await comment(body.id)).metadata.status).toBe('queued')
    const { body: ofKey } = await send({ sendAt: inFuture(HOUR) }, keys.account)
    expect((await discard(ofKey.id, member)).status).toBe(403)
    expect((await discard(ofKey.id, keys.account)).body).toEqual({ ok: true })
    smtp.recipients.set('gone@customer.example', 550)
    const refused = await dropped({ to: ['gone@customer.example'] })
    expect((await discard(refused, member)).status).toBe(409)
    expect((await call('cancel', body.id, admin)).body).toEqual({ ok: true })
    // It was cancelled before, so it does not wait any more; its comment can be deleted like any other.
    expect((await discard(body.id, member)).body).toEqual({ ok: false })
    expect((await comment(body.id)).metadata.status).toBe('dropped')
  })

  test('is 409 for a mail that is being sent, was sent, or was refused', async () => {
    const { send, call, dropped, statusOf } = await desk()
    const arrived = Promise.withResolvers<void>()
    const mayGoOn = Promise.withResolvers<void>()
    smtp.on.sender = async () => {
      arrived.resolve()
      await mayGoOn.promise
    }
    const { body } = await send()
    await arrived.promise
    const claimed = await call('cancel', body.id)
    expect([claimed.status, claimed.body.message]).toEqual([409, 'The email is being sent, so it cannot be cancelled'])
    mayGoOn.resolve()
    await expect.poll(() => statusOf(body.id)).toBe('sent')
    const sent = await call('cancel', body.id)
    expect([sent.status, sent.body.message]).toEqual([409, 'Only a queued email can be cancelled; this one is sent'])
    smtp.recipients.set('ann@customer.example', 550)
    expect((await call('cancel', await dropped())).status).toBe(409)
  })

  test('is 409 for a mail that may have reached one of its recipients', async () => {
    const { send, call, recipientsOf } = await desk()
    smtp.recipients.set('full@customer.example', 451)
    smtp.onContent = { hangUp: 'after' }
    const { body } = await send({ to: ['ann@customer.example', 'full@customer.example'] })
    await expect.poll(() => recipientsOf(body.id)).toEqual(['unknown', 'queued'])
    await app.db.write(sql`update outbound_emails set due_at = localtimestamp + interval '1 hour' where comment_id = ${body.id}`)
    expect((await call('cancel', body.id)).status).toBe(409)
  })

  test('and sending at the same moment: one of them wins', async () => {
    const { send, call, statusOf, received } = await desk()
    for (let round = 0; round < 8; round++) {
      smtp.received.length = 0
      const { body } = await send({ sendAt: inFuture(HOUR) })
      await app.db.write(sql`update outbound_emails set due_at = localtimestamp where comment_id = ${body.id}`)
      const context = systemContext(app.deps)
      const [cancelled, leased] = await Promise.all([
        call('cancel', body.id),
        leaseDue(context, { limit: 60, slots: [], unreachedIds: [] }),
      ])
      const isLeasedHere = leased.some(({ comment_id }) => comment_id === body.id)
      if (cancelled.status === 200) {
        expect([cancelled.body, isLeasedHere, await statusOf(body.id)]).toEqual([{ ok: true }, false, 'dropped'])
        expect(await app.db.read(sql`select 1 from outbound_emails where comment_id = ${body.id} and due_at is not null`)).toEqual([])
        expect(received()).toEqual([])
        continue
      }
      expect(cancelled.status).toBe(409)
      await app.db.write(sql`update outbound_emails set leased_until = null where comment_id = ${body.id} and ${isLeasedHere}::bool`)
      await expect.poll(() => statusOf(body.id)).toBe('sent')
      expect(received()).toHaveLength(1)
    }
  })

  test('holds against a worker whose lease has expired', async () => {
    const { send, call, statusOf, comment, received } = await desk()
    const arrived = Promise.withResolvers<void>()
    const mayGoOn = Promise.withResolvers<void>()
    smtp.on.recipient = async () => {
      arrived.resolve()
      await mayGoOn.promise
    }
    const { body } = await send()
    await arrived.promise
    await app.db.write(sql`
      update outbound_emails set leased_until = localtimestamp - interval '1 second', due_at = localtimestamp + interval '1 hour' where comment_id = ${body.id}`)
    expect((await call('cancel', body.id)).body).toEqual({ ok: true })
    mayGoOn.resolve()
    smtp.on = {}
    const { body: other } = await send()
    await expect.poll(() => statusOf(other.id)).toBe('sent')
    expect(received()).toHaveLength(1)
    expect((await comment(body.id)).metadata).toMatchObject({ status: 'dropped', error: { code: 'CANCELLED' } })
  })
})

/** A refusal that says nothing about the address. For an unknown one the address would be suppressed. */
const REFUSED = '550 5.7.1 Rejected by policy'

describe('retrying', () => {
  test('sends to the recipients that were dropped, and to nobody twice', async () => {
    const { send, call, recipientsOf, statusOf, comment, received } = await desk()
    smtp.recipients.set('gone@customer.example', REFUSED)
    const { body } = await send({ to: ['ann@customer.example', 'gone@customer.example'] })
    await expect.poll(() => recipientsOf(body.id)).toEqual(['sent', 'dropped'])
    const before = (await comment(body.id)).metadata
    smtp.recipients.clear()
    const answer = await call('retry', body.id)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ id: body.id, type: 'email_out', metadata: { status: 'sent', error: null } })
    await expect.poll(() => recipientsOf(body.id)).toEqual(['sent', 'sent'])
    expect(received().map(({ envelopeTo }) => envelopeTo)).toEqual([['ann@customer.example'], ['gone@customer.example']])
    expect(received()[1]?.email.messageId).toBe(received()[0]?.email.messageId)
    expect([await statusOf(body.id), (await comment(body.id)).metadata.sentAt]).toEqual(['sent', before.sentAt])
    expect([(await call('retry', body.id)).status, (await call('retry', body.id)).body.message]).toEqual([
      409,
      'No recipient of the email was dropped',
    ])
  })

  test('queues a dropped mail again, with the values of the record at that time', async () => {
    const { dropped, call, comment, statusOf, keys, table, record, received } = await desk()
    smtp.recipients.set('ann@customer.example', REFUSED)
    const id = await dropped()
    smtp.recipients.clear()
    await app.as(keys.account).post(`/api/table/${table}/record/${record}/update`, { data: { name: 'Zenith' } })
    const answers = await Promise.all([call('retry', id), call('retry', id)])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
    const { metadata } = answers.find(({ status }) => status === 200)?.body ?? {}
    expect(metadata).toMatchObject({ status: 'queued', droppedAt: null, error: null, recipients: [{ status: 'queued', error: null }] })
    await expect.poll(() => statusOf(id)).toBe('sent')
    expect(received().map(({ email }) => email.subject)).toEqual(['For Zenith'])
    expect((await comment(id)).metadata).toMatchObject({ droppedAt: null, error: null })
  })

  test('sends a cancelled mail at once', async () => {
    const { send, call, statusOf, comment } = await desk()
    const { body } = await send({ sendAt: inFuture(HOUR) })
    await call('cancel', body.id)
    expect((await call('retry', body.id)).status).toBe(200)
    await expect.poll(() => statusOf(body.id)).toBe('sent')
    expect((await comment(body.id)).metadata).toMatchObject({ sendAt: null, error: null, droppedAt: null })
  })

  test('sends from no domain that an admin has taken from the integration since', async () => {
    const { send, call, comment, statusOf, admin, integrationId, received } = await desk()
    const { body } = await send({ sendAt: inFuture(HOUR) })
    const update = { from_domains: ['other.example'] }
    expect((await app.as(admin).post(`/api/smtp/${integrationId}/update`, update)).status).toBe(200)
    app.setClock(new Date(Date.now() + 2 * HOUR))
    await expect.poll(() => statusOf(body.id)).toBe('dropped')
    const error = { code: 'FROM_NOT_ALLOWED', message: 'From domain not allowed: example.com' }
    expect((await comment(body.id)).metadata).toMatchObject({ error })
    expect((await call('retry', body.id)).status).toBe(200)
    await expect.poll(() => statusOf(body.id)).toBe('dropped')
    expect(received()).toEqual([])
  })

  test('sends a scheduled mail that was dropped because its sender had lost the right to send it', async () => {
    const { send, call, comment, statusOf, member, admin, owner, space, keys, received } = await desk()
    const scheduled = async (caller: Caller, subject: string) => (await send({ sendAt: inFuture(HOUR), subject }, caller)).body.id as number
    const kept = [await scheduled(admin, 'of the admin'), await scheduled(owner, 'of the owner')]
    const lost = [
      await scheduled(member, 'of the member'),
      await scheduled(keys.personal, 'of their key'),
      await scheduled(keys.account, 'last'),
    ]
    await app.as(owner).post(`/api/space/${space}/member/${member.id}/update`, { role: 'viewer' })
    await app.db.write(sql`update api_keys set read_only = true where token_hash = ${tokenHash(keys.account)}`)
    app.setClock(new Date(Date.now() + 2 * HOUR))
    const error = { code: 'SENDER_NOT_ALLOWED', message: 'The sender lost the right to send this mail before its time came' }
    for (const id of lost) {
      await expect.poll(() => statusOf(id)).toBe('dropped')
      expect((await comment(id)).metadata).toMatchObject({ error })
    }
    for (const id of kept) await expect.poll(() => statusOf(id)).toBe('sent')
    expect((await call('retry', lost[2] ?? 0, admin)).status).toBe(200)
    await expect.poll(() => statusOf(lost[2] ?? 0)).toBe('sent')
    const subjects = received().map(({ email }) => email.subject)
    expect(subjects.toSorted()).toEqual(['last', 'of the admin', 'of the owner'])
  })

  test('brings a mail back that had bounced for everyone else', async () => {
    const { send, call, recipientsOf, comment } = await desk()
    smtp.recipients.set('gone@customer.example', REFUSED)
    const { body } = await send({ to: ['ann@customer.example', 'gone@customer.example'] })
    await expect.poll(() => recipientsOf(body.id)).toEqual(['sent', 'dropped'])
    await app.db.write(sql`
      update record_comments set metadata = metadata || '{"status":"bounced","bouncedAt":"2026-01-01 00:00:00"}'
        || jsonb_build_object('recipients', jsonb_set(metadata->'recipients', '{0,status}', '"bounced"')) where id = ${body.id}`)
    smtp.recipients.clear()
    expect((await call('retry', body.id)).body.metadata).toMatchObject({ status: 'sent', bouncedAt: null })
    await expect.poll(() => recipientsOf(body.id)).toEqual(['bounced', 'sent'])
    expect((await comment(body.id)).metadata.status).toBe('sent')
  })

  test('is 409 while the mail is being sent to others', async () => {
    const { send, call, recipientsOf } = await desk()
    smtp.recipients.set('gone@customer.example', REFUSED)
    smtp.recipients.set('full@customer.example', 451)
    const { body } = await send({ to: ['gone@customer.example', 'full@customer.example'] })
    await expect.poll(() => recipientsOf(body.id)).toEqual(['dropped', 'queued'])
    await app.db.write(sql`
      update outbound_emails set leased_until = localtimestamp + interval '30 seconds' where comment_id = ${body.id}`)
    const answer = await call('retry', body.id)
    expect([answer.status, answer.body.message]).toEqual([409, 'The email is being sent to other recipients, so it cannot be retried now'])
  })
})

describe('a mail whose table or space is deleted', () => {
  type Desk = Awaited<ReturnType<typeof desk>>
  const cases: [string, (desk: Desk) => Promise<{ status: number }>][] = [
    ['table', ({ admin, table }) => app.as(admin).post(`/api/table/${table}/delete`)],
    ['space', ({ owner, space }) => app.as(owner).post(`/api/space/${space}/delete`)],
  ]
  const restored = ({ table, space }: Desk) =>
    app.db.write(sql`
      with s as (update spaces set deleted_at = null where id = ${space}) update tables set deleted_at = null where id = ${table}`)
  const stored = async (id: number) => {
    const [row] = await app.db.read<{ metadata: object }>(sql`select metadata from record_comments where id = ${id}`)
    return row?.metadata
  }

  test.each(cases)('%s: is dropped when its turn comes, and can be sent again after a restore', async (_, remove) => {
    const place = await desk()
    const { body } = await place.send({ sendAt: inFuture(HOUR) })
    expect((await remove(place)).status).toBe(200)
    await app.db.write(sql`update outbound_emails set due_at = created_at where comment_id = ${body.id}`)
    await expect.poll(() => stored(body.id)).toMatchObject({ status: 'dropped', error: { code: 'RECORD_GONE' } })
    await restored(place)
    expect((await place.call('retry', body.id)).status).toBe(200)
    await expect.poll(() => place.statusOf(body.id)).toBe('sent')
    expect(place.received()).toHaveLength(1)
  })

  test.each(cases)('%s: goes as it was planned after a restore before its time', async (_, remove) => {
    const place = await desk()
    const { body } = await place.send({ sendAt: inFuture(HOUR) })
    expect((await remove(place)).status).toBe(200)
    await restored(place)
    await app.db.write(sql`update outbound_emails set due_at = created_at where comment_id = ${body.id}`)
    await expect.poll(() => place.received().length).toBe(1)
  })

  test.each(cases)('%s: is not sent even if its server has been told of it already', async (_, remove) => {
    const place = await desk()
    const { promise: isTold, resolve: tell } = Promise.withResolvers<void>()
    const { promise: isDeleted, resolve: goOn } = Promise.withResolvers<void>()
    smtp.on.recipient = () => {
      delete smtp.on.recipient
      tell()
      return isDeleted
    }
    const { body } = await place.send()
    await isTold
    expect((await remove(place)).status).toBe(200)
    goOn()
    await expect.poll(() => stored(body.id)).toMatchObject({ status: 'dropped', error: { code: 'RECORD_GONE' } })
    expect(place.received()).toEqual([])
  })
})

test('only those who may send from the record cancel and retry', async () => {
  const { send, call, viewer, outsider, keys, table, record, member, comment } = await desk({ port: 1 })
  const { body } = await send({ sendAt: inFuture(HOUR) })
  for (const what of ['cancel', 'retry'] as const) {
    const statuses = []
    for (const caller of [null, viewer, keys.personalViewer, keys.accountReadOnly, keys.accountOtherSpace, outsider, keys.accountOutsider])
      statuses.push((await call(what, body.id, caller)).status)
    expect(statuses).toEqual([401, 403, 403, 403, 403, 404, 404])
    expect((await call(what, 2_000_000_000)).status).toBe(404)
    const plain = await app.as(member).post(`/api/table/${table}/record/${record}/comments/create`, { content: 'Hello' })
    expect([(await call(what, plain.body.id)).status, (await call(what, plain.body.id)).body.message]).toEqual([404, 'Comment not found'])
  }
  expect((await comment(body.id)).metadata.status).toBe('queued')
  expect((await call('cancel', body.id, keys.account)).body).toEqual({ ok: true })
  expect((await call('retry', body.id, keys.personal)).status).toBe(200)
})
