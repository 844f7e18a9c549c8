/** The states of mails and of their recipients in plain words. Every status and code that src/email has is in the tables below. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  isScheduled,
  isUnderWay,
  type Known,
  mailWords,
  openedBy,
  recipientWords,
  type Times,
} from '../../console/src/mail/delivery/delivery-words.ts'
import { causeOf } from '../../console/src/mail/delivery/error-words.ts'
import { timesOf } from '../../console/src/mail/delivery/times.ts'
import type { DeliveryError, Open, OutgoingMail, Recipient } from '../../console/src/mail/mail-facts.ts'
import { deliveryTexts } from '../../console/src/texts/mail/delivery.ts'
import { BOUNCE_KINDS, CAUSES_BY_STATUS } from '../../src/email/reports/failure-causes.ts'
import { Open as OpenSchema } from '../../src/email/schema.ts'
import { EMAIL_STATUSES, RECIPIENT_STATUSES } from '../../src/email/states.ts'

const times: Times = {
  now: new Date('2026-05-04T15:00:00Z'),
  at: (instant) => `at ${instant.slice(11, 16)}`,
  plain: (instant) => instant.slice(11, 16),
  exact: String,
  day: (day) => `[${day}]`,
}

const recipient = (status: Recipient['status'], more: Partial<Recipient> = {}): Recipient => ({
  ...{ email: 'ann@example.com', kind: 'to', status, error: null },
  ...more,
})
const mail = (status: OutgoingMail['status'], recipients: Recipient[], more: Partial<OutgoingMail> = {}): OutgoingMail => ({
  ...{ status, from: { name: 'Desk', email: 'desk@example.com' }, to: [], cc: [], bcc: [], subject: 'Offer', messageId: '<1@x>' },
  ...{ smtpIntegrationId: 1, signatureId: null, queuedAt: '2026-05-04 14:59:30', sentAt: null, readAt: null, bouncedAt: null },
  ...{ droppedAt: null, error: recipients.find(({ error }) => error)?.error ?? null, recipients, unresolved: [] },
  ...more,
})
const error = (code: string, enhanced: string | null = null, message = ''): DeliveryError => ({ code, enhanced, message })
const open = (kind: Open['class'], at = '14:40'): Open => ({ opened_at: `2026-05-04 ${at}:00`, class: kind, user_agent: null })

const NO_USER = error('550', '5.1.1', '550 5.1.1 No such user')
const SUPPRESSED = error(
  'SUPPRESSED',
  null,
  'No mail is sent to this address since 2026-05-03, because an earlier mail to it bounced for good',
)
const UNKNOWN = error('OUTCOME_UNKNOWN', null, 'The message was handed over, but the answer was not received')
const CANCELLED = error('CANCELLED', null, 'The email was cancelled before it was sent')
const LATER = error('451', '4.7.1', '451 4.7.1 Greylisted, try again later')
const sentAt = '2026-05-04 14:30:00'
const readAt = '2026-05-04 14:40:00'
const bounce = { kind: 'hard', reason: 'The address does not exist' } as const

const SUPPRESSED_WORDS = 'Not sent: suppressed since [2026-05-03], because an earlier mail to it bounced for good'

describe('a mail', () => {
  const NAMED: [name: string, mail: OutgoingMail, words: string, known?: Known][] = [
    ['that was just queued', mail('queued', [recipient('queued')]), 'Sending …'],
    ['that waits for long', mail('queued', [recipient('queued')], { queuedAt: '2026-05-04 14:50:00' }), 'Waiting to be sent since 14:50'],
    ['for later', mail('queued', [recipient('queued')], { sendAt: '2026-05-05 07:30:00' }), 'Will be sent at 07:30'],
    ['whose time has come', mail('queued', [recipient('queued')], { sendAt: '2026-05-04 14:59:50' }), 'Sending …'],
    [
      'that a server put off',
      mail('queued', [recipient('queued', { error: LATER })]),
      'Waiting: the server asks to try again later (451 4.7.1)',
    ],
    ['that was sent', mail('sent', [recipient('sent')], { sentAt }), 'Sent at 14:30'],
    ['that was opened, while it is not known by what', mail('read', [recipient('sent')], { sentAt, readAt }), 'Sent at 14:30'],
    [
      'that was opened, for those who may not see by what',
      mail('read', [recipient('sent')], { sentAt, readAt }),
      'Sent at 14:30 · opened, or only loaded by a program, at 14:40',
      { opens: null },
    ],
    [
      'that a person opened after a proxy',
      mail('read', [recipient('sent')], { sentAt, readAt }),
      'Sent at 14:30 · opened at 14:50',
      { opens: [open('image_proxy'), open('human', '14:50')] },
    ],
    [
      'that a proxy opened',
      mail('read', [recipient('sent')], { sentAt, readAt }),
      'Sent at 14:30 · opened by an image proxy at 14:40, which says little',
      { opens: [open('image_proxy')] },
    ],
    [
      'that a scanner loaded',
      mail('read', [recipient('sent')], { sentAt, readAt }),
      'Sent at 14:30 · loaded by a scanner at 14:40, which says little',
      { opens: [open('scanner')] },
    ],
    [
      'that bounced',
      mail('bounced', [recipient('bounced', { error: NO_USER, bounce })]),
      'Bounced: the address does not exist (550 5.1.1)',
    ],
    ['to a suppressed address', mail('dropped', [recipient('dropped', { error: SUPPRESSED })]), SUPPRESSED_WORDS],
    [
      'to an address that is still suppressed',
      mail('dropped', [recipient('dropped', { error: SUPPRESSED })]),
      SUPPRESSED_WORDS,
      { isSuppressed: () => true },
    ],
    [
      'to an address that was suppressed then',
      mail('dropped', [recipient('dropped', { error: SUPPRESSED })]),
      'Not sent: the address was suppressed then, because an earlier mail to it bounced for good',
      { isSuppressed: () => false },
    ],
    [
      'of unknown outcome',
      mail('sent', [recipient('unknown', { error: UNKNOWN })], { sentAt }),
      'Unknown: the connection broke after the last byte; it may have arrived',
    ],
    [
      'that was cancelled',
      mail('dropped', [recipient('dropped', { error: CANCELLED })], { droppedAt: '2026-05-04 14:35:00' }),
      'Cancelled at 14:35',
    ],
    ['that was refused', mail('dropped', [recipient('dropped', { error: NO_USER })]), 'Not sent: the address does not exist (550 5.1.1)'],
    [
      'some of whose recipients have it',
      mail('sent', [recipient('sent'), recipient('bounced', { error: NO_USER }), recipient('dropped', { error: SUPPRESSED })], { sentAt }),
      'Sent at 14:30 · 1 of 3 bounced · 1 of 3 not sent',
    ],
    [
      'that waits for one of two',
      mail('sent', [recipient('sent'), recipient('queued', { error: LATER })], { sentAt }),
      'Sent at 14:30 · 1 of 2 still waiting',
    ],
    [
      'unknown for one of two',
      mail('sent', [recipient('sent'), recipient('unknown', { error: UNKNOWN })], { sentAt }),
      'Sent at 14:30 · 1 of 2 unknown',
    ],
    [
      'that was complained of',
      mail('read', [recipient('sent', { complaint: { at: readAt, type: 'abuse' } })], { sentAt, readAt }),
      'Sent at 14:30 · opened at 14:40 · reported as unwanted',
      { opens: [open('human')] },
    ],
    [
      'that is delayed',
      mail('sent', [recipient('sent', { delay: { ...LATER, at: readAt } })], { sentAt }),
      'Sent at 14:30 · delayed on its way',
    ],
    [
      'that bounced for all for the same reason',
      mail('bounced', [recipient('bounced', { error: NO_USER, bounce }), recipient('bounced', { error: NO_USER, bounce })]),
      'Bounced: the address does not exist (550 5.1.1)',
    ],
    [
      'that bounced for all for several reasons',
      mail('bounced', [recipient('bounced', { error: NO_USER, bounce }), recipient('bounced', { error: error('552', '5.2.2') })]),
      'Bounced for all 2 recipients',
    ],
    [
      'that was not sent for several reasons',
      mail('dropped', [recipient('dropped', { error: NO_USER }), recipient('dropped', { error: SUPPRESSED })]),
      'Not sent to any of the 2 recipients',
    ],
    [
      'that bounced for one and was not sent to the other',
      mail('bounced', [recipient('bounced', { error: NO_USER, bounce }), recipient('dropped', { error: SUPPRESSED })]),
      'None of the 2 recipients has it',
    ],
  ]
  test.each(NAMED)('%s', (_, given, words, known) => {
    expect(mailWords(given, times, known).words).toBe(words)
  })

  test('has words in every status, for every status of its recipient and every opener', () => {
    for (const status of EMAIL_STATUSES) {
      for (const of of RECIPIENT_STATUSES) {
        for (const opens of [undefined, null, [], ...OpenSchema.shape.class.options.map((kind) => [open(kind)])]) {
          const given = mail(status, [recipient(of)], { sentAt, readAt, droppedAt: sentAt })
          expect(mailWords(given, times, { opens }).words).toMatch(/^\p{Lu}.+/u)
          expect(recipientWords(given.recipients[0] as Recipient, given, times, { opens }).words).toMatch(/^\p{Ll}.+/u)
        }
      }
    }
    expect(OpenSchema.shape.class.options.map((kind) => openedBy(open(kind), times))).toEqual([
      'at 14:40 by a person',
      'at 14:40 by an image proxy',
      'at 14:40 by a mail program on arrival',
      'at 14:40 by a scanner',
    ])
  })

  test('is under way until nobody waits for it any more, and not before its time', () => {
    expect(isUnderWay(mail('sent', [recipient('sent'), recipient('queued')]), times.now)).toBe(true)
    expect(isUnderWay(mail('sent', [recipient('sent')]), times.now)).toBe(false)
    const later = mail('queued', [recipient('queued')], { sendAt: '2026-05-05 07:30:00' })
    expect([isScheduled(later, times.now), isUnderWay(later, times.now)]).toEqual([true, false])
    // It can be undone for ten seconds, and the clock of the page is up to a minute behind.
    const undoable = mail('queued', [recipient('queued')], { queuedAt: '2026-05-04 15:00:40', sendAt: '2026-05-04 15:00:50' })
    expect([isScheduled(undoable, times.now), isUnderWay(undoable, times.now)]).toEqual([false, true])
  })
})

test('times are said by the clocks of the zone, and days that are further away with their time', () => {
  // In New York it is still the third, and clocks went forward on 8 March.
  const words = timesOf({ zone: 'America/New_York', locale: 'en-GB', now: new Date('2026-05-04T02:00:00Z') })
  const said = (instant: string) => words.at(`${instant}:00`)
  expect(said('2026-05-04 01:30')).toBe('at 21:30')
  expect(said('2026-05-04 18:30')).toBe('tomorrow 14:30')
  expect(said('2026-05-02 18:30')).toBe('yesterday 14:30')
  expect(said('2026-03-07 18:30')).toBe('on 7 Mar at 13:30')
  expect(said('2025-12-24 18:30')).toBe('on 24 Dec 2025 at 13:30')
  expect(words.plain('2026-05-02 18:30:00')).toBe('yesterday 14:30')
  expect([words.day('2026-05-03'), words.day('2025-05-03'), words.day('soon')]).toEqual(['3 May', '3 May 2025', 'soon'])
})

describe('a recipient', () => {
  const only = (one: Recipient, known?: Known) => recipientWords(one, mail('sent', [one], { sentAt, readAt }), times, known)
  const NAMED: [name: string, recipient: Recipient, words: string, opens?: Open[]][] = [
    ['who waits', recipient('queued'), 'being sent'],
    ['who was put off', recipient('queued', { error: LATER }), 'waiting: the server asks to try again later (451 4.7.1)'],
    ['who has it, as far as the server says', recipient('sent'), 'accepted by the mail server at 14:30'],
    ['who opened it', recipient('sent'), 'delivered, and opened at 14:40', [open('human')]],
    ['whose proxy opened it', recipient('sent'), 'accepted by the mail server at 14:30', [open('image_proxy')]],
    [
      'whose program showed it',
      recipient('sent', { receipt: { at: readAt, disposition: 'displayed' } }),
      'delivered, and shown at 14:40 (read receipt)',
    ],
    [
      'whose program deleted it',
      recipient('sent', { receipt: { at: readAt, disposition: 'deleted' } }),
      'delivered, and deleted unread at 14:40 (receipt)',
    ],
    [
      'whose program did something else',
      recipient('sent', { receipt: { at: readAt, disposition: 'dispatched' } }),
      'delivered; receipt of “dispatched” at 14:40',
    ],
    [
      'to whom it is still on its way',
      recipient('sent', { delay: { ...error('DELAYED'), at: readAt } }),
      'accepted by the mail server at 14:30; still on its way at 14:40: it could not be delivered yet',
    ],
    [
      'who complained',
      recipient('sent', { complaint: { at: readAt, type: 'abuse' } }),
      'accepted by the mail server at 14:30; reported this mail as unwanted at 14:40',
    ],
    ['who bounced', recipient('bounced', { error: NO_USER, bounce }), 'bounced: the address does not exist (550 5.1.1)'],
    [
      'whose outcome is unknown',
      recipient('unknown', { error: UNKNOWN }),
      'unknown: the connection broke after the last byte; it may have arrived',
    ],
    ['who was refused', recipient('dropped', { error: NO_USER }), 'not sent: the address does not exist (550 5.1.1)'],
    ['of a cancelled mail', recipient('dropped', { error: CANCELLED }), 'not sent: it was cancelled'],
  ]
  test.each(NAMED)('%s', (_, one, words, opens) => {
    expect(only(one, { opens }).words).toBe(words)
  })

  test('whose address may be suppressed says what that means now', () => {
    const more = (one: Recipient, isSuppressed?: boolean) => only(one, { isSuppressed: () => isSuppressed }).more
    const bounced = recipient('bounced', { error: NO_USER, bounce })
    const refused = recipient('dropped', { error: NO_USER })
    const complaint = recipient('sent', { complaint: { at: readAt, type: 'abuse' } })
    const soft = recipient('bounced', { error: error('552', '5.2.2'), bounce: { kind: 'soft', reason: 'The mailbox is full' } })
    const { suppressed, notSuppressed, notSuppressedRetry, bounceKinds } = deliveryTexts
    expect([undefined, true, false].map((isListed) => more(bounced, isListed))).toEqual([bounceKinds.hard, bounceKinds.hard, notSuppressed])
    expect([undefined, true, false].map((isListed) => more(refused, isListed))).toEqual([undefined, suppressed, undefined])
    const held = recipient('dropped', { error: SUPPRESSED })
    expect([undefined, true, false].map((isListed) => more(held, isListed))).toEqual([suppressed, suppressed, notSuppressedRetry])
    expect([undefined, true, false].map((isListed) => more(complaint, isListed))).toEqual([suppressed, suppressed, notSuppressed])
    expect([undefined, true, false].map((isListed) => more(soft, isListed))).toEqual(Array(3).fill(bounceKinds.soft))
    expect(mailWords(mail('bounced', [bounced]), times, { isSuppressed: () => false }).more).toBe(notSuppressed)
  })

  test('has the words of the other server as it said them, and what a bounce means', () => {
    expect(only(recipient('bounced', { error: NO_USER, bounce }))).toMatchObject({
      said: '550 5.1.1 No such user',
      more: deliveryTexts.bounceKinds.hard,
    })
    expect(only(recipient('dropped', { error: SUPPRESSED })).said).toBeNull()
    for (const kind of BOUNCE_KINDS) expect(deliveryTexts.bounceKinds[kind]).toMatch(/\.$/)
  })
})

describe('a cause', () => {
  /** All words that the service uses as codes, from its sources. */
  const codesOf = (folder: string): string[] =>
    readdirSync(folder, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .flatMap((entry) => {
        const source = readFileSync(join(entry.parentPath, entry.name), 'utf8')
        const patterns = [
          /\bcode: (?:said\.code \?\? )?'([A-Z][A-Z_0-9]+)'/g,
          /\bgone\('([A-Z_]+)'/g,
          /\?\? '([A-Z_]{3,})'/g,
          /^ {2}E[A-Z]+: '([A-Z]+)'/gm,
        ]
        return patterns.flatMap((pattern) => [...source.matchAll(pattern)].map(([, code]) => code as string))
      })
  // Errors of Node, which become TIMEOUT, of DNS while a sender is checked, and what is no code of a delivery.
  const OTHERS = ['ETIMEDOUT', 'ETIMEOUT', 'BAD_REQUEST', 'UTC']

  test('of every code of the service has words', () => {
    const codes = [...new Set(codesOf(join(import.meta.dirname, '../../src/email')))].filter((code) => !OTHERS.includes(code))
    expect(codes.filter((code) => !(code in deliveryTexts.serviceCauses))).toEqual([])
    expect(Object.keys(deliveryTexts.serviceCauses).filter((code) => !codes.includes(code))).toEqual([])
  })

  test('of every enhanced code that the service knows has words, for now and for good', () => {
    const known = CAUSES_BY_STATUS.map(([prefix]) => prefix).filter((prefix) => !prefix.endsWith('.'))
    for (const status of known) expect(causeOf(error('550', status), times.day).words).not.toContain('the server refused the address')
    expect(causeOf(error('550', '5.99.99'), times.day).words).toBe('the server refused the address or the mail (550 5.99.99)')
    expect(causeOf(error('599', null, '599 no'), times.day)).toEqual({ words: 'the server refused it (599)', said: '599 no' })
    expect(causeOf(error('499'), times.day).words).toBe('the server asks to try again later (499)')
    expect(causeOf(error('NEWER', null, 'Something new'), times.day).words).toBe('something new')
  })
})
