/**
 * Which messages count as reports about an email (contract.md §6, Not a reply). People forward failure reports and answer below them, so a
 * report counts only if it is the message itself, and only for the email that it is about.
 */
import { envelopeIdOf, headerValues } from '../headers.ts'
import type { MessagePart, MimeMessage } from '../mime/message.ts'
import { isAutomatic } from './automatic.ts'
import type { DeliveryReport, References, ReportedRecipient } from './report.ts'

/**
 * The parts that a report may be read from, or null for a message by a person. The message must have the type of a report, or an automatic
 * sender, because older servers report in ordinary mails. Parts of forwarded messages are left out.
 */
export function reportParts(message: MimeMessage): MessagePart[] | null {
  return message.type === 'multipart/report' || isFromServer(message) ? message.parts : null
}

function isFromServer({ headers, from, subject = '' }: MimeMessage): boolean {
  return (
    isAutomatic(headers, { from: from?.address ?? '', subject }) ||
    headerValues(headers, 'x-failed-recipients').length > 0 ||
    /\b(mail(er)?[ -](delivery|administrator|daemon)|mailer-daemon|postmaster)\b/i.test(from?.name ?? '')
  )
}

/** The email that a report may be about. */
export interface ReportedEmail {
  messageId: string
  recipients: readonly { email: string }[]
}

/**
 * True if the report is about the email: it returns its Message-ID or names one of its recipients. The reply address alone proves nothing,
 * because everyone who received the email knows it.
 */
export function isAbout(report: References & { recipients: readonly { address: string | null }[] }, email: ReportedEmail): boolean {
  return refersTo(report, email) || report.recipients.some(({ address }) => address !== null && addressesOf(email).includes(address))
}

/** What the report says about each recipient of the email that it names, by address in lower case. */
export function reportedAbout(report: DeliveryReport, email: ReportedEmail): Map<string, ReportedRecipient> {
  const addresses = addressesOf(email)
  const named = report.recipients.filter(({ address }) => address !== null && addresses.includes(address))
  const certain = named.filter(({ isCertain }) => isCertain)
  // Without a code or a cause beside it, an address proves little, because a report may quote all recipients of the mail.
  const found = certain.length ? certain : named
  const [only, ...others] = addresses
  const [first] = report.recipients
  // An email with one recipient may have been forwarded, so a report about another address is about that recipient, too.
  if (!found.length && only !== undefined && !others.length && first && refersTo(report, email)) return new Map([[only, first]])
  return new Map(found.toReversed().map((recipient) => [recipient.address ?? '', recipient]))
}

/** True if the report returns the email: its Message-ID, or for an email with one recipient that one in its To. */
export function refersTo({ messageIds, envelopeIds, returnedTo }: References, email: ReportedEmail): boolean {
  const [only, ...others] = addressesOf(email)
  if (envelopeIds.includes(envelopeIdOf(email.messageId))) return true
  return messageIds.includes(email.messageId) || (only !== undefined && !others.length && returnedTo.includes(only))
}

const addressesOf = ({ recipients }: ReportedEmail) => recipients.map(({ email }) => email.toLowerCase())
