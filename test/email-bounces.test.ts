/** What comes back from mail servers, providers and mail programs about a mail that was sent, and what follows from it. */
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { replayMessages } from '../src/email/inbox/replay.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { tokenHash } from '../src/platform/secrets/secrets.ts'
import { type Caller, testApp } from './support/app.ts'
import { mailDesk, postMail, untilRead } from './support/mail-desk.ts'
import { startSmtp } from './support/smtp.ts'
import { makeTable } from './support/tables.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp({ CATCH_DOMAIN: 'reply.example.net' }, { worker: true })

beforeEach(() => {
  smtp.onContent = {}
  smtp.hidesDsn = false
})

const desk = () => mailDesk(app, smtp)

/** The reply address and the pixel of the last mail that the server received. */
const replyAddress = () => /reply-[0-9a-f]{16}@reply\.example\.net/.exec(smtp.received.at(-1)?.raw ?? '')?.[0] as string
const pixelPath = () => /\/email\/pixel\/[\w-]+\.png/.exec(smtp.received.at(-1)?.email.html ?? '')?.[0] as string

async function post(...lines: string[]): Promise<void> {
  await postMail(app, lines)
  await untilRead(app)
}

const failure = (address: string, words: string, to = replyAddress()) => [
  'From: Mail Delivery System <MAILER-DAEMON@mx.customer.example>',
  `To: ${to}`,
  'Subject: Undelivered Mail Returned to Sender',
  'Auto-Submitted: auto-replied',
  '',
  'Your message could not be delivered.',
  '',
  `<${address}>: ${words}`,
]

/** A report (RFC 6522) with one part about the mail, and the header of the mail. */
const report = (type: string, part: string[], messageId: string) => [
  'From: reports@provider.example',
  `To: ${replyAddress()}`,
  'Subject: A report',
  `Content-Type: multipart/report; report-type=${type}; boundary=b`,
  '',
  '--b',
  '',
  'This is a report.',
  '--b',
  `Content-Type: message/${type}`,
  '',
  ...part,
  '--b',
  'Content-Type: text/rfc822-headers',
  '',
  `Message-ID: ${messageId}`,
  '--b--',
]

describe('a failure message', () => {
  test('gives the recipient its codes, the words of the server, and the kind of the bounce in plain words', async () => {
    const { sent, comments } = await desk()
    const { metadata } = await sent('ann@customer.example', 'bob@customer.example')
    await post(...failure('Ann@Customer.example', '552 5.2.2 The mailbox is over quota'))
    expect(await metadata()).toMatchObject({
      status: 'sent',
      recipients: [
        {
          email: 'ann@customer.example',
          status: 'bounced',
          error: { code: '552', enhanced: '5.2.2', message: '552 5.2.2 The mailbox is over quota' },
          bounce: { kind: 'soft', reason: 'The mailbox is full' },
        },
        { email: 'bob@customer.example', status: 'sent', error: null },
      ],
    })
    await post(...failure('bob@customer.example', '550 5.1.1 User unknown'))
    expect(await metadata()).toMatchObject({
      status: 'bounced',
      recipients: [{}, { bounce: { kind: 'hard', reason: 'The address does not exist' } }],
    })
    expect(await comments()).toHaveLength(1)
  })

  test('of a delay changes nothing, and is kept with the recipient', async () => {
    const { sent, comments } = await desk()
    const { metadata } = await sent('ann@customer.example')
    await post(
      'From: Mail Delivery System <MAILER-DAEMON@mx.customer.example>',
      `To: ${replyAddress()}`,
      'Subject: Warning: message delayed 4 hours',
      '',
      '<ann@customer.example>: 451 4.4.1 No answer from the host',
      'We will keep trying.',
    )
    const { status, error, recipients } = await metadata()
    expect([status, error, recipients[0].status, recipients[0].error]).toEqual(['sent', null, 'sent', null])
    expect(recipients[0].delay).toEqual({
      at: expect.stringMatching(/^\d{4}-\d\d-\d\d /),
      code: '451',
      enhanced: '4.4.1',
      message: expect.stringMatching(/^451 4\.4\.1 No answer/),
    })
    expect(await comments()).toHaveLength(1)
  })

  test('that overtakes the end of a later attempt is read again, and is not lost', async () => {
    const { sent } = await desk()
    const { id, metadata } = await sent('ann@customer.example', 'bob@customer.example')
    const setBob = (status: string) =>
      app.db.write(sql`
        update record_comments set metadata = jsonb_set(metadata, '{recipients,1,status}', to_jsonb(${status}::text)) where id = ${id}`)
    await setBob('queued')
    const raw = failure('bob@customer.example', '550 5.1.1 User unknown').join('\r\n')
    await fetch(`${app.url}/webhooks/email_receive`, { method: 'POST', body: raw, headers: { 'content-type': 'text/raw' } })
    const readOnce = () =>
      app.db.read(sql`
        select id from pgboss.job where name = 'email.receive' and (state in ('retry', 'completed') or retry_count > 0)
          and (data->>'id')::int = (select max(id) from inbound_emails)`)
    await expect.poll(readOnce).toHaveLength(1)
    const [open] = await app.db.read<{ id: number }>(sql`select inbound_email_id as id from inbound_verdicts where verdict is null`)
    expect(await metadata()).toMatchObject({ status: 'sent', recipients: [{ status: 'sent' }, { status: 'queued' }] })
    await setBob('sent')
    // The job is repeated after some seconds.
    await replayMessages(systemContext(app.deps), { id: open?.id ?? 0 })
    expect(await metadata()).toMatchObject({ status: 'sent', recipients: [{ status: 'sent' }, { status: 'bounced' }] })
  })
})

describe('a recipient whose outcome was unknown', () => {
  const unknown = async (...to: string[]) => {
    const all = await desk()
    smtp.onContent = { hangUp: 'after' }
    const { body } = await all.as.post('/api/email/send', all.mail(to))
    const metadata = async () => (await all.comments()).find(({ id }: { id: number }) => id === body.id).metadata
    await expect.poll(async () => (await metadata()).error?.code).toBe('OUTCOME_UNKNOWN')
    smtp.onContent = {}
    return { ...all, id: body.id as number, metadata }
  }
  const states = ({ recipients }: { recipients: { status: string }[] }) => recipients.map(({ status }) => status)

  /** Gives the mail tokens that the test knows. */
  async function tokens(id: number) {
    const reply = (0x1000000000000000n + BigInt(id)).toString(16)
    const pixel = `pixel-of-the-mail-with-the-id-${id}`
    await app.db.write(sql`update reply_tokens set token_hash = ${tokenHash(reply)} where comment_id = ${id}`)
    await app.db.write(sql`update outbound_emails set pixel_token_hash = ${tokenHash(pixel)} where comment_id = ${id}`)
    return { address: `reply-${reply}@reply.example.net`, path: `/email/pixel/${pixel}.png` }
  }

  test('is sent, and the mail read, when its image is loaded', async () => {
    const { id, metadata } = await unknown('ann@customer.example', 'bob@customer.example')
    const { path } = await tokens(id)
    expect((await fetch(app.url + path)).status).toBe(200)
    await expect.poll(async () => (await metadata()).status).toBe('read')
    const after = await metadata()
    expect([after.status, after.error, states(after)]).toEqual(['read', null, ['sent', 'sent']])
    expect(after.readAt).not.toBeNull()
  })

  test('is bounced by a report, which proves that the server took the mail for the others', async () => {
    const { id, metadata } = await unknown('ann@customer.example', 'bob@customer.example')
    const { address } = await tokens(id)
    await post(...failure('ann@customer.example', '550 5.1.1 User unknown', address))
    expect(states(await metadata())).toEqual(['bounced', 'sent'])
    expect(await metadata()).toMatchObject({ status: 'sent', error: { code: '550' } })
  })

  test.each([
    ['of a recipient', 'Ann <ann@customer.example>', ['sent']],
    ['of somebody to whom it was forwarded', 'Carl <carl@elsewhere.example>', ['sent']],
  ])('is sent by an answer %s', async (_, from, expected) => {
    const { id, metadata, comments } = await unknown('ann@customer.example')
    const { address } = await tokens(id)
    await post(`From: ${from}`, `To: ${address}`, 'Subject: Re: Our offer', '', 'Thank you.')
    expect([states(await metadata()), (await metadata()).error]).toEqual([expected, null])
    expect((await comments()).map(({ type }: { type: string }) => type)).toEqual(['email_out', 'email_in'])
  })

  test('stays unknown after an automatic message of somebody else', async () => {
    const { id, metadata } = await unknown('ann@customer.example')
    const { address } = await tokens(id)
    await post('From: robot@elsewhere.example', `To: ${address}`, 'Auto-Submitted: auto-replied', 'Subject: Ticket 12', '', 'Received.')
    expect(states(await metadata())).toEqual(['unknown'])
  })
})

describe('the server', () => {
  test('is asked to report failures and delays, with the address of each recipient and the id of the mail', async () => {
    const { sent, comments } = await desk()
    const { messageId, metadata } = await sent('ann+chairs=12@customer.example', 'bob@customer.example')
    const id = messageId.slice(1, messageId.indexOf('@'))
    expect(smtp.received.at(-1)).toMatchObject({
      dsn: { ret: 'HDRS', envid: id },
      recipientDsn: [
        { notify: ['FAILURE', 'DELAY'], orcpt: 'rfc822;ann+chairs=12@customer.example' },
        { notify: ['FAILURE', 'DELAY'], orcpt: 'rfc822;bob@customer.example' },
      ],
    })
    const fields = ['Final-Recipient: rfc822; somebody@elsewhere.example', 'Action: failed', 'Status: 5.1.1']
    await post(
      ...report(
        'delivery-status',
        [`Original-Envelope-Id: ${id}`, '', 'Original-Recipient: rfc822; bob@customer.example', ...fields],
        '<relay@x.example>',
      ),
    )
    expect((await metadata()).recipients.map(({ status }: { status: string }) => status)).toEqual(['sent', 'bounced'])
    const other = await sent('carl@customer.example')
    const otherId = other.messageId.slice(1, other.messageId.indexOf('@'))
    await post(...report('delivery-status', [`Original-Envelope-Id: ${otherId}`, '', ...fields], '<relay@x.example>'))
    expect(await other.metadata()).toMatchObject({ status: 'bounced', recipients: [{ error: { enhanced: '5.1.1' } }] })
    expect(await comments()).toHaveLength(2)
  })

  test('is not asked for reports that it does not offer', async () => {
    const { sent } = await desk()
    smtp.hidesDsn = true
    smtp.endConnections()
    // A connection that is kept would go on without it in other tests.
    onTestFinished(() => smtp.endConnections())
    const { metadata } = await sent('ann@customer.example')
    expect((await metadata()).status).toBe('sent')
    expect(smtp.received.at(-1)).toMatchObject({ dsn: undefined, recipientDsn: [undefined] })
  })
})

describe('a complaint', () => {
  test('is noted with its recipient, adds no comment, and suppresses the address', async () => {
    const { sent, comments, as } = await desk()
    const { id, messageId, metadata } = await sent('ann@customer.example')
    await post(...report('feedback-report', ['Feedback-Type: abuse', 'User-Agent: provider/1.0', 'Version: 1'], messageId))
    const { status, recipients } = await metadata()
    expect([status, recipients[0].status, recipients[0].complaint]).toEqual(['sent', 'sent', { at: expect.any(String), type: 'abuse' }])
    expect(await comments()).toHaveLength(1)
    expect((await as.get('/api/email/suppressions/list')).body).toMatchObject([
      { email: 'ann@customer.example', reason: 'complaint', comment_id: id },
    ])
  })

  test('that does not say who complains is not held against anybody of several', async () => {
    const { sent, comments, as } = await desk()
    const { messageId, metadata } = await sent('ann@customer.example', 'bob@customer.example')
    await post(...report('feedback-report', ['Feedback-Type: abuse', 'Version: 1'], messageId))
    expect((await metadata()).recipients.map(({ complaint }: { complaint?: object }) => complaint)).toEqual([undefined, undefined])
    expect((await as.get('/api/email/suppressions/list')).body).toEqual([])
    await post(...report('feedback-report', ['Feedback-Type: abuse', 'Original-Rcpt-To: <Bob@customer.example>'], messageId))
    expect((await as.get('/api/email/suppressions/list')).body).toMatchObject([{ email: 'bob@customer.example' }])
    expect(await comments()).toHaveLength(1)
  })

  test('of Hotmail, which is no report, is one as well', async () => {
    const { sent, comments, as } = await desk()
    const { metadata } = await sent('ann@customer.example', 'bob@customer.example')
    await post(
      'From: staff@hotmail.com',
      `To: ${replyAddress()}`,
      'Subject: complaint about message from 192.0.2.9',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: message/rfc822',
      '',
      'X-HmXmrOriginalRecipient: bob@customer.example',
      'Subject: Our offer',
      '',
      'Dear Ann',
      '--b--',
    )
    expect((await metadata()).recipients.map(({ complaint }: { complaint?: object }) => complaint)).toEqual([
      undefined,
      { at: expect.any(String), type: 'abuse' },
    ])
    expect((await as.get('/api/email/suppressions/list')).body).toMatchObject([{ email: 'bob@customer.example', reason: 'complaint' }])
    expect(await comments()).toHaveLength(1)
  })

  test.each(['not-spam', 'auth-failure'])('is not feedback of the type %s', async (type) => {
    const { sent, as } = await desk()
    const { messageId, metadata } = await sent('ann@customer.example')
    await post(...report('feedback-report', [`Feedback-Type: ${type}`, 'Original-Rcpt-To: ann@customer.example'], messageId))
    expect((await metadata()).recipients[0].complaint).toBeUndefined()
    expect((await as.get('/api/email/suppressions/list')).body).toEqual([])
  })

  test('about another mail is an automatic comment', async () => {
    const { sent, comments, as } = await desk()
    await sent('ann@customer.example')
    await post(...report('feedback-report', ['Feedback-Type: abuse', 'Original-Rcpt-To: carl@elsewhere.example'], '<other@example.com>'))
    expect((await comments()).map(({ type }: { type: string }) => type)).toEqual(['email_out', 'email_in'])
    expect((await as.get('/api/email/suppressions/list')).body).toEqual([])
  })
})

test('a read receipt is noted with its recipient, and is no comment', async () => {
  const { sent, comments } = await desk()
  const { messageId, metadata } = await sent('ann@customer.example', 'bob@customer.example')
  const part = [
    'Final-Recipient: rfc822; Ann@customer.example',
    `Original-Message-ID: ${messageId}`,
    'Disposition: manual-action/MDN-sent-manually; displayed',
  ]
  await post(...report('disposition-notification', part, messageId))
  const { status, recipients } = await metadata()
  expect([status, recipients[0].receipt, recipients[1].receipt]).toEqual([
    'sent',
    { at: expect.any(String), disposition: 'displayed' },
    undefined,
  ])
  expect(await comments()).toHaveLength(1)
})

describe('a suppressed address', () => {
  /** A desk with an address that has bounced for good. */
  const bounced = async (address = 'ann@customer.example') => {
    const all = await desk()
    const { id } = await all.sent(address)
    await post(...failure(address, '550 5.1.1 User unknown'))
    return { ...all, causeId: id }
  }
  const list = (as: ReturnType<typeof app.as>, query = '') => as.get(`/api/email/suppressions/list${query}`)

  test('gets no more mail from the account, and the preview says so', async () => {
    const { as, mail, sent, causeId } = await bounced()
    const since = (await list(as)).body[0]?.since as string
    expect((await list(as)).body).toEqual([{ email: 'ann@customer.example', reason: 'hard_bounce', since, comment_id: causeId }])
    const message = `No mail is sent to this address since ${since.slice(0, 10)}, because an earlier mail to it bounced for good`
    const preview = await as.post('/api/email/preview', mail(['ANN@customer.example', 'bob@customer.example']))
    expect(preview.body.problems).toEqual([`ann@customer.example: ${message}`])

    smtp.received.length = 0
    const { metadata } = await sent('ANN@customer.example', 'bob@customer.example')
    expect(await metadata()).toMatchObject({
      status: 'sent',
      recipients: [
        { email: 'ANN@customer.example', status: 'dropped', error: { code: 'SUPPRESSED', enhanced: null, message } },
        { email: 'bob@customer.example', status: 'sent', error: null },
      ],
    })
    expect(smtp.received.map(({ envelopeTo }) => envelopeTo)).toEqual([['bob@customer.example']])
  })

  test('as the only recipient drops the mail without a connection', async () => {
    const { sent } = await bounced()
    const connections = smtp.connections
    const { metadata } = await sent('ann@customer.example')
    expect(await metadata()).toMatchObject({ status: 'dropped', error: { code: 'SUPPRESSED' } })
    expect(smtp.connections).toBe(connections)
  })

  test('gets mail again once it is removed, which is audited', async () => {
    const { as, sent, keys } = await bounced()
    expect(await as.post('/api/email/suppressions/remove', { email: 'nobody@customer.example' })).toMatchObject({
      status: 404,
      body: { message: 'Suppression not found' },
    })
    expect(await as.post('/api/email/suppressions/remove', { email: ' Ann@Customer.example ' })).toMatchObject({
      status: 200,
      body: { ok: true },
    })
    expect((await list(as)).body).toEqual([])
    const { body: audited } = await app.as(keys.account).get('/api/audit/list?action=suppression.removed')
    expect(audited).toMatchObject([{ action: 'suppression.removed', object: { type: 'suppression' }, detail: { reason: 'hard_bounce' } }])
    const { metadata } = await sent('ann@customer.example')
    expect((await metadata()).status).toBe('sent')
  })

  test('is not one after a bounce that may pass', async () => {
    const { sent, as } = await desk()
    await sent('ann@customer.example')
    await post(...failure('ann@customer.example', '552 5.2.2 Mailbox full'))
    expect((await list(as)).body).toEqual([])
  })

  test('stays one for a mail that was dropped for it and is retried', async () => {
    const { as, sent } = await bounced()
    const { id, metadata } = await sent('ann@customer.example')
    expect((await as.post(`/api/email/${id}/retry`)).status).toBe(200)
    await expect.poll(async () => (await metadata()).status).toBe('dropped')
    expect((await metadata()).error.code).toBe('SUPPRESSED')
  })

  test('is listed and removed by admins alone, on REST and RPC', async () => {
    const { admin, member, viewer, outsider, keys, as } = await bounced()
    const other = await app.account()
    const remove = (caller: Caller) => app.as(caller).post('/api/email/suppressions/remove', { email: 'ann@customer.example' })
    for (const [caller, status] of [
      [null, 401],
      [member, 403],
      [viewer, 403],
      [keys.personal, 403],
      [keys.accountReadOnly, 403],
      [keys.accountOtherSpace, 403],
    ] as [Caller, number][]) {
      expect((await list(app.as(caller))).status).toBe(status)
      expect((await remove(caller)).status).toBe(status)
    }
    for (const stranger of [other.keys.account, keys.accountOutsider, outsider]) {
      expect((await list(app.as(stranger))).body).toEqual([])
      expect((await remove(stranger)).status).toBe(404)
    }
    expect((await list(app.as(admin))).body).toHaveLength(1)
    expect((await list(as, '?limit=1&offset=1')).body).toEqual([])
    expect(await app.as(admin).rpc.suppressions.list.query({})).toMatchObject({ rows: [{ email: 'ann@customer.example' }], total: 1 })
    expect(await app.as(admin).rpc.suppressions.remove.mutate({ email: 'ann@customer.example' })).toEqual({ ok: true })
    expect((await list(app.as(keys.account))).body).toEqual([])
  })

  test('is removed by the owner, and by admins of a space that has mailed it', async () => {
    const { id, owner, admin, otherSpace, keys, keyOf, sent, causeId } = await bounced('dora@customer.example')
    const remove = (caller: Caller, email = 'dora@customer.example') => app.as(caller).post('/api/email/suppressions/remove', { email })
    const suppressAgain = () =>
      app.db.write(sql`
        insert into email_suppressions (account_id, email, reason, comment_id) values (${id}, 'dora@customer.example', 'hard_bounce', ${causeId})`)
    // Another admin, of a space that has mailed nobody.
    const elsewhere = await app.person(id, 'Emil Elsewhere')
    await app.as(owner).post(`/api/space/${otherSpace}/members/add`, { email: elsewhere.email, role: 'admin' })
    const elsewhereKey = await keyOf({ accountId: id, userId: elsewhere.id }, { kind: 'personal' })
    expect((await list(app.as(elsewhere))).body).toHaveLength(1)
    for (const caller of [elsewhere, elsewhereKey])
      expect(await remove(caller)).toMatchObject({ status: 403, body: { message: 'Not authorized' } })
    await expect(app.as(elsewhere).rpc.suppressions.remove.mutate({ email: 'Dora@customer.example' })).rejects.toMatchObject({
      message: 'Not authorized',
    })
    expect((await remove(elsewhere, 'nobody@customer.example')).status).toBe(404)

    // A mail that was dropped because the address is suppressed has reached nobody.
    const { id: table, records } = await makeTable(app, { owner, space: otherSpace }, { records: [{ name: 'Acme' }] })
    const integration = { label: 'Other', host: '127.0.0.1', port: smtp.port, tls: 'none', from_domains: ['example.com'] }
    const { body: created } = await app.as(owner).post(`/api/space/${otherSpace}/smtp/create`, integration)
    const as = app.as(elsewhere)
    const send = async () => {
      const mail = { tableId: table, recordId: records[0], smtpIntegrationId: created.id, fromIdentity: { email: 'other@example.com' } }
      const { body } = await as.post('/api/email/send', {
        ...mail,
        cc: ['DORA@customer.example'],
        to: ['carl@customer.example'],
        subject: 'x',
      })
      const recipients = async () => {
        const { body: comments } = await as.get(`/api/table/${table}/record/${records[0]}/comments/get`)
        return comments.find((comment: { id: number }) => comment.id === body.id)?.metadata.recipients
      }
      await expect.poll(async () => (await recipients())?.map(({ status }: { status: string }) => status)).not.toContain('queued')
      return (await recipients())[1].status
    }
    expect(await send()).toBe('dropped')
    expect((await remove(elsewhere)).status).toBe(403)

    for (const caller of [admin, owner, keys.account, await keyOf({ accountId: id, userId: owner.id }, { kind: 'personal' })]) {
      expect((await remove(caller)).status).toBe(200)
      await suppressAgain()
    }
    // The cause is in another space, but this one has mailed the address, too.
    expect((await remove(admin)).status).toBe(200)
    expect(await send()).toBe('sent')
    await suppressAgain()
    expect((await remove(elsewhereKey)).status).toBe(200)
    await suppressAgain()
    await app.as(owner).post(`/api/space/${otherSpace}/member/${elsewhere.id}/update`, { role: 'member' })
    expect((await remove(elsewhere)).status).toBe(403)
    const limited = await keyOf({ accountId: id, userId: owner.id }, { kind: 'account', space_ids: [otherSpace] })
    expect((await remove(limited)).status).toBe(403)
    expect(await sent('carl@customer.example')).toBeDefined()
  })

  test('that refused a mail of a space while it was sent has been mailed by that space', async () => {
    const { admin, sent, id } = await desk()
    smtp.recipients.set('fred@customer.example', '550 5.1.1 User unknown')
    onTestFinished(() => smtp.recipients.clear())
    await sent('fred@customer.example')
    const found = await app.db.read<{ email: string }>(sql`select email from email_suppressions where account_id = ${id}`)
    expect(found).toEqual([{ email: 'fred@customer.example' }])
    await app.db.write(sql`update email_suppressions set comment_id = null where account_id = ${id}`)
    expect((await app.as(admin).post('/api/email/suppressions/remove', { email: 'fred@customer.example' })).status).toBe(200)
  })

  test.each<[object, string]>([
    [{}, 'email: is required'],
    [{ email: null }, 'email: '],
    [{ email: ['ann@customer.example'] }, 'email: '],
    [{ email: 'ann' }, 'email: must be an email address'],
    [{ email: 'ann@customer.example\r\nBcc: x@evil.example' }, 'email: '],
    [{ email: 'ann\0@customer.example' }, 'email: '],
    [{ email: `${'a'.repeat(100_000)}@customer.example` }, 'email: '],
    [{ email: 'Ann <ann@customer.example>' }, 'email: must be an email address'],
    [{ email: 'ann@customer.example', other: 1 }, 'other: is not a known key'],
  ])('%j is not accepted for removal', async (body, message) => {
    const { keys } = await app.account()
    const answer = await app.as(keys.account).post('/api/email/suppressions/remove', body)
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining(message.split(':')[0] as string)])
  })
})

test('the image of a mail that arrived says nothing new about its recipients', async () => {
  const { sent } = await desk()
  const { metadata } = await sent('ann@customer.example')
  await fetch(app.url + pixelPath())
  await expect.poll(async () => (await metadata()).status).toBe('read')
  expect(await metadata()).toMatchObject({ recipients: [{ status: 'sent' }] })
})
