/** People who write from the addresses of mail systems about failures, and the mail systems themselves. */
import { describe, expect, test } from 'vitest'
import { parseMail } from '../../src/email/inbound/mime.ts'

const WORDS = [
  'I run the mail here. Your earlier mail to ann@customer.example could not be delivered because the mailbox was full (552 5.2.2).',
  'It is fixed, please send the offer again.',
]
const QUOTE = ['', 'On 3 Mar 2026, at 10:12, Sales <sales@example.com> wrote:', '> Dear Ann,', '> here is our offer.']

const read = (header: string[], body: string[]) =>
  parseMail(Buffer.from([...header, 'Content-Type: text/plain; charset=utf-8', '', ...body].join('\r\n')))

const from = (sender: string, subject: string, ...more: string[]) => [`From: ${sender}`, `Subject: ${subject}`, ...more]

describe('is a person', () => {
  test.each<[what: string, header: string[], body: string[]]>([
    ['postmaster@ who answers', from('Paul Master <postmaster@customer.example>', 'Re: Our offer'), WORDS],
    ['postmaster@ who answers in German', from('postmaster@customer.example', 'AW: Unser Angebot'), WORDS],
    ['postmaster@ who answers with a tag', from('postmaster@customer.example', '[External] Re: Our offer'), WORDS],
    ['daemon@ who answers', from('D. Aemon <daemon@customer.example>', 'Re: Our offer'), WORDS],
    ['smtp@ who answers', from('smtp@customer.example', 'RE: Our offer'), WORDS],
    ['mailer-daemon@ who answers', from('mailer-daemon@customer.example', 'SV: Our offer'), WORDS],
    ['postmaster@ who asks for silence', from('postmaster@customer.example', 'Re: Our offer', 'X-Auto-Response-Suppress: All'), WORDS],
    ['postmaster@ who denies to be automatic', from('postmaster@customer.example', 'Re: Our offer', 'Auto-Submitted: no'), WORDS],
    ['postmaster@ who quotes our words', from('postmaster@customer.example', 'Your mailbox'), [...WORDS, ...QUOTE]],
    [
      'postmaster@ who quotes in German',
      from('postmaster@customer.example', 'Postfach'),
      [...WORDS, '', 'Am 03.03.26 um 10:12 schrieb Sales:', '> Hallo'],
    ],
    ['postmaster@ who forwards a failure', from('postmaster@customer.example', 'Fwd: Undelivered Mail Returned to Sender'), WORDS],
    [
      'postmaster@ with a sender in the envelope',
      from('postmaster@customer.example', 'Re: Our offer', 'Return-Path: <postmaster@customer.example>', 'In-Reply-To: <a@example.com>'),
      WORDS,
    ],
  ])('%s', async (_, header, body) => {
    const mail = await read(header, body)
    expect([mail.isAutomatic, mail.report]).toEqual([false, null])
    expect(mail.visibleText).toContain('send the offer again')
  })
})

describe('is no person', () => {
  const failure = ['Your message could not be delivered.', '', '<ann@customer.example>: 550 5.1.1 User unknown']
  test.each<[what: string, header: string[], body: string[]]>([
    ['a notice', from('postmaster@customer.example', 'Undeliverable: Our offer'), failure],
    [
      'a notice with the mail that it is about and a mailer in its header',
      from('postmaster@customer.example', 'Undeliverable: Our offer', 'In-Reply-To: <a@example.com>', 'X-Mailer: Gate 2.1'),
      failure,
    ],
    ['a notice that begins like an answer', from('postmaster@customer.example', 'Re: Our offer', 'Auto-Submitted: auto-replied'), failure],
    ['an answer from the null sender', from('postmaster@customer.example', 'Re: Our offer', 'Return-Path: <>'), failure],
    [
      'an answer that names who failed',
      from('postmaster@customer.example', 'Re: Our offer', 'X-Failed-Recipients: ann@customer.example'),
      failure,
    ],
    ['a notice that quotes without an introduction', from('postmaster@customer.example', 'Undeliverable'), [...failure, '', '> Dear Ann,']],
  ])('%s', async (_, header, body) => {
    const mail = await read(header, body)
    expect(mail.isAutomatic).toBe(true)
    expect(mail.report?.recipients).toContainEqual(expect.objectContaining({ address: 'ann@customer.example', action: 'failed' }))
  })

  test('a report in the form of RFC 6522 with the subject of an answer', async () => {
    const mail = await parseMail(
      Buffer.from(
        [
          ...from('postmaster@customer.example', 'Re: Our offer'),
          'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
          '',
          '--b',
          '',
          ...failure,
          '--b',
          'Content-Type: message/delivery-status',
          '',
          'Final-Recipient: rfc822; ann@customer.example',
          'Action: failed',
          '--b--',
        ].join('\r\n'),
      ),
    )
    expect(mail.isAutomatic).toBe(true)
    expect(mail.report?.recipients[0]).toMatchObject({ address: 'ann@customer.example', action: 'failed' })
  })
})
