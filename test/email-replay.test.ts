/** Inbound messages after their arrival: the list with verdicts, the raw bytes, and reading them again. */
import { createHash } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import { works } from '../src/background.ts'
import { replayMessages } from '../src/email/inbox/replay.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { purgeDue } from '../src/records/deleted/purge.ts'
import type { Caller } from './support/app.ts'
import { testApp } from './support/app.ts'
import { startSmtp } from './support/smtp.ts'
import { makeTable } from './support/tables.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp({ CATCH_DOMAIN: 'reply.example.net' }, { worker: true })

interface Message {
  id: number
  verdict: string
  reason: string | null
  comment_ids: number[]
}

interface Comment {
  id: number
  type: string
  user_name: string
  content: string
  created_at: string
  attachments: { name: string; path: string }[]
  // biome-ignore lint/suspicious/noExplicitAny: a test reads answers of every shape.
  metadata: any
}

type Account = Awaited<ReturnType<typeof app.account>>

/** A mail that was sent from a record of a space, and what comes back for it. */
async function thread(account?: Account) {
  const owner = account ?? (await app.account())
  const { id: table, records } = await makeTable(app, owner, { records: [{ name: 'Acme' }], fields: [{ name: 'Name', type: 'text' }] })
  const integration = { label: 'Desk', host: '127.0.0.1', port: smtp.port, tls: 'none', from_domains: ['example.com'] }
  const { body: created } = await app.as(owner.admin).post(`/api/space/${owner.space}/smtp/create`, integration)
  const as = app.as(owner.keys.account)
  const comments = async (): Promise<Comment[]> =>
    (await as.get(`/api/table/${table}/record/${records[0]}/comments/get?limit=100`)).body.toReversed()
  const mail = { tableId: table, recordId: records[0], smtpIntegrationId: created.id, fromIdentity: { email: 'desk@example.com' } }
  const { body: sent } = await as.post('/api/email/send', { ...mail, to: ['ann@customer.example'], subject: `Our offer ${table}` })
  const statusOf = async () => (await comments()).find(({ id }) => id === sent.id)?.metadata.status
  await expect.poll(statusOf).toBe('sent')
  const received = smtp.received.find(({ email }) => email.subject === `Our offer ${table}`)
  const address = /reply-[0-9a-f]{16}@reply\.example\.net/.exec(received?.raw ?? '')?.[0] as string
  const list = async (caller: Caller = owner.admin, query = ''): Promise<Message[]> =>
    (await app.as(caller).get(`/api/email/inbound/list${query}`)).body
  /** Posts a message, and waits until it was read. */
  const post = async (raw: string | Buffer): Promise<Message> => {
    const response = await fetch(`${app.url}/webhooks/email_receive`, {
      method: 'POST',
      body: raw,
      headers: { 'content-type': 'text/raw' },
    })
    expect(response.status).toBe(200)
    await expect.poll(async () => (await list())[0]?.verdict).not.toBe('pending')
    return (await list())[0] as Message
  }
  const member = app.as(owner.member)
  const follow = () => member.post(`/api/subscriptions/${table}/${records[0]}/subscribe`)
  const notices = async () => (await member.post('/api/notifications/list')).body.length as number
  const replies = async () => (await comments()).filter(({ type }) => type === 'email_in')
  return {
    ...owner,
    table,
    record: records[0] as number,
    address,
    sentId: sent.id as number,
    list,
    post,
    replies,
    follow,
    notices,
    statusOf,
  }
}

let lastId = 0
const newMessageId = () => {
  lastId += 1
  return `<${lastId}@customer.example>`
}
const reply = (to: string, text: string, headers: string[] = []) => {
  const fields = ['From: "Ann Lee" <Ann@customer.example>', `To: Desk <${to}>`, 'Subject: =?utf-8?Q?Re=3A_Gr=C3=BC=C3=9Fe?=', ...headers]
  return [...fields, `Message-ID: ${newMessageId()}`, 'Content-Type: text/plain; charset=utf-8', '', text, ''].join('\r\n')
}
const withFile = (to: string, text: string) =>
  [
    'From: ann@customer.example',
    `To: ${to}`,
    `Message-ID: ${newMessageId()}`,
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    '',
    text,
    '--b',
    'Content-Type: application/pdf; name=plan.pdf',
    'Content-Disposition: attachment; filename=plan.pdf',
    '',
    'plan',
    '--b--',
    '',
  ].join('\r\n')

const replay = (choice: Parameters<typeof replayMessages>[1]) => replayMessages(systemContext(app.deps), choice)
const auditOf = async (owner: Account) =>
  (await app.as(owner.owner).get('/api/audit/list?action=inbound_email.replayed')).body as { object: object; detail: object }[]

describe('the list', () => {
  test('shows what came with its verdict, newest first, and not what has no known token', async () => {
    const { address, sentId, post, replies } = await thread()
    const first = reply(address, 'Yes please')
    const comment = await post(first)
    const [posted] = await replies()
    expect(comment).toEqual({
      id: expect.any(Number),
      received_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      from: { name: 'Ann Lee', email: 'ann@customer.example' },
      subject: 'Re: Grüße',
      verdict: 'comment',
      reason: null,
      comment_ids: [posted?.id],
    })
    const sameBytes = await post(first)
    expect(sameBytes).toMatchObject({ verdict: 'duplicate', reason: expect.stringContaining(`${comment.id}`), comment_ids: [posted?.id] })
    const sameId = await post(`Received: from elsewhere\r\n${first}`)
    expect(sameId).toMatchObject({ verdict: 'duplicate', reason: expect.stringContaining(`${comment.id}`), comment_ids: [posted?.id] })
    const automatic = await post(reply(address, 'I am away', ['Auto-Submitted: auto-replied']))
    expect(automatic).toMatchObject({ verdict: 'automatic', reason: null })
    await post(reply('reply-ffffffffffffffff@reply.example.net', 'Nobody has this token'))
    const bounced = await post(
      [
        'From: MAILER-DAEMON@mx.customer.example',
        `To: ${address}`,
        'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
        '',
        '--b',
        '',
        'Not delivered.',
        '--b',
        'Content-Type: message/delivery-status',
        '',
        'Reporting-MTA: dns; mx.customer.example',
        '',
        'Final-Recipient: rfc822; ann@customer.example',
        'Action: failed',
        'Status: 5.1.1',
        '--b--',
        '',
      ].join('\r\n'),
    )
    expect(bounced).toMatchObject({ verdict: 'bounced', comment_ids: [] })
    expect(sentId).not.toBe(posted?.id)
  })

  test('says why a message was dropped', async () => {
    const { address, table, record, sentId, admin, post } = await thread()
    for (let i = 0; i < 20; i += 1) await post(reply(address, `away ${i}`, ['Auto-Submitted: auto-replied']))
    const loop = await post(reply(address, 'away again', ['Auto-Submitted: auto-replied']))
    expect(loop).toMatchObject({ verdict: 'dropped', reason: 'More than 20 automatic messages came within an hour', comment_ids: [] })
    const path = `/api/table/${table}/record/${record}/comment/${sentId}/delete`
    expect((await app.as(admin).post(path)).status).toBe(200)
    expect(await post(reply(address, 'To nothing'))).toMatchObject({
      verdict: 'dropped',
      reason: 'The email that it answers was deleted, or its table or space',
    })
  })

  test('is for admins of the space, and a page at a time', async () => {
    const { address, owner, admin, member, viewer, outsider, keys, post, list } = await thread()
    for (const text of ['one', 'two', 'three']) await post(reply(address, text))
    for (const caller of [owner, admin, keys.account]) expect(await list(caller)).toHaveLength(3)
    for (const caller of [member, viewer, outsider, keys.personal, keys.accountOtherSpace]) expect(await list(caller)).toEqual([])
    expect((await app.as(null).get('/api/email/inbound/list')).status).toBe(401)
    expect((await app.as(keys.accountReadOnly).get('/api/email/inbound/list')).status).toBe(403)

    const first = await app.as(admin).get('/api/email/inbound/list?limit=2')
    expect([first.body.length, first.headers.get('x-total-count')]).toEqual([2, '3'])
    const next = encodeURIComponent(first.headers.get('x-next-cursor') ?? '')
    const second = await app.as(admin).get(`/api/email/inbound/list?limit=2&cursor=${next}`)
    expect([second.body.length, second.headers.get('x-next-cursor')]).toEqual([1, null])
    expect([...first.body, ...second.body]).toEqual(await list())
    const rpc = await app.as(admin).rpc.inbound.list.query({ limit: 2 })
    expect(rpc).toEqual({ rows: first.body, total: 3, next_cursor: first.headers.get('x-next-cursor') })
    expect((await app.as(outsider).get(`/api/email/inbound/list?cursor=${next}`)).status).toBe(400)
    for (const query of ['?cursor=x', '?limit=two', `?cursor=${'x'.repeat(2_000)}`])
      expect((await app.as(admin).get(`/api/email/inbound/list${query}`)).status, query).toBe(400)
    for (const query of ['?limit=0', '?limit=-4', '?limit=5000']) expect((await list(admin, query)).length, query).toBeGreaterThan(0)
  })

  test('forgets the messages for a record once it is purged', async () => {
    const { address, table, record, keys, post, list } = await thread()
    const { id } = await post(reply(address, 'Yes'))
    expect((await app.as(keys.account).post(`/api/table/${table}/record/${record}/delete`)).status).toBe(200)
    expect(await list()).toEqual([])
    app.setClock(new Date(Date.now() + 31 * 86_400_000))
    await purgeDue(systemContext(app.deps))
    app.setClock(null)
    expect(await app.db.read(sql`select id from inbound_emails where id = ${id}`)).toEqual([])
  })
})

describe('the raw message', () => {
  const rawOf = (caller: Caller, id: number | string, init: RequestInit = {}) =>
    app.as(caller).send(`/api/email/inbound/${id}/raw`, { method: 'GET', ...init })

  test('is downloaded byte by byte, and never rendered', async () => {
    const { address, admin, post } = await thread()
    const raw = Buffer.concat([Buffer.from(reply(address, '<script>alert(1)</script>')), Buffer.from([0xff, 0x00, 0xfe])])
    const { id } = await post(raw)
    const response = await fetch(`${app.url}/api/email/inbound/${id}/raw`, { headers: { cookie: `gridpost_session=${admin.session}` } })
    expect(Buffer.from(await response.arrayBuffer()).equals(raw)).toBe(true)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'message/rfc822',
      'content-length': String(raw.length),
      'content-disposition': expect.stringMatching(/^attachment; filename="message-\d+\.eml"/),
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringContaining('sandbox'),
      'cache-control': 'private, no-store',
    })
    const head = await rawOf(admin, id, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(raw.length)])
  })

  test('of a repeated message is that of the first', async () => {
    const { address, admin, post } = await thread()
    const raw = reply(address, 'Twice')
    await post(raw)
    const again = await post(raw)
    expect((await rawOf(admin, again.id)).body).toBe(raw)
  })

  test('is found by the comment that it became, by admins of the space alone', async () => {
    const { address, owner, admin, member, viewer, outsider, keys, table, record, sentId, post } = await thread()
    const raw = Buffer.concat([Buffer.from(reply(address, 'Yes')), Buffer.from([0xff, 0x00, 0xfe])])
    const [comment] = (await post(raw)).comment_ids
    const ofComment = (caller: Caller, id: unknown = comment) => app.as(caller).send(`/api/email/${id}/raw`, { method: 'GET' })
    const response = await fetch(`${app.url}/api/email/${comment}/raw`, { headers: { cookie: `gridpost_session=${admin.session}` } })
    expect(Buffer.from(await response.arrayBuffer()).equals(raw)).toBe(true)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'message/rfc822',
      'content-disposition': expect.stringMatching(/^attachment; filename="message-\d+\.eml"/),
      'x-content-type-options': 'nosniff',
    })
    for (const caller of [owner, admin, keys.account]) expect((await ofComment(caller)).status).toBe(200)
    for (const caller of [member, viewer, keys.personal, keys.accountOtherSpace, keys.accountReadOnly])
      expect((await ofComment(caller)).status).toBe(403)
    expect([(await ofComment(outsider)).status, (await ofComment(null)).status]).toEqual([404, 401])
    const sent = await ofComment(admin, sentId)
    expect([sent.status, sent.body.message]).toEqual([404, 'Message not found'])
    const written = await app.as(admin).post(`/api/table/${table}/record/${record}/comments/create`, { content: 'No mail' })
    for (const bad of [written.body.id, 0, -1, 2_147_483_647]) {
      const { status, body } = await ofComment(admin, bad)
      expect([status, body.message]).toEqual([404, 'Comment not found'])
    }
    for (const bad of ['x', '1.5', 'inbound']) expect((await ofComment(admin, bad)).status, bad).toBe(400)
    await app.db.write(sql`update inbound_emails set raw = null`)
    expect((await ofComment(admin)).status).toBe(404)
  })

  test('is for admins of a space that it came for', async () => {
    const { address, owner, admin, member, viewer, outsider, keys, post } = await thread()
    const { id } = await post(reply(address, 'Yes'))
    for (const caller of [owner, admin, keys.account]) expect((await rawOf(caller, id)).status).toBe(200)
    for (const caller of [member, viewer, keys.personal, keys.accountOtherSpace, keys.accountReadOnly])
      expect((await rawOf(caller, id)).status).toBe(403)
    expect((await rawOf(outsider, id)).status).toBe(404)
    expect((await rawOf(null, id)).status).toBe(401)
    for (const bad of [0, -1, 2_147_483_647, '99999999999999999999']) expect((await rawOf(admin, bad)).status, `${bad}`).toBe(404)
    for (const bad of ['x', '1.5', '%00', "1'--"]) expect((await rawOf(admin, bad)).status, bad).toBe(400)
  })

  test('hides the reply addresses of other accounts, and their comments', async () => {
    const [mine, theirs] = [await thread(), await thread()]
    const { id } = await mine.post(reply(`${mine.address}>, <${theirs.address}`, `Dear all at ${theirs.address}`))
    await expect.poll(async () => (await theirs.list())[0]?.comment_ids).toHaveLength(1)
    const [own] = await mine.replies()
    expect((await mine.list())[0]?.comment_ids).toEqual([own?.id])
    const { body } = await rawOf(mine.admin, id)
    expect(body).toContain(mine.address)
    expect(body).not.toContain(theirs.address)
    expect(body).toContain(`Dear all at reply-${'*'.repeat(16)}@reply.example.net`)
    expect((await rawOf(theirs.admin, id)).body).toContain(theirs.address)
  })

  test('hides an address that begins in one slice of the bytes and ends in the next', async () => {
    const [mine, theirs] = [await thread(), await thread()]
    const head = reply(`${mine.address}>, <${theirs.address}`, '')
    for (const shift of [3, 10]) {
      const raw = `${head}${`${'x'.repeat(70)}\r\n`.repeat(20_000).slice(0, 1_048_576 - head.length - shift)}${theirs.address} end`
      const { id } = await mine.post(raw.replace(/Message-ID: <\d+/, `Message-ID: <slice-${shift}-${lastId}`))
      const { body } = await rawOf(mine.admin, id)
      expect([body.includes(theirs.address), body.length]).toEqual([false, raw.length + `slice-${shift}-`.length])
    }
  })
})

describe('a replay', () => {
  test('changes nothing, and tells nobody, if a message is read as before', async () => {
    const { address, post, replies, follow, notices, list, owner, ...account } = await thread()
    await follow()
    const { id } = await post(withFile(address, 'Here is the plan'))
    const automatic = await post(reply(address, 'Away', ['Auto-Submitted: auto-replied']))
    const before = [await replies(), await list(), await notices()]
    const files = () => app.db.read(sql`select path from stored_files where table_id = ${account.table} order by 1`)
    const stored = await files()
    const results = [await replay({ id }), await replay({ id: automatic.id }), await replay({ id })]
    expect(results.map(({ read, changed, failed }) => [read, changed, failed])).toEqual(Array(3).fill([1, [], []]))
    expect([await replies(), await list(), await notices()]).toEqual(before)
    expect(await files()).toEqual(stored)
    expect(await auditOf({ owner, ...account } as Account)).toEqual([])
  })

  test.each(['bounced', 'dropped'])('adds the comment to a message that was misread as %s, once', async (misread) => {
    const { address, post, replies, follow, notices, list, owner, ...account } = await thread()
    await follow()
    const { id } = await post(reply(address, 'Yes please'))
    const [comment] = await replies()
    // As a release that misread the message had left it.
    await app.db.write(sql`delete from record_comments where id = ${comment?.id}`)
    await app.db.write(sql`delete from notifications`)
    await app.db.write(sql`
      update inbound_verdicts set verdict = ${misread}, reason = 'misread', comment_id = null, is_announced = false where inbound_email_id = ${id}`)
    await app.db.write(sql`update inbound_deliveries set comment_id = null where inbound_email_id = ${id}`)
    expect(await replay({ id })).toEqual({ read: 1, changed: [id], failed: [], verdicts: { comment: 1 } })
    const [again, ...others] = await replies()
    expect([again?.content, others, await notices()]).toEqual(['Yes please', [], 1])
    expect((await list())[0]).toMatchObject({ verdict: 'comment', reason: null, comment_ids: [again?.id] })
    expect(await replay({ id })).toMatchObject({ changed: [] })
    expect([(await replies()).length, await notices()]).toEqual([1, 1])
    expect(await auditOf({ owner, ...account } as Account)).toEqual([
      expect.objectContaining({
        object: { type: 'inbound_email', id: String(id), name: null },
        detail: { before: misread, verdict: 'comment', comment_id: again?.id },
      }),
    ])
  })

  test('corrects the comment of a message that was misread as automatic, and tells its followers then', async () => {
    const { address, post, replies, follow, notices, list } = await thread()
    await follow()
    const { id } = await post(withFile(address, 'Here is the plan'))
    const [comment] = await replies()
    await app.db.write(sql`delete from notifications`)
    await app.db.write(sql`
      update record_comments set content = '', attachments = '[]', metadata = metadata || '{"autoReply": true, "visibleText": "", "kept": 1}'
      where id = ${comment?.id}`)
    await app.db.write(sql`update inbound_verdicts set verdict = 'automatic', is_announced = false where inbound_email_id = ${id}`)
    expect(await replay({ id })).toMatchObject({ changed: [id], verdicts: { comment: 1 } })
    const [corrected, ...others] = await replies()
    expect(others).toEqual([])
    expect(corrected).toMatchObject({
      id: comment?.id,
      created_at: comment?.created_at,
      content: 'Here is the plan',
      attachments: [{ name: 'plan.pdf' }],
      metadata: { autoReply: false, visibleText: 'Here is the plan', kept: 1 },
    })
    expect((await app.as(null).get(`/api/file/${corrected?.attachments[0]?.path}`)).status).toBe(401)
    expect(await notices()).toBe(1)
    expect((await list())[0]).toMatchObject({ verdict: 'comment', comment_ids: [comment?.id] })
    expect(await replay({ id })).toMatchObject({ changed: [] })
    expect(await notices()).toBe(1)
  })

  test('does not bring back a comment that somebody has deleted', async () => {
    const { address, post, replies, list } = await thread()
    const { id } = await post(reply(address, 'Please delete this'))
    const [comment] = await replies()
    await app.db.write(sql`delete from record_comments where id = ${comment?.id}`)
    expect(await replay({ id })).toMatchObject({ failed: [], verdicts: { dropped: 1 } })
    expect(await replies()).toEqual([])
    expect((await list())[0]).toMatchObject({ verdict: 'dropped', reason: 'Its comment was deleted', comment_ids: [] })
    await replay({ id })
    expect(await replies()).toEqual([])
  })

  test('lists messages that a release without verdicts has read, without doubling their comments', async () => {
    const { address, post, replies, list } = await thread()
    const raw = reply(address, 'From before the upgrade')
    const { id } = await post(raw)
    const [comment] = await replies()
    await app.db.write(sql`delete from inbound_verdicts where inbound_email_id = ${id}`)
    await app.db.write(sql`update inbound_deliveries set inbound_email_id = null where inbound_email_id = ${id}`)
    expect(await list()).toEqual([])
    expect(await replay({ id })).toMatchObject({ failed: [], verdicts: { comment: 1 } })
    expect((await replies()).map(({ id }) => id)).toEqual([comment?.id])
    expect((await list())[0]).toMatchObject({ verdict: 'comment', comment_ids: [comment?.id] })
    // A copy of it that comes now is still a duplicate.
    expect(await post(`X-Route: other\r\n${raw}`)).toMatchObject({ verdict: 'duplicate' })
  })

  test('takes all messages since an instant, also while they are read for the first time, and leaves the rest', async () => {
    const { address, post, replies } = await thread()
    await app.db.write(sql`update inbound_emails set received_at = '2019-01-01 10:00:00'`)
    const { id } = await post(reply(address, 'Old'))
    await app.db.write(sql`update inbound_emails set received_at = '2020-01-01 10:00:00' where id = ${id}`)
    const posts = Array.from({ length: 5 }, (_, n) =>
      fetch(`${app.url}/webhooks/email_receive`, { method: 'POST', body: reply(address, `New ${n}`) }),
    )
    await Promise.all(posts)
    const since = '2020-01-01 10:00:01'
    const [first, second] = await Promise.all([replay({ since }), replay({ since })])
    expect([first.failed, second.failed]).toEqual([[], []])
    await expect.poll(async () => (await replies()).length).toBe(6)
    const all = await replay({ since: '2020-01-01 10:00:00' })
    const newer = await replay({ since })
    expect([all.changed, all.read - newer.read]).toEqual([[], 1])
    expect(await replies()).toHaveLength(6)
  })

  test('of a complaint does not suppress the address again after an admin has lifted it', async () => {
    const { address, admin, post, list } = await thread()
    const lines = [
      'From: complaints@provider.example',
      `To: ${address}`,
      'Content-Type: multipart/report; report-type=feedback-report; boundary=b',
      '',
      '--b',
      'Content-Type: message/feedback-report',
      '',
      'Feedback-Type: abuse',
      'User-Agent: Provider/1.0',
      'Version: 1',
      'Original-Rcpt-To: <ann@customer.example>',
      '',
      '--b--',
      '',
    ]
    const { id, verdict, reason } = await post(lines.join('\r\n'))
    expect([verdict, reason]).toEqual(['automatic', 'A complaint about the mail'])
    const suppressed = async () => (await app.as(admin).get('/api/email/suppressions/list')).body.length
    expect(await suppressed()).toBe(1)
    expect((await app.as(admin).post('/api/email/suppressions/remove', { email: 'ann@customer.example' })).status).toBe(200)
    expect(await replay({ id })).toMatchObject({ read: 1, changed: [], failed: [] })
    expect([await suppressed(), (await list())[0]?.verdict]).toEqual([0, 'automatic'])
  })

  test('says of a message that is not stored that there is none', async () => {
    expect(await replay({ id: 2_000_000_000 })).toMatchObject({ read: 0, failed: [{ message: 'There is no message 2000000000' }] })
  })
})

test('a message whose job was lost is read after an hour, and once', async () => {
  const { address, replies, list } = await thread()
  const raw = Buffer.from(reply(address, 'Left by a killed process'))
  const hash = createHash('sha256')
    .update(/reply-([0-9a-f]+)@/.exec(address)?.[1] ?? '')
    .digest()
  await app.db.write(sql`
    insert into inbound_emails (raw, sha256, token_hashes, received_at)
    values (${raw}, ${createHash('sha256').update(raw).digest()}, ${[hash]}, localtimestamp - interval '2 hours')`)
  expect(await replies()).toEqual([])
  const sweep = works.find(({ queue }) => queue.name === 'email.receive-waiting')
  await Promise.all([1, 2].map(() => sweep?.run(systemContext(app.deps), {} as never)))
  await expect.poll(async () => (await list()).map(({ verdict }) => verdict)).toEqual(['comment'])
  await sweep?.run(systemContext(app.deps), {} as never)
  expect((await replies()).map(({ content }) => content)).toEqual(['Left by a killed process'])
})
