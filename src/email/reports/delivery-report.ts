import { textOfHtml } from '../../platform/mail/html-text.ts'
import { headerValues, messageIdOf, readHeaders } from '../headers.ts'
import type { MessagePart, MimeMessage } from '../mime/message.ts'
import { decodedText } from '../mime/text-charset.ts'
import { introductionsIn, NO_LETTER_AFTER, NO_LETTER_BEFORE } from '../quoting/introduction.ts'
import { WROTE } from '../quoting/phrases.ts'
import { hasNullSender, isAnswer, isAutoSubmitted } from './automatic.ts'
import { aboveReturned, addressesIn, isFromMailSystem, type NoticeSource, noticedRecipients } from './failure-notice.ts'
import { codesIn, isGeneral } from './reply-codes.ts'
import type { DeliveryReport, References, ReportedRecipient } from './report.ts'
import { reportParts } from './report-scope.ts'

/**
 * Reads a report about the delivery of a mail, in the form of RFC 3464 or in words. Returns null for any other message.
 * @param raw the whole message, which is searched if its parts say nothing, because some servers send parts without their MIME headers
 */
export function deliveryReport(message: MimeMessage, raw: Uint8Array): DeliveryReport | null {
  if (isFromPerson(message)) return null
  const head = headOf(message)
  const isSystem = isFromMailSystem(head)
  const parts = reportParts(message) ?? (isSystem ? message.parts : null)
  // A complaint, a failed check of signatures or a read receipt is about a mail that has arrived, also if a mail system sends it.
  if (!parts || (message.type === 'multipart/report' && parts.some(({ type }) => ARRIVED.has(type)))) return null
  const source = { ...head, text: readableText(message.parts) }
  const status = parts.filter(({ type }) => STATUS.has(type)).map(decoded)
  const noticed = isSystem || status.length ? noticedRecipients(source) : []
  const read = recipientsIn(status.length || !isSystem ? status.join('\n\n') : fieldsIn(source.text), noticed)
  const searched =
    isSystem && !read.some((said) => said.action !== 'failed' || namesCause(said))
      ? recipientsInText({ ...source, text: rawBody(raw) })
      : []
  // The words of an encoded part can be read in the part only.
  const recipients = searched.some(namesCause) || !read.length ? searched : read
  if (!recipients.length) return null
  const returned = parts.filter(({ type }) => RETURNED.has(type)).map(decoded)
  return { ...referencesOf(message, [...returned, rawBody(raw)]), recipients }
}

/**
 * True for an answer or a quote that no program marks as its own. People also write from the addresses of mail systems, such as
 * postmaster@, and about failures. Only the four marks of reports prove the contrary: real reports have an In-Reply-To and a mailer, too.
 */
export function isFromPerson({ headers, type, subject = '', parts }: MimeMessage): boolean {
  if (type === 'multipart/report' || headerValues(headers, 'x-failed-recipients').length) return false
  if (isAutoSubmitted(headers) || hasNullSender(headers)) return false
  return isAnswer(subject) || introducesQuote(aboveReturned(readableText(parts)))
}

/** Without quote marks the introduction needs a verb: an address above the words of its server looks like one, too. */
const WRITTEN = new RegExp(`${NO_LETTER_BEFORE}(${WROTE})${NO_LETTER_AFTER}`, 'iu')

function introducesQuote(lines: string[]): boolean {
  const isQuoted = (line = '') => line.startsWith('>') && !/^>>> ?[a-z]{4}\b/i.test(line)
  const isBelow = (end: number) => isQuoted(lines.slice(end + 1).find((line) => line.trim()))
  return [...introductionsIn(lines)].some(([start, { end }]) => isBelow(end) || WRITTEN.test(lines.slice(start, end + 1).join(' ')))
}

const namesCause = ({ code, status, diagnostic }: ReportedRecipient) => code !== null || status !== null || diagnostic !== null

const ARRIVED = new Set(['message/feedback-report', 'message/disposition-notification'])
const STATUS = new Set(['message/delivery-status', 'message/global-delivery-status'])
export const RETURNED = new Set([
  'message/rfc822',
  'message/global',
  'text/rfc822-headers',
  'message/rfc822-headers',
  'message/global-headers',
])

/** The bytes of a message that are searched. */
const MAX_BODY = 131_072

const headOf = ({ headers, from, subject = '', parts }: MimeMessage): Omit<NoticeSource, 'text'> => ({
  headers,
  from: { name: from?.name ?? '', email: from?.address ?? '' },
  subject,
  hasReturned: parts.some(({ type }) => RETURNED.has(type)),
})

const readableText = (parts: MessagePart[]): string => textIn(parts, 'text/plain') || textOfHtml(textIn(parts, 'text/html'))

/** The first text that is not empty. Further ones are often the returned mail. */
const textIn = (parts: MessagePart[], wanted: string): string =>
  parts
    .filter(({ type }) => type === wanted)
    .map(decoded)
    .find((text) => text.trim()) ?? ''

/** The text of a part, as far as it is searched. */
export const decoded = ({ type, charset, content }: MessagePart): string =>
  decodedText(content.subarray(0, MAX_BODY), charset ?? undefined, type === 'text/html')

function rawBody(raw: Uint8Array): string {
  const text = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.byteLength, MAX_BODY)).toString('utf8')
  const end = /\r?\n\r?\n/.exec(text)
  return end ? text.slice(end.index) : ''
}

/** The recipients in the fields of a report, with what its words add, and those that only the words name. */
function recipientsIn(fields: string, noticed: ReportedRecipient[]): ReportedRecipient[] {
  const reported = recipientsOf(fields).map((recipient) => completed(recipient, noticed))
  // The words add nothing about mails that were delivered.
  return reported.length && !reported.some(({ action }) => action === 'failed') ? reported : [...reported, ...noticed]
}

/** The text if it has the fields of a report. */
const fieldsIn = (text: string): string => (/^(final|original)-recipient\s*:/im.test(text) ? text : '')

function recipientsInText(source: NoticeSource): ReportedRecipient[] {
  return recipientsIn(fieldsIn(source.text), noticedRecipients(source))
}

/**
 * The report has groups of header fields, separated by empty lines. The first is about the message, each other one about a recipient. Some
 * servers leave out the empty lines, so a field that is there already begins a group, too.
 */
function recipientsOf(report: string): ReportedRecipient[] {
  return report
    .replace(/\r\n?/g, '\n')
    .split(/\n[ \t]*\n/)
    .flatMap((group) => groupsIn(group.trim()))
    .flatMap((fields) => recipientOf(fields) ?? [])
}

type Fields = Map<string, string>

function groupsIn(text: string): Fields[] {
  const groups: Fields[] = [new Map()]
  for (const { key, value } of readHeaders(Buffer.from(text))) {
    const last = groups.at(-1)
    if (last && beginsGroup(key, last)) groups.push(new Map())
    const group = groups.at(-1)
    if (group && !group.has(key)) group.set(key, value.trim())
  }
  return groups
}

/** Exim writes the action above the recipient, most servers below. */
function beginsGroup(key: string, group: Fields): boolean {
  const isRecipient = RECIPIENT_FIELDS.includes(key)
  if (!isRecipient && key !== 'action') return false
  return group.has(key) || (isRecipient && group.has('action') && RECIPIENT_FIELDS.some((field) => group.has(field)))
}

const RECIPIENT_FIELDS = ['original-recipient', 'final-recipient']

function recipientOf(fields: Fields): ReportedRecipient | undefined {
  // The original recipient is the address that the email was sent to; the final one may be a forwarding address.
  const address = addressOf(fields.get('original-recipient')) ?? addressOf(fields.get('final-recipient'))
  const given = fields.get('status') ?? ''
  const action = actionOf(fields.get('action'), given)
  if (!address || !action) return undefined
  const diagnostic = fields.get('diagnostic-code')?.replace(/^[\w-]+\s*;\s*/, '') || null
  const { code, status } = codesIn(diagnostic ?? '')
  // The words of the server name the cause more often than the status, which may be 5.0.0 for everything.
  return { address, action, isCertain: true, code, status: isGeneral(status) ? (codesIn(given).status ?? status) : status, diagnostic }
}

const ACTIONS = ['failed', 'delayed', 'delivered', 'relayed', 'expanded'] as const

/** What some servers write instead of an action, such as `expired` or `failure`, and Postfix `deliverable` in the report of a test. */
const OTHER_ACTIONS: readonly (readonly [words: RegExp, action: ReportedRecipient['action']])[] = [
  [/^(fail|expire|undeliver|reject|bounce)/, 'failed'],
  [/^(delay|defer|retr|transient|queue|warn)/, 'delayed'],
  [/^(deliver|success|accept)/, 'delivered'],
  [/^(relay|forward)/, 'relayed'],
]

/** A group without an action has failed, or was delivered, if its status says so. */
function actionOf(action: string | undefined, status: string): ReportedRecipient['action'] | undefined {
  const given = action?.toLowerCase().trim()
  if (!given) return /^[45]\./.test(status) ? 'failed' : /^2\./.test(status) ? 'delivered' : undefined
  return ACTIONS.find((known) => given.startsWith(known)) ?? OTHER_ACTIONS.find(([words]) => words.test(given))?.[1]
}

/** The recipient with the code and the cause that the words of the report name and its fields do not. */
function completed(recipient: ReportedRecipient, noticed: ReportedRecipient[]): ReportedRecipient {
  const own = noticed.find(({ address, isCertain }) => isCertain && address === recipient.address)
  const words = own ?? noticed.find(({ address }) => address === null)
  if (!words || (recipient.action !== 'failed' && recipient.action !== 'delayed')) return recipient
  return {
    ...recipient,
    code: recipient.code ?? words.code,
    status: isGeneral(recipient.status) && !isGeneral(words.status) ? words.status : (recipient.status ?? words.status),
    diagnostic: recipient.diagnostic ?? words.diagnostic,
  }
}

/** `rfc822; Ann@example.org` */
const addressOf = (value: string | undefined): string | undefined => ADDRESS.exec(value ?? '')?.[0]?.toLowerCase()

/** It begins where a word begins, so that the expression does not search a long word from each of its letters. */
const ADDRESS = /(?<![^\s;<>"])[^\s;<>"]+@[^\s;<>"]+/

const MAX_REFERENCES = 50

/** The mails that the report refers to: by the header of the returned mail, attached or in the text, and by the headers of the report. */
export function referencesOf(message: MimeMessage, returned: string[]): References {
  const unfolded = returned.map((text) => text.replace(/\r?\n[> ]*[ \t]+/g, ' '))
  const fields = unfolded.flatMap((text) => [...text.matchAll(/^[> \t]*(message-id|original-envelope-id|to|cc)[ \t]*:(.*)/gim)])
  const values = (wanted: string) => fields.flatMap(([, key, value = '']) => (key?.toLowerCase() === wanted ? value : []))
  const inHeaders = ['in-reply-to', 'references', 'x-original-message-id'].flatMap((key) => headerValues(message.headers, key))
  const ids = [...values('message-id'), ...inHeaders].flatMap((value) => value.match(/<[^<>\s]+>/g) ?? []).filter((id) => messageIdOf(id))
  const addresses = [...values('to'), ...values('cc')].flatMap(addressesIn)
  const few = (references: string[]) => [...new Set(references)].slice(0, MAX_REFERENCES)
  const envelopeIds = values('original-envelope-id').map((id) => id.trim())
  return { messageIds: few(ids), envelopeIds: few(envelopeIds), returnedTo: few(addresses) }
}
