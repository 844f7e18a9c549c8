/** The failures of a delivery, in the terms of the API. */
import type SMTPConnection from 'nodemailer/lib/smtp-connection'
import { storable } from '../../platform/storable-text.ts'

/** The answer of an SMTP server, or the reason why none was reached. */
export interface Failure {
  /** permanent: the server refuses. temporary: a retry may succeed. unknown: the message was handed over, but no answer was received. */
  kind: 'permanent' | 'temporary' | 'unknown'
  /** The reply code of the server, or a code of this service such as CONNECTION. */
  code: string
  /** The enhanced status code, such as 5.1.1. */
  enhanced: string | null
  message: string
}

export interface RefusedRecipient {
  address: string
  failure: Failure
}

/** The delivery failed for all recipients. */
export class DeliveryError extends Error {
  readonly failure: Failure
  /** The recipients that the server had refused by themselves before the delivery failed. */
  readonly refused: readonly RefusedRecipient[]
  /** True if any other mail through the integration would fail, too. */
  readonly isFault: boolean
  constructor(failure: Failure, { refused = [], isFault = false }: { refused?: readonly RefusedRecipient[]; isFault?: boolean } = {}) {
    super(failure.message)
    this.failure = failure
    this.refused = refused
    this.isFault = isFault
  }
}

export type SmtpError = SMTPConnection.SMTPError

export function failureOf(error: SmtpError, isHandedOver: boolean): Failure {
  const { responseCode, permanent } = error
  const text = storable(error.response ?? error.message, 500)
  const enhanced = /^\d{3}[ -]([245]\.\d{1,3}\.\d{1,3})\b/.exec(error.response ?? '')?.[1] ?? null
  // Any other answer to a whole content does not refuse it: a server whose answers are late may have taken it, and still has to say so.
  const isRefusal = isHandedOver ? REFUSAL.test(String(responseCode)) : responseCode
  if (isRefusal) return { kind: permanent ? 'permanent' : 'temporary', code: String(responseCode), enhanced, message: text }
  if (isHandedOver)
    return {
      kind: 'unknown',
      code: 'OUTCOME_UNKNOWN',
      enhanced,
      message: 'The message was handed over, but the answer of the server was not received; it may have been delivered',
    }
  return { kind: 'temporary', code: WORDS[error.code ?? ''] ?? 'CONNECTION', enhanced, message: text }
}

/** The codes with which a server refuses for now or for good (RFC 5321 §4.2.1). */
const REFUSAL = /^[45]\d\d$/

/** True for an error before the first mail that will not go away by itself: a refused connection or sign-in, or an invalid certificate. */
export const isFaultOfServer = ({ responseCode = 0, code, originalCode }: SmtpError & { originalCode?: string | undefined }): boolean =>
  responseCode >= 500 || code === 'EAUTH' || CERTIFICATE.test(originalCode ?? '')

/** The codes of OpenSSL and Node for certificates that are not trusted, not valid any more, or for another name. */
const CERTIFICATE = /CERT|ALTNAME|UNABLE_TO_(VERIFY|GET_ISSUER)/

const WORDS: Record<string, string> = {
  ETIMEDOUT: 'TIMEOUT',
  ETLS: 'TLS',
  EAUTH: 'AUTH',
  EDNS: 'DNS',
  ESTREAM: 'ATTACHMENT',
  EMESSAGE: 'MESSAGE',
}
