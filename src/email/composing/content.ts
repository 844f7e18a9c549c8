/** Resolves the field tokens in the subject and the body of an email to the record's values. */
import { sanitizeHtml } from '../../platform/mail/html.ts'
import type { Mailbox } from '../address.ts'
import type { RecipientState } from '../metadata.ts'
import { type FieldTexts, resolveInHtml, resolveInSubject } from './field-tokens.ts'

/** A request to send, as the job that sends it needs it. The body is sanitised; field tokens are not resolved yet. */
export interface OutgoingRequest {
  from: Mailbox
  recipients: (Mailbox & { kind: RecipientState['kind'] })[]
  subject: string
  body: string
  /** Appended to the body. Its field tokens stay text. */
  signature: string | null
  /** The comment of the mail that it answers, if the request names one. */
  replyTo?: number
  /** The user who sends, for an account key the owner, and their time zone for instants in tokens. Emails of earlier releases have none. */
  userId?: number
  timeZone?: string
}

/** The subject and the HTML body with the field tokens resolved. */
export interface ResolvedContent {
  subject: string
  html: string
  /** What tokens name that have no value, each once. */
  unresolved: string[]
}

/**
 * Resolves the field tokens of a request. A body with tokens is sanitised again, because a value may have become part of a link.
 * @throws ValuesTooLong
 */
export function resolveContent(request: OutgoingRequest, fields: FieldTexts): ResolvedContent {
  const subject = resolveInSubject(request.subject, fields)
  const body = resolveInHtml(request.body, fields)
  return {
    subject: subject.text,
    html: withSignature(body.text === request.body ? body.text : sanitizeHtml(body.text), request.signature),
    unresolved: [...new Set([...subject.unresolved, ...body.unresolved])],
  }
}

export const withSignature = (body: string, signature: string | null) => (signature ? `${body}<br /><br />${signature}` : body)
