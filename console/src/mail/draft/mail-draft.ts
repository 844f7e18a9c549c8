/** A mail that is being written, as it is kept (`draft.mail.<table>.<record>`). */
import type { Client } from '../../cells/kind.ts'
import { type BodyPart, EMPTY_BODY, htmlOf, isBlank, isBody } from '../editor/body.ts'
import { addressKey, checkRecipients, KINDS, type Kind, listed, MOST_RECIPIENTS, type Recipients } from '../recipients/addresses.ts'

export type NewEmail = Parameters<Client['email']['send']['mutate']>[0]

export interface Sender {
  integration: number
  name: string
  email: string
}

export interface MailFile {
  name: string
  path: string
  size: number
  type: string
}

/** When the mail is to go: what was typed, and the instant that it meant then (UTC, `YYYY-MM-DD HH:MM:SS`); null: it means none. */
export interface Later {
  text: string
  instant: string | null
}

/** A request to send whose answer has not come: it may have been taken. Repeated under the key of the draft it has no second effect. */
export interface Attempt {
  input: NewEmail
  /** The time that was asked for, as in the draft; null: it was to go at once. */
  later: string | null
  /** Milliseconds since 1970. */
  at: number
}

export interface MailDraft {
  /** What the address said when it was begun: `mail`, `reply:12` … */
  compose: string
  from: Sender | null
  to: Recipients
  cc: Recipients
  bcc: Recipients
  subject: string
  body: BodyPart
  /** Null: it is left out. */
  signature: number | null
  files: readonly MailFile[]
  later: Later | null
  replyTo: number | null
  /** The newest answer on the record that the writer could know of. */
  seen: number
  attempt: Attempt | null
  /** The comment of the mail that is being taken back into this draft. */
  undoing: number | null
}

export const NOBODY: Recipients = { chosen: [], typed: '' }

export const emptyDraft = (compose: string): MailDraft => ({
  compose,
  from: null,
  to: NOBODY,
  cc: NOBODY,
  bcc: NOBODY,
  subject: '',
  body: EMPTY_BODY,
  signature: null,
  files: [],
  later: null,
  replyTo: null,
  seen: 0,
  attempt: null,
  undoing: null,
})

/** Reads what was stored, maybe by another release: what is not understood is as in an empty mail. */
export function readDraft(stored: unknown): MailDraft | null {
  if (!isObject(stored)) return null
  const empty = emptyDraft(typeof stored.compose === 'string' ? stored.compose : 'mail')
  const isSender = (value: unknown): value is Sender =>
    isObject(value) && typeof value.integration === 'number' && typeof value.name === 'string' && typeof value.email === 'string'
  const isFile = (value: unknown): value is MailFile =>
    isObject(value) && typeof value.path === 'string' && typeof value.name === 'string' && typeof value.size === 'number'
  const isLater = (value: unknown): value is Later => isObject(value) && typeof value.text === 'string'
  const isAttempt = (value: unknown): value is Attempt => isObject(value) && isObject(value.input) && typeof value.at === 'number'
  const idOf = (value: unknown) => (typeof value === 'number' ? value : null)
  return {
    ...empty,
    from: isSender(stored.from) ? stored.from : null,
    ...{ to: readRecipients(stored.to), cc: readRecipients(stored.cc), bcc: readRecipients(stored.bcc) },
    subject: typeof stored.subject === 'string' ? stored.subject : '',
    body: isBody(stored.body) ? stored.body : EMPTY_BODY,
    signature: idOf(stored.signature),
    files: Array.isArray(stored.files) ? stored.files.filter(isFile) : [],
    later: isLater(stored.later) ? stored.later : null,
    replyTo: idOf(stored.replyTo),
    seen: idOf(stored.seen) ?? 0,
    attempt: isAttempt(stored.attempt) ? stored.attempt : null,
    undoing: idOf(stored.undoing),
  }
}

function readRecipients(value: unknown): Recipients {
  if (!isObject(value)) return NOBODY
  const chosen = Array.isArray(value.chosen) ? value.chosen.filter((text) => typeof text === 'string') : []
  return { chosen, typed: typeof value.typed === 'string' ? value.typed : '' }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether nothing is in it that somebody wrote or chose. */
export const isUnwritten = (draft: MailDraft): boolean =>
  KINDS.every((kind) => listed(draft[kind]).length === 0) && !draft.subject.trim() && isBlank(draft.body) && draft.files.length === 0

/** The recipients of each kind. An address that is repeated counts where it occurs first, as for the service. */
function recipientsOf(draft: MailDraft): Record<Kind, string[]> {
  const known = new Set<string>()
  const isNew = (text: string) => !known.has(addressKey(text)) && known.add(addressKey(text))
  const newOf = (kind: Kind) => listed(draft[kind]).filter(isNew)
  return { to: newOf('to'), cc: newOf('cc'), bcc: newOf('bcc') }
}

/** What the service is asked to send; null while there is no sender. @param sendAt such as `2026-03-31T09:30:00Z` */
export function inputOf(
  draft: MailDraft,
  { tableId, recordId }: { tableId: number; recordId: number },
  sendAt: string | null,
): NewEmail | null {
  if (!draft.from) return null
  const { integration, name, email } = draft.from
  const { to, cc, bcc } = recipientsOf(draft)
  return {
    tableId,
    recordId,
    smtpIntegrationId: integration,
    fromIdentity: { ...(name && { name }), email },
    to,
    ...(cc.length && { cc }),
    ...(bcc.length && { bcc }),
    subject: draft.subject,
    body: htmlOf(draft.body),
    ...(draft.signature !== null && { signatureId: draft.signature }),
    ...(draft.files.length && { attachments: draft.files.map(({ name: file, path }) => ({ name: file, path })) }),
    ...(sendAt && { sendAt }),
    ...(draft.replyTo !== null && { replyTo: draft.replyTo }),
  }
}

/** Whether two requests are the same mail, whenever it goes. */
export const isSameMail = ({ sendAt: _, ...one }: NewEmail, { sendAt: __, ...other }: NewEmail): boolean =>
  JSON.stringify(one) === JSON.stringify(other)

/** What is wrong with the mail before the service is asked, and where. */
export interface DraftProblem {
  at: 'from' | Kind | 'later' | 'files'
  kind: 'noSender' | 'nobody' | 'wrongAddress' | 'tooMany' | 'noTime' | 'past' | 'tooManyFiles' | 'tooLarge'
  /** The texts that are wrong. */
  texts?: readonly string[]
}

/** The limits on the files of a mail (docs/email.md). */
export const MOST_FILES = 50
export const MOST_BYTES = 25 * 1_048_576

/** @param now the instant as the service sees it, `YYYY-MM-DD HH:MM:SS` in UTC */
export function problemsOf(draft: MailDraft, now: string): DraftProblem[] {
  const problems: DraftProblem[] = []
  if (!draft.from) problems.push({ at: 'from', kind: 'noSender' })
  for (const kind of KINDS) {
    const { wrong } = checkRecipients([draft[kind]])
    if (wrong.length) problems.push({ at: kind, kind: 'wrongAddress', texts: wrong })
  }
  if (listed(draft.to).length === 0) problems.push({ at: 'to', kind: 'nobody' })
  if (checkRecipients(KINDS.map((kind) => draft[kind])).count > MOST_RECIPIENTS) problems.push({ at: 'to', kind: 'tooMany' })
  if (draft.later && draft.later.instant === null) problems.push({ at: 'later', kind: 'noTime' })
  if (draft.later?.instant && draft.later.instant <= now) problems.push({ at: 'later', kind: 'past' })
  if (draft.files.length > MOST_FILES) problems.push({ at: 'files', kind: 'tooManyFiles' })
  if (draft.files.reduce((sum, { size }) => sum + size, 0) > MOST_BYTES) problems.push({ at: 'files', kind: 'tooLarge' })
  return problems
}
