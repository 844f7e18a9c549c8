/** What a mail says: as it was accepted, and with the record's values in it. */
import { sanitizeHtml } from '../../platform/html.ts'
import type { Mailbox } from '../address.ts'
import type { RecipientState } from '../schema.ts'
import { type FieldTexts, resolveInHtml, resolveInSubject } from './field-tokens.ts'

/** What was accepted, as the job that sends needs it. The body is sanitised, tokens are not resolved yet. */
export interface OutgoingRequest {
  from: Mailbox
  recipients: (Mailbox & { kind: RecipientState['kind'] })[]
  subject: string
  body: string
  /** Added below the body; tokens in it are text. */
  signature: string | null
}

/** The two tokens that a mail carries, as they are encrypted until then. */
export interface MailTokens {
  reply: string
  pixel: string
}

/** Where the tokens of a mail are kept, and what for (secrets.ts). */
export const tokensContext = (messageId: string) => `outbound:${messageId}`

/** Subject and body with the record's values in place of the tokens. The result is sanitised again: a value may stand in a link. */
export function resolved(request: OutgoingRequest, fields: FieldTexts): { subject: string; html: string; unresolved: string[] } {
  const subject = resolveInSubject(request.subject, fields)
  const body = resolveInHtml(request.body, fields)
  return {
    subject: subject.text,
    html: withSignature(sanitizeHtml(body.text), request.signature),
    unresolved: [...new Set([...subject.unresolved, ...body.unresolved])],
  }
}

/** The signature stands below the body; tokens in it are text. */
export const withSignature = (body: string, signature: string | null) => (signature ? `${body}<br /><br />${signature}` : body)
