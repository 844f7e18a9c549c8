import { createHash } from 'node:crypto'
import { type Attachment, decodeWords, type Header } from 'postal-mime'
import { mendedName } from '../../files/file-names.ts'
import type { FilePart } from '../../platform/bytes/file-part.ts'
import { sanitizeHtml } from '../../platform/mail/html.ts'
import { textOfSanitized } from '../../platform/mail/html-text.ts'
import { storable } from '../../platform/storable-text.ts'
import { authenticationResults, type SenderAuthentication } from '../authenticity/authentication-results.ts'
import { fewReferences } from '../composing/threading.ts'
import { headerValues, MAX_HEADER_BYTES, messageIdOf, oneLine, readHeaders } from '../headers.ts'
import { headerBlock } from '../mime/header-text.ts'
import { type MimeMessage, readMessage } from '../mime/message.ts'
import { mailboxesIn, type Sender, senderOf } from '../mime/senders.ts'
import { visibleText } from '../quoting/visible-text.ts'
import { hasWords } from '../quoting/words.ts'
import { isAutomatic } from '../reports/automatic.ts'
import { deliveryReport, isFromPerson } from '../reports/delivery-report.ts'
import { type Feedback, feedback } from '../reports/feedback-report.ts'
import type { DeliveryReport } from '../reports/report.ts'

/** A received message (contract.md §6, Inbound). All text can be stored: it has no NUL and no lone surrogate. */
export interface ParsedMail<Content = Uint8Array | FilePart> {
  from: { name: string; email: string }
  to: string[]
  cc: string[]
  /** Where the sender wants answers, if not at the address in From (RFC 5322 §3.6.2). */
  replyTo: string[]
  /** True if a mailing list has passed it on (RFC 2369, RFC 2919). */
  isFromList: boolean
  subject: string
  messageId: string | null
  inReplyTo: string | null
  /** The Message-IDs of the mails before it, oldest first. */
  references: string[]
  /** Outlook's name of the conversation. */
  threadIndex: string | null
  /** Identifies the message: its Message-ID, or the hash of its bytes. */
  key: string
  /** `YYYY-MM-DDTHH:MM:SS.sssZ`; null without a valid date. */
  date: string | null
  text: string
  /** The text without the quoted mail. */
  visibleText: string
  /** The sanitised HTML; null for plain-text mail. */
  html: string | null
  isAutomatic: boolean
  authentication: SenderAuthentication | null
  /** Set when the message reports on the delivery of another. */
  report: DeliveryReport | null
  /** Set when the message is a complaint about another, or its read receipt. */
  feedback: Feedback | null
  attachments: ParsedAttachment<Content>[]
  /** How many attachments are in the raw message only. */
  attachmentsLeftOut: number
  /** True if the message could not be parsed; `text` says so, and the only attachment is the raw message. */
  isUnreadable: boolean
}

export interface ParsedAttachment<Content = Uint8Array | FilePart> {
  name: string
  type: string
  content: Content
  /** By which the HTML refers to an image, without angle brackets. */
  cid: string | null
}

// Longer texts are cut, because they are shown to people and searched. The raw message is kept whole.
const MAX_TEXT = 200_000
const MAX_HTML = 1_048_576
const MAX_ATTACHMENTS = 100
const MAX_ADDRESSES = 200

/**
 * Parses a raw RFC 822 message. Bytes that are no message are returned as text. Long messages take long (25 MB: 0.3 s), so call it in
 * the process of parser.ts.
 * @param authservId the mail server whose Authentication-Results count
 * @throws Error for a message with excessive nesting or headers
 */
export async function parseMail(raw: Uint8Array, authservId?: string): Promise<ParsedMail<Uint8Array>> {
  const email = await readMessage(raw)
  const report = deliveryReport(email, raw)
  const html = email.html ? readableHtml(storable(email.html, MAX_HTML)) : null
  const text = storable(hasWords(email.text) ? (email.text ?? '') : textOfSanitized(html ?? ''), MAX_TEXT)
  const fields = fieldsOf(email.headers, raw, { authservId, isPerson: isFromPerson(email) })
  return {
    ...fields,
    isAutomatic: fields.isAutomatic || isReportByType(email),
    text,
    visibleText: visibleText(text),
    html,
    report,
    feedback: feedback(email),
    attachments: email.attachments.slice(0, MAX_ATTACHMENTS).map(parsedAttachment),
    attachmentsLeftOut: Math.max(0, email.attachments.length - MAX_ATTACHMENTS),
    isUnreadable: false,
  }
}

/** Sanitised HTML. A comment or a style sheet without an end hides all below it; its beginning is taken away if no words remain. */
function readableHtml(given: string): string {
  const html = sanitizeHtml(given)
  if (hasWords(html.replace(/<[^>]*>/g, ''))) return html
  const mended = withoutUnended(given)
  return mended === given ? html : sanitizeHtml(mended)
}

function withoutUnended(html: string): string {
  const lowerCase = html.toLowerCase()
  const lastEnds = new Map(HIDING.map((name) => [name, lowerCase.lastIndexOf(`</${name}`)]))
  const lastComment = html.lastIndexOf('-->')
  return html.replace(/<!--|<([a-z]+)[^<>]*>/gi, (beginning, name: string | undefined, index: number) => {
    const lastEnd = name === undefined ? lastComment : lastEnds.get(name.toLowerCase())
    return lastEnd !== undefined && index > lastEnd ? '' : beginning
  })
}

/** Elements whose content is not shown. */
const HIDING = ['style', 'script', 'title', 'textarea', 'option', 'xmp', 'noscript', 'noembed', 'noframes', 'template']

const REPORTS = ['message/delivery-status', 'message/global-delivery-status', 'message/feedback-report', 'message/disposition-notification']

/** True for a report of any content, such as a failed check of signatures, which many programs send from ordinary addresses. */
const isReportByType = ({ type, parts }: MimeMessage) => type === 'multipart/report' && parts.some((part) => REPORTS.includes(part.type))

const UNREADABLE = 'This message could not be read. It is attached as message.eml.'
/** Longer header fields of an unreadable message are cut, because the time of the address parser grows with the square of the length. */
const MAX_FIELD = 2_000
const LINE_END = Buffer.from('\n')

/**
 * The comment on a message that `parseMail` cannot parse: its header as far as it can be read, and the raw message as an attachment.
 * @param start its first bytes, at least its headers or MAX_HEADER_BYTES
 */
export function unreadableMail(start: Uint8Array, raw: Uint8Array | FilePart, authservId?: string): ParsedMail {
  const { lines } = headerBlock(start.subarray(0, MAX_HEADER_BYTES), 0, () => undefined)
  const headers = readHeaders(Buffer.concat(lines.flatMap((line) => [line.subarray(0, MAX_FIELD), LINE_END])))
  return {
    ...fieldsOf(headers, raw, { authservId, isPerson: false }),
    text: UNREADABLE,
    visibleText: UNREADABLE,
    html: null,
    report: null,
    feedback: null,
    attachments: [{ name: 'message.eml', type: 'message/rfc822', content: raw, cid: null }],
    attachmentsLeftOut: 0,
    isUnreadable: true,
  }
}

/** What the header of a message says. */
function fieldsOf(
  headers: Header[],
  raw: Uint8Array | FilePart,
  { authservId, isPerson }: { authservId: string | undefined; isPerson: boolean },
) {
  const value = (key: string) => headerValues(headers, key).find(Boolean) ?? ''
  const subject = storable(oneLine(decodeWords(value('subject'))), 1000)
  const from = mailbox(senderOf(headers))
  const messageId = messageIdOf(value('message-id'))
  const date = new Date(value('date'))
  const recipients = (key: string) => addressesOf(headerValues(headers, key).flatMap(mailboxesIn))
  return {
    from,
    to: recipients('to'),
    cc: recipients('cc'),
    replyTo: recipients('reply-to').filter((address) => address !== from.email),
    isFromList: Boolean(value('list-id') || value('list-post')),
    subject,
    messageId,
    inReplyTo: messageIdOf(value('in-reply-to')),
    references: fewReferences(value('references').match(MESSAGE_ID) ?? []),
    threadIndex: threadIndexOf(value('thread-index')),
    key: messageId ?? sha256Of(raw).toString('hex'),
    date: Number.isNaN(date.getTime()) ? null : date.toISOString(),
    isAutomatic: isAutomatic(headers, { from: from.email, subject, isPerson }),
    authentication: authenticationResults(headers, authservId),
  }
}

const MESSAGE_ID = /<[^<>\s\p{Cc}]{1,250}>/gu

/** Outlook's index, if it is one (MS-OXOMSG §2.2.1.3): 22 bytes, and 5 for each answer. */
function threadIndexOf(value: string): string | null {
  const bytes = Buffer.from(value, 'base64').byteLength
  const answers = (bytes - 22) / 5
  return Number.isInteger(answers) && answers >= 0 && answers <= MAX_ANSWERS ? Buffer.from(value, 'base64').toString('base64') : null
}

const MAX_ANSWERS = 100

const sha256Of = (raw: Uint8Array | FilePart) => (raw instanceof Uint8Array ? createHash('sha256').update(raw).digest() : raw.sha256)

function parsedAttachment({ filename, mimeType, content, contentId }: Attachment, index: number): ParsedAttachment<Uint8Array> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : new Uint8Array(content)
  return {
    name: fileName(filename, mimeType, bytes, index),
    type: /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/.test(mimeType) ? mimeType : 'application/octet-stream',
    content: bytes,
    cid: contentId ? storable(oneLine(contentId).replace(/^<|>$/g, ''), 250) : null,
  }
}

const mailbox = ({ name, address }: Sender): ParsedMail['from'] => ({
  name: storable(oneLine(name), 200),
  email: storable(oneLine(address).toLowerCase(), 320),
})

const addressesOf = (mailboxes: Sender[]): string[] =>
  mailboxes
    .map((one) => mailbox(one).email)
    .filter(Boolean)
    .slice(0, MAX_ADDRESSES)

/** The sender's file name; for a message in the message its subject; or else a generated one. */
function fileName(given: string | null, type: string, content: Uint8Array, index: number): string {
  const subject = !given && /^message\/(rfc822|global)$/.test(type) ? oneLine(decodeWords(subjectOf(content))).slice(0, 200) : ''
  return mendedName(given || (subject && `${subject.replace(/[/\\:]/g, '-')}.eml`), `attachment-${index + 1}${EXTENSIONS[type] ?? ''}`)
}

/** As the header has it, in UTF-8. */
function subjectOf(message: Uint8Array): string {
  const { lines } = headerBlock(message.subarray(0, MAX_HEADER_BYTES), 0, () => undefined)
  return lines.map((line) => /^subject[ \t]*:(.*)$/is.exec(line.toString())?.[1]?.trim()).find(Boolean) ?? ''
}

const EXTENSIONS: Record<string, string> = {
  'message/rfc822': '.eml',
  'message/global': '.eml',
  'text/calendar': '.ics',
  'text/html': '.html',
  'text/plain': '.txt',
  'image/jpeg': '.jpg',
  'image/png': '.png',
  'image/gif': '.gif',
  'application/pdf': '.pdf',
}
