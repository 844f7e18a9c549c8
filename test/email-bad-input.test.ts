/** Hostile and mistaken input of sending: nothing reaches a header that does not belong there, and each refusal names its key. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { insertFile } from '../src/platform/stored-files/rows.ts'
import { testApp } from './support/app.ts'
import { startSmtp } from './support/smtp.ts'
import { makeTable } from './support/tables.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp({}, { worker: true })

beforeEach(() => {
  smtp.received.length = 0
})

const account = await app.account()
const fields = [
  { name: 'Name', type: 'text' },
  { name: 'Notes', type: 'long_text' },
]
const { id: table, records } = await makeTable(app, account, { fields, records: [{ name: 'Acme' }] })
const record = records[0] as number
const server = { label: 'Desk', host: '127.0.0.1', port: smtp.port, tls: 'none', from_domains: ['example.com'] }
const { body: integration } = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, server)
const as = app.as(account.member)

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
const send = (more: object) => as.post('/api/email/send', mail(more))

/** Sends a mail. @returns what the server received */
async function received(more: object) {
  const { status, body } = await send(more)
  expect([status, body.message]).toEqual([202, undefined])
  const { messageId } = body.comment.metadata
  await expect.poll(() => smtp.received.some(({ email }) => email.messageId === messageId)).toBe(true)
  const mail = smtp.received.find(({ email }) => email.messageId === messageId)
  if (!mail) throw new Error('not received')
  const [head = ''] = mail.raw.split('\r\n\r\n')
  return { ...mail, head: head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n') }
}

const namesOf = (head: string[]) => head.map((line) => line.slice(0, line.indexOf(':')))

/** A file of the table. Its bytes are in the storage only if they are given. */
async function file(name: string, { size = 3, tableId = table, spaceId = account.space, content = undefined as string | undefined } = {}) {
  const path = `${spaceId}-${tableId}-${randomBytes(8).toString('hex')}`
  const entry = { name, path, size, type: 'text/plain', host: app.deps.storage.host }
  if (content !== undefined) await app.deps.storage.write(path, Buffer.from(content))
  const place = { account_id: account.id, space_id: spaceId, table_id: tableId }
  await insertFile(app.db, place, entry, { createdBy: null, now: new Date(), isHeld: false, sha256: Buffer.alloc(32) })
  return entry
}

describe('a line break', () => {
  test.each<[string, object, string]>([
    ['in the subject', { subject: 'a\r\nBcc: x@evil.example' }, 'subject'],
    ['in the subject, alone', { subject: 'a\nb' }, 'subject'],
    ['in the subject, of old', { subject: 'a\rBcc: x@evil.example' }, 'subject'],
    ["in the sender's name", { fromIdentity: { name: 'a\r\nBcc: x@evil.example', email: 'desk@example.com' } }, 'fromIdentity.name'],
    ["in the sender's address", { fromIdentity: { email: 'desk@example.com\r\nBcc: x@evil.example' } }, 'fromIdentity.email'],
    ["in a recipient's name", { to: ['Ann\r\nBcc: x@evil.example <ann@customer.example>'] }, 'to[0]'],
    ["in a recipient's address", { cc: ['ann@customer.example\nBcc: x@evil.example'] }, 'cc[0]'],
    ['in a blind copy', { bcc: ['ann\r\n@customer.example'] }, 'bcc[0]'],
    ['in a path', { attachments: [{ name: 'a', path: 'a\r\nb' }] }, 'attachments[0].path'],
  ])('%s is refused', async (_, more, key) => {
    for (const answer of [await send(more), await as.post('/api/email/preview', mail(more))])
      expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining(`${key}: `)])
  })

  test('in an encoded name adds no header', async () => {
    const evil = '=?utf-8?Q?Ann=0D=0ABcc=3A_x?='
    const { head, envelopeTo, email } = await received({
      to: [`${evil} <ann@customer.example>`],
      fromIdentity: { name: evil, email: 'desk@example.com' },
      subject: evil,
    })
    expect(envelopeTo).toEqual(['ann@customer.example'])
    expect(namesOf(head)).not.toContain('Bcc')
    expect(email.to?.map(({ address }) => address)).toEqual(['ann@customer.example'])
  })

  test('in the name of a file adds no header to the mail or its part', async () => {
    const names = [
      'a\r\nBcc: x@evil.example\r\n\r\nbody',
      'a"; filename="b.exe',
      'ü\r\nContent-Type: text/html',
      `${'long '.repeat(50)}\nX-Evil: 1`,
    ]
    const attachments = await Promise.all(names.map((name) => file(name, { content: 'abc' })))
    const { raw, head, email } = await received({ attachments })
    expect(raw).not.toMatch(/^(Bcc|X-Evil):/im)
    expect(namesOf(head)).not.toContain('Bcc')
    expect(email.attachments.map(({ mimeType, content }) => [mimeType, Buffer.from(content as ArrayBuffer).toString()])).toEqual(
      names.map(() => ['text/plain', 'abc']),
    )
  })

  test.each(['\r\nBcc: x@evil.example', '\nBcc: x@evil.example', '\rBcc: x@evil.example', '\u2028Bcc: x', '\u0085Bcc: x', '\v\fBcc: x'])(
    'in the value of a token adds no header: %j',
    async (value) => {
      await app.as(account.owner).post(`/api/table/${table}/record/${record}/update`, { data: { notes: `a${value}` } })
      const { head, email } = await received({ subject: '{{field:notes}}', body: '<p title="{{field:notes}}">{{field:notes}}</p>' })
      expect(namesOf(head)).not.toContain('Bcc')
      expect(email.subject).toMatch(/^a[\s\S]*Bcc: x/)
    },
  )
})

describe('the stored password of an integration', () => {
  const secure = { ...server, host: 'localhost', port: 465, tls: 'tls', username: 'desk', password: 'secret' }
  const plain = { ...secure, port: 25, tls: 'none' }
  const omitPassword = ({ password: _, ...rest }: { password?: unknown }) => rest
  const again = 'must be given again for another host, and where no certificate proves that the server is the same'

  test.each<[string, object, object, number]>([
    ['another host', secure, { host: '127.0.0.1' }, 400],
    ['another host and another user', secure, { host: '127.0.0.1', username: 'eve' }, 400],
    ['no TLS any more', secure, { tls: 'none' }, 400],
    ['another port without TLS', plain, { port: 2525 }, 400],
    ['another host, with a password', secure, { host: '127.0.0.1', password: 'other' }, 200],
    ['another host, and no password any more', secure, { host: '127.0.0.1', password: null }, 200],
    ['another port of a host with a certificate', secure, { port: 587, tls: 'starttls' }, 200],
    ['TLS from now on', plain, { port: 465, tls: 'tls' }, 200],
    ['the same host in other letters', secure, { host: 'LOCALHOST' }, 200],
    ['another host, where there was no password', { ...secure, password: null }, { host: '127.0.0.1' }, 200],
  ])('%s', async (_, before, change, expected) => {
    const { body: created } = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, before)
    const { status, body } = await app.as(account.admin).post(`/api/smtp/${created.id}/update`, change)
    expect([status, body.message?.slice(0, 9)]).toEqual([expected, expected === 400 ? 'password:' : undefined])
    if (expected === 400) expect(body.message).toContain(again)
    const list = await app.as(account.admin).get(`/api/space/${account.space}/smtp/list`)
    const stored = list.body.find(({ id }: { id: number }) => id === created.id)
    // A refused update has changed nothing.
    expect(stored).toMatchObject(expected === 400 ? created : omitPassword(change))
  })
})

describe('a recipient', () => {
  test.each<[string, unknown]>([
    ['empty', ''],
    ['blank', ' '],
    ['without a domain', 'ann'],
    ['without a local part', '@customer.example'],
    ['with two @', 'ann@b@customer.example'],
    ['a group', 'Team: ann@customer.example, bob@customer.example;'],
    ['a group of one', 'Team: ann@customer.example;'],
    ['an empty group', 'undisclosed-recipients:;'],
    ['colons', ':::'],
    ['a comment after it', 'ann@customer.example (Ann)'],
    ['a comment before it', '(Ann) ann@customer.example'],
    ['a comment within it', 'ann(comment)@customer.example'],
    ['two', 'ann@customer.example, bob@customer.example'],
    ['two without a comma', 'ann@customer.example bob@customer.example'],
    ['text after it', 'Ann <ann@customer.example> Lee'],
    ['text before it', 'Ann ann@customer.example'],
    ['a route', '<@relay.example:ann@customer.example>'],
    ['double brackets', '<<ann@customer.example>>'],
    ['an open bracket', 'Ann <ann@customer.example'],
    ['a quoted local part', '"ann lee"@customer.example'],
    ['an address literal', 'ann@[127.0.0.1]'],
    ['two dots', 'ann..lee@customer.example'],
    ['a domain with an underscore', 'ann@cust_omer.example'],
    ['a long local part', `${'a'.repeat(65)}@customer.example`],
    ['a long text', `${'a'.repeat(600)} <ann@customer.example>`],
    ['NUL', 'ann\0@customer.example'],
    ['a parameter of SMTP', 'ann@customer.example> SIZE=1'],
    ['null', null],
    ['a number', 5],
    ['an object', { email: 'ann@customer.example' }],
  ])('%s is refused, with its place', async (_, recipient) => {
    for (const key of ['to', 'cc', 'bcc']) {
      const answer = await send({ [key]: key === 'to' ? [recipient] : ['bob@customer.example', recipient] })
      expect([key, answer.status, answer.body.message]).toEqual([key, 400, expect.stringMatching(new RegExp(`^${key}\\[[01]\\]: `))])
    }
  })

  test.each<[string, object, string]>([
    ['none', { to: [] }, 'to: must have at least one recipient'],
    ['none but copies', { to: [], cc: ['ann@customer.example'] }, 'to: must have at least one recipient'],
    ['text in place of a list', { to: 'ann@customer.example' }, 'to: must be'],
    ['null in place of a list', { to: null }, 'to: '],
    ['51', { to: Array.from({ length: 51 }, (_, index) => `a${index}@customer.example`) }, 'to: must have at most 50 recipients'],
    [
      '51 in all',
      {
        to: Array.from({ length: 30 }, (_, index) => `a${index}@b.example`),
        cc: Array.from({ length: 21 }, (_, index) => `b${index}@b.example`),
      },
      'to: to, cc and bcc must have at most 50 recipients in all',
    ],
  ])('%s is refused', async (_, more, message) => {
    const answer = await send(more)
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining(message)])
  })

  test('or sender of megabytes is refused at once, because its parser would take seconds', async () => {
    const endless = 'a:'.repeat(2_000_000)
    const before = process.cpuUsage()
    const { body } = await send({ fromIdentity: { email: endless }, to: [endless] })
    // To parse one of them would take several seconds.
    expect(process.cpuUsage(before).user).toBeLessThan(3_000_000)
    expect(body.issues).toEqual([
      { path: ['fromIdentity', 'email'], message: 'must be an email address' },
      { path: ['to', 0], message: 'must have at most 600 characters' },
      { path: ['to', 0], message: 'must be an email address' },
    ])
  })

  test('with spaces, in brackets, with a quoted or a strange name is accepted', async () => {
    const to = [
      ' ann@customer.example ',
      '<bob@customer.example>',
      '"Lee, Carl" <carl@customer.example>',
      'D: <d@customer.example>',
      '=?x? <e@customer.example>',
      'f@customer.example,',
    ]
    const answers = await Promise.all(to.map((recipient) => send({ to: [recipient] })))
    expect(answers.map(({ status, body }) => [status, body.comment?.metadata.to ?? body.message])).toEqual([
      [202, ['ann@customer.example']],
      [202, ['bob@customer.example']],
      [202, ['carl@customer.example']],
      [400, expect.stringContaining('to[0]: ')],
      [202, ['e@customer.example']],
      [202, ['f@customer.example']],
    ])
  })
})

describe('a body', () => {
  test.each([
    ['<p><b>a', '<p><b>a</b></p>'],
    ['a<b', 'a'],
    ['a<!-- b', 'a'],
    ['<div><table><tr><td>a', '<div><table><tr><td>a</td></tr></table></div>'],
    ['</div></p>a', '<p></p>a'],
    ['<script>alert(1)', ''],
    ['a<script>alert(1)</script>', 'a'],
    ['a<style>b{}', 'a'],
    ['a<scr<script>ipt>alert(1)</script>', 'aipt&gt;alert(1)'],
    ['<img src=x onerror=alert(1)>', '<img src="x" />'],
    ['<svg/onload=alert(1)>a', 'a'],
    ['<a href="java\nscript:alert(1)">a</a>', '<a>a</a>'],
    ['<a href="data:text/html,x">a</a>', '<a>a</a>'],
    ['<p style="background:url(https://evil.example/x)">a</p>', '<p>a</p>'],
    ['<p style="position:fixed;color:red">a</p>', '<p style="color:red">a</p>'],
    ['<p style="color:expression(alert(1))">a</p>', '<p>a</p>'],
    ['<p style="color:r\\65 d">a</p>', '<p>a</p>'],
    ['<iframe src="https://evil.example"></iframe><form action="x"><input name="y"></form>a', 'a'],
    ['<meta http-equiv=refresh content=0><base href="//evil.example">a', 'a'],
  ])('%j goes out as %j', async (given, sent) => {
    const { email } = await received({ body: given })
    expect(email.html?.trim().replace(/<img [^>]*\/email\/pixel\/[^>]*>/, '')).toBe(sent)
  })

  test.each<[string, unknown]>([
    ['a number', 5],
    ['a list', ['a']],
    ['an object', { html: 'a' }],
    ['NUL', 'a\0b'],
  ])('that is %s is refused', async (_, body) => {
    const answer = await send({ body })
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining('body: ')])
  })
})

describe('an attachment', () => {
  const refusal = async (attachments: unknown) => {
    const { status, body } = await send({ attachments })
    return [status, body.message]
  }

  test.each<[string, string]>([
    ['missing', 'SPACE-TABLE-missing'],
    ['a folder up', '..'],
    ['folders up behind the prefix', 'SPACE-TABLE-../../../etc/passwd'],
    ['encoded folders up', 'SPACE-TABLE-%2e%2e%2fpasswd'],
    ['an address', 'https://evil.example/x'],
    ['a file of the system', 'file:///etc/passwd'],
    ['empty', ''],
    ['only the prefix', 'SPACE-TABLE-'],
    ['NUL', 'SPACE-TABLE-a\0b'],
  ])('%s is refused', async (_, path) => {
    const at = path.replace('SPACE', String(account.space)).replace('TABLE', String(table))
    expect(await refusal([{ name: 'a', path: at }])).toEqual([400, expect.stringContaining('attachments[0].path: ')])
  })

  test('of another space, another table or another account is refused', async () => {
    const { id: sibling } = await makeTable(app, account)
    const ofSibling = await file('a.txt', { tableId: sibling })
    const ofSpace = await file('a.txt', { spaceId: account.otherSpace, tableId: sibling })
    const foreign = await app.account()
    for (const { path } of [ofSibling, ofSpace, { path: `${foreign.space}-1-a` }])
      expect(await refusal([{ name: 'a', path }])).toEqual([
        400,
        expect.stringContaining(`attachments[0].path: must begin with ${account.space}-${table}-`),
      ])
  })

  test('given twice is attached once, and its name and size are those of the stored file', async () => {
    const stored = await file('a.txt', { content: 'abc' })
    const given = { name: 'b.exe', path: stored.path, size: 1, type: 'text/html', host: 'evil.example' }
    const { email } = await received({ attachments: [given, given] })
    expect(email.attachments.map(({ filename, mimeType }) => [filename, mimeType])).toEqual([['a.txt', 'text/plain']])
  })

  test.each<[string, unknown]>([
    ['text', 'a'],
    ['an object', { name: 'a', path: 'b' }],
    ['a list of texts', ['a']],
    ['null in a list', [null]],
    ['without a path', [{ name: 'a' }]],
    ['with an unknown key', [{ name: 'a', path: 'b', href: 'c' }]],
    ['51', Array.from({ length: 51 }, () => ({ name: 'a', path: 'b' }))],
  ])('list that is %s is refused', async (_, attachments) => {
    expect(await refusal(attachments)).toEqual([400, expect.stringContaining('attachments')])
  })

  test('may have 25 MB in all, and not one byte more', async () => {
    const limit = 25 * 1_048_576
    const [whole, all, byte] = [await file('a', { size: limit }), await file('b', { size: limit - 1 }), await file('c', { size: 2 })]
    expect((await as.post('/api/email/preview', mail({ attachments: [whole] }))).status).toBe(200)
    expect(await refusal([all, byte])).toEqual([400, expect.stringContaining('attachments: must have at most 25 MB in all')])
  })
})
