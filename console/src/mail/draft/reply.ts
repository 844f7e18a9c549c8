/** What an answer to a mail begins with: whom it goes to, and its subject. */
import { addressKey, type Kind, type Mailbox, mailboxText, type Recipients, readMailbox } from '../recipients/addresses.ts'
import { NOBODY, type Sender } from './mail-draft.ts'

/** What the address says is being written. */
export type Purpose = { kind: 'mail' } | { kind: 'reply' | 'replyAll' | 'forward' | 'again'; commentId: number }

/** Reads `mail`, `reply:12`, `replyAll:12`, `forward:12`, `again:12`; anything else is a new mail. */
export function readPurpose(compose: string): Purpose {
  const [, kind, id] = /^(reply|replyAll|forward|again):([1-9]\d{0,9})$/.exec(compose) ?? []
  return kind && id ? { kind: kind as 'reply' | 'replyAll' | 'forward' | 'again', commentId: Number(id) } : { kind: 'mail' }
}

/** A mail of the timeline, as far as an answer needs it. */
export interface AnsweredMail {
  isOwn: boolean
  from: Mailbox
  /** The sender of the own mail: of this one, or of the one that it answers. Null if that is not known. */
  sentBy: Sender | null
  /** Where the sender wants answers, if not at their own address. */
  replyTo: readonly string[]
  to: readonly string[]
  cc: readonly string[]
  subject: string
  isAutomatic: boolean
  /** Whether it came from a mailing list. */
  isFromList: boolean
}

/** Something to know before one answers. */
export type Caution = 'noReply' | 'automatic' | 'list' | 'toList' | 'elsewhere' | 'nobody'

export interface AnswerTo {
  to: string[]
  cc: string[]
  cautions: Caution[]
}

const NO_REPLY = /^(no|not|do[._-]?not|dont|never)[._-]?(reply|respond|answer)|^(mailer-daemon|postmaster|bounces?|noreply)([+._-]|$)/i

/**
 * Whom the answer goes to. An answer to a mail of one's own goes on to its recipients.
 * @param own addresses that belong to the person or to the senders that they use, which get no copy of what they send themselves
 */
export function answerTo(mail: AnsweredMail, kind: 'reply' | 'replyAll', own: readonly string[]): AnswerTo {
  const ownKeys = new Set(own.map(addressKey))
  const others = (texts: readonly string[]) => unique(texts).filter((text) => readMailbox(text) && !ownKeys.has(addressKey(text)))
  const sender = mailboxText(mail.from)
  const isElsewhere = mail.replyTo.length > 0 && !mail.replyTo.some((text) => addressKey(text) === addressKey(sender))
  const wanted = mail.replyTo.length ? mail.replyTo : [sender]
  // A person who writes to themselves answers themselves.
  const first = mail.isOwn ? others(mail.to) : unique(wanted).filter((text) => readMailbox(text))
  const to = first.length || !mail.isOwn ? first : unique(mail.to)
  const taken = new Set(to.map(addressKey))
  const rest = mail.isOwn ? mail.cc : [...mail.to, ...mail.cc]
  const cc = kind === 'replyAll' ? others(rest).filter((text) => !taken.has(addressKey(text))) : []
  return { to, cc, cautions: cautionsOf(mail, to, isElsewhere) }
}

/**
 * Whom a mail goes to that is written again: those who have not got it. A single address stands there as if it were being typed, because
 * it is most likely to be corrected.
 */
export function againTo(missed: readonly { email: string; kind: Kind }[]): Record<Kind, Recipients> {
  const [only] = missed
  if (only && missed.length === 1) return { to: { chosen: [], typed: only.email }, cc: NOBODY, bcc: NOBODY }
  const of = (kind: Kind): Recipients => ({ chosen: missed.filter((one) => one.kind === kind).map(({ email }) => email), typed: '' })
  const [to, cc, bcc] = [of('to'), of('cc'), of('bcc')]
  return to.chosen.length ? { to, cc, bcc } : { to: cc, cc: NOBODY, bcc }
}

/** The body of a sent mail without the signature below it, as the service puts it there. */
export function withoutSignature(html: string, signature: { html: string } | undefined): string | null {
  const end = signature && `<br /><br />${signature.html}`
  return end && html.endsWith(end) ? html.slice(0, -end.length) : null
}

function cautionsOf({ isOwn, isAutomatic, isFromList }: AnsweredMail, to: readonly string[], isElsewhere: boolean): Caution[] {
  if (to.length === 0) return ['nobody']
  return [
    ...(to.some((text) => NO_REPLY.test(readMailbox(text)?.email ?? '')) ? (['noReply'] as const) : []),
    ...(isAutomatic ? (['automatic'] as const) : []),
    ...(isFromList && !isOwn ? [isElsewhere ? ('toList' as const) : ('list' as const)] : []),
    ...(isElsewhere && !isOwn && !isFromList ? (['elsewhere'] as const) : []),
  ]
}

function unique(texts: readonly string[]): string[] {
  const keys = texts.map(addressKey)
  return texts.filter((_, at) => keys.indexOf(keys[at] ?? '') === at)
}

/** How mail programs mark answers, in the languages of those that translate it. */
const ANSWERED = /^\s*((re|aw|antw|antwort|sv|vs|ref|rif|r|odp|ynt|回复|答复|返信|回覆)(\[\d+\]|\(\d+\)|\^\d+)?\s*[:：]\s*)+/i
const FORWARDED = /^\s*((fwd?|wg|tr|rv|enc|i|vb|doorst|pd|转发|轉寄|転送)(\[\d+\]|\(\d+\))?\s*[:：]\s*)+/i
const LONGEST_SUBJECT = 998

/** The subject with `Re:` or `Fwd:` before it, once. */
export function subjectOf(subject: string, kind: 'reply' | 'replyAll' | 'forward'): string {
  const line = subject.replace(/[\r\n\0]+/g, ' ').trim()
  const bare = line.replace(kind === 'forward' ? FORWARDED : ANSWERED, '').trim()
  return `${kind === 'forward' ? 'Fwd' : 'Re'}: ${bare}`.trim().slice(0, LONGEST_SUBJECT)
}

/** The sender of the mail that was answered, or else one that this mail was written to, so that a thread has one address. */
export function answeringFrom(mail: AnsweredMail, senders: readonly Sender[]): Sender | undefined {
  const { sentBy } = mail
  const same = sentBy ? senders.filter(({ email }) => addressKey(email) === addressKey(sentBy.email)) : []
  const ofServer = same.filter(({ integration }) => integration === sentBy?.integration)
  const keys = [...mail.to, ...mail.cc].map(addressKey)
  const addressed = mail.isOwn ? undefined : senders.find(({ email }) => keys.includes(addressKey(email)))
  return ofServer.find(({ name }) => name === sentBy?.name) ?? ofServer[0] ?? same[0] ?? addressed
}
