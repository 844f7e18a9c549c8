/** Whom an answer goes to (console/src/mail/draft/reply.ts), addresses as people type them, and a mail as it is kept and sent. */
import { describe, expect, test } from 'vitest'
import { emptyDraft, inputOf, isSameMail, problemsOf, readDraft } from '../../console/src/mail/draft/mail-draft.ts'
import {
  type AnsweredMail,
  againTo,
  answeringFrom,
  answerTo,
  readPurpose,
  subjectOf,
  withoutSignature,
} from '../../console/src/mail/draft/reply.ts'
import { type BodyPart, htmlOf, inert, isBlank } from '../../console/src/mail/editor/body.ts'
import { partsOf, readToken, typedToken } from '../../console/src/mail/editor/tokens.ts'
import {
  checkRecipients,
  listed,
  mailboxText,
  readMailbox,
  splitAddresses,
  withAddresses,
} from '../../console/src/mail/recipients/addresses.ts'
import { readRefusal } from '../../console/src/mail/recipients/refusals.ts'
import { warningsOf } from '../../console/src/mail/sending/warnings.ts'

const OWN = ['sales@example.com', 'olivia@example.com']

const received = (changes: Partial<AnsweredMail> = {}): AnsweredMail => ({
  isOwn: false,
  from: { name: 'Ann Lee', email: 'ann@customer.example' },
  sentBy: null,
  replyTo: [],
  to: ['Sales <sales@example.com>', 'Bea <bea@customer.example>'],
  cc: ['carl@other.example', 'Olivia <OLIVIA@example.com>'],
  subject: 'Our offer',
  isAutomatic: false,
  isFromList: false,
  ...changes,
})
const sent = (changes: Partial<AnsweredMail> = {}) =>
  received({
    isOwn: true,
    from: { name: 'Sales', email: 'sales@example.com' },
    sentBy: { integration: 1, name: 'Sales', email: 'sales@example.com' },
    to: ['ann@customer.example'],
    cc: ['bea@x.example'],
    ...changes,
  })

describe('whom an answer goes to', () => {
  test.each([
    ['the sender alone', received(), 'reply', ['Ann Lee <ann@customer.example>'], [], []],
    [
      'everybody but oneself, whatever the case',
      received(),
      'replyAll',
      ['Ann Lee <ann@customer.example>'],
      ['Bea <bea@customer.example>', 'carl@other.example'],
      [],
    ],
    [
      'the address that the sender wants, said so',
      received({ replyTo: ['tickets@customer.example'] }),
      'reply',
      ['tickets@customer.example'],
      [],
      ['elsewhere'],
    ],
    [
      'the sender once, whose Reply-To is their own address',
      received({ replyTo: ['ANN@customer.example'], cc: ['ann@customer.example'] }),
      'replyAll',
      ['ANN@customer.example'],
      ['Bea <bea@customer.example>'],
      [],
    ],
    ['a list, said so', received({ isFromList: true }), 'reply', ['Ann Lee <ann@customer.example>'], [], ['list']],
    [
      'a list that wants answers itself, said so',
      received({ isFromList: true, replyTo: ['friends@lists.example'] }),
      'reply',
      ['friends@lists.example'],
      [],
      ['toList'],
    ],
    ['an automatic sender, said so', received({ isAutomatic: true }), 'reply', ['Ann Lee <ann@customer.example>'], [], ['automatic']],
    [
      'nobody who reads it, said so',
      received({ from: { name: '', email: 'no-reply@shop.example' } }),
      'reply',
      ['no-reply@shop.example'],
      [],
      ['noReply'],
    ],
    [
      'a person whose name begins so is one',
      received({ from: { name: '', email: 'norepa@x.example' } }),
      'reply',
      ['norepa@x.example'],
      [],
      [],
    ],
    ['the recipients of a mail of one’s own', sent(), 'reply', ['ann@customer.example'], [], []],
    ['all recipients of a mail of one’s own', sent(), 'replyAll', ['ann@customer.example'], ['bea@x.example'], []],
    ['oneself, if one wrote to oneself', sent({ to: ['sales@example.com'], cc: [] }), 'reply', ['sales@example.com'], [], []],
    ['nobody, if the sender has no address', received({ from: { name: 'x', email: '' } }), 'reply', [], [], ['nobody']],
  ] as const)('%s', (_, mail, kind, to, cc, cautions) => {
    expect(answerTo(mail, kind, OWN)).toEqual({ to, cc, cautions })
  })

  const senders = [
    { integration: 2, name: 'Sales', email: 'Sales@example.com' },
    { integration: 1, name: 'Shop', email: 'sales@example.com' },
    { integration: 1, name: 'Sales', email: 'sales@example.com' },
    { integration: 1, name: 'Olivia', email: 'olivia@example.com' },
  ]
  const [other, shop, sales, olivia] = senders
  const bySales = { integration: 1, name: 'Sales', email: 'sales@example.com' }
  test.each([
    ['that of the mail which was answered, of the same server and name', received({ sentBy: bySales, to: ['olivia@example.com'] }), sales],
    ['its address under another name', received({ sentBy: { ...bySales, name: 'Gone' } }), shop],
    ['its address at another server', received({ sentBy: { ...bySales, integration: 9 } }), other],
    [
      'one that the mail was written to',
      received({ sentBy: { ...bySales, email: 'gone@example.com' }, to: ['olivia@example.com'] }),
      olivia,
    ],
    ['that of a mail of one’s own', sent(), sales],
    ['none of these', received({ to: ['x@y.example'], cc: [] }), undefined],
    ['none that a mail of one’s own went to', sent({ sentBy: null, to: ['olivia@example.com'] }), undefined],
  ])('it comes from %s', (_, mail, sender) => {
    expect(answeringFrom(mail, senders)).toBe(sender)
  })

  test.each([
    ['mail', { kind: 'mail' }],
    ['reply:12', { kind: 'reply', commentId: 12 }],
    ['replyAll:12', { kind: 'replyAll', commentId: 12 }],
    ['forward:12', { kind: 'forward', commentId: 12 }],
    ['again:12', { kind: 'again', commentId: 12 }],
    ['reply:', { kind: 'mail' }],
    ['reply:0', { kind: 'mail' }],
    ['reply:1e9', { kind: 'mail' }],
  ] as const)('the address %s', (compose, purpose) => {
    expect(readPurpose(compose)).toEqual(purpose)
  })
})

describe('a mail that is written again', () => {
  const [ann, bea, carl] = [
    { email: 'ann@x.example', kind: 'to' },
    { email: 'bea@x.example', kind: 'cc' },
    { email: 'carl@x.example', kind: 'bcc' },
  ] as const
  const listsOf = (missed: Parameters<typeof againTo>[0]) => {
    const { to, cc, bcc } = againTo(missed)
    return { to: to.chosen, typed: to.typed, cc: cc.chosen, bcc: bcc.chosen }
  }
  test.each([
    ['a single one, ready to be corrected', [ann], { to: [], typed: ann.email, cc: [], bcc: [] }],
    ['whoever was to get a copy, alone', [bea], { to: [], typed: bea.email, cc: [], bcc: [] }],
    ['everybody where they were', [ann, bea, carl], { to: [ann.email], typed: '', cc: [bea.email], bcc: [carl.email] }],
    ['copies, if nobody else is left', [bea, bea], { to: [bea.email, bea.email], typed: '', cc: [], bcc: [] }],
    ['nobody shown to others who was not before', [carl, carl], { to: [], typed: '', cc: [], bcc: [carl.email, carl.email] }],
    ['nobody', [], { to: [], typed: '', cc: [], bcc: [] }],
  ] as const)('goes to %s', (_, missed, lists) => {
    expect(listsOf(missed)).toEqual(lists)
  })

  test('is told apart from the signature below it, if that is as it was', () => {
    expect(withoutSignature('<p>Hi</p><br /><br /><p>Ann</p>', { html: '<p>Ann</p>' })).toBe('<p>Hi</p>')
    expect(withoutSignature('<p>Hi</p><br /><br /><p>Ann</p>', { html: '<p>Anna</p>' })).toBeNull()
    expect(withoutSignature('<p>Hi</p>', undefined)).toBeNull()
  })
})

test.each([
  ['Our offer', 'reply', 'Re: Our offer'],
  ['Re: Our offer', 'reply', 'Re: Our offer'],
  ['RE: re: AW: Our offer', 'replyAll', 'Re: Our offer'],
  ['Re[2]: Our offer', 'reply', 'Re: Our offer'],
  ['Ref: 2026 report', 'reply', 'Re: 2026 report'],
  ['Reorder: 12 chairs', 'reply', 'Re: Reorder: 12 chairs'],
  ['Fwd: Our offer', 'reply', 'Re: Fwd: Our offer'],
  ['Our offer', 'forward', 'Fwd: Our offer'],
  ['FW: WG: Our offer', 'forward', 'Fwd: Our offer'],
  ['Re: Our offer', 'forward', 'Fwd: Re: Our offer'],
  ['', 'reply', 'Re:'],
  ['One\r\nBcc: x@y.example', 'reply', 'Re: One Bcc: x@y.example'],
  ['a'.repeat(998), 'reply', `Re: ${'a'.repeat(994)}`],
] as const)('the subject of an answer to %j (%s)', (subject, kind, expected) => {
  expect(subjectOf(subject, kind)).toBe(expected)
})

describe('addresses', () => {
  test.each([
    ['ann@customer.example', { name: '', email: 'ann@customer.example' }],
    [' Ann Lee <ann@customer.example> ', { name: 'Ann Lee', email: 'ann@customer.example' }],
    ['"Lee, Ann" <ann@customer.example>', { name: 'Lee, Ann', email: 'ann@customer.example' }],
    ['"A \\"B\\" C" <a@b.example>', { name: 'A "B" C', email: 'a@b.example' }],
    ['<ann@customer.example>', { name: '', email: 'ann@customer.example' }],
    ['jörg@müller.example', { name: '', email: 'jörg@müller.example' }],
    ['ann', null],
    ['ann@', null],
    ['@customer.example', null],
    ['ann@customer..example', null],
    ['ann@customer.example\r\nBcc: x@y.example', null],
    ['ann@customer.example, bea@customer.example', null],
    ['Ann ann@customer.example', null],
    [`${'a'.repeat(65)}@x.example`, null],
    ['a@b c', null],
  ])('%j', (text, mailbox) => {
    expect(readMailbox(text)).toEqual(mailbox)
  })

  test.each([
    [{ name: '', email: 'a@b.example' }, 'a@b.example'],
    [{ name: 'Ann Lee', email: 'a@b.example' }, 'Ann Lee <a@b.example>'],
    [{ name: 'Lee, Ann', email: 'a@b.example' }, '"Lee, Ann" <a@b.example>'],
    [{ name: 'A "B"', email: 'a@b.example' }, '"A \\"B\\"" <a@b.example>'],
    [{ name: 'A\r\nBcc: x', email: 'a@b.example' }, '"A Bcc: x" <a@b.example>'],
  ])('%j as text and back', (mailbox, text) => {
    expect(mailboxText(mailbox)).toBe(text)
    expect(readMailbox(text)?.email).toBe(mailbox.email)
  })

  test('a pasted list is split, but not inside of a name', () => {
    const pasted = 'ann@x.example; "Lee, Bea" <bea@x.example>,\r\nBcc: evil@x.example\n\n Carl <carl@x.example>'
    expect(splitAddresses(pasted)).toEqual(['ann@x.example', '"Lee, Bea" <bea@x.example>', 'Bcc: evil@x.example', 'Carl <carl@x.example>'])
    expect(splitAddresses('')).toEqual([])
    expect(splitAddresses('"open, a@x.example')).toEqual(['"', 'open', 'a@x.example'])
  })

  test('what is wrong and doubled is named, what is typed counts', () => {
    const lists = [
      { chosen: ['ann@x.example', 'Ann <ANN@x.example>'], typed: 'bea@x.example' },
      { chosen: ['Bea <bea@X.example>', 'no address'], typed: '' },
    ]
    expect(checkRecipients(lists)).toEqual({ wrong: ['no address'], doubled: ['ann@x.example', 'bea@x.example'], count: 3 })
    expect(lists.map(listed)[0]).toEqual(['ann@x.example', 'Ann <ANN@x.example>', 'bea@x.example'])
    expect(withAddresses(['ann@x.example'], ['Ann <ann@X.example>', 'bea@x.example'])).toEqual(['ann@x.example', 'bea@x.example'])
  })
})

test('of fifty addresses that are pasted, one twice and one with a line break, each counts once', () => {
  const fifty = Array.from({ length: 50 }, (_, at) => `p${at}@x.example`)
  const to = { chosen: withAddresses([], splitAddresses([...fifty, 'P7@x.example', 'Bcc: evil@x.example\r\n'].join('\r\n'))), typed: '' }
  const cc = { chosen: ['p3@X.example'], typed: 'p50@x.example' }
  expect(checkRecipients([to])).toEqual({ wrong: ['Bcc: evil@x.example'], doubled: [], count: 51 })
  const good = { chosen: fifty, typed: '' }
  expect(checkRecipients([good, cc])).toEqual({ wrong: [], doubled: ['p3@x.example'], count: 51 })
  const draft = { ...emptyDraft('mail'), from: { integration: 1, name: '', email: 'a@b.example' }, to: good, cc: { ...cc, typed: '' } }
  expect(problemsOf(draft, '2026-11-29 12:00:00')).toEqual([])
  const input = inputOf(draft, { tableId: 1, recordId: 2 }, null)
  expect([input?.to, input?.cc]).toEqual([fifty, undefined])
  expect(problemsOf({ ...draft, cc }, '2026-11-29 12:00:00')).toEqual([{ at: 'to', kind: 'tooMany' }])
})

describe('what the service says of a mail', () => {
  const suppressed = (email: string) =>
    `${email}: No mail is sent to this address since 2026-05-03, because an earlier mail to it bounced for good`
  const words = (problems: string[], recipients: string[]) =>
    warningsOf(problems, recipients, (day) => (day === '2026-05-03' ? '3 May' : day))
  const ANN = 'ann@x.example gets no mail: suppressed since 3 May, because an earlier mail to it bounced for good.'

  test('is said in words for the reader, and whether nobody would get the mail', () => {
    expect(words([], ['ann@x.example'])).toBeNull()
    expect(words(['The body is empty'], ['ann@x.example'])).toEqual({ words: ['The body is empty'], isForNobody: false })
    expect(words(['The body is empty', suppressed('ann@x.example')], ['Ann <ANN@x.example>', 'bea@x.example'])).toEqual({
      words: ['The body is empty', ANN],
      isForNobody: false,
    })
    expect(words([suppressed('ann@x.example')], ['Ann <ANN@x.example>'])).toEqual({ words: [ANN], isForNobody: true })
  })

  test('stays as it is where it says something else', () => {
    for (const problem of ['ann@x.example: something new', '{{field:gone}}: No mail is sent to this address', 'a: b@c'])
      expect(readRefusal(problem, String)).toBeNull()
  })
})

describe('the body of a mail', () => {
  const body: BodyPart = {
    type: 'doc',
    content: [
      {
        type: 'paragraph',
        content: [
          { type: 'text', text: 'Dear <Ann> & ', marks: [{ type: 'strong' }] },
          { type: 'token', attrs: { text: '{{field:name}}' } },
          { type: 'hard_break' },
          { type: 'text', text: 'here', marks: [{ type: 'link', attrs: { href: 'https://x.example/?a="1"&b={{field:id|url}}' } }] },
        ],
      },
      { type: 'bullet_list', content: [{ type: 'list_item', content: [{ type: 'paragraph', content: [{ type: 'text', text: 'one' }] }] }] },
      { type: 'paragraph' },
      { type: 'unknown', content: [{ type: 'text', text: 'kept', marks: [{ type: 'unknown' }] }] },
    ],
  }

  test('is HTML with escaped text, and tokens leave as plain text', () => {
    expect(htmlOf(body)).toBe(
      '<p><strong>Dear &lt;Ann&gt; &amp; </strong>{{field:name}}<br>' +
        '<a href="https://x.example/?a=&quot;1&quot;&amp;b={{field:id|url}}">here</a></p><ul><li>one</li></ul><p><br></p>kept',
    )
  })

  test('has no tokens that somebody else has written', () => {
    const html = htmlOf(inert({ ...body, content: [...(body.content ?? []), { type: 'text', text: '{{{field:name}}} {{field:x' }] }))
    expect(html).not.toContain('{{')
    expect(html.replaceAll('\u2060', '')).toContain('{{{field:name}}} {{field:x')
    expect(html).toContain('b=%7B%7Bfield:id|url')
  })

  test.each([
    [{ type: 'doc', content: [{ type: 'paragraph' }] }, true],
    [{ type: 'doc', content: [{ type: 'paragraph', content: [{ type: 'text', text: ' ' }] }] }, true],
    [{ type: 'doc', content: [{ type: 'paragraph', content: [{ type: 'token', attrs: { text: '{{field:a}}' } }] }] }, false],
  ])('%j is blank: %j', (part, expected) => {
    expect(isBlank(part)).toBe(expected)
  })

  test.each([
    ['{{field:name}}', { slug: 'name', form: '' }],
    ['{{ Field : Due | ISO }}', { slug: 'due', form: 'iso' }],
    ['{{field:}}', null],
    ['{{name}}', null],
    ['a {{field:name}}', null],
  ])('the token %j', (text, token) => {
    expect(readToken(text)).toEqual(token)
  })

  test('a text has parts, and a token that is being typed', () => {
    expect(partsOf('For {{field:a}}{{field:b|url}}!')).toEqual(['For ', { slug: 'a', form: '' }, { slug: 'b', form: 'url' }, '!'])
    expect(partsOf('{{field:a')).toEqual(['{{field:a'])
    expect(['a {{', 'a {{fie', 'a {{field:na', '{{a}} b', 'a { b'].map(typedToken)).toEqual(['', 'fie', 'na', null, null])
  })
})

describe('a mail draft', () => {
  test.each([[null], ['text'], [[]]])('%j is none', (stored) => {
    expect(readDraft(stored)).toBeNull()
  })

  test('of another release is read as far as it is understood', () => {
    const draft = readDraft({
      compose: 'reply:7',
      to: { chosen: ['a@b.example', 5] },
      subject: 7,
      files: [{ name: 'x' }],
      later: {},
      attempt: { at: 1 },
    })
    expect(draft).toEqual({ ...emptyDraft('reply:7'), to: { chosen: ['a@b.example'], typed: '' } })
  })

  test('is checked before the service is asked', () => {
    const draft = emptyDraft('mail')
    expect(problemsOf(draft, '2026-11-29 12:00:00').map(({ kind }) => kind)).toEqual(['noSender', 'nobody'])
    const many = Array.from({ length: 51 }, (_, at) => `a${at}@b.example`)
    const wrong = {
      ...draft,
      ...{ from: { integration: 1, name: '', email: 'a@b.example' }, to: { chosen: many, typed: 'x@' } },
      ...{ later: { text: 'yesterday', instant: '2026-11-28 12:00:00' }, files: [{ name: 'a', path: 'a', size: 30_000_000, type: '' }] },
    }
    expect(problemsOf(wrong, '2026-11-29 12:00:00')).toEqual([
      { at: 'to', kind: 'wrongAddress', texts: ['x@'] },
      { at: 'to', kind: 'tooMany' },
      { at: 'later', kind: 'past' },
      { at: 'files', kind: 'tooLarge' },
    ])
    expect(inputOf(wrong, { tableId: 1, recordId: 2 }, null)).toMatchObject({
      tableId: 1,
      recordId: 2,
      to: [...many, 'x@'],
      body: '<p><br></p>',
    })
  })

  test('is the same mail whenever it goes', () => {
    const input = inputOf(
      { ...emptyDraft('mail'), from: { integration: 1, name: '', email: 'a@b.example' } },
      { tableId: 1, recordId: 2 },
      null,
    )
    if (!input) throw new Error('It has a sender')
    expect(isSameMail(input, { ...input, sendAt: '2026-11-29T12:00:00Z' })).toBe(true)
    expect(isSameMail(input, { ...input, subject: 'x' })).toBe(false)
  })
})
