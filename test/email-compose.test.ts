/** What a mail consists of: its tokens, recipients, references and images. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { type Caller, type Person, testApp } from './support/app.ts'
import { untilRead } from './support/mail-desk.ts'
import { startSmtp } from './support/smtp.ts'
import { makeTable } from './support/tables.ts'

const smtp = await startSmtp()
const asciiSmtp = await startSmtp(undefined, { hideSMTPUTF8: true })
afterAll(() => Promise.all([smtp.close(), asciiSmtp.close()]))
const app = await testApp({ CATCH_DOMAIN: 'reply.example.net' }, { worker: true })

beforeEach(() => {
  smtp.received.length = 0
  asciiSmtp.received.length = 0
  asciiSmtp.recipients.clear()
})

async function desk({ timezone = 'UTC', server: at = smtp } = {}) {
  const account = await app.account({ timezone })
  const { id: table, records } = await makeTable(app, account, {
    fields: [
      { name: 'Name', type: 'text' },
      { name: 'Due', type: 'date' },
      { name: 'Start', type: 'datetime' },
      { name: 'Hour', type: 'time' },
      { name: 'Paid', type: 'checkbox' },
      { name: 'Price', type: 'number', decimals: 2 },
      { name: 'Ratio', type: 'number' },
      { name: 'Stages', type: 'multi_select', options: ['Lead', 'Won'] },
      { name: 'Notes', type: 'long_text' },
    ],
    records: [
      {
        name: 'Acme',
        due: '2026-11-22',
        start: '2026-11-22 13:30:00',
        hour: '09:30',
        paid: true,
        price: 12.5,
        ratio: 0.125,
        stages: ['Lead', 'Won'],
      },
    ],
  })
  const record = records[0] as number
  const server = { label: 'Desk', host: '127.0.0.1', port: at.port, tls: 'none', from_domains: ['example.com'] }
  const { body: integration } = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, server)
  const mail = (more: object = {}) => ({
    tableId: table,
    recordId: record,
    smtpIntegrationId: integration.id as number,
    fromIdentity: { email: 'desk@example.com' },
    to: ['ann@customer.example'],
    subject: 'Our offer',
    body: '<p>Dear Ann</p>',
    ...more,
  })
  const send = (more: object = {}, caller: Caller = account.member) => app.as(caller).post('/api/email/send', mail(more))
  const preview = async (more: object = {}, caller: Caller = account.member) => {
    const answer = await app.as(caller).post('/api/email/preview', mail(more))
    expect([answer.status, answer.body.message]).toEqual([200, undefined])
    return answer.body
  }
  const comment = async (id: number) =>
    (await app.as(account.member).get(`/api/table/${table}/record/${record}/comments/get?limit=100`)).body.find(
      (row: { id: number }) => row.id === id,
    )
  /** Sends a mail. @returns what the server received, and the comment */
  const sent = async (more: object = {}, caller: Caller = account.member) => {
    const { status, body } = await send(more, caller)
    expect([status, body.message]).toEqual([202, undefined])
    await expect.poll(async () => (await comment(body.id)).metadata.status).not.toBe('queued')
    const received = at.received.find(({ email }) => email.messageId === body.comment.metadata.messageId)
    return { received, comment: await comment(body.id) }
  }
  return { ...account, table, record, integrationId: integration.id as number, mail, send, sent, preview, comment }
}

/** Posts a reply to the mail that the server received. */
async function reply(
  raw: string,
  { from, cc = '', messageId, header = [] }: { from: string; cc?: string; messageId: string; header?: string[] },
): Promise<void> {
  const [address] = /reply-[0-9a-f]{16}@reply\.example\.net/.exec(raw) ?? []
  const lines = [
    `From: ${from}`,
    `To: ${address}`,
    ...(cc ? [`Cc: ${cc}`] : []),
    'Subject: Re: Our offer',
    `Message-ID: ${messageId}`,
    ...header,
    '',
    'Yes.',
  ]
  const { status } = await fetch(`${app.url}/webhooks/email_receive`, {
    method: 'POST',
    body: lines.join('\r\n'),
    headers: { 'content-type': 'text/raw' },
  })
  expect(status).toBe(200)
  await untilRead(app)
}

describe('the sender', () => {
  const notices = async (person: Person) =>
    (await app.as(person).post('/api/notifications/list')).body.map(({ event_type, message, summary }: Record<string, string>) => ({
      event_type,
      message,
      summary,
    }))

  test('is told of a reply once, whether following the record or not; followers are told as before', async () => {
    const { sent, member, admin, viewer, owner, keys, table, record } = await desk()
    await app.as(admin).post(`/api/subscriptions/${table}/${record}/subscribe`, {})
    const { received } = await sent()
    await reply(received?.raw ?? '', { from: 'Ann <ann@customer.example>', messageId: '<2@customer.example>' })
    const told = [{ event_type: 'COMMENT', message: expect.stringContaining('Ann replied by mail'), summary: 'Yes.' }]
    for (const person of [member, admin]) expect(await notices(person)).toEqual(told)
    for (const person of [viewer, owner]) expect(await notices(person)).toEqual([])
    const ofFollower = await sent({}, admin)
    await reply(ofFollower.received?.raw ?? '', { from: 'Ann <ann@customer.example>', messageId: '<3@customer.example>' })
    expect([(await notices(admin)).length, (await notices(member)).length]).toEqual([2, 1])
    // The owner acts for account keys, and the user of a personal key is its sender.
    const ofKey = await sent({}, keys.account)
    await reply(ofKey.received?.raw ?? '', { from: 'Ann <ann@customer.example>', messageId: '<4@customer.example>' })
    expect([(await notices(owner)).length, (await notices(member)).length]).toEqual([1, 1])
    const ofPersonalKey = await sent({}, keys.personal)
    await reply(ofPersonalKey.received?.raw ?? '', { from: 'Ann <ann@customer.example>', messageId: '<5@customer.example>' })
    expect((await notices(member)).length).toBe(2)
  })

  test('is not told who has lost access to the record', async () => {
    const { sent, member, admin, space } = await desk()
    const { received } = await sent()
    expect((await app.as(admin).post(`/api/space/${space}/member/${member.id}/remove`)).status).toBe(200)
    await reply(received?.raw ?? '', { from: 'Ann <ann@customer.example>', messageId: '<6@customer.example>' })
    expect(await notices(member)).toEqual([])
  })

  test('is told of a bounce once, and nobody else is', async () => {
    const { sent, member, admin, table, record } = await desk()
    await app.as(admin).post(`/api/subscriptions/${table}/${record}/subscribe`, {})
    const { received } = await sent({ to: ['nobody@customer.example'] })
    const [address = ''] = /reply-[0-9a-f]{16}@reply\.example\.net/.exec(received?.raw ?? '') ?? []
    const report = readFileSync(new URL('./fixtures/mail/dsn-postfix.eml', import.meta.url), 'latin1')
    for (const id of ['<r1@customer.example>', '<r2@customer.example>']) {
      const raw = report
        .replaceAll('reply-0123456789abcdef@reply.example.net', address)
        .replace(/^Message-I[dD]: .*$/m, `Message-Id: ${id}`)
      await fetch(`${app.url}/webhooks/email_receive`, { method: 'POST', body: raw, headers: { 'content-type': 'text/raw' } })
      await untilRead(app)
    }
    const message = 'Your email “Our offer” could not be delivered to nobody@customer.example.'
    expect(await notices(member)).toEqual([
      { event_type: 'EMAIL_BOUNCED', message, summary: expect.stringMatching(/^[A-Z][a-z ]+: .*550/s) },
    ])
    expect(await notices(admin)).toEqual([])
  })
})

describe('the metadata', () => {
  test('counts the images on other servers, of mails that are sent and received', async () => {
    const { sent, send, table, record, member } = await desk()
    const image = (src: string) => `<img src="${src}">`
    const body = `${image('https://a.example/1.png')}<p>x${image('http://a.example/2.png')}</p>${image('data:image/gif;base64,R0lGODlhAQABAAAAACw=')}`
    const { body: queued } = await send({ body: `${body}${image('https://a.example/3.png?{{field:name}}')}` })
    expect(queued.comment.metadata).toMatchObject({ remoteImages: 3, attachmentsLeftOut: 0 })
    const { received, comment } = await sent({ body: `${body}<img src="{{field:notes}}">` })
    expect(comment.metadata).toMatchObject({ remoteImages: 2, attachmentsLeftOut: 0 })
    await reply(received?.raw ?? '', { from: 'ann@customer.example', messageId: '<6@customer.example>' })
    const html = ['Content-Type: text/html', '', `<p>Yes ${body}</p>`]
    await reply(received?.raw ?? '', { from: 'ann@customer.example', messageId: '<7@customer.example>', header: html })
    const { body: replies } = await app.as(member).get(`/api/table/${table}/record/${record}/comments/get?types=email_in`)
    const counts = replies.map(({ metadata }: typeof comment) => [metadata.remoteImages, metadata.attachmentsLeftOut])
    expect(counts).toEqual([
      [2, 0],
      [0, 0],
    ])
  })
})

describe('recipients', () => {
  test('are compared without case, and keep the case in which they come first', async () => {
    const { sent } = await desk()
    const { received, comment } = await sent({
      to: ['Ann Lee <Ann.Lee@Customer.Example>', 'ann.lee@customer.example'],
      cc: ['ANN.LEE@customer.example', 'Bob@customer.example'],
      bcc: ['bob@CUSTOMER.example'],
    })
    expect(received?.envelopeTo).toEqual(['Ann.Lee@customer.example', 'Bob@customer.example'])
    expect(comment.metadata).toMatchObject({ to: ['Ann.Lee@customer.example'], cc: ['Bob@customer.example'], bcc: [] })
    expect(comment.metadata.recipients.map(({ status }: { status: string }) => status)).toEqual(['sent', 'sent'])
  })

  test('with letters outside of ASCII get their mail from a server that offers SMTPUTF8', async () => {
    const { sent } = await desk()
    const { received } = await sent({ to: ['jörg@bücher.example'] })
    expect(received?.envelopeTo).toEqual(['jörg@bücher.example'])
  })

  test('with letters outside of ASCII are refused for a server that does not offer SMTPUTF8, they alone', async () => {
    const { sent } = await desk({ server: asciiSmtp })
    const to = ['ann@bücher.example', 'Jörg <jörg@customer.example>']
    const { received, comment } = await sent({ to, cc: ['bob@customer.example'] })
    expect(received?.envelopeTo).toEqual(['ann@bücher.example', 'bob@customer.example'])
    expect(received?.raw).toContain('To: ann@xn--bcher-kva.example\r\nCc: bob@customer.example\r\n')
    const error = { code: 'SMTPUTF8', enhanced: '5.6.7', message: expect.stringContaining('SMTPUTF8') }
    expect(comment.metadata).toMatchObject({
      status: 'sent',
      recipients: [
        { status: 'sent', error: null },
        { status: 'dropped', error },
        { status: 'sent', error: null },
      ],
    })
  })

  test('that nobody can reach without SMTPUTF8 leave the mail dropped, and others of the integration go on', async () => {
    const { sent } = await desk({ server: asciiSmtp })
    const { received, comment } = await sent({ to: ['jörg@customer.example'] })
    expect(received).toBeUndefined()
    expect(comment.metadata).toMatchObject({ status: 'dropped', error: { code: 'SMTPUTF8' } })
    expect((await sent()).comment.metadata.status).toBe('sent')
    const ofSender = await sent({ fromIdentity: { email: 'jörg@example.com' } })
    expect(ofSender.comment.metadata).toMatchObject({ status: 'dropped', error: { message: expect.stringContaining("sender's address") } })
  })

  test('that need SMTPUTF8 are refused for good when the others are refused for now', async () => {
    const { send, comment } = await desk({ server: asciiSmtp })
    asciiSmtp.recipients.set('full@customer.example', 451)
    const { body } = await send({ to: ['full@customer.example', 'jörg@customer.example'] })
    const codes = async () =>
      (await comment(body.id)).metadata.recipients.map(({ error }: { error: { code: string } | null }) => error?.code)
    await expect.poll(codes).toEqual(['451', 'SMTPUTF8'])
  })
})

describe('references', () => {
  test('go to the mails with the same correspondents, not to others of the record', async () => {
    const { sent } = await desk()
    const toAnn = await sent()
    const toBob = await sent({ to: ['bob@customer.example'] })
    expect([toBob.received?.email.inReplyTo, toBob.received?.email.references]).toEqual([undefined, undefined])
    const again = await sent({ to: ['ANN@customer.example'] })
    expect(again.received?.email.inReplyTo).toBe(toAnn.comment.metadata.messageId)
    expect(again.received?.email.references).toBe(toAnn.comment.metadata.messageId)
    const toBoth = await sent({ to: ['bob@customer.example'], cc: ['ann@customer.example'] })
    const ids = [toAnn, toBob, again].map(({ comment }) => comment.metadata.messageId)
    expect(toBoth.received?.email.references).toBe(ids.join(' '))
    expect(toBoth.received?.email.inReplyTo).toBe(ids[2])
  })

  test('go to answers, also from another address, and to those whom an answer copied', async () => {
    const { sent } = await desk()
    const { received } = await sent()
    await reply(received?.raw ?? '', { from: 'Ann <ann@private.example>', cc: 'carl@customer.example', messageId: '<1@private.example>' })
    expect((await sent()).received?.email.inReplyTo).toBe('<1@private.example>')
    expect((await sent({ to: ['carl@customer.example'] })).received?.email.references).toBe('<1@private.example>')
    expect((await sent({ to: ['bob@customer.example'] })).received?.email.references).toBeUndefined()
  })
})

describe('an answer to a reply', () => {
  const OUTLOOK = Buffer.concat([Buffer.from([1, 0xdc, 0xaa, 0, 0, 0]), Buffer.alloc(16, 7)]).toString('base64')

  test('goes on from its references, and from the conversation of Outlook', async () => {
    const { sent } = await desk()
    const { received, comment } = await sent()
    const ours = comment.metadata.messageId
    const header = [`References: <first@customer.example>\r\n ${ours}`, `Thread-Index: ${OUTLOOK}`]
    await reply(received?.raw ?? '', { from: 'Ann <ann@customer.example>', messageId: '<2@customer.example>', header })
    const next = await sent({ attachments: [] })
    expect(next.received?.email.references).toBe(`<first@customer.example> ${ours} <2@customer.example>`)
    const index = Buffer.from(threadIndexIn(next.received?.raw), 'base64')
    expect([index.byteLength, index.subarray(0, 22).toString('base64')]).toEqual([27, OUTLOOK])
    // With a long body the mail is written in another way.
    const long = await sent({ body: `<p>${'words '.repeat(60_000)}</p>` })
    expect(Buffer.from(threadIndexIn(long.received?.raw), 'base64').subarray(0, 22).toString('base64')).toBe(OUTLOOK)
    expect(long.received?.email.references).toBe(`<first@customer.example> ${ours} <2@customer.example> ${next.comment.metadata.messageId}`)
  })

  test('is one without them if they are none', async () => {
    const { sent } = await desk()
    const { received, comment } = await sent()
    const header = ['References: see my last mail', 'Thread-Index: AAAA']
    await reply(received?.raw ?? '', { from: 'Ann <ann@customer.example>', messageId: '<3@customer.example>', header })
    const next = await sent()
    expect(next.received?.email.references).toBe(`${comment.metadata.messageId} <3@customer.example>`)
    expect(next.received?.raw).not.toMatch(/^Thread-Index/im)
  })

  test('goes on from the mail that replyTo names, and from no other thread with the same people', async () => {
    const { sent, table, record, member } = await desk()
    const mails = async () => (await app.as(member).get(`/api/table/${table}/record/${record}/comments/get?types=email_in`)).body
    const first = await sent({ subject: 'Offer' })
    const other = await sent({ subject: 'Invoice', replyTo: undefined })
    const header = [`References: ${first.comment.metadata.messageId}`, `Thread-Index: ${OUTLOOK}`]
    await reply(first.received?.raw ?? '', { from: 'Ann <ann@customer.example>', messageId: '<4@customer.example>', header })
    await reply(other.received?.raw ?? '', { from: 'Ann <ann@customer.example>', messageId: '<5@customer.example>' })
    const [ofOther, ofFirst] = await mails()
    const answer = await sent({ replyTo: ofFirst.id })
    const ids = [first.comment.metadata.messageId, '<4@customer.example>']
    expect([answer.received?.email.inReplyTo, answer.received?.email.references]).toEqual([ids[1], ids.join(' ')])
    expect(Buffer.from(threadIndexIn(answer.received?.raw), 'base64').subarray(0, 22).toString('base64')).toBe(OUTLOOK)
    // A mail of one's own is followed back over what it answered, to whomever the next one goes.
    const again = await sent({ replyTo: answer.comment.id, to: ['carl@customer.example'] })
    ids.push(answer.comment.metadata.messageId)
    expect([again.received?.email.inReplyTo, again.received?.email.references]).toEqual([ids[2], ids.join(' ')])
    expect(Buffer.from(threadIndexIn(again.received?.raw), 'base64').subarray(0, 22).toString('base64')).toBe(OUTLOOK)
    // Without References an answer refers to the mail to whose reply address it came.
    const toOther = await sent({ replyTo: ofOther.id })
    expect(toOther.received?.email.references).toBe(`${other.comment.metadata.messageId} <5@customer.example>`)
    expect(toOther.received?.raw).not.toMatch(/^Thread-Index/im)
  })

  test('names a mail of the record, else it is 404, for send and preview', async () => {
    const { sent, send, mail, table, member, admin } = await desk()
    const { comment: first } = await sent()
    const note = await app.as(admin).post(`/api/table/${table}/record/${first.record_id}/comments/create`, { content: 'No mail' })
    const elsewhere = await (await desk()).sent()
    for (const replyTo of [note.body.id, elsewhere.comment.id, 2_147_483_647]) {
      const answers = [await send({ replyTo }), await app.as(member).post('/api/email/preview', mail({ replyTo }))]
      expect(answers.map(({ status, body }) => [status, body.message])).toEqual(answers.map(() => [404, 'Comment not found']))
    }
    for (const replyTo of ['x', 0, 1.5, [first.id]]) expect((await send({ replyTo })).status, `${replyTo}`).toBe(400)
    for (const replyTo of [first.id, null]) expect((await app.as(member).post('/api/email/preview', mail({ replyTo }))).status).toBe(200)
  })

  test('goes on from the latest mails with its recipients if the one that replyTo names was deleted meanwhile', async () => {
    const { sent, send, comment, table, record, admin } = await desk()
    const first = await sent()
    const second = await sent({ to: ['bob@customer.example'] })
    const { body } = await send({ replyTo: second.comment.id, sendAt: new Date(Date.now() + 3_600_000).toISOString() })
    expect((await app.as(admin).post(`/api/table/${table}/record/${record}/comment/${second.comment.id}/delete`)).status).toBe(200)
    expect((await app.as(admin).post(`/api/email/${body.id}/cancel`)).body).toEqual({ ok: true })
    expect((await app.as(admin).post(`/api/email/${body.id}/retry`)).status).toBe(200)
    await expect.poll(async () => (await comment(body.id)).metadata.status).toBe('sent')
    const received = smtp.received.find(({ email }) => email.messageId === body.comment.metadata.messageId)
    expect(received?.email.inReplyTo).toBe(first.comment.metadata.messageId)
  })

  const threadIndexIn = (raw = '') => /^Thread-Index: ([\w+/=]+)/im.exec(raw)?.[1] ?? ''
})

describe('tokens', () => {
  const ALL =
    '{{field:due}}; {{field:start}}; {{field:hour}}; {{field:paid}}; {{field:price}}; {{field:ratio}}; {{field:stages}}; {{field:id}}'
  const RAW = ALL.replaceAll('}}', '|iso}}')

  test("are readable, in the sender's time zone", async () => {
    const { sent, preview, member } = await desk({ timezone: 'Europe/Berlin' })
    await app.as(member).post('/api/auth/profile', { timezone: 'America/New_York' })
    const text = (start: string) =>
      expect.stringMatching(new RegExp(`^22 November 2026; ${start}; 09:30; yes; 12\\.50; 0\\.125; Lead, Won; \\d+$`))
    const { received } = await sent({ subject: ALL })
    expect(received?.email.subject).toEqual(text('22 November 2026, 08:30 EST'))
    expect((await preview({ subject: ALL })).subject).toEqual(text('22 November 2026, 08:30 EST'))
  })

  test("are readable in the owner's time zone for an account key", async () => {
    const { sent, member, keys } = await desk({ timezone: 'Europe/Berlin' })
    await app.as(member).post('/api/auth/profile', { timezone: 'America/New_York' })
    const { received } = await sent({ subject: '{{field:start}}' }, keys.account)
    expect(received?.email.subject).toBe('22 November 2026, 14:30 CET')
    const { received: ofKey } = await sent({ subject: '{{field:start}}' }, keys.personal)
    expect(ofKey?.email.subject).toBe('22 November 2026, 08:30 EST')
  })

  test('with |iso are as the API answers them', async () => {
    const { sent } = await desk({ timezone: 'Europe/Berlin' })
    const { comment } = await sent({ body: `<p>${RAW}</p>` })
    expect(comment.content).toMatch(/^<p>2026-11-22; 2026-11-22 13:30:00; 09:30:00; true; 12.5; 0.125; Lead, Won; \d+<\/p>$/)
  })

  test('of empty cells are empty, except for checkboxes', async () => {
    const { preview, keys, table, record } = await desk()
    const empty = { due: null, start: null, hour: null, paid: null, price: null, ratio: null, stages: [] }
    await app.as(keys.account).post(`/api/table/${table}/record/${record}/update`, { data: empty })
    expect((await preview({ subject: ALL })).subject).toMatch(/^; ; ; no; ; ; ; \d+$/)
  })

  test('are known with spaces and in any case', async () => {
    const { preview } = await desk()
    const subject = '{{ field:name }} {{Field:Name}} {{ FIELD : DUE | ISO }}'
    expect(await preview({ subject })).toMatchObject({ subject: 'Acme Acme 2026-11-22', unresolved: [], problems: [] })
  })

  test('that are unknown, unclosed or nested are named by preview', async () => {
    const { preview, sent } = await desk()
    const subject = '{{field:nothing}} {{field:due|us}} {{field:name'
    const body = '<p>{{field:{{field:name}}}} and {{ field:due } x</p>'
    const result = await preview({ subject, body })
    expect(result).toMatchObject({ html: '<p>{{field:Acme}} and {{ field:due } x</p>', unresolved: ['nothing', 'due|us'] })
    expect(result.problems).toEqual([
      "{{field:nothing}}: 'nothing' is not a field of this table",
      '{{field:due|us}}: only |iso or |url can follow the field',
      '{{field:name…: a token must be closed with }} and contain no other token',
      '{{field:…}} and {{ field:due } x…: a token must be closed with }} and contain no other token',
    ])
    const { comment } = await sent({ subject, body })
    expect(comment).toMatchObject({
      content: '<p>{{field:Acme}} and {{ field:due } x</p>',
      metadata: { unresolved: ['nothing', 'due|us'] },
    })
  })

  test('that name a long text over and over are refused by preview, and the mail is dropped', async () => {
    const { mail, send, sent, comment, keys, table, record } = await desk()
    await app.as(keys.account).post(`/api/table/${table}/record/${record}/update`, { data: { notes: 'a'.repeat(100_000) } })
    for (const [field, count] of [['subject', 2] as const, ['body', 42] as const]) {
      const text = { [field]: '{{field:notes}}'.repeat(count) }
      const answer = await app.as(keys.account).post('/api/email/preview', mail(text))
      expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining(`${field}: the values of the tokens`)])
      const { body } = await send(text)
      await expect.poll(async () => (await comment(body.id)).metadata.status).toBe('dropped')
      expect((await comment(body.id)).metadata.error.code).toBe('TOO_LONG')
    }
    expect((await sent({ body: '{{field:notes}}'.repeat(10) })).comment.content).toHaveLength(1_000_000)
  })
})

describe('attachments', () => {
  const types = [
    'multipart/mixed; boundary=abc',
    'multipart/mixed',
    'message/rfc822',
    'MESSAGE/external-body; access-type=URL; URL="http://x"',
  ]

  test.each([...types, 'text/html; charset=utf-16'])('of the type %s arrive byte for byte', async (type) => {
    const { sent, table, record, member } = await desk()
    const content = Buffer.from(`Subject: Offer\n\nCafé\n--abc\n.\n${'x'.repeat(2_000)}`)
    const upload = { name: 'Offer.eml', type, data: content.toString('base64') }
    const { body: file } = await app.as(member).post(`/api/table/${table}/record/${record}/comments/upload`, upload)
    const { received, comment } = await sent({ attachments: [file] })
    expect(comment.metadata.status).toBe('sent')
    expect(comment.attachments).toEqual([file])
    const arrived = received?.email.attachments.map((part) => [part.filename, part.mimeType, Buffer.from(part.content as ArrayBuffer)])
    expect(arrived).toEqual([['Offer.eml', types.includes(type) ? 'application/octet-stream' : 'text/html', content]])
  })
})

describe('images', () => {
  const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')
  const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
  const SVG = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
  const dataUrl = (type: string, content: Buffer) => `data:${type};base64,${content.toString('base64')}`
  const contentOf = ({ content }: { content: unknown }) => Buffer.from(content as ArrayBuffer)

  /** Uploads a file for a comment of the record. @returns its entry */
  async function upload(
    { table, record, member }: { table: number; record: number; member: Person },
    name: string,
    type: string,
    content: Buffer,
  ) {
    const path = `/api/table/${table}/record/${record}/comments/upload`
    const { status, body } = await app.as(member).post(path, { name, type, data: content.toString('base64') })
    expect(status).toBe(200)
    return body as { path: string; name: string }
  }

  test('of a body and a signature go out as parts with a Content-ID, and are files of the comment', async () => {
    const { sent, member } = await desk()
    const html = `<p>Max</p><img src="${dataUrl('image/gif', GIF)}" alt="Logo">`
    const { body: signature } = await app.as(member).post('/api/email/signatures/create', { name: 'Logo', html })
    const image = dataUrl('image/png', PNG)
    const { received, comment } = await sent({ body: `<p>a<img alt="b" src='${image}'></p><img src=${image}>`, signatureId: signature.id })
    const { attachments = [], html: sentHtml = '' } = received?.email ?? {}
    expect(attachments.map((part) => [part.mimeType, part.disposition, contentOf(part)])).toEqual([
      ['image/png', 'inline', PNG],
      ['image/gif', 'inline', GIF],
    ])
    const cids = attachments.map(({ contentId = '' }) => `cid:${contentId.slice(1, -1)}`)
    expect([...sentHtml.matchAll(/<img[^>]* src="(cid:[^"]*)"/g)].map(([, cid]) => cid)).toEqual([cids[0], cids[0], cids[1]])
    expect(received?.raw).not.toContain('data:')
    expect(received?.raw).toMatch(/multipart\/related/)

    const paths = comment.attachments.map(({ path }: { path: string }) => path)
    expect(comment.metadata.inline).toEqual(paths.map((path: string, index: number) => ({ path, cid: cids[index]?.slice(4) })))
    expect(comment.content).toBe(
      `<p>a<img alt="b" src="/api/file/${paths[0]}" /></p><img src="/api/file/${paths[0]}" /><br /><br /><p>Max</p><img src="/api/file/${paths[1]}" alt="Logo" />`,
    )
    const file = await fetch(`${app.url}/api/file/${paths[0]}`, { headers: { cookie: `gridpost_session=${member.session}` } })
    expect([file.status, file.headers.get('content-type'), Buffer.from(await file.arrayBuffer())]).toEqual([200, 'image/png', PNG])
  })

  test('that are links to stored files go out as parts, beside other attachments', async () => {
    const place = await desk()
    const image = await upload(place, 'plan.png', 'image/png', PNG)
    const other = await upload(place, 'notes.txt', 'text/plain', Buffer.from('Notes'))
    const body = `<img src="/api/file/${image.path}"><img src="${app.url}/api/file/${image.path}?w=320"><img src="https://a.example/b.png">`
    const { received, comment } = await place.sent({ body, attachments: [other] })
    const parts = received?.email.attachments ?? []
    expect(parts.map(({ filename, disposition }) => [filename, disposition]).toSorted()).toEqual([
      ['notes.txt', 'attachment'],
      ['plan.png', 'inline'],
    ])
    const [cid] = parts.flatMap(({ contentId }) => contentId ?? [])
    expect(received?.email.html).toContain(
      `<img src="cid:${cid?.slice(1, -1)}" /><img src="cid:${cid?.slice(1, -1)}" /><img src="https://a.example/b.png" />`,
    )
    expect(comment.attachments.map(({ path }: { path: string }) => path)).toEqual([other.path, image.path])
  })

  test('of another table are copied, and those that the sender cannot read are refused', async () => {
    const place = await desk()
    const other = await makeTable(app, place, { records: [{ name: 'Other' }] })
    const image = await upload({ ...place, table: other.id, record: other.records[0] as number }, 'logo.png', 'image/png', PNG)
    const { received, comment } = await place.sent({ body: `<img src="/api/file/${image.path}">` })
    expect(received?.email.attachments.map(contentOf)).toEqual([PNG])
    expect(comment.attachments[0].path).toMatch(new RegExp(`^${place.space}-${place.table}-`))

    const foreign = await desk()
    const theirs = await upload(foreign, 'secret.png', 'image/png', PNG)
    for (const src of [theirs.path, '1-1-missing', '..', '.', `..%2f${image.path}`]) {
      const answer = await place.send({ body: `<img src="/api/file/${src}">` })
      if (/^[\w.-]+$/.test(src))
        expect([src, answer.status, answer.body.message]).toEqual([src, 400, expect.stringContaining('body: the image')])
      else expect([src, answer.status]).toEqual([src, 202])
    }
  })

  test('of another table are read once, and not beyond 25 MB', async () => {
    const place = await desk()
    const other = await makeTable(app, place, { records: [{ name: 'Other' }] })
    const elsewhere = { ...place, table: other.id, record: other.records[0] as number }
    const linked = ({ path }: { path: string }, count: number) =>
      Array.from({ length: count }, (_, index) => `<img src="/api/file/${path}?w=${index}">`).join('')
    const image = await upload(elsewhere, 'logo.png', 'image/png', PNG)
    expect((await place.sent({ body: linked(image, 3) })).received?.email.attachments.map(contentOf)).toEqual([PNG])

    const large = Buffer.concat([PNG, Buffer.alloc(13_500_000, 1)])
    const [first, second] = [await upload(elsewhere, 'a.png', 'image/png', large), await upload(elsewhere, 'b.png', 'image/png', large)]
    const read = vi.spyOn(app.deps.storage, 'read')
    onTestFinished(() => read.mockRestore())
    const answer = await place.send({ body: linked(first, 20) + linked(second, 20) })
    expect([answer.status, answer.body.message]).toEqual([400, 'body: the images must have at most 25 MB in all'])
    expect(read).toHaveBeenCalledTimes(1)
  })

  test('that are SVG, or no image at all, are left out, and preview says so', async () => {
    const place = await desk()
    const stored = await upload(place, 'drawing.svg', 'image/svg+xml', SVG)
    const disguised = await upload(place, 'drawing.png', 'image/png', SVG)
    const sources = [
      dataUrl('image/svg+xml', SVG),
      dataUrl('image/png', SVG),
      dataUrl('IMAGE/SVG+XML', SVG),
      'data:image/svg+xml;utf8,%3Csvg%3E',
      'data:image/svg+xml,%3Csvg%20onload=(x)%3E',
      'data&#58;image/svg+xml;base64,PHN2Zz4=',
      'data:text/html;base64,PHN2Zz4=',
      'data:image/png;base64,',
      `/api/file/${stored.path}`,
      `/api/file/${disguised.path}`,
    ]
    for (const source of sources) {
      const body = `<p>a</p><img alt="b" src="${source}">`
      const { received, comment } = await place.sent({ body })
      expect([source, received?.email.attachments, comment.content]).toEqual([source, [], '<p>a</p><img alt="b" />'])
      // The address of the pixel is random and may have any three letters in it.
      expect(received?.raw.replace(/\/pixel\/[\w=\r\n-]+\.png/, '')).not.toMatch(/svg|cid:/i)
      expect(await place.preview({ body })).toMatchObject({
        html: '<p>a</p><img alt="b" />',
        problems: ['An image is left out: only PNG, JPEG, GIF and WebP can be sent'],
      })
    }
  })

  test('that the value of a token makes of them are not sent if they are SVG', async () => {
    const { sent, keys, table, record } = await desk()
    const set = (name: string) => app.as(keys.account).post(`/api/table/${table}/record/${record}/update`, { data: { name } })
    await set('data:image/svg+xml,%3Csvg%3E')
    expect((await sent({ body: '<img alt="b" src="{{field:name}}">' })).received?.email.html).toContain('<img alt="b" /><img ')
    await set('https://a.example/b.png')
    expect((await sent({ body: '<img src="{{field:name}}">' })).received?.email.html).toContain('<img src="https://a.example/b.png" />')
  })

  test('are shown by preview as they were given, and nothing is stored for it', async () => {
    const { preview, table } = await desk()
    const html = `<p>a</p><img src="${dataUrl('image/png', PNG)}" alt="b" />`
    expect(await preview({ body: html })).toMatchObject({ html, text: 'a\n\nb', problems: [] })
    expect(await app.db.read(sql`select 1 from stored_files where table_id = ${table}`)).toEqual([])
  })

  test('as text stay text', async () => {
    const { sent } = await desk()
    const { comment } = await sent({ body: '<p>Write data:image/png;base64,AAAA and then more</p>' })
    expect(comment.content).toBe('<p>Write data:image/png;base64,AAAA and then more</p>')
  })

  test('may have 10 MB of JSON, and the rest of a body 1 MB', async () => {
    const { sent, send, mail, keys } = await desk()
    const large = Buffer.concat([PNG, Buffer.alloc(7_000_000, 1)])
    const { received } = await sent({ body: `<img src="${dataUrl('image/png', large)}">` })
    expect(received?.email.attachments.map((part) => contentOf(part).equals(large))).toEqual([true])
    const tooLong = { body: `<p>${'a '.repeat(600_000)}</p>` }
    const refused = [400, 'body: must have at most 1 MB besides its images']
    for (const answer of [await send(tooLong), await app.as(keys.account).post('/api/email/preview', mail(tooLong))])
      expect([answer.status, answer.body.message]).toEqual(refused)
    const ampersands = await send({ body: `<img alt="${'&'.repeat(900_000)}">` })
    expect([ampersands.status, ampersands.body.message]).toEqual([400, 'body: must have at most 3 MB once &, < and > are escaped'])
    expect((await send({ body: `<img src="${dataUrl('image/png', Buffer.alloc(8_000_000))}">` })).status).toBe(413)
  })

  test('may be data URLs of three million lines', async () => {
    const { preview } = await desk()
    const [start = '', base64 = ''] = dataUrl('image/png', Buffer.concat([PNG, Buffer.alloc(2_300_000)])).split(',')
    const { problems } = await preview({ body: `<p>a</p><img src="${start},${base64.replaceAll(/./g, '$&\n')}">` })
    expect(problems).toEqual([])
  })

  test('of more than 50 kinds are refused', async () => {
    const { send } = await desk()
    const images = (count: number) =>
      Array.from({ length: count }, (_, index) => dataUrl('image/png', Buffer.concat([PNG, Buffer.from([index])])))
    const body = (count: number) =>
      images(count)
        .map((src) => `<img src="${src}">`)
        .join('')
    expect((await send({ body: body(50) })).status).toBe(202)
    const answer = await send({ body: body(51) })
    expect([answer.status, answer.body.message]).toEqual([400, 'body: must have at most 50 images'])
  })
})
