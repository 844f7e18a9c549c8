import type { ReplyCodes } from './reply-codes.ts'

/** What a mail server reports about one recipient of an email. */
export interface ReportedRecipient extends ReplyCodes {
  /** Lower case. The original recipient if the server names it, else the final one; null for a notice that names nobody. */
  address: string | null
  action: 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'
  /** False if the address occurs in the words of the report, but neither a code nor a cause beside it. */
  isCertain: boolean
  /** The words of the server. */
  diagnostic: string | null
}

/** The mails that a report refers to. */
export interface References {
  messageIds: string[]
  /** The id that the email had in its envelope (RFC 3461 §4.4). */
  envelopeIds: string[]
  /** The addresses in To and Cc of the returned mail, in lower case. */
  returnedTo: string[]
}

export interface DeliveryReport extends References {
  recipients: ReportedRecipient[]
}
