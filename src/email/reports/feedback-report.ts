/**
 * Complaints (RFC 5965) and read receipts (RFC 8098), as they are received. The parser's process loads this file, so it imports nothing
 * that knows a database.
 */
import { headerValues, readHeaders } from '../headers.ts'
import type { MessagePart, MimeMessage } from '../mime/message.ts'
import { decoded, RETURNED, referencesOf } from './delivery-report.ts'
import { addressesIn } from './failure-notice.ts'
import type { References } from './report.ts'

export interface Feedback extends References {
  kind: 'complaint' | 'receipt'
  /** The type of the complaint, such as abuse, or the disposition of the receipt, such as displayed. */
  type: string
  /** The recipients that the report names, in lower case. Providers often leave out who complains. */
  addresses: string[]
}

/** Reads a complaint or a read receipt. Returns null for any other message. */
export function feedback(message: MimeMessage): Feedback | null {
  const { parts } = message
  const partOf = (type: string) => (message.type === 'multipart/report' ? parts.find((part) => part.type === type) : undefined)
  const complaint = partOf('message/feedback-report')
  if (complaint) return complaintIn(message, complaint)
  const receipt = partOf('message/disposition-notification')
  return receipt ? receiptIn(message, receipt) : hotmailComplaint(message)
}

/** The types of feedback that say that a mail is unwanted (RFC 5965 §7.3). Others take a complaint back, or are about signatures. */
const UNWANTED = ['abuse', 'fraud', 'opt-out', 'opt-out-list', 'complaint']

function complaintIn(message: MimeMessage, part: MessagePart): Feedback | null {
  const { fields, values } = fieldsOf(part)
  const type = fields('feedback-type').toLowerCase()
  if (!UNWANTED.includes(type)) return null
  return { kind: 'complaint', type, addresses: [...values('original-rcpt-to'), ...values('removal-recipient')], ...returnedIn(message) }
}

function receiptIn(message: MimeMessage, part: MessagePart): Feedback {
  const { fields, values } = fieldsOf(part)
  const type = /;\s*([\w-]{1,50})/.exec(fields('disposition'))?.[1]?.toLowerCase() ?? 'displayed'
  const { messageIds, ...references } = returnedIn(message)
  const ids = fields('original-message-id').match(/<[^<>\s]+>/g) ?? []
  const addresses = [...values('original-recipient'), ...values('final-recipient')]
  return { kind: 'receipt', type, addresses, ...references, messageIds: [...messageIds, ...ids] }
}

/** Hotmail and Outlook.com return the mail alone, with the recipient who complains in a field of its header. */
function hotmailComplaint(message: MimeMessage): Feedback | null {
  const returned = message.parts.find(({ type }) => type === 'message/rfc822')
  if (!returned || !/^complaint about message from /i.test(message.subject ?? '')) return null
  if (!/@([\w-]+\.)*(hotmail|outlook|live|microsoft)\.com$/i.test(message.from?.address ?? '')) return null
  return { kind: 'complaint', type: 'abuse', addresses: fieldsOf(returned).values('x-hmxmroriginalrecipient'), ...returnedIn(message) }
}

const returnedIn = (message: MimeMessage): References =>
  referencesOf(message, message.parts.filter(({ type }) => RETURNED.has(type)).map(decoded))

function fieldsOf(part: MessagePart) {
  const headers = readHeaders(Buffer.from(decoded(part).trimStart()))
  return {
    fields: (key: string) => headerValues(headers, key)[0] ?? '',
    values: (key: string) => headerValues(headers, key).flatMap(addressesIn).slice(0, 50),
  }
}
