/** Mails that were received, as the console shows them: folded quotes, who wrote them, and how sure that is. */
import { describe, expect, test } from 'vitest'
import { incomingMail, outgoingMail } from '../../console/src/mail/mail-facts.ts'
import { beginningOf, type Part, partsOf, textOf } from '../../console/src/mail/thread/quoted.ts'
import { automaticWords, senderWarning } from '../../console/src/mail/thread/sender-words.ts'
import { baseSubject, threadColor } from '../../console/src/mail/thread/thread.ts'
import { parseMail } from '../../src/email/inbound/mime.ts'
import { visibleText } from '../../src/email/quoting/visible-text.ts'
import { labelledMessages } from '../support/labelled-messages.ts'

const said = (parts: Part[]) =>
  parts
    .filter(({ kind }) => kind === 'said')
    .map(textOf)
    .join('\n')
const words = (text: string) => text.split('\n').flatMap((line) => line.trim() || [])
const forms = (text: string) => partsOf(text, visibleText(text)).map((part) => [part.kind, textOf(part)])

describe('the quoted text of a mail', () => {
  test.each(labelledMessages('replies.txt'))('by %s is folded, and none of it is lost', async (_, raw) => {
    const { text, visibleText: visible } = await parseMail(raw)
    const parts = partsOf(text, visible)
    expect(words(said(parts))).toEqual(words(visible))
    expect(
      words(parts.flatMap(({ lines }) => lines).join('\n'))
        .join('')
        .replaceAll(/\s/g, ''),
    ).toBe(text.replaceAll(/\s/g, ''))
  })

  const FORMS: [name: string, text: string, parts: [Part['kind'], string][]][] = [
    [
      'Gmail',
      'Yes.\n\nOn Mon, 2 Mar 2026 at 10:12, Desk <desk@shop.example> wrote:\n\n> Which colour?\n> Desk\n',
      [
        ['said', 'Yes.'],
        ['quoted', 'On Mon, 2 Mar 2026 at 10:12, Desk <desk@shop.example> wrote:\n\n> Which colour?\n> Desk'],
      ],
    ],
    [
      'German',
      'Ja.\n\nAm Mo., 2. März 2026 um 10:12 Uhr schrieb Desk <desk@shop.example>:\n> Welche Farbe?',
      [
        ['said', 'Ja.'],
        ['quoted', 'Am Mo., 2. März 2026 um 10:12 Uhr schrieb Desk <desk@shop.example>:\n> Welche Farbe?'],
      ],
    ],
    [
      'French',
      'Oui.\n\nLe lun. 2 mars 2026 à 10:12, Desk <desk@shop.example> a écrit :\n\n> Quelle couleur ?',
      [
        ['said', 'Oui.'],
        ['quoted', 'Le lun. 2 mars 2026 à 10:12, Desk <desk@shop.example> a écrit :\n\n> Quelle couleur ?'],
      ],
    ],
    [
      'Outlook',
      'Blue.\n\n-----Original Message-----\nFrom: Desk <desk@shop.example>\nSent: Monday, 2 March 2026 10:12\nTo: Ann\nSubject: Offer\n\nWhich colour?',
      [
        ['said', 'Blue.'],
        [
          'quoted',
          '-----Original Message-----\nFrom: Desk <desk@shop.example>\nSent: Monday, 2 March 2026 10:12\nTo: Ann\nSubject: Offer\n\nWhich colour?',
        ],
      ],
    ],
    [
      'answers between',
      'See below.\n\n> Which colour?\n\nBlue.\n\n> How many?\n\nTwelve.\n-- \nAnn Lee',
      [
        ['said', 'See below.'],
        ['quoted', '> Which colour?'],
        ['said', 'Blue.'],
        ['quoted', '> How many?'],
        ['said', 'Twelve.'],
        ['quoted', '-- \nAnn Lee'],
      ],
    ],
    ['a quote alone, which is all there is', '> Which colour?', [['said', '> Which colour?']]],
    ['no text', '', [['said', '']]],
  ]
  test.each(FORMS)('in the form of %s', (_, text, parts) => {
    expect(forms(text)).toEqual(parts)
  })

  test('is found by its marks if the words of the sender are not in the text as they are', () => {
    expect(partsOf('\nYes\n> Which?\nNo', 'something else').map((part) => [part.kind, textOf(part)])).toEqual([
      ['said', 'Yes'],
      ['quoted', '> Which?'],
      ['said', 'No'],
    ])
    expect(partsOf('\n\n> Which?\nNo', 'other')[0]).toEqual({ kind: 'quoted', lines: ['', '', '> Which?'] })
  })

  test('is cut at the end of a line or a word', () => {
    const most = { lines: 2, characters: 30 }
    expect(beginningOf('one\ntwo\nthree', most)).toBe('one\ntwo')
    expect(beginningOf('one two three four five six seven', most)).toBe('one two three four five six')
    expect(beginningOf('x'.repeat(1000), { lines: 2, characters: 300 })).toHaveLength(200)
    expect(beginningOf('short', most)).toBe('short')
  })
})

describe('the sender of a mail', () => {
  const checks = (spf: string | null, dkim: string | null, dmarc: string | null) => senderWarning({ spf, dkim, dmarc, arc: null })
  test('is warned of where a check failed, in words', () => {
    expect(senderWarning(null)).toBeUndefined()
    expect(checks('pass', 'pass', 'pass')).toBeUndefined()
    expect(checks('none', null, 'none')).toBeUndefined()
    expect(checks('temperror', 'neutral', null)).toBeUndefined()
    expect(checks('pass', 'pass', 'fail')).toEqual({
      level: 'bad',
      words: "The sender's address may be forged: the checks do not fit the sender's address (DMARC).",
    })
    expect(checks('softfail', 'fail', 'none')?.words).toContain('the domain (SPF); its signature is not valid (DKIM)')
    expect(checks('fail', 'pass', 'pass')).toMatchObject({ level: 'note' })
    expect(checks('fail', 'pass', 'pass')?.words).toMatch(/^The sending server may not send for the domain \(SPF\)\. Forwarding/)
  })

  test('is a person or a program, and which kind of program', () => {
    const kind = (subject: string, email: string, isAutomatic = true) => automaticWords({ isAutomatic, subject, from: { name: '', email } })
    expect(kind('Re: Offer', 'ann@x.example', false)).toBeUndefined()
    expect(kind('Automatic reply: Offer', 'ann@x.example')).toBe('Out of office')
    expect(kind('Abwesenheitsnotiz: Angebot', 'ann@x.example')).toBe('Out of office')
    expect(kind('Undelivered Mail Returned to Sender', 'MAILER-DAEMON@mx.example')).toBe('Report of a mail server')
    expect(kind('We have your request', 'noreply@x.example')).toBe('Written by a program')
    expect(kind('Re: Offer', 'ann@x.example')).toBe('Automatic reply')
  })
})

test('mails with one subject are one thread, whatever programs put before it', () => {
  const subjects = ['Our offer', 'Re: Our offer', 'AW: Re: our offer', 'Fwd: RE[2]: Our offer', '[desk] Sv: Our offer', '回复： Our offer']
  expect(subjects.map((subject) => baseSubject(subject).toLowerCase())).toEqual(subjects.map(() => 'our offer'))
  expect(new Set(subjects.map(threadColor)).size).toBe(1)
  expect(baseSubject('Resolved: Our offer')).toBe('Resolved: Our offer')
  expect(baseSubject('Re:')).toBe('')
})

test('metadata of any shape is read, and what is missing is not there', () => {
  const empty = {
    ...{ parentCommentId: null, from: { name: '', email: '' }, to: [], cc: [], subject: '', date: null, text: '', visibleText: '' },
    ...{ html: '', isAutomatic: false, isFromList: false, isUnreadable: false, wasRecipient: true, authentication: null },
    ...{ inlinePaths: [], remoteImages: 0, attachmentsLeftOut: 0 },
  }
  for (const metadata of [null, undefined, 7, 'x', [], {}, { from: 3, to: 'a', inline: [null, 4, { path: 1 }], remoteImages: '3' }])
    expect(incomingMail(metadata)).toEqual(empty)
  const authentication = { spf: 'Pass', dkim: 3 }
  expect(incomingMail({ html: '<p>', inline: [{ path: 'a' }], authentication, senderWasRecipient: false })).toMatchObject({
    ...{ html: '<p>', inlinePaths: ['a'], wasRecipient: false },
    authentication: { spf: 'pass', dkim: null, dmarc: null, arc: null },
  })
})

test('metadata of a mail that was sent is read if all of its states are known', () => {
  const mail = { status: 'sent', subject: '', recipients: [{ email: 'a@x', status: 'unknown' }] }
  expect(outgoingMail(mail)).toBe(mail)
  for (const metadata of [
    null,
    7,
    {},
    { ...mail, status: 'answered' },
    { ...mail, recipients: [{ status: 'gone' }] },
    { ...mail, subject: 1 },
  ])
    expect(outgoingMail(metadata)).toBeNull()
})
