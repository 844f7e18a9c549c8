import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { PIXEL } from '../src/email/tracking/opens.ts'
import { sql } from '../src/platform/database/database.ts'
import { insertFile } from '../src/platform/stored-files/rows.ts'
import type { Answer, Caller } from './support/app.ts'
import { testApp } from './support/app.ts'
import { untilRead } from './support/mail-desk.ts'
import { forgetQueuedMails, untilNoneIsOnItsWay } from './support/queued-mails.ts'
import { startSmtp } from './support/smtp.ts'
import { queriesAround, queriesOf } from './support/statements.ts'
import { makeTable } from './support/tables.ts'

const CATCH = 'reply.example.net'
const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp({ CATCH_DOMAIN: CATCH, AUTHSERV_ID: 'MX.example.net' }, { worker: true })

beforeEach(async () => {
  await forgetQueuedMails(app)
  await untilNoneIsOnItsWay(app)
  smtp.received.length = 0
  smtp.recipients.clear()
  smtp.onContent = {}
  smtp.onSender = {}
  smtp.on = {}
  smtp.login = undefined
})

interface Comment {
  id: number
  type: string
  user_id: number
  user_name: string
  content: string
  attachments: { name: string; path: string; size: number; type: string }[]
  // biome-ignore lint/suspicious/noExplicitAny: a test reads answers of every shape.
  metadata: any
}

/** An account with a table of everything that a mail can refer to, a record, and an SMTP server. */
async function desk(integration: object = {}) {
  const account = await app.account()
  const { id: table, records } = await makeTable(app, account, {
    records: [{ name: 'Analytical Engines' }],
    fields: [
      { name: 'Name', type: 'text' },
      { name: 'Mail', type: 'email' },
      { name: 'Number', type: 'number', decimals: 2 },
      { name: 'Notes', type: 'long_text' },
    ],
  })
  const record = records[0] as number
  const created = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, {
    label: 'Desk',
    host: '127.0.0.1',
    port: smtp.port,
    tls: 'none',
    from_domains: ['Example.com'],
    ...integration,
  })
  expect(created.status, JSON.stringify(created.body)).toBe(200)
  const smtpId: number = created.body.id
  const mail = (more: object = {}) => ({
    tableId: table,
    recordId: record,
    smtpIntegrationId: smtpId,
    fromIdentity: { name: 'Desk', email: 'desk@example.com' },
    to: ['ann@customer.example'],
    subject: 'Our offer',
    body: '<p>Dear Ann</p>',
    ...more,
  })
  const send = (more: object = {}, caller: Caller = account.keys.personal): Promise<Answer> =>
    app.as(caller).post('/api/email/send', mail(more))
  /** Comments of the record, oldest first. */
  const comments = async (caller: Caller = account.keys.personal): Promise<Comment[]> =>
    (await app.as(caller).get(`/api/table/${table}/record/${record}/comments/get?limit=100`)).body.toReversed()
  const comment = async (id: number) => (await comments()).find((row) => row.id === id) as Comment
  /** Waits until the mail has left the state `queued`. */
  const sent = async (more: object = {}) => {
    const { body } = await send(more)
    await expect.poll(async () => (await comment(body.id)).metadata.status).not.toBe('queued')
    return comment(body.id)
  }
  const set = (values: Record<string, unknown>) =>
    app.as(account.keys.account).post(`/api/table/${table}/record/${record}/update`, { data: values })
  return { ...account, table, record, smtpId, mail, send, sent, comments, comment, set }
}

const lastReceived = () => {
  const received = smtp.received.at(-1)
  if (!received) throw new Error('nothing received')
  return received
}
const replyAddressOf = (raw: string) => /reply-[0-9a-f]{16}@reply\.example\.net/.exec(raw)?.[0] as string
const pixelOf = (html: string | undefined) => /src="[^"]*(\/email\/pixel\/[\w-]+\.png)"/.exec(html ?? '')?.[1] as string

const fixture = (name: string, to: string) =>
  readFileSync(new URL(`./fixtures/mail/${name}.eml`, import.meta.url), 'latin1').replaceAll('reply-0123456789abcdef@reply.example.net', to)
const webhook = (raw: string | Uint8Array, contentType: string | null = 'text/raw') =>
  fetch(`${app.url}/webhooks/email_receive`, {
    method: 'POST',
    body: typeof raw === 'string' ? Buffer.from(raw, 'latin1') : Buffer.from(raw),
    headers: contentType === null ? {} : { 'content-type': contentType },
  })
/** As if the time of the retry had come, and the lease of a worker had expired. */
const takeUp = (id: number) =>
  app.db.write(sql`
    update outbound_emails set due_at = localtimestamp - interval '1 second', leased_until = null,
      attempted_at = attempted_at - interval '2 minutes' where comment_id = ${id}`)
const isDue = async (id: number) =>
  (await app.db.read(sql`select 1 from outbound_emails where comment_id = ${id} and due_at is not null`)).length > 0

describe('sending a mail', () => {
  test('is accepted with 202, appears as a comment at once, and leaves through the SMTP server', async () => {
    const { send, comment, table, record, space, member, smtpId } = await desk()
    const answer = await send({ cc: ['Carl <carl@customer.example>'], bcc: ['boss@example.com'] })
    expect(answer.status).toBe(202)
    expect(answer.body).toEqual({
      id: expect.any(Number),
      status: 'queued',
      comment: { id: answer.body.id, type: 'email_out', metadata: expect.objectContaining({ status: 'queued', subject: 'Our offer' }) },
    })
    await expect.poll(async () => (await comment(answer.body.id)).metadata.status).toBe('sent')
    const row = await comment(answer.body.id)
    expect(row).toMatchObject({ type: 'email_out', user_id: 0, user_name: 'API: Test key', content: '<p>Dear Ann</p>' })
    expect(row.metadata).toEqual({
      status: 'sent',
      from: { name: 'Desk', email: 'desk@example.com' },
      to: ['ann@customer.example'],
      cc: ['carl@customer.example'],
      bcc: ['boss@example.com'],
      subject: 'Our offer',
      messageId: expect.stringMatching(/^<[0-9a-f]{32}@example\.com>$/),
      smtpIntegrationId: smtpId,
      signatureId: null,
      queuedAt: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      sentAt: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      readAt: null,
      bouncedAt: null,
      droppedAt: null,
      error: null,
      recipients: ['to', 'cc', 'bcc'].map((kind) => ({ email: expect.any(String), kind, status: 'sent', error: null })),
      unresolved: [],
      remoteImages: 0,
      attachmentsLeftOut: 0,
    })
    expect([table, record, space, member.id].every(Boolean)).toBe(true)

    expect(smtp.received).toHaveLength(1)
    const { email, raw, envelopeTo, envelopeFrom } = lastReceived()
    expect(envelopeTo).toEqual(['ann@customer.example', 'carl@customer.example', 'boss@example.com'])
    expect(raw).not.toContain('boss@')
    expect(email).toMatchObject({
      from: { name: 'Desk', address: 'desk@example.com' },
      to: [{ address: 'ann@customer.example' }],
      cc: [{ name: 'Carl', address: 'carl@customer.example' }],
      subject: 'Our offer',
      messageId: row.metadata.messageId,
    })
    expect(email.replyTo).toEqual([{ address: expect.stringMatching(/^reply-[0-9a-f]{16}@reply\.example\.net$/), name: '' }])
    expect(envelopeFrom).toBe(replyAddressOf(raw))
    expect(email.text?.trim()).toBe('Dear Ann')
    expect(email.html).toContain('<p>Dear Ann</p><img src="')
  })

  test('works the same on RPC', async () => {
    const { mail, member, comment } = await desk()
    const answer = await app.as(member).rpc.email.send.mutate(mail())
    expect(answer).toMatchObject({ status: 'queued', comment: { id: answer.id, type: 'email_out' } })
    await expect.poll(async () => (await comment(answer.id)).metadata.status).toBe('sent')
    expect(await comment(answer.id)).toMatchObject({ user_id: member.id, user_name: member.name })
  })

  test('resolves tokens once, at the time of sending: escaped in the body, on one line in the subject', async () => {
    const { sent, set } = await desk()
    await set({ name: '<Acme> & "Co"', notes: 'one\r\nBcc: x@evil.example\r\n{{field:name}}', number: 12.5 })
    const { content, metadata } = await sent({
      subject: 'For {{field:name}}: {{field:notes}} {{field:nothing}}',
      body: '<p>{{field:name}} {{field:number}} {{field:id}}</p><a href="{{field:notes}}">x</a>{{field:gone}}',
    })
    const { email, raw } = lastReceived()
    expect(email.subject?.trim()).toBe('For <Acme> & "Co": one Bcc: x@evil.example {{field:name}}')
    expect(raw.split('\r\n\r\n')[0]).not.toMatch(/^Bcc:/im)
    expect(content).toMatch(/^<p>&lt;Acme&gt; &amp; "Co" 12.50 \d+<\/p><a/)
    expect(metadata.subject).toBe('For <Acme> & "Co": one Bcc: x@evil.example {{field:name}} ')
    expect(metadata.unresolved).toEqual(['nothing', 'gone'])
  })

  test('sanitises the body, also the links that contain tokens', async () => {
    const { sent, set } = await desk()
    for (const notes of ['javascript:alert(1)', ' JavaScript:alert(1)', 'data:text/html,x', 'vbscript:x']) {
      await set({ notes })
      for (const link of ['{{field:notes}}', '{{field:notes|url}}']) {
        const { content } = await sent({ body: `<script>x</script><p onclick="x()">a</p><a href="${link}">b</a>` })
        expect(content).toMatch(link.includes('url') ? /^<p>a<\/p><a( href="(?!\s*[a-z]+:)[^"]*")?>b<\/a>$/i : /^<p>a<\/p><a>b<\/a>$/)
      }
    }
  })

  test('adds only the requested signature', async () => {
    const { sent, keys } = await desk()
    const as = app.as(keys.personal)
    const signature = await as.post('/api/email/signatures/create', { name: 'Short', html: '<p>Max {{field:name}}</p>', is_default: true })
    expect((await sent()).content).toBe('<p>Dear Ann</p>')
    const { content, metadata } = await sent({ signatureId: signature.body.id })
    expect(content).toBe('<p>Dear Ann</p><br /><br /><p>Max {{field:name}}</p>')
    expect(metadata.signatureId).toBe(signature.body.id)
  })

  test('shows blind copies only to users who can write', async () => {
    const { sent, comments, viewer, keys } = await desk()
    await sent({ bcc: ['boss@example.com'] })
    expect((await comments())[0]?.metadata).toMatchObject({ bcc: ['boss@example.com'], recipients: [{}, { kind: 'bcc' }] })
    for (const caller of [viewer, keys.personalViewer]) expect(JSON.stringify(await comments(caller))).not.toContain('boss@')
  })

  test('threads the mails of a record', async () => {
    const { sent } = await desk()
    const first = await sent()
    const second = await sent()
    const third = await sent()
    const { email } = lastReceived()
    expect(email.messageId).toBe(third.metadata.messageId)
    expect(email.inReplyTo).toBe(second.metadata.messageId)
    expect(email.references).toBe(`${first.metadata.messageId} ${second.metadata.messageId}`)
  })

  test('carries attachments from storage', async () => {
    const { sent, id, space, table, record } = await desk()
    const path = `${space}-${table}-a-plan.txt`
    await app.deps.storage.write(path, Buffer.from('The plan'))
    const place = { account_id: id, space_id: space, table_id: table, record_id: record }
    const file = { name: 'plan.txt', path, size: 8, type: 'text/plain', host: app.deps.storage.host }
    await insertFile(app.db, place, file, { createdBy: null, now: new Date(), isHeld: false, sha256: Buffer.alloc(32) })
    const { attachments } = await sent({ attachments: [{ ...file, name: 'other.txt' }] })
    expect(attachments).toEqual([file])
    const [attachment] = lastReceived().email.attachments
    expect(attachment).toMatchObject({ filename: 'plan.txt', mimeType: 'text/plain' })
    expect(Buffer.from(attachment?.content as ArrayBuffer).toString()).toBe('The plan')
  })

  test('names no file so that its end is taken for its beginning, also one that was stored before names were checked', async () => {
    const { sent, id, space, table, record, keys } = await desk()
    const path = `${space}-${table}-a-invoice`
    await app.deps.storage.write(path, Buffer.from('MZ'))
    const place = { account_id: id, space_id: space, table_id: table, record_id: record }
    const name = 'invoice\u202Egpj.\u2067exe\u2069\u200F'
    const file = { name, path, size: 2, type: 'application/octet-stream', host: app.deps.storage.host }
    await insertFile(app.db, place, file, { createdBy: null, now: new Date(), isHeld: false, sha256: Buffer.alloc(32) })
    await sent({ attachments: [file] })
    expect(lastReceived().email.attachments.map(({ filename }) => filename)).toEqual(['invoicegpj.exe'])
    const { headers } = await app.as(keys.account).get(`/api/file/${path}`)
    expect(headers.get('content-disposition')).toBe(`attachment; filename="invoicegpj.exe"; filename*=UTF-8''invoicegpj.exe`)
  })

  test('goes once to each address', async () => {
    const { sent } = await desk()
    const { metadata } = await sent({ to: ['a@b.example', 'a@b.example'], cc: ['a@b.example', 'c@b.example'] })
    expect([metadata.to, metadata.cc, metadata.recipients.length]).toEqual([['a@b.example'], ['c@b.example'], 2])
    expect(lastReceived().envelopeTo).toEqual(['a@b.example', 'c@b.example'])
  })

  test('keeps the order of its recipients', async () => {
    const { sent } = await desk()
    const { metadata } = await sent({ to: ['a@b.example', 'z@b.example', 'm@b.example'], cc: ['a@b.example'] })
    expect(metadata.to).toEqual(['a@b.example', 'z@b.example', 'm@b.example'])
  })

  test('repeated with the same Idempotency-Key is one mail', async () => {
    const { mail, keys, comments } = await desk()
    const post = () => app.as(keys.account).post('/api/email/send', mail(), { 'idempotency-key': 'one' })
    const [first, second] = [await post(), await post()]
    expect(second.body).toEqual(first.body)
    expect(await comments()).toHaveLength(1)
  })

  test('leaves from its own address without the reply address as envelope sender', async () => {
    const { sent } = await desk({ reply_as_envelope: false })
    await sent()
    expect(lastReceived().envelopeFrom).toBe('desk@example.com')
  })

  test('signs in with the password that is stored encrypted', async () => {
    smtp.login = { user: 'desk', password: 'sécret' }
    const { sent, smtpId } = await desk({ username: 'desk', password: 'sécret' })
    expect((await sent()).metadata.status).toBe('sent')
    const [row] = await app.db.read<{ password_encrypted: Buffer }>(
      sql`select password_encrypted from smtp_integrations where id = ${smtpId}`,
    )
    expect(row?.password_encrypted.includes('cret')).toBe(false)
  })
})

describe('a mail that fails', () => {
  test('permanently is dropped, with the reply of the server', async () => {
    const { sent } = await desk()
    smtp.recipients.set('ann@customer.example', 550)
    const { metadata } = await sent()
    expect(metadata).toMatchObject({ status: 'dropped', sentAt: null, error: { code: '550', enhanced: '5.1.1' } })
    expect(metadata.droppedAt).toMatch(/^\d{4}/)
  })

  test('for one of two recipients is sent to the other', async () => {
    const { sent } = await desk()
    smtp.recipients.set('gone@customer.example', 550)
    const { metadata } = await sent({ to: ['gone@customer.example', 'ann@customer.example'] })
    expect(metadata.status).toBe('sent')
    expect(metadata.recipients.map(({ status }: { status: string }) => status)).toEqual(['dropped', 'sent'])
  })

  test('temporarily is retried only for the recipients that do not have it', async () => {
    const { send, comment } = await desk()
    smtp.recipients.set('full@customer.example', 451)
    const { body } = await send({ to: ['full@customer.example', 'ann@customer.example'], body: 'first {{field:name}}' })
    await expect.poll(async () => (await comment(body.id)).metadata.status).toBe('sent')
    expect((await comment(body.id)).metadata.recipients[0]).toMatchObject({ status: 'queued', error: { code: '451' } })
    smtp.recipients.clear()
    await expect.poll(async () => (await comment(body.id)).metadata.recipients[0].status).toBe('sent')
    expect(smtp.received.map(({ envelopeTo }) => envelopeTo)).toEqual([['ann@customer.example'], ['full@customer.example']])
    expect(smtp.received[1]?.email.html).toBe(smtp.received[0]?.email.html)
  })

  test('six times is dropped', async () => {
    const { send, comment } = await desk()
    smtp.onSender = { code: 451 }
    const { body } = await send()
    await expect.poll(async () => (await comment(body.id)).metadata.recipients[0].error?.code).toBe('451')
    await app.db.write(sql`update outbound_emails set attempts = 6 where comment_id = ${body.id}`)
    await takeUp(body.id)
    await expect.poll(async () => (await comment(body.id)).metadata).toMatchObject({ status: 'dropped', error: { code: '451' } })
  })

  test('with an unknown outcome is reported, and not sent again', async () => {
    const { sent } = await desk()
    smtp.onContent = { hangUp: 'after' }
    const { id, metadata } = await sent()
    expect(metadata).toMatchObject({ status: 'sent', error: { code: 'OUTCOME_UNKNOWN' }, recipients: [{ status: 'unknown' }] })
    expect([metadata.sentAt, metadata.droppedAt]).toEqual([expect.stringMatching(/^\d{4}/), null])
    smtp.onContent = {}
    await takeUp(id)
    await expect.poll(() => isDue(id)).toBe(false)
    expect(smtp.received).toHaveLength(0)
  })

  test('is reported, and not sent again, if its worker died during the handover', async () => {
    const { send, comment } = await desk()
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
    smtp.onContent = { meanwhile: () => answered }
    const { body } = await send()
    const attempts = () => app.db.read(sql`select attempted_at from outbound_emails where comment_id = ${body.id}`)
    await expect.poll(attempts).toEqual([{ attempted_at: expect.any(String) }])
    // The mail is given to a second worker while the first still waits for the answer.
    await takeUp(body.id)
    await expect.poll(async () => (await comment(body.id)).metadata.error?.code).toBe('OUTCOME_UNKNOWN')
    expect(smtp.received).toHaveLength(0)
    // The first worker was alive after all, and knows the answer.
    answer()
    await expect
      .poll(async () => (await comment(body.id)).metadata)
      .toMatchObject({ status: 'sent', error: null, recipients: [{ status: 'sent' }] })
    expect(smtp.received).toHaveLength(1)
  })

  test('is sent once when its worker has lost it to another before the end of the content', async () => {
    const { send, comment } = await desk()
    let isFirst = true
    // The server may have the recipient before the request is answered.
    const { promise: queued, resolve } = Promise.withResolvers<number>()
    const { promise: overtaken, resolve: overtake } = Promise.withResolvers<void>()
    smtp.on.recipient = async () => {
      if (!isFirst) return
      isFirst = false
      await takeUp(await queued)
      await expect.poll(() => smtp.received).toHaveLength(1)
      overtake()
    }
    const { body } = await send()
    resolve(body.id)
    // The next test empties the list that the server still waits for.
    await overtaken
    await expect.poll(async () => (await comment(body.id)).metadata.status).toBe('sent')
    await expect.poll(() => isDue(body.id)).toBe(false)
    expect(smtp.received).toHaveLength(1)
  })

  test('is dropped when its integration is deleted, or closed to the table', async () => {
    const { send, comment, admin, smtpId } = await desk()
    smtp.onSender = { code: 451 }
    const { body } = await send()
    await expect.poll(async () => (await comment(body.id)).metadata.recipients[0].error?.code).toBe('451')
    expect((await app.as(admin).post(`/api/smtp/${smtpId}/delete`)).body).toEqual({ ok: true })
    await takeUp(body.id)
    await expect
      .poll(async () => (await comment(body.id)).metadata)
      .toMatchObject({ status: 'dropped', error: { code: 'INTEGRATION_GONE' } })
  })

  test('is stopped before the end of its content when its integration is deleted meanwhile', async () => {
    const { send, comment, admin, smtpId } = await desk()
    const { promise: deleted, resolve: answer } = Promise.withResolvers<unknown>()
    smtp.on.recipient = async () => answer((await app.as(admin).post(`/api/smtp/${smtpId}/delete`)).body)
    const { body } = await send()
    expect(await deleted).toEqual({ ok: true })
    await expect
      .poll(async () => (await comment(body.id)).metadata)
      .toMatchObject({ status: 'dropped', error: { code: 'INTEGRATION_GONE' } })
    expect(smtp.received).toEqual([])
  })
})

describe('a mail that is on its way to the server when its integration is changed', () => {
  test.each([
    ['its From domain is taken away', { from_domains: ['other.example'] }, 'FROM_NOT_ALLOWED'],
    ['its table is taken away', { table_ids: [] }, 'INTEGRATION_GONE'],
  ])('is stopped if %s', async (_, change, code) => {
    const { send, comment, admin, smtpId } = await desk()
    const { promise: changed, resolve: answer } = Promise.withResolvers<number>()
    smtp.on.recipient = async () => answer((await app.as(admin).post(`/api/smtp/${smtpId}/update`, change)).status)
    const { body } = await send()
    expect(await changed).toBe(200)
    await expect.poll(async () => (await comment(body.id)).metadata).toMatchObject({ status: 'dropped', error: { code } })
    expect(smtp.received).toEqual([])
  })

  test.each([
    // The update reads what it has written, in its transaction.
    [
      'change',
      'update',
      { from_domains: ['other.example'] },
      / as has_password.* from smtp_integrations where id = \$1 *$/s,
      'FROM_NOT_ALLOWED',
    ],
    ['deletion', 'delete', undefined, /^\s*delete from smtp_integrations where id = /, 'INTEGRATION_GONE'],
  ])('is stopped even if it was begun before the %s was committed', async (_, operation, input, statement, code) => {
    const { send, comment, admin, smtpId } = await desk()
    const { body } = await send({ sendAt: new Date(Date.now() + 3_600_000).toISOString() })
    const [isChanged, mayCommit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const present = queriesOf(app.db)
    onTestFinished(() => {
      mayCommit.resolve()
      Object.assign(app.db, present)
    })
    const holding = queriesAround(app.db, async (run, { text }) => {
      const rows = await run()
      if (!statement.test(text)) return rows
      isChanged.resolve()
      await mayCommit.promise
      return rows
    })
    Object.assign(app.db, holding)
    const change = app.as(admin).post(`/api/smtp/${smtpId}/${operation}`, input)
    await isChanged.promise
    const { promise: isTold, resolve: tell } = Promise.withResolvers<void>()
    smtp.on.recipient = async () => {
      tell()
      expect((await change).status).toBe(200)
    }
    await app.db.write(sql`update outbound_emails set due_at = created_at where comment_id = ${body.id}`)
    await isTold
    mayCommit.resolve()
    const dropped = { status: 'dropped', error: { code } }
    await expect.poll(async () => (await comment(body.id)).metadata).toMatchObject(dropped)
    expect(smtp.received).toEqual([])
  })

  test('goes to the new server at once, while the old one hangs', async () => {
    const { send, comment, admin, smtpId } = await desk()
    const other = await startSmtp()
    const arrived = Promise.withResolvers<void>()
    const mayGoOn = Promise.withResolvers<void>()
    smtp.on.recipient = () => {
      arrived.resolve()
      return mayGoOn.promise
    }
    const { body } = await send()
    await arrived.promise
    expect((await app.as(admin).post(`/api/smtp/${smtpId}/update`, { port: other.port })).status).toBe(200)
    await expect.poll(async () => (await comment(body.id)).metadata.status).toBe('sent')
    mayGoOn.resolve()
    smtp.on = {}
    await send()
    await expect.poll(() => other.received).toHaveLength(2)
    expect(smtp.received).toEqual([])
    await other.close()
  })
})

describe('a mail that cannot be accepted', () => {
  test.each<[string, object, number, string]>([
    ['no recipient', { to: [] }, 400, 'to'],
    ['no to', { to: undefined }, 400, 'to'],
    ['an invalid recipient', { to: ['ann'] }, 400, 'to'],
    ['two recipients in one', { to: ['a@b.example, c@d.example'] }, 400, 'to'],
    ['a recipient with a line break', { to: ['a@b.example\r\nBcc: c@d.example'] }, 400, 'to'],
    ['a subject with a line break', { subject: 'a\r\nBcc: c@d.example' }, 400, 'subject'],
    ['a subject with NUL', { subject: 'a\0b' }, 400, 'subject'],
    ['a sender with a line break', { fromIdentity: { name: 'a\nb', email: 'desk@example.com' } }, 400, 'fromIdentity.name'],
    ['no sender', { fromIdentity: undefined }, 400, 'fromIdentity'],
    ['an invalid sender', { fromIdentity: { email: 'desk' } }, 400, 'fromIdentity.email'],
    ['another domain', { fromIdentity: { email: 'desk@evil.example' } }, 400, 'From domain not allowed: evil.example'],
    ['a subdomain', { fromIdentity: { email: 'desk@sub.example.com' } }, 400, 'From domain not allowed: sub.example.com'],
    ['51 recipients', { to: Array.from({ length: 51 }, (_, i) => `a${i}@b.example`) }, 400, 'to'],
    ['51 recipients in all', { to: Array.from({ length: 50 }, (_, i) => `a${i}@b.example`), bcc: ['b@b.example'] }, 400, 'to'],
    ['an unknown key', { tableID: 1 }, 400, 'tableID'],
    ['no integration', { smtpIntegrationId: undefined }, 400, 'smtpIntegrationId: is required'],
    ['an unknown integration', { smtpIntegrationId: 2_000_000_000 }, 404, 'SMTP integration not found'],
    ['an unknown signature', { signatureId: 2_000_000_000 }, 404, 'Signature not found'],
    ['an unknown record', { recordId: 2_000_000_000 }, 404, 'Record not found'],
    ['an unknown table', { tableId: 2_000_000_000 }, 404, 'Table not found'],
    ['an id that is text', { recordId: 'x' }, 400, 'recordId'],
    ['a file that was not uploaded for it', { attachments: [{ name: 'a', path: '1-1-a' }] }, 400, 'attachments'],
    ['a path of the file system', { attachments: [{ name: 'a', path: '/etc/passwd' }] }, 400, 'attachments'],
  ])('with %s', async (_, more, status, message) => {
    const { send, comments } = await desk()
    const answer = await send(more)
    expect(answer.status, JSON.stringify(answer.body)).toBe(status)
    expect(answer.body.message).toContain(message)
    expect(await comments()).toEqual([])
  })

  test('because the file is not stored', async () => {
    const { send, space, table } = await desk()
    const answer = await send({ attachments: [{ name: 'a', path: `${space}-${table}-nothing` }] })
    expect(answer).toMatchObject({ status: 400, body: { message: 'attachments[0].path: is not a stored file of this table' } })
  })

  test('by a viewer, a stranger, a read-only key, a key of another space, or nobody', async () => {
    const { send, viewer, outsider, keys, comments } = await desk()
    expect(await send({}, viewer)).toMatchObject({ status: 403, body: { message: 'Not authorized' } })
    expect(await send({}, keys.personalViewer)).toMatchObject({ status: 403 })
    expect(await send({}, outsider)).toMatchObject({ status: 404, body: { message: 'Table not found' } })
    expect(await send({}, keys.accountReadOnly)).toMatchObject({ status: 403, body: { message: 'API key is read-only' } })
    expect(await send({}, keys.accountOtherSpace)).toMatchObject({
      status: 403,
      body: { message: 'API key not authorized for this workspace' },
    })
    expect((await send({}, null)).status).toBe(401)
    expect(await comments()).toEqual([])
  })

  test('through an integration of another space, of a stranger, or closed to the table', async () => {
    const [mine, other] = [await desk(), await desk()]
    expect(await mine.send({ smtpIntegrationId: other.smtpId })).toMatchObject({ status: 404 })
    const { id: otherTable } = await makeTable(app, mine)
    await app.as(mine.admin).post(`/api/smtp/${mine.smtpId}/update`, { table_ids: [otherTable] })
    expect(await mine.send()).toMatchObject({ status: 404, body: { message: 'SMTP integration not found' } })
    expect((await app.as(mine.member).post('/api/email/smtpOptions', { tableId: mine.table })).body).toEqual([])
    expect((await app.as(mine.member).post('/api/email/smtpOptions', { tableId: otherTable })).body).toHaveLength(1)
  })

  test('with the signature of a colleague', async () => {
    const { send, admin } = await desk()
    const { body } = await app.as(admin).post('/api/email/signatures/create', { name: 'Mine', html: 'x' })
    expect(await send({ signatureId: body.id })).toMatchObject({ status: 404, body: { message: 'Signature not found' } })
  })
})

describe('the composer', () => {
  test('reads the addresses of the record and its fields by recordContext, on REST and RPC', async () => {
    const { keys, table, record, set } = await desk()
    await set({ mail: 'ann@customer.example' })
    const expected = {
      emails: ['ann@customer.example'],
      fields: [
        { id: 'name', name: 'Name' },
        { id: 'mail', name: 'Mail' },
        { id: 'number', name: 'Number' },
        { id: 'notes', name: 'Notes' },
      ],
    }
    const as = app.as(keys.personal)
    expect((await as.post('/api/email/recordContext', { tableId: table, recordId: record })).body).toEqual(expected)
    expect(await as.rpc.email.recordContext.query({ tableId: table, recordId: record })).toEqual(expected)
    expect(await app.as(keys.accountReadOnly).post('/api/email/recordContext', { tableId: table, recordId: record })).toMatchObject({
      status: 403,
      body: { message: 'API key is read-only' },
    })
  })

  test('lists the integrations with a From domain by smtpOptions, without their secrets', async () => {
    const { keys, table, admin, space, smtpId } = await desk({ from_identities: [{ name: 'Desk', email: 'desk@example.com' }] })
    const other = { label: 'No domain', host: '127.0.0.1', port: 25, tls: 'none' }
    expect((await app.as(admin).post(`/api/space/${space}/smtp/create`, other)).status).toBe(200)
    const answer = await app.as(keys.account).post('/api/email/smtpOptions', { tableId: table })
    expect(answer.body).toEqual([
      {
        id: smtpId,
        label: 'Desk',
        fromDomains: ['example.com'],
        fromIdentities: [{ name: 'Desk', email: 'desk@example.com' }],
        disablePixel: false,
        failing: null,
      },
    ])
    expect(answer.headers.get('x-total-count')).toBe('1')
  })

  test('sees the mail and its problems in preview, which sends nothing', async () => {
    const { keys, mail, comments, set } = await desk()
    await set({ name: 'Acme' })
    const answer = await app.as(keys.personal).post('/api/email/preview', mail({ subject: '', body: '<p>{{field:name}}{{field:x}}</p>' }))
    expect(answer).toMatchObject({
      status: 200,
      body: {
        subject: '',
        html: '<p>Acme</p>',
        text: 'Acme',
        unresolved: ['x'],
        problems: ["{{field:x}}: 'x' is not a field of this table", 'The subject is empty'],
      },
    })
    expect(await comments()).toEqual([])
    expect((await app.as(keys.personal).post('/api/email/preview', mail({ to: [] }))).status).toBe(400)
  })
})

describe('signatures', () => {
  test('are created, listed, changed and deleted by their user, on REST and RPC', async () => {
    const { keys, member } = await app.account()
    const as = app.as(keys.personal)
    const created = await as.post('/api/email/signatures/create', { name: ' B ', html: '<p onclick="x">Max</p>', is_default: true })
    expect(created).toMatchObject({ status: 200, body: { name: 'B', html: '<p>Max</p>', is_default: true } })
    const second = await app.as(member).rpc.signatures.create.mutate({ name: 'a', html: 'x', is_default: true })
    const list = await as.post('/api/email/signatures/list', {})
    expect(list.body.map(({ name, is_default }: { name: string; is_default: boolean }) => [name, is_default])).toEqual([
      ['a', true],
      ['B', false],
    ])
    const updated = await as.post(`/api/email/signature/${second.id}/update`, { html: '<script>x</script>y' })
    expect(updated.body).toMatchObject({ name: 'a', html: 'y', is_default: true })
    expect((await as.post(`/api/email/signature/${second.id}/delete`, {})).body).toEqual({ ok: true })
    expect((await as.post(`/api/email/signature/${second.id}/delete`)).status).toBe(404)
  })

  test('of another user, in the same account or not, do not exist', async () => {
    const { keys, admin, outsider, owner } = await app.account()
    const { body } = await app.as(keys.personal).post('/api/email/signatures/create', { name: 'A', html: 'x' })
    for (const caller of [admin, owner, outsider, keys.account])
      for (const verb of ['update', 'delete'])
        expect(await app.as(caller).post(`/api/email/signature/${body.id}/${verb}`, {})).toMatchObject({
          status: 404,
          body: { message: 'Signature not found' },
        })
  })

  test('change only in the version that If-Match names', async () => {
    const as = app.as((await app.account()).keys.personal)
    const { body, headers } = await as.post('/api/email/signatures/create', { name: 'A', html: 'x' })
    expect(headers.get('etag')).toBe('"1"')
    const update = (name: string, ifMatch: string) => as.post(`/api/email/signature/${body.id}/update`, { name }, { 'if-match': ifMatch })
    const first = await update('B', '"1"')
    expect([first.status, first.body.name, first.headers.get('etag')]).toEqual([200, 'B', '"2"'])
    const stale = await update('C', '"1"')
    expect([stale.status, stale.body.message, stale.body.current]).toEqual([409, 'The signature has changed since', first.body])
    const same = await update('B', '"2"')
    expect([same.body, same.headers.get('etag')]).toEqual([first.body, '"2"'])
    const both = await Promise.all([update('D', '"2"'), update('E', '"2"')])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
  })

  test('require write access to a space, and a key that may write', async () => {
    const { keys, viewer } = await app.account()
    expect((await app.as(viewer).post('/api/email/signatures/list', {})).status).toBe(403)
    expect((await app.as(keys.accountReadOnly).post('/api/email/signatures/list', {})).body.message).toBe('API key is read-only')
  })

  test('are sent with by a key that is limited to some spaces, and neither listed nor changed', async () => {
    const { id, owner, space, otherSpace, keys, keyOf, send, comment } = await desk()
    const as = app.as(keys.account)
    const ofOwner = { accountId: id, userId: owner.id }
    const limited = await keyOf(ofOwner, { kind: 'account', space_ids: [space, otherSpace] })
    const { body: signature } = await as.post('/api/email/signatures/create', { name: 'Owner', html: 'Olga' })
    const key = app.as(limited)
    const refused = [
      await key.post('/api/email/signatures/list', {}),
      await key.post('/api/email/signatures/list'),
      await key.post('/api/email/signatures/create', { name: 'B', html: 'x' }),
      await key.post('/api/email/signatures/create', { name: 5 }),
      await key.post(`/api/email/signature/${signature.id}/update`, { html: 'x' }),
      await key.post(`/api/email/signature/${signature.id}/delete`),
      await app.as(keys.accountOtherSpace).post('/api/email/signatures/list', {}),
    ]
    for (const { status, body } of refused) expect([status, body.message]).toEqual([403, 'Not authorized'])
    const byRpc = [
      () => key.rpc.signatures.list.query({}),
      () => key.rpc.signatures.create.mutate({ name: 'B', html: 'x' }),
      () => key.rpc.signatures.update.mutate({ id: signature.id, html: 'x' }),
      () => key.rpc.signatures.delete.mutate({ id: signature.id }),
    ]
    for (const call of byRpc) await expect(call()).rejects.toMatchObject({ message: 'Not authorized', data: { httpStatus: 403 } })
    expect((await key.post('/api/email/signature/2000000000/update', {})).status).toBe(404)
    const readOnly = await keyOf(ofOwner, { kind: 'account', space_ids: [space], read_only: true })
    expect((await app.as(readOnly).post('/api/email/signatures/list', {})).body.message).toBe('API key is read-only')
    expect((await as.post('/api/email/signatures/list')).body).toEqual([signature])
    const mail = await send({ signatureId: signature.id }, limited)
    expect([mail.status, (await comment(mail.body.id)).metadata.signatureId]).toEqual([202, signature.id])
  })

  test('may have at most 200 KB of UTF-8', async () => {
    const as = app.as((await app.account()).keys.personal)
    const create = (html: string) => as.post('/api/email/signatures/create', { name: 'A', html })
    expect((await create('é'.repeat(102_400))).status).toBe(200)
    expect(await create(`${'é'.repeat(102_400)}x`)).toMatchObject({ status: 400, body: { message: 'html: must have at most 200 KB' } })
  })

  test.each<[string, string, number]>([
    ['grow to the limit', `${'&'.repeat(40_958)}<b>`, 200],
    ['grow beyond it', '&'.repeat(40_961), 400],
    ['are entities already', '&amp;'.repeat(40_960), 200],
    ['have quotes that are escaped in attributes', `<p title='${'"'.repeat(34_200)}'>x</p>`, 400],
    ['lose a script', `<script>${'x'.repeat(300_000)}</script><p>Max</p>`, 200],
    ['lose a comment', `<!-- ${'x'.repeat(300_000)} --><p>Max</p>`, 200],
    ['are too long as text', 'x'.repeat(204_801), 400],
  ])('have at most 200 KB as they are stored and answered, when they %s', async (_, html, status) => {
    const as = app.as((await app.account()).keys.personal)
    const { body: signature } = await as.post('/api/email/signatures/create', { name: 'A', html: 'x' })
    const created = await as.post('/api/email/signatures/create', { name: 'B', html })
    const updated = await as.post(`/api/email/signature/${signature.id}/update`, { html })
    const byRpc = await as.rpc.signatures.create.mutate({ name: 'C', html }).then(
      () => 200,
      ({ data }) => data.httpStatus,
    )
    expect([created.status, updated.status, byRpc]).toEqual([status, status, status])
    if (status !== 200) return expect(created.body.issues).toEqual([{ path: ['html'], message: 'must have at most 200 KB' }])
    const { body: listed } = await as.post('/api/email/signatures/list')
    for (const { html: stored } of listed) expect(Buffer.byteLength(stored)).toBeLessThanOrEqual(204_800)
    // What was answered can be sent back.
    const again = await as.post(`/api/email/signature/${created.body.id}/update`, { html: created.body.html })
    expect([again.status, again.body.html]).toEqual([200, created.body.html])
  })

  test('created concurrently as default leave one default', async () => {
    const { member } = await app.account()
    const as = app.as(member)
    const answers = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => as.post('/api/email/signatures/create', { name, html: 'x', is_default: true })),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    const { body } = await as.post('/api/email/signatures/list')
    expect(body.filter(({ is_default }: { is_default: boolean }) => is_default)).toHaveLength(1)
  })
})

describe('SMTP integrations', () => {
  const settings = { label: 'Desk', host: '127.0.0.1', port: 25, tls: 'none', from_domains: ['example.com'], username: 'u', password: 'p' }

  test('are created by an admin in a browser session, and never show a password', async () => {
    const { admin, space } = await app.account()
    const as = app.as(admin)
    const created = await as.post(`/api/space/${space}/smtp/create`, settings)
    expect(created).toMatchObject({ status: 200, body: { has_password: true, table_ids: null, disable_pixel: false } })
    expect(JSON.stringify(created.body)).not.toContain('"password"')
    const list = await as.get(`/api/space/${space}/smtp/list`)
    expect(list.body).toEqual([created.body])
    expect((await as.rpc.smtp.list.query({ space_id: space })).rows).toEqual([created.body])
    const updated = await as.post(`/api/smtp/${created.body.id}/update`, { password: null, username: null, disable_pixel: true })
    expect(updated.body).toMatchObject({ has_password: false, username: null, disable_pixel: true, label: 'Desk' })
  })

  test('keep their version and their time of change if a change alters nothing', async () => {
    const { admin, space } = await app.account()
    const as = app.as(admin)
    const senders = { from_identities: [{ name: 'Desk', email: 'desk@example.com' }] }
    const { body: created } = await as.post(`/api/space/${space}/smtp/create`, { ...settings, ...senders })
    const update = (body: object) => as.post(`/api/smtp/${created.id}/update`, body)
    await app.db.write(sql`update smtp_integrations set updated_at = '2026-01-01 00:00:00' where id = ${created.id}`)
    const { password: _, ...same } = { ...settings, ...senders }
    for (const body of [{}, same, { table_ids: null, disable_pixel: false }]) {
      expect(await update(body)).toMatchObject({ status: 200, body: { ...created, updated_at: '2026-01-01 00:00:00' } })
    }
    const versionOf = async () => (await app.db.prisma.smtpIntegration.findFirstOrThrow({ where: { id: created.id } })).version
    expect(await versionOf()).toBe(1)
    // A password that is sent may differ from the stored one.
    expect((await update({ password: 'p' })).body.updated_at).not.toBe('2026-01-01 00:00:00')
    await update({ password: null })
    expect(await versionOf()).toBe(3)
    await update({ password: null })
    expect(await versionOf()).toBe(3)
  })

  test('are closed to keys, members and strangers', async () => {
    const { admin, member, outsider, keys, space } = await app.account()
    const { body } = await app.as(admin).post(`/api/space/${space}/smtp/create`, settings)
    for (const key of [keys.account, keys.personal])
      for (const answer of [await app.as(key).get(`/api/space/${space}/smtp/list`), await app.as(key).post(`/api/smtp/${body.id}/test`)])
        expect(answer).toMatchObject({ status: 403, body: { message: 'API endpoint not available to API keys' } })
    expect((await app.as(member).post(`/api/smtp/${body.id}/update`, {})).status).toBe(403)
    expect(await app.as(outsider).post(`/api/smtp/${body.id}/delete`)).toMatchObject({
      status: 404,
      body: { message: 'SMTP integration not found' },
    })
  })

  test('are tested against the server', async () => {
    smtp.login = { user: 'u', password: 'p' }
    const { admin, space } = await app.account()
    const as = app.as(admin)
    const { body } = await as.post(`/api/space/${space}/smtp/create`, { ...settings, port: smtp.port })
    expect((await as.post(`/api/smtp/${body.id}/test`)).body).toEqual({ ok: true, error: null })
    await as.post(`/api/smtp/${body.id}/update`, { password: 'wrong' })
    expect((await as.post(`/api/smtp/${body.id}/test`)).body).toMatchObject({ ok: false, error: { code: '535' } })
  })

  test.each<[string, object, string]>([
    ['an invalid port', { port: 70_000 }, 'port'],
    ['an unknown TLS mode', { tls: 'ssl' }, 'tls'],
    ['an invalid domain', { from_domains: ['not a domain'] }, 'from_domains[0]'],
    ['a host with a path', { host: 'a.example/b' }, 'host'],
    ['a table of another account', { table_ids: [2_000_000_000] }, 'table_ids[0]'],
    ['an unknown key', { secure: true }, 'secure'],
  ])('with %s are refused', async (_, more, path) => {
    const { admin, space } = await app.account()
    const answer = await app.as(admin).post(`/api/space/${space}/smtp/create`, { ...settings, ...more })
    expect(answer.status).toBe(400)
    expect(answer.body.message).toContain(path)
  })

  test('offer no sender outside their domains, whichever of the two changes', async () => {
    const { admin, space } = await app.account()
    const as = app.as(admin)
    const desk = { name: 'Desk', email: 'desk@Example.com' }
    const settings = { label: 'S', host: '127.0.0.1', port: 25, from_domains: ['example.com'], from_identities: [desk] }
    const stray = { ...settings, from_identities: [desk, { name: 'Else', email: 'x@elsewhere.example' }] }
    const message = 'from_identities[1].email: has a domain outside from_domains: elsewhere.example'
    expect(await as.post(`/api/space/${space}/smtp/create`, stray)).toMatchObject({ status: 400, body: { message } })
    expect((await as.post(`/api/space/${space}/smtp/create`, { ...settings, from_domains: null })).status).toBe(400)
    const { body } = await as.post(`/api/space/${space}/smtp/create`, settings)
    const update = async (input: object) => {
      const answer = await as.post(`/api/smtp/${body.id}/update`, input)
      return answer.status === 200 ? 200 : answer.body.message
    }
    expect(await update({ from_identities: stray.from_identities })).toBe(message)
    expect(await update({ from_domains: ['other.example'] })).toBe(
      'from_identities[0].email: has a domain outside from_domains: example.com',
    )
    expect(await update({ from_domains: ['example.com', 'elsewhere.example'], from_identities: stray.from_identities })).toBe(200)
    expect(await update({ label: 'T' })).toBe(200)
    expect(await update({ from_domains: [], from_identities: [] })).toBe(200)
  })
})

describe('the pixel', () => {
  const hit = (path: string, init: RequestInit = {}) => fetch(app.url + path, init)
  /** Waits until so many requests for the image of the mail are recorded, which is after their answers. */
  const recorded = (id: number, count: number) =>
    expect.poll(() => app.db.read(sql`select class from email_opens where comment_id = ${id} order by id`)).toHaveLength(count)

  test('answers before it looks the token up, and records the open later', async () => {
    const { sent, comment } = await desk()
    const { id } = await sent()
    const path = pixelOf(lastReceived().email.html)
    const other = await app.db.connect()
    try {
      await other.query('begin')
      await other.query('lock table outbound_emails, email_opens, smtp_integrations in access exclusive mode')
      for (const token of [path, `/email/pixel/${'x'.repeat(43)}.png`, '/email/pixel/short.png', path]) {
        const response = await hit(token, { signal: AbortSignal.timeout(60_000) })
        expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png'])
      }
    } finally {
      await other.end()
    }
    await recorded(id, 2)
    expect((await comment(id)).metadata.status).toBe('read')
  })

  test.each([
    ['image_proxy', 'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)'],
    ['image_proxy', 'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html'],
    ['image_proxy', 'OutlookImageProxy/1.0'],
    ['image_proxy', 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/90.0 OutlookMobileCloudProxy'],
    ['prefetch', 'Mozilla/5.0'],
    ['scanner', ''],
    ['scanner', 'Mozilla/5.0 (compatible; Barracuda Sentinel)'],
    ['human', 'Mozilla/4.0 (compatible; ms-office; MSOffice 16)'],
    ['human', 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:140.0) Gecko/20100101 Thunderbird/140.0'],
  ])('classes as %s a request of %s', async (kind, agent) => {
    const { sent, keys } = await desk()
    const { id } = await sent()
    await hit(pixelOf(lastReceived().email.html), { headers: { 'user-agent': agent } })
    await recorded(id, 1)
    const { body } = await app.as(keys.personal).get(`/api/email/${id}/opens`)
    expect(body).toMatchObject([{ class: kind }])
  })

  test('is the same image at every path below it, whatever the token', async () => {
    for (const path of ['x.png', '', 'a/b/c', 'x', `${'y'.repeat(2000)}.png`, '%00.png', 'x.png?a=1']) {
      const response = await hit(`/email/pixel/${path}`)
      expect(response.status, path).toBe(200)
      expect(response.headers.get('content-type')).toBe('image/png')
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(Buffer.from(await response.arrayBuffer()).equals(PIXEL)).toBe(true)
    }
  })

  test('marks a sent mail as read once, and stores later hits', async () => {
    const { sent, comment, keys } = await desk()
    const { id } = await sent()
    const path = pixelOf(lastReceived().email.html)
    const head = await hit(path, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-type')]).toEqual([200, 'image/png'])
    await recorded(id, 1)
    expect((await comment(id)).metadata.status).toBe('sent')

    app.setClock(new Date('2026-12-01T10:00:00Z'))
    await Promise.all(Array.from({ length: 5 }, () => hit(path, { headers: { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox' } })))
    await recorded(id, 6)
    expect((await comment(id)).metadata).toMatchObject({ status: 'read', readAt: '2026-12-01 10:00:00' })
    app.setClock(new Date('2026-12-01T11:00:00Z'))
    await hit(path, { headers: { 'user-agent': 'Mozilla/5.0 (via ggpht.com GoogleImageProxy)' } })
    await hit(path, { headers: { 'user-agent': 'Mozilla/5.0' } })
    app.setClock(null)
    await recorded(id, 8)
    expect((await comment(id)).metadata.readAt).toBe('2026-12-01 10:00:00')

    const opens = await app.as(keys.personal).get(`/api/email/${id}/opens`)
    expect(opens.body.map((open: { class: string }) => open.class)).toEqual([
      'scanner',
      ...Array.from({ length: 5 }, () => 'human'),
      'image_proxy',
      'prefetch',
    ])
    expect((await app.as(keys.personalViewer).get(`/api/email/${id}/opens`)).status).toBe(403)
    expect((await app.as(keys.personalOutsider).get(`/api/email/${id}/opens`)).status).toBe(404)
  })

  test('leaves a mail that is not sent unchanged', async () => {
    const { sent, comment } = await desk()
    const { id } = await sent()
    const path = pixelOf(lastReceived().email.html)
    await app.db.write(sql`update record_comments set metadata = metadata || '{"status": "queued"}' where id = ${id}`)
    await hit(path)
    await recorded(id, 1)
    expect((await comment(id)).metadata).toMatchObject({ status: 'queued', readAt: null })
  })

  test('is omitted if the integration says so, and does not count if it says so later', async () => {
    const { sent, comment, admin, smtpId } = await desk()
    const { id } = await sent()
    const path = pixelOf(lastReceived().email.html)
    await app.as(admin).post(`/api/smtp/${smtpId}/update`, { disable_pixel: true })
    await hit(path)
    await recorded(id, 1)
    expect((await comment(id)).metadata.status).toBe('sent')
    await sent()
    expect(lastReceived().email.html).not.toContain('<img')
  })
})

describe('the webhook', () => {
  test('adds a reply to the record, as a comment of its sender', async () => {
    const { sent, comments } = await desk()
    const { id } = await sent({ to: ['ann@customer.example'] })
    const response = await webhook(fixture('gmail-reply', replyAddressOf(lastReceived().raw)))
    expect([response.status, await response.text()]).toEqual([200, ''])
    await untilRead(app)
    const reply = (await comments())[1] as Comment
    expect(reply).toMatchObject({
      type: 'email_in',
      user_id: 0,
      user_name: 'Ann Lee',
      content: 'Thanks, that works for us.\n\nCan you send it on Tuesday?',
      metadata: {
        parentCommentId: id,
        from: { name: 'Ann Lee', email: 'ann@customer.example' },
        to: [],
        subject: 'Re: Our offer',
        messageId: '<CAFx1=abc@mail.gmail.com>',
        inReplyTo: '<offer-1@example.com>',
        date: '2026-03-02 10:30:00',
        autoReply: false,
        authentication: { spf: 'pass', dkim: 'pass', dmarc: 'pass', arc: null },
        senderWasRecipient: true,
      },
    })
    expect(reply.metadata.html).toContain('<blockquote')
    expect(reply.metadata.visibleText).toBe(reply.content)
  })

  test.each([
    ['application/json'],
    ['multipart/form-data; boundary=x'],
    ['application/x-www-form-urlencoded'],
    ['message/rfc822'],
    [';;;'],
    [null],
  ])('accepts the content type %s', async (contentType) => {
    const { sent, comments } = await desk()
    await sent()
    expect((await webhook(fixture('apple-reply', replyAddressOf(lastReceived().raw)), contentType)).status).toBe(200)
    await untilRead(app)
    expect(await comments()).toHaveLength(2)
  })

  test('keeps attachments, which are read like any other file', async () => {
    const { sent, comments, space, table } = await desk()
    await sent()
    await webhook(fixture('nested-multipart', replyAddressOf(lastReceived().raw)))
    await untilRead(app)
    const reply = (await comments())[1] as Comment
    expect(reply.attachments.map(({ name, size }) => [name, size])).toEqual([
      ['logo.png', 70],
      ['Pläne 2026.pdf', 9],
      ['passwd', 8],
    ])
    for (const { path } of reply.attachments) {
      expect(path.startsWith(`${space}-${table}-`)).toBe(true)
      const [row] = await app.db.read<{ dropped_at: string | null }>(sql`select dropped_at from stored_files where path = ${path}`)
      expect(row?.dropped_at).toBeNull()
      expect(await buffer((await app.deps.storage.read(path)) as Readable)).not.toHaveLength(0)
    }
  })

  test('accepts the same message once, also when it arrives repeatedly and concurrently', async () => {
    const { sent, comments } = await desk()
    await sent()
    const raw = fixture('gmail-reply', replyAddressOf(lastReceived().raw))
    // The same message arrives by two routes: with other bytes, but the same Message-ID.
    const again = `Received: from elsewhere\r\n${raw}`
    const answers = await Promise.all([webhook(raw), webhook(raw), webhook(again), webhook(again), webhook(raw)])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    await untilRead(app)
    await webhook(raw)
    await untilRead(app)
    expect(await comments()).toHaveLength(2)
  })

  test('adds a message with two tokens to both threads', async () => {
    const [one, two] = [await desk(), await desk()]
    await one.sent()
    const first = replyAddressOf(lastReceived().raw)
    await two.sent()
    const second = replyAddressOf(lastReceived().raw)
    await webhook(fixture('apple-reply', first).replace(`Desk <${first}>`, `${first}, ${second}`))
    await untilRead(app)
    expect([(await one.comments()).length, (await two.comments()).length]).toEqual([2, 2])
  })

  test.each<[string, string]>([
    ['a line of 10 MB', `Thank you. ${'x'.repeat(10 * 1_048_576)}`],
    ['NUL', 'Thank \0you.'],
    ['no line break at its end', 'Thank you.'],
  ])('keeps the words of a reply with %s', async (_, body) => {
    const { sent, comments } = await desk()
    await sent()
    const head = `From: ann@customer.example\r\nTo: ${replyAddressOf(lastReceived().raw)}\r\nSubject: Re: Offer\r\nMessage-ID: <${randomUUID()}@customer.example>`
    expect((await webhook(`${head}\r\n\r\n${body}`)).status).toBe(200)
    await untilRead(app)
    expect((await comments()).at(-1)).toMatchObject({ type: 'email_in', content: expect.stringMatching(/^Thank .?you\./) })
  })

  test('drops a message without a known token, and stores nothing of it', async () => {
    const count = async () => (await app.db.read<{ n: number }>(sql`select count(*) as n from inbound_emails`))[0]?.n
    const before = await count()
    for (const raw of [
      fixture('gmail-reply', 'reply-ffffffffffffffff@reply.example.net'),
      fixture('gmail-reply', 'a@b.example'),
      '',
      'x',
      '\0',
    ])
      expect((await webhook(raw)).status).toBe(200)
    expect(await count()).toBe(before)
  })

  test('delays no other request while it parses hostile messages', async () => {
    const hostile = `From: a@b.example\r\nCc: ${'a:'.repeat(65_000)}\r\n\r\nbody`
    const posts = Promise.all(Array.from({ length: 30 }, () => webhook(hostile)))
    let slowestMs = 0
    let areDone = false
    void posts.then(() => {
      areDone = true
    })
    while (!areDone) {
      const startedAt = performance.now()
      expect((await fetch(`${app.url}/healthz`)).status).toBe(200)
      slowestMs = Math.max(slowestMs, performance.now() - startedAt)
    }
    // A slow machine refuses some of so many at once, and asks to send them again.
    const statuses = new Set((await posts).map(({ status }) => status))
    statuses.delete(503)
    expect(statuses).toEqual(new Set([200]))
    // The parser once took 22 s for these.
    expect(slowestMs).toBeLessThan(5_000)
  })

  test('refuses more than 25 MB', async () => {
    expect((await webhook(new Uint8Array(25 * 1_048_576))).status).toBe(200)
    expect((await webhook(new Uint8Array(25 * 1_048_576 + 1))).status).toBe(413)
  })

  test('notifies the followers of the record of a reply, but not of an automatic one', async () => {
    const { sent, table, record, member, comments } = await desk()
    const as = app.as(member)
    expect((await as.post(`/api/subscriptions/${table}/${record}/subscribe`)).status).toBe(200)
    await sent()
    const address = replyAddressOf(lastReceived().raw)
    await webhook(fixture('gmail-reply', address))
    await webhook(fixture('out-of-office', address))
    await untilRead(app)
    expect(await comments()).toHaveLength(3)
    const { body } = await as.post('/api/notifications/list')
    expect(body).toEqual([
      expect.objectContaining({
        event_type: 'COMMENT',
        actor_user_id: null,
        record_id: record,
        message: expect.stringMatching(/^Ann Lee replied by mail/),
      }),
    ])
  })

  test('marks automatic replies, and drops them when they loop', async () => {
    const { sent, comments } = await desk()
    await sent()
    const raw = fixture('out-of-office', replyAddressOf(lastReceived().raw))
    for (let i = 0; i < 25; i += 1) await webhook(raw.replace('<ooo-1@', `<ooo-${i}@`))
    await untilRead(app)
    const replies = (await comments()).slice(1)
    expect(replies).toHaveLength(20)
    expect(replies.every(({ metadata }) => metadata.autoReply)).toBe(true)
    // Messages from people are still accepted.
    await webhook(fixture('gmail-reply', replyAddressOf(raw)))
    await untilRead(app)
    expect(await comments()).toHaveLength(22)
  })

  test('recognises a delivery report, and marks the mail as bounced', async () => {
    const { sent, comments, comment } = await desk()
    const { id } = await sent({ to: ['nobody@customer.example'] })
    await webhook(fixture('dsn-postfix', replyAddressOf(lastReceived().raw)))
    await untilRead(app)
    expect(await comments()).toHaveLength(1)
    const { metadata } = await comment(id)
    expect(metadata).toMatchObject({
      status: 'bounced',
      error: { code: '550', enhanced: '5.1.1' },
      recipients: [{ email: 'nobody@customer.example', status: 'bounced' }],
    })
    expect(metadata.bouncedAt).toMatch(/^\d{4}/)
  })

  test('recognises a report on one of two recipients', async () => {
    const { sent, comment } = await desk()
    const { id } = await sent({ to: ['full@customer.example', 'slow@customer.example'] })
    await webhook(fixture('dsn-exchange', replyAddressOf(lastReceived().raw)))
    await untilRead(app)
    const { metadata } = await comment(id)
    expect(metadata.status).toBe('sent')
    expect(metadata.recipients.map(({ status }: { status: string }) => status)).toEqual(['bounced', 'sent'])
  })

  test('recognises a report on a recipient whose outcome was unknown', async () => {
    const { sent, comment } = await desk()
    const { id } = await sent({ to: ['nobody@customer.example'] })
    const address = replyAddressOf(lastReceived().raw)
    // The server had accepted the mail, but its answer was not heard.
    await app.db.write(sql`
      update record_comments set metadata = jsonb_set(metadata, '{recipients,0,status}', '"unknown"') where id = ${id}`)
    await webhook(fixture('dsn-postfix', address))
    await untilRead(app)
    expect((await comment(id)).metadata).toMatchObject({ status: 'bounced', error: { code: '550' }, recipients: [{ status: 'bounced' }] })
  })

  test('marks a mail as bounced when its last recipient is dropped after the others have bounced', async () => {
    const { send, comment } = await desk()
    smtp.recipients.set('slow@customer.example', 451)
    const { body } = await send({ to: ['full@customer.example', 'slow@customer.example'] })
    await expect.poll(async () => (await comment(body.id)).metadata.recipients[0].status).toBe('sent')
    await webhook(fixture('dsn-exchange', replyAddressOf(lastReceived().raw)))
    await untilRead(app)
    expect((await comment(body.id)).metadata.status).toBe('sent')
    smtp.recipients.set('slow@customer.example', 550)
    await expect.poll(async () => (await comment(body.id)).metadata.status).toBe('bounced')
    const { metadata } = await comment(body.id)
    expect(metadata.recipients.map(({ status }: { status: string }) => status)).toEqual(['bounced', 'dropped'])
    expect(metadata.bouncedAt).toMatch(/^\d{4}/)
  })

  test('answers 503 with Retry-After while the message cannot be stored', async () => {
    const { sent, comments } = await desk()
    await sent()
    const raw = fixture('gmail-reply', replyAddressOf(lastReceived().raw))
    await app.db.write(sql`alter table inbound_emails rename to inbound_emails_away`)
    const response = await webhook(raw)
    await app.db.write(sql`alter table inbound_emails_away rename to inbound_emails`)
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '30'])
    expect((await webhook(raw)).status).toBe(200)
    await untilRead(app)
    expect(await comments()).toHaveLength(2)
  })

  test('drops a reply to a deleted record', async () => {
    const { sent, keys, table, record } = await desk()
    await sent()
    const raw = fixture('gmail-reply', replyAddressOf(lastReceived().raw))
    expect((await app.as(keys.account).post(`/api/table/${table}/record/${record}/delete`)).status).toBe(200)
    expect((await webhook(raw)).status).toBe(200)
    const [row] = await app.db.read<{ n: number }>(sql`select count(*) as n from outbound_emails where table_id = ${table}`)
    expect(row?.n).toBe(0)
  })
})
