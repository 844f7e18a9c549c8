/** Nothing that a person writes is lost on its way from the webhook to the record, whatever else the message contains. */
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterAll, describe, expect, test } from 'vitest'
import { replayMessages } from '../src/email/inbox/replay.ts'
import { systemContext } from '../src/platform/context.ts'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { databaseProxy } from './support/database-proxy.ts'
import { untilRead } from './support/mail-desk.ts'
import { lockWaits } from './support/servers.ts'
import { startSmtp } from './support/smtp.ts'
import { makeTable } from './support/tables.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp({ CATCH_DOMAIN: 'reply.example.net' }, { worker: true })

interface Comment {
  id: number
  type: string
  user_name: string
  content: string
  attachments: { name: string; path: string; size: number; type: string }[]
  // biome-ignore lint/suspicious/noExplicitAny: a test reads answers of every shape.
  metadata: any
}

/** A mail that was sent, and what came back for it. */
async function thread(to: string[] = ['ann@customer.example']) {
  const account = await app.account()
  const { id: table, records } = await makeTable(app, account, { records: [{ name: 'Acme' }], fields: [{ name: 'Name', type: 'text' }] })
  const integration = { label: 'Desk', host: '127.0.0.1', port: smtp.port, tls: 'none', from_domains: ['example.com'] }
  const { body: created } = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, integration)
  const as = app.as(account.keys.account)
  const comments = async (): Promise<Comment[]> =>
    (await as.get(`/api/table/${table}/record/${records[0]}/comments/get?limit=100`)).body.toReversed()
  const mail = { tableId: table, recordId: records[0], smtpIntegrationId: created.id, fromIdentity: { email: 'desk@example.com' } }
  await as.post('/api/email/send', { ...mail, to, subject: 'Our offer' })
  await expect.poll(async () => (await comments())[0]?.metadata.status).toBe('sent')
  const [sent] = await comments()
  const address = /reply-[0-9a-f]{16}@reply\.example\.net/.exec(smtp.received.at(-1)?.raw ?? '')?.[0] as string
  /** Posts the message, waits until it was read, and returns all comments but the mail itself. */
  const post = async (...lines: (string | Buffer)[]): Promise<Comment[]> => {
    const raw = Buffer.concat(lines.map((line) => Buffer.concat([Buffer.from(line), Buffer.from('\r\n')])))
    const response = await fetch(`${app.url}/webhooks/email_receive`, {
      method: 'POST',
      body: raw,
      headers: { 'content-type': 'text/raw' },
    })
    expect(response.status).toBe(200)
    await untilRead(app)
    return (await comments()).slice(1)
  }
  const status = async () => (await comments())[0]?.metadata.status
  const member = app.as(account.member)
  const follow = () => member.post(`/api/subscriptions/${table}/${records[0]}/subscribe`)
  const notices = async (): Promise<{ event_type: string }[]> => (await member.post('/api/notifications/list')).body
  return { ...account, table, address, messageId: sent?.metadata.messageId as string, post, status, follow, notices }
}

const contentOf = async (path: string | undefined) => (await buffer((await app.deps.storage.read(path ?? '')) as Readable)).toString()

/** The lines of a report of a mail server, with the returned header of the mail that it is about. */
const report = (recipient: string, messageId: string) => [
  'Content-Type: multipart/report; report-type=delivery-status; boundary=report',
  '',
  '--report',
  '',
  `Your mail to ${recipient} could not be delivered.`,
  '--report',
  'Content-Type: message/delivery-status',
  '',
  'Reporting-MTA: dns; mx.customer.example',
  '',
  `Final-Recipient: rfc822; ${recipient}`,
  'Action: failed',
  'Status: 5.1.1',
  'Diagnostic-Code: smtp; 550 5.1.1 no such user',
  '--report',
  'Content-Type: text/rfc822-headers',
  '',
  `Message-ID: ${messageId}`,
  '--report--',
]
const fromServer = (to: string) => [
  'From: Mail Delivery System <mailer-daemon@mx.customer.example>',
  `To: ${to}`,
  'Auto-Submitted: auto-replied',
]
const fromAnn = (to: string) => ['From: Ann Lee <ann@customer.example>', `To: ${to}`, 'Subject: Re: Our offer']

describe('a report counts', () => {
  test('about the Message-ID of the mail, also if it names the address that the mail was forwarded to', async () => {
    const { address, messageId, post, status } = await thread()
    expect(await post(...fromServer(address), ...report('ann@elsewhere.example', messageId))).toEqual([])
    expect(await status()).toBe('bounced')
  })

  test('about a recipient of the mail, also if a relay has given it another Message-ID', async () => {
    const { address, post, status } = await thread()
    expect(await post(...fromServer(address), ...report('Ann@Customer.example', '<0102-relay@relay.example>'))).toEqual([])
    expect(await status()).toBe('bounced')
  })

  test('not about another mail to somebody else: it becomes an automatic comment', async () => {
    const { address, post, status } = await thread()
    const [comment, ...more] = await post(...fromServer(address), ...report('carl@elsewhere.example', '<another@mail.example>'))
    expect(comment).toMatchObject({ content: 'Your mail to carl@elsewhere.example could not be delivered.', metadata: { autoReply: true } })
    expect([more, await status()]).toEqual([[], 'sent'])
  })
})

describe('texts that the database would refuse', () => {
  test('are stored without half a character, where they are cut', async () => {
    const { address, post } = await thread()
    const emojiAt = (length: number) => `${'a'.repeat(length - 1)}😀`
    const [comment] = await post(
      `From: "${emojiAt(200)}" <ann@customer.example>`,
      `To: ${address}`,
      `Subject: ${emojiAt(1000)}`,
      'Content-Type: multipart/mixed; boundary=mixed',
      '',
      '--mixed',
      'Content-Type: text/plain; charset=utf-8',
      '',
      emojiAt(200_000),
      '--mixed',
      'Content-Type: application/pdf',
      `Content-Disposition: attachment; filename="${'a'.repeat(249)}😀.pdf"`,
      '',
      'x',
      '--mixed--',
    )
    expect(comment?.user_name).toBe(`${'a'.repeat(199)}\ufffd`)
    expect(comment?.metadata.subject).toBe(`${'a'.repeat(999)}\ufffd`)
    expect(comment?.metadata.text).toHaveLength(200_000)
    expect(comment?.attachments.map(({ name }) => name)).toEqual([`${'a'.repeat(249)}.pdf`])
  })

  test.each([
    ['NUL', 'no such\0 user', '550 5.1.1 no such user'],
    ['an emoji that is cut', `${'a'.repeat(489)}😀`, `550 5.1.1 ${'a'.repeat(489)}\ufffd`],
  ])('as the words of a server are, with %s', async (_, words, message) => {
    const { address, messageId, post, status } = await thread()
    const lines = report('ann@customer.example', messageId).map((line) => line.replace('no such user', words))
    expect(await post(...fromServer(address), ...lines)).toEqual([])
    expect(await status()).toBe('bounced')
    const [row] = await app.db.read<{ message: string }>(sql`
      select metadata->'error'->>'message' as message from record_comments where metadata->>'messageId' = ${messageId}`)
    expect(row?.message).toBe(message)
  })
})

describe('a reply stays a reply', () => {
  test('with a forwarded failure report in it', async () => {
    const { address, messageId, post, status } = await thread()
    const [comment] = await post(
      ...fromAnn(address),
      'Content-Type: multipart/mixed; boundary=mixed',
      '',
      '--mixed',
      '',
      'This came back when I forwarded your offer. Who else should get it?',
      '--mixed',
      'Content-Type: message/rfc822',
      '',
      ...fromServer('ann@customer.example'),
      ...report('ann@customer.example', messageId),
      '--mixed--',
    )
    expect(comment?.content).toMatch(/^This came back when I forwarded your offer\. Who else should get it\?/)
    expect(comment).toMatchObject({ type: 'email_in', user_name: 'Ann Lee', metadata: { autoReply: false } })
    expect(await status()).toBe('sent')
  })

  test('with the parts of a failure report as its attachments', async () => {
    const { address, messageId, post, status } = await thread()
    const [, ...parts] = report('ann@customer.example', messageId)
    const [comment] = await post(
      ...fromAnn(address),
      'Content-Type: multipart/mixed; boundary=report',
      '',
      '--report',
      '',
      'Do you see why?',
      ...parts,
    )
    expect(comment?.content).toContain('Do you see why?')
    expect(comment?.attachments.map(({ type }) => type)).toContain('message/delivery-status')
    expect(await status()).toBe('sent')
  })
})

describe('the words of a reply arrive', () => {
  test('when they stand between flowed quotes', async () => {
    const { address, post } = await thread()
    const [comment] = await post(
      ...fromAnn(address),
      'Content-Type: text/plain; charset=utf-8; format=flowed',
      '',
      '> How many chairs do you need, and by when, and which ',
      '> colour should they have? ',
      'Twelve, and they should ',
      'be blue.',
      '>> The older question ',
      '> What about tables? ',
      'No tables.',
      '-- ',
      'Ann',
    )
    expect(comment?.content).toBe('Twelve, and they should be blue.\nNo tables.')
    expect(comment?.metadata.text).toContain('> How many chairs do you need, and by when, and which colour should they have?\nTwelve')
  })

  test.each([
    ['a boundary that does not occur', 'multipart/mixed; boundary=other', '--mixed'],
    ['no boundary', 'multipart/mixed', '--mixed'],
    ['no Content-Type', undefined, '--mixed'],
  ])('behind %s, with the attachment', async (_, type, boundary) => {
    const { address, post } = await thread()
    const [comment] = await post(
      ...fromAnn(address),
      ...(type ? [`Content-Type: ${type}`] : []),
      '',
      boundary,
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: quoted-printable',
      '',
      'Gr=C3=BCn, please.',
      boundary,
      'Content-Type: text/csv; name=colours.csv',
      '',
      'green,12',
      `${boundary}--`,
    )
    expect(comment?.content).toBe('Grün, please.')
    expect(comment?.attachments.map(({ name }) => name)).toEqual(['colours.csv'])
  })

  test('as the whole body when there are no parts', async () => {
    const { address, post } = await thread()
    const [comment] = await post(...fromAnn(address), 'Content-Type: multipart/alternative; boundary=x', '', 'Only this line,', 'and this.')
    expect(comment?.content).toBe('Only this line,\nand this.')
  })

  test('in a code page that the message does not name', async () => {
    const { address, post } = await thread()
    const [comment] = await post(...fromAnn(address), '', Buffer.from('Grün, für März.', 'latin1'))
    expect(comment?.content).toBe('Grün, für März.')
  })

  test('beside a text file, which is an attachment', async () => {
    const { address, post } = await thread()
    const [comment] = await post(
      ...fromAnn(address),
      'Content-Type: multipart/mixed; boundary=mixed',
      '',
      '--mixed',
      'Content-Type: text/plain; charset=utf-8',
      '',
      'The list is in the file.',
      '--mixed',
      'Content-Type: text/plain; charset=utf-8; name="chairs.txt"',
      'Content-Disposition: inline; filename="chairs.txt"',
      '',
      'twelve blue chairs',
      '--mixed--',
    )
    expect(comment?.metadata.text).toBe('The list is in the file.\n')
    expect(comment?.attachments).toMatchObject([{ name: 'chairs.txt', type: 'text/plain' }])
    expect((await contentOf(comment?.attachments[0]?.path)).trim()).toBe('twelve blue chairs')
  })

  test('when the only text has a file name', async () => {
    const { address, post } = await thread()
    const [comment] = await post(...fromAnn(address), 'Content-Type: text/plain; name="answer.txt"', '', 'Twelve, please.')
    expect(comment).toMatchObject({ content: 'Twelve, please.', attachments: [] })
  })
})

describe('a message that cannot be parsed', () => {
  const tooDeep = Array.from({ length: 60 }, (_, i) => `Content-Type: multipart/mixed; boundary=b${i}\r\n\r\n--b${i}`)

  test('is a comment that says so, with the whole message attached', async () => {
    const { address, post, space, table } = await thread()
    const lines = [...fromAnn(address), 'Message-ID: <deep@customer.example>', ...tooDeep, '', 'Somewhere in here is an answer.']
    const [comment, ...more] = await post(...lines)
    expect(comment).toMatchObject({
      type: 'email_in',
      user_name: 'Ann Lee',
      content: 'This message could not be read. It is attached as message.eml.',
      attachments: [{ name: 'message.eml', type: 'message/rfc822' }],
      metadata: {
        unreadable: true,
        from: { name: 'Ann Lee', email: 'ann@customer.example' },
        to: [],
        subject: 'Re: Our offer',
        messageId: '<deep@customer.example>',
        html: null,
        autoReply: false,
        senderWasRecipient: true,
        inline: [],
      },
    })
    expect(comment?.attachments[0]?.path.startsWith(`${space}-${table}-`)).toBe(true)
    expect(await contentOf(comment?.attachments[0]?.path)).toBe(`${lines.join('\r\n')}\r\n`)
    expect([more, await post(...lines)]).toEqual([[], [comment]])
  })

  test('notifies nobody if it is automatic, and does not loop for ever', async () => {
    const { address, post, follow, notices } = await thread()
    expect((await follow()).status).toBe(200)
    let comments: Comment[] = []
    for (let i = 0; i < 21; i += 1) comments = await post(...fromServer(address), `Message-ID: <deep-${i}@mx.example>`, ...tooDeep)
    expect(comments.map(({ metadata }) => [metadata.unreadable, metadata.autoReply])).toEqual(Array(20).fill([true, true]))
    expect(await notices()).toEqual([])
    await post(...fromAnn(address), 'Message-ID: <deep@customer.example>', ...tooDeep)
    expect(await notices()).toMatchObject([{ event_type: 'COMMENT' }])
  })
})

test('Content-IDs are kept, so that a client can show the images of the HTML', async () => {
  const { address, post } = await thread()
  const [comment] = await post(
    ...fromAnn(address),
    'Content-Type: multipart/related; boundary=related',
    '',
    '--related',
    'Content-Type: text/html',
    '',
    '<p>Like this: <img src="cid:chair.1@customer.example"></p>',
    '--related',
    'Content-Type: image/png; name=chair.png',
    'Content-ID: <chair.1@customer.example>',
    'Content-Transfer-Encoding: base64',
    '',
    'iVBORw0KGgo=',
    '--related',
    'Content-Type: application/pdf; name=chair.pdf',
    '',
    '%PDF-1.4',
    '--related--',
  )
  expect(comment?.metadata).toMatchObject({ unreadable: false, html: expect.stringContaining('src="cid:chair.1@customer.example"') })
  expect(comment?.attachments.map(({ name }) => name)).toEqual(['chair.png', 'chair.pdf'])
  expect(comment?.metadata.inline).toEqual([{ cid: 'chair.1@customer.example', path: comment?.attachments[0]?.path }])
})

test('the attachments beyond the first 100 are counted', async () => {
  const { address, post } = await thread()
  const file = (_: unknown, index: number) => ['--m', `Content-Disposition: attachment; filename=f${index}.txt`, '', `x${index}`]
  const parts = (count: number) => ['Content-Type: multipart/mixed; boundary=m', '', ...Array.from({ length: count }, file).flat(), '--m--']
  const [some] = await post(...fromAnn(address), ...parts(100))
  expect([some?.attachments.length, some?.metadata.attachmentsLeftOut]).toEqual([100, 0])
  const [, many] = await post(...fromAnn(address), ...parts(120))
  expect([many?.attachments.length, many?.metadata.attachmentsLeftOut]).toEqual([100, 20])
})

test('a reply of which nothing remains without its quote and signature is shown whole', async () => {
  const { address, post } = await thread()
  const [comment] = await post(...fromAnn(address), '', '> Is blue fine?', '> > Blue or green.', '', '-- ', 'Yes, blue. Ann')
  expect(comment?.content).toBe('> Is blue fine?\n> > Blue or green.\n\n--\nYes, blue. Ann')
  expect(comment?.metadata.visibleText).toBe(comment?.content)
})

test('a message that deadlocks with a deletion of its record is read again', async () => {
  const { address, post, table } = await thread()
  const deletion = await app.db.connect()
  await deletion.query('begin')
  await deletion.query(sql`select id from ${recordsOf(table)} for update`.text)
  const posted = post(...fromAnn(address), '', 'Thank you.')
  const blocked = async () => (await lockWaits()).filter(({ query }) => query.includes('record'))
  await expect.poll(blocked).toHaveLength(1)
  // PostgreSQL ends one of the two, whichever it finds first.
  await Promise.allSettled([deletion.query('select from reply_tokens where table_id = $1 for update', [table])])
  await deletion.query('rollback')
  await deletion.end()
  const job = async () =>
    (
      await app.db.read<{ state: string }>(sql`select state from pgboss.job where name = 'email.receive' order by created_on desc limit 1`)
    )[0]?.state
  await expect.poll(job).toMatch(/retry|completed/)
  // The job is repeated after some seconds, unless the deletion was ended.
  await replayMessages(systemContext(app.deps), { since: '2020-01-01 00:00:00' })
  expect((await posted).map(({ content }) => content)).toEqual(['Thank you.'])
})

test('a message of several megabytes, which is read in pieces, keeps every byte of its attachment', async () => {
  const { address, post } = await thread()
  const content = Buffer.from(Uint32Array.from({ length: 700_000 }, (_, index) => Math.imul(index, 2_654_435_761)).buffer).subarray(1)
  const [comment] = await post(
    ...fromAnn(address),
    'Message-ID: <large@customer.example>',
    'Content-Type: multipart/mixed; boundary=large',
    '',
    '--large',
    '',
    'See the plan.',
    '--large',
    'Content-Type: application/pdf; name=plan.pdf',
    'Content-Transfer-Encoding: base64',
    '',
    content.toString('base64').replace(/.{76}/g, '$&\r\n'),
    '--large--',
  )
  expect(comment).toMatchObject({ content: 'See the plan.', attachments: [{ name: 'plan.pdf', size: content.length }] })
  const stored = await buffer((await app.deps.storage.read(comment?.attachments[0]?.path ?? '')) as Readable)
  expect(stored.equals(content)).toBe(true)
})

test('a large message that cannot be parsed is attached whole', async () => {
  const { address, post } = await thread()
  const deep = Array.from({ length: 60 }, (_, i) => `Content-Type: multipart/mixed; boundary=b${i}\r\n\r\n--b${i}`)
  const lines = [...fromAnn(address), 'Message-ID: <large-deep@customer.example>', ...deep, '', 'The answer. '.repeat(300_000)]
  const [comment] = await post(...lines)
  expect(comment?.metadata.unreadable).toBe(true)
  expect(await contentOf(comment?.attachments[0]?.path)).toBe(lines.map((line) => `${line}\r\n`).join(''))
})

test('large messages that take long delay no others', async () => {
  const [held, other] = [await thread(), await thread()]
  const post = async (body: string) => {
    const headers = { 'content-type': 'text/raw' }
    const response = await fetch(`${app.url}/webhooks/email_receive`, { method: 'POST', body, headers })
    expect(response.status).toBe(200)
  }
  const waiting = async () => (await app.db.read(sql`select id from inbound_emails where processed_at is null`)).length
  await app.db.transaction(async () => {
    await app.db.read(sql`select token_hash from reply_tokens where table_id = ${held.table} for update`)
    for (let index = 0; index < 3; index++)
      await post(
        `To: ${held.address}\r\nMessage-ID: <${index}@customer.example>\r\n\r\n${`${'A long line. '.repeat(60)}\r\n`.repeat(1_500)}`,
      )
    await post(`To: ${other.address}\r\nMessage-ID: <short@customer.example>\r\n\r\nA short answer.\r\n`)
    const answers = () => app.db.read(sql`select content from record_comments where table_id = ${other.table} and type = 'email_in'`)
    await expect.poll(answers).toEqual([{ content: 'A short answer.' }])
    expect(await waiting()).toBe(3)
  })
  await expect.poll(waiting).toBe(0)
})

test.each([
  ['a line of 10 MB in its header', 'x'.repeat(10 * 1_048_576)],
  ['NUL and a line of 10 MB in its header', `\0${'x'.repeat(10 * 1_048_576)}`],
])('a reply with %s is kept', async (_, line) => {
  const { address, post } = await thread()
  const lines = [...fromAnn(address), `Subject: ${line}`, '', 'Yes, please.']
  const [comment] = await post(...lines)
  expect(comment?.metadata.unreadable).toBe(true)
  expect(await contentOf(comment?.attachments[0]?.path)).toBe(lines.map((text) => `${text}\r\n`).join(''))
})

test.each([
  ['short', 'Yes, please.'],
  ['long', 'Yes, please. '.repeat(200_000)],
])('a %s message that comes while the database is away is refused with 503, and taken once when it is back', async (_, words) => {
  const { address, post } = await thread()
  const proxy = await databaseProxy()
  const away = await testApp({ CATCH_DOMAIN: 'reply.example.net', DATABASE_URL: proxy.url })
  const body = [...fromAnn(address), `Message-ID: <away-${words.length}@customer.example>`, '', words].join('\r\n')
  const webhook = async () => {
    const response = await fetch(`${away.url}/webhooks/email_receive`, { method: 'POST', body, headers: { 'content-type': 'text/raw' } })
    return [response.status, response.headers.get('retry-after') !== null]
  }
  await proxy.cut()
  expect([await webhook(), await webhook()]).toEqual([
    [503, true],
    [503, true],
  ])
  await proxy.restore()
  await expect.poll(webhook).toEqual([200, false])
  const comments = await post(body)
  expect(comments.map(({ type, content }) => [type, content.slice(0, 12)])).toEqual([['email_in', 'Yes, please.']])
  await away.stop()
})
