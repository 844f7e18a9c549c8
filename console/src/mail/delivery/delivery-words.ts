/** The state of a mail that was sent, and the truth about each of its recipients, in plain words (docs/email.md). */
import { deliveryTexts as texts } from '../../texts/mail/delivery.ts'
import type { DeliveryError, Open, OutgoingMail, Recipient } from '../mail-facts.ts'
import { type Cause, causeOf } from './error-words.ts'

/** How times are written for the reader. */
export interface Times {
  now: Date
  /** An instant within a sentence: `at 14:30`, `yesterday at 14:30`, `on 3 May at 14:30`. */
  at(instant: string): string
  /** The same by itself: `14:30`, `yesterday 14:30`. */
  plain(instant: string): string
  /** The day of the week, the seconds and the zone, too. */
  exact(instant: string): string
  /** A calendar date: `3 May`. */
  day(day: string): string
}

/** good: it arrived, as far as anybody knows. waiting: nothing is decided yet. bad: somebody has not got it. unclear: nobody can know. */
export type Tone = 'good' | 'waiting' | 'bad' | 'unclear'

export interface Delivery {
  tone: Tone
  words: string
  /** A sentence about what comes next, if there is one to say. */
  more?: string | undefined
  /** What another mail server said, as it said it. */
  said?: string | null | undefined
}

/** What is known beside the mail itself. */
export interface Known {
  /** The requests for the image of the mail; undefined while they are not read, null to those who may not see them. */
  opens?: readonly Open[] | null | undefined
  /** Whether an address is on the suppression list now; undefined to those who may not see it. */
  isSuppressed?: ((email: string) => boolean | undefined) | undefined
}

export function mailWords(mail: OutgoingMail, times: Times, known: Known = {}): Delivery {
  switch (mail.status) {
    case 'queued':
      return queuedWords(mail, times)
    case 'sent':
      return sentWords(mail, times)
    case 'read':
      return withRest(mail, { tone: 'good', words: [sentAtWords(mail, times), ...openWords(mail, times, known)].join(' · ') })
    case 'bounced':
      return failedWords(mail, times, 'bounced', known)
    case 'dropped':
      return failedWords(mail, times, 'dropped', known)
  }
}

/** True while a mail is on its way out by itself, so that its state may change at any moment. */
export const isUnderWay = (mail: OutgoingMail, now: Date): boolean =>
  mail.recipients.some(({ status }) => status === 'queued') && !isScheduled(mail, now)

/** A mail whose time has not come. One that waits for seconds, in which it can be undone, is as good as on its way. */
export const isScheduled = ({ status, sendAt, queuedAt }: OutgoingMail, now: Date): boolean =>
  status === 'queued' && typeof sendAt === 'string' && atOf(sendAt) > Math.max(now.getTime(), atOf(queuedAt)) + AT_ONCE_MS

const AT_ONCE_MS = 20_000

function queuedWords(mail: OutgoingMail, times: Times): Delivery {
  if (mail.error) {
    const { words, said } = causeOf(mail.error, times.day)
    return { tone: 'waiting', words: texts.waits(words), more: isHeldBack(mail.error) ? texts.heldBack : texts.triedAgain, said }
  }
  if (isScheduled(mail, times.now)) return { tone: 'waiting', words: texts.scheduled(times.at(mail.sendAt as string)) }
  const since = typeof mail.sendAt === 'string' && mail.sendAt > mail.queuedAt ? mail.sendAt : mail.queuedAt
  const isFresh = times.now.getTime() - atOf(since) < FRESH_MS
  return { tone: 'waiting', words: isFresh ? texts.sending : texts.waitingSince(times.plain(since)) }
}

/** For so long a mail that waits is simply being sent. */
const FRESH_MS = 60_000

/** True for a fault of the integration, for which all of its mails wait. */
const isHeldBack = ({ code }: DeliveryError) => HELD_BACK.has(code)
const HELD_BACK = new Set(['AUTH', 'PASSWORD_UNREADABLE', 'DKIM_KEY_UNREADABLE', 'PRIVATE_ADDRESS', 'TOKENS_UNREADABLE'])

function sentWords(mail: OutgoingMail, times: Times): Delivery {
  const { recipients } = mail
  if (recipients.length && recipients.every(({ status }) => status === 'unknown')) {
    return { tone: 'unclear', words: texts.unknown(unknownCause(recipients[0]?.error ?? null, times).words), more: texts.unknownMore }
  }
  return withRest(mail, { tone: 'good', words: sentAtWords(mail, times) })
}

const sentAtWords = ({ sentAt, queuedAt }: OutgoingMail, times: Times): string => texts.sent(whenOf(sentAt ?? queuedAt, times))

const unknownCause = (error: DeliveryError | null, times: Times): Cause => causeOf(error ?? OUTCOME_UNKNOWN, times.day)
const OUTCOME_UNKNOWN: DeliveryError = { code: 'OUTCOME_UNKNOWN', enhanced: null, message: '' }

/**
 * That it was opened, and by what. A person counts before a proxy, and the first request of a kind before its later ones. Nothing is said
 * while that is not read: a scanner would pass for a person.
 */
function openWords({ readAt }: OutgoingMail, times: Times, { opens }: Known): string[] {
  if (opens === undefined) return []
  const first = firstOpen(opens ?? [])
  if (!first) return readAt ? [texts.openedOrLoaded(times.at(readAt))] : []
  const words = texts.openedBy[first.class]
  return [words(times.at(first.opened_at))]
}

function firstOpen(opens: readonly Open[]): Open | undefined {
  const inOrder = opens.toSorted((one, other) => (one.opened_at < other.opened_at ? -1 : 1))
  return inOrder.find((open) => open.class === 'human') ?? inOrder[0]
}

/** True if a person has opened the mail, as far as the program that asked for its image tells. */
const isOpenedByPerson = ({ opens }: Known) => opens?.some((open) => open.class === 'human') === true

/** Adds in a few words how it stands with those recipients for whom it stands otherwise. */
function withRest(mail: OutgoingMail, delivery: Delivery): Delivery {
  const { recipients } = mail
  const [only] = recipients
  const counted = (['bounced', 'dropped', 'unknown', 'queued'] as const).flatMap((status) => {
    const count = recipients.filter((recipient) => recipient.status === status).length
    return count && recipients.length > 1 ? [texts.some[status](count, recipients.length)] : []
  })
  const rest = [
    ...counted,
    ...(recipients.some(({ complaint }) => complaint) ? [texts.complained] : []),
    ...(recipients.length === 1 && only?.status === 'sent' && only.delay && !only.receipt ? [texts.delayed] : []),
  ]
  const isBad = recipients.some(({ status, complaint }) => status === 'bounced' || status === 'dropped' || complaint)
  const isUnclear = recipients.some(({ status }) => status === 'unknown')
  const tone = isBad ? 'bad' : isUnclear ? 'unclear' : delivery.tone
  return { ...delivery, tone, words: [delivery.words, ...rest].join(' · ') }
}

/** Nobody has the mail. The cause is said if it is the same for all. */
function failedWords(mail: OutgoingMail, times: Times, status: 'bounced' | 'dropped', known: Known): Delivery {
  const { recipients, error, droppedAt } = mail
  if (status === 'dropped' && error?.code === 'CANCELLED') return { tone: 'waiting', words: texts.cancelled(whenOf(droppedAt, times)) }
  const failed = recipients.filter((recipient) => recipient.status === status)
  const causes = failed.flatMap((recipient) => (recipient.error ? failureOf(recipient, recipient.error, times, known) : []))
  const [first] = causes.length ? causes : error ? [causeOf(error, times.day)] : []
  const isSame = causes.every(({ words }) => words === first?.words)
  if (failed.length === recipients.length && first && isSame) {
    const words = status === 'bounced' ? texts.bounced(first.words) : texts.notSent(first.words)
    const [more] = failed.length === 1 ? failed.map((one) => failureMore(one, known)) : []
    return { tone: 'bad', words, more, said: recipients.length === 1 ? first.said : null }
  }
  if (failed.length < recipients.length) return { tone: 'bad', words: texts.noneHasIt(recipients.length) }
  return { tone: 'bad', words: status === 'bounced' ? texts.bouncedForAll(failed.length) : texts.notSentToAny(failed.length) }
}

const failureOf = ({ email, bounce }: Recipient, error: DeliveryError, times: Times, { isSuppressed }: Known): Cause =>
  causeOf(error, times.day, { bounce, isSuppressed: isSuppressed?.(email) })

/** What a failure means for the next mail to the address. */
function failureMore(recipient: Recipient, { isSuppressed }: Known): string | undefined {
  const { email, error, bounce } = recipient
  if (!mayBeSuppressed(recipient)) return bounce && texts.bounceKinds[bounce.kind]
  const isListed = isSuppressed?.(email)
  if (bounce) return isListed === false ? texts.notSuppressed : texts.bounceKinds[bounce.kind]
  if (error?.code === 'SUPPRESSED') return isListed === false ? texts.notSuppressedRetry : texts.suppressed
  // A refusal while it was sent suppresses only some addresses.
  return isListed ? texts.suppressed : undefined
}

/** True if what became of the mail may have put the address onto the suppression list, or was caused by it. */
export const mayBeSuppressed = ({ error, bounce, complaint }: Recipient): boolean =>
  complaint !== undefined || (bounce ? bounce.kind === 'hard' : error?.code === 'SUPPRESSED' || /^5\d\d$/.test(error?.code ?? ''))

/** How it stands with one recipient. */
export function recipientWords(recipient: Recipient, mail: OutgoingMail, times: Times, known: Known = {}): Delivery {
  const { status, error, complaint } = recipient
  switch (status) {
    case 'queued':
      return waitingRecipient(recipient, mail, times)
    case 'unknown':
      return { tone: 'unclear', words: texts.recipient.unknown(unknownCause(error, times).words), more: texts.unknownMore }
    case 'bounced':
    case 'dropped': {
      const { words, said } = failureOf(recipient, error ?? { code: 'BOUNCED', enhanced: null, message: '' }, times, known)
      if (error?.code === 'CANCELLED') return { tone: 'waiting', words: texts.recipient.cancelled }
      const what = status === 'bounced' ? texts.recipient.bounced(words) : texts.recipient.dropped(words)
      return { tone: 'bad', words: what, more: failureMore(recipient, known), said }
    }
    case 'sent':
      return complaint
        ? {
            tone: 'bad',
            words: `${arrivedWords(recipient, mail, times, known)}; ${texts.recipient.complaint(times.at(complaint.at))}`,
            more: known.isSuppressed?.(recipient.email) === false ? texts.notSuppressed : texts.suppressed,
          }
        : {
            tone: 'good',
            words: arrivedWords(recipient, mail, times, known),
            said: recipient.receipt ? null : delayOf(recipient, times)?.said,
          }
  }
}

function waitingRecipient({ error }: Recipient, mail: OutgoingMail, times: Times): Delivery {
  if (error) {
    const { words, said } = causeOf(error, times.day)
    return { tone: 'waiting', words: texts.recipient.waits(words), more: isHeldBack(error) ? texts.heldBack : texts.triedAgain, said }
  }
  const words = isScheduled(mail, times.now) ? texts.recipient.scheduled(times.at(mail.sendAt as string)) : texts.recipient.queued
  return { tone: 'waiting', words }
}

/** What is known beyond that the mail server has taken it: a receipt, an open if nobody else can have made it, or a delay. */
function arrivedWords(recipient: Recipient, mail: OutgoingMail, times: Times, known: Known): string {
  const { receipt } = recipient
  if (receipt) {
    const { at, disposition } = receipt
    const isKnown = disposition === 'displayed' || disposition === 'deleted'
    const words = isKnown ? texts.recipient[disposition] : (when: string) => texts.recipient.receipt(disposition, when)
    return words(times.at(at))
  }
  if (mail.recipients.length === 1 && isOpenedByPerson(known)) {
    return texts.recipient.opened(times.at(firstOpen(known.opens ?? [])?.opened_at ?? mail.readAt ?? mail.queuedAt))
  }
  const accepted = texts.recipient.accepted(whenOf(mail.sentAt ?? mail.queuedAt, times))
  const delay = delayOf(recipient, times)
  return delay ? `${accepted}; ${delay.words}` : accepted
}

function delayOf({ delay }: Recipient, times: Times): { words: string; said: string | null } | undefined {
  if (!delay) return undefined
  const { words, said } = causeOf(delay, times.day)
  return { words: texts.recipient.delay(words, times.at(delay.at)), said }
}

/** A request for the image in words: `at 14:30 by an image proxy`. */
export const openedBy = (open: Open, times: Times): string => `${times.at(open.opened_at)} ${texts.openers[open.class]}`

const whenOf = (instant: string | null, times: Times): string => (instant ? times.at(instant) : '')
const atOf = (instant: string): number => Date.parse(`${instant.replace(' ', 'T')}Z`)
