/**
 * Which messages count as reports about an email (contract.md §6, Not a reply). People forward failure reports and answer below them, so a
 * report counts only if it is the message itself, and only for the email that it is about.
 */
import { isAutomatic, valuesOf } from '../headers.ts'
import type { Message, MessagePart } from './message.ts'

/**
 * The parts that a report may be read from, or null for a message by a person. The message must have the type of a report, or an automatic
 * sender, because older servers report in ordinary mails. Parts of forwarded messages are left out.
 */
export function reportParts(message: Message): MessagePart[] | null {
  return message.type === 'multipart/report' || isFromServer(message) ? message.parts : null
}

function isFromServer({ headers, from, subject = '' }: Message): boolean {
  return (
    isAutomatic(headers, { from: from?.address ?? '', subject }) ||
    valuesOf(headers, 'x-failed-recipients').length > 0 ||
    /\b(mail(er)?[ -](delivery|administrator|daemon)|mailer-daemon|postmaster)\b/i.test(from?.name ?? '')
  )
}

/**
 * True if the report is about the email: it returns its Message-ID or names one of its recipients. The reply address alone proves nothing,
 * because everyone who received the email knows it.
 */
export function isAbout(
  report: { originalMessageId: string | null; recipients: readonly { address: string }[] },
  email: { messageId: string; recipients: readonly { email: string }[] },
): boolean {
  if (report.originalMessageId === email.messageId) return true
  const addresses = new Set(email.recipients.map(({ email }) => email.toLowerCase()))
  return report.recipients.some(({ address }) => addresses.has(address))
}
