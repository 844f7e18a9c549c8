import { messageIdOf, readHeaders, valuesOf } from '../headers.ts'
import type { Message, MessagePart } from './message.ts'
import { reportParts } from './report-scope.ts'

/** The report of a mail server about one recipient of an email. */
export interface ReportedRecipient {
  /** The original recipient if the server names it, else the final one; lower case. */
  address: string
  action: 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'
  /** The enhanced status code, such as 5.1.1. */
  status: string | null
  diagnostic: string | null
}

export interface DeliveryReport {
  /** The Message-ID of the reported email, if the report quotes it. */
  originalMessageId: string | null
  recipients: ReportedRecipient[]
}

/** Parses a delivery status notification (RFC 3464). Returns null for any other message. */
export function deliveryReport(message: Message): DeliveryReport | null {
  const parts = reportParts(message)
  if (!parts) return null
  const part = parts.find(({ type }) => type === 'message/delivery-status' || type === 'message/global-delivery-status')
  const recipients = part ? recipientsOf(decodedText(part)) : []
  if (recipients.length) return { originalMessageId: originalMessageId(message, parts), recipients }

  // The older form of Exim is an ordinary mail with the failed addresses in a header.
  const failed = valuesOf(message.headers, 'x-failed-recipients').flatMap((value) => value.split(','))
  const addresses = failed.map((address) => address.trim().toLowerCase()).filter(Boolean)
  if (!addresses.length) return null
  return {
    originalMessageId: originalMessageId(message, parts),
    recipients: addresses.map((address) => ({ address, action: 'failed', status: null, diagnostic: null })),
  }
}

/** The report has groups of header fields, separated by empty lines. The first is about the message, each other one about a recipient. */
function recipientsOf(report: string): ReportedRecipient[] {
  return report
    .replace(/\r\n?/g, '\n')
    .split(/\n[ \t]*\n/)
    .flatMap((group) => {
      const fields = readHeaders(Buffer.from(group.trim()))
      const value = (key: string) => valuesOf(fields, key)[0]?.trim()
      // The original recipient is the address that the email was sent to; the final one may be a forwarding address.
      const address = addressOf(value('original-recipient')) ?? addressOf(value('final-recipient'))
      const action = ACTIONS.find((known) => value('action')?.toLowerCase().startsWith(known))
      if (!address || !action) return []
      const status = /\b[245]\.\d{1,3}\.\d{1,3}\b/.exec(value('status') ?? '')?.[0] ?? null
      return [{ address, action, status, diagnostic: value('diagnostic-code')?.replace(/^[\w-]+;\s*/, '') ?? null }]
    })
}

const ACTIONS = ['failed', 'delayed', 'delivered', 'relayed', 'expanded'] as const

/** `rfc822; Ann@example.org` */
function addressOf(value: string | undefined): string | undefined {
  return /([^\s;<>"]+@[^\s;<>"]+)/.exec(value ?? '')?.[1]?.toLowerCase()
}

/** The Message-ID of the returned mail, or of its header, that is part of the report. */
function originalMessageId(message: Message, parts: MessagePart[]): string | null {
  const returned = parts.find(({ type }) => RETURNED.has(type))
  const headers = returned ? readHeaders(Buffer.from(decodedText(returned).trimStart())) : []
  return messageIdOf(valuesOf(headers, 'message-id')[0]) ?? messageIdOf(valuesOf(message.headers, 'in-reply-to')[0])
}

const RETURNED = new Set(['message/rfc822', 'message/global', 'text/rfc822-headers', 'message/rfc822-headers', 'message/global-headers'])

const decodedText = ({ content }: MessagePart) => Buffer.from(content).toString('utf8')
