/** Hands an email over to the server: at once, or as a copy for each recipient (docs/decisions/0028-return-addresses.md). */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Context } from '../../platform/context.ts'
import { inSpan } from '../../platform/tracing.ts'
import { signerOf } from '../authenticity/dkim-keys.ts'
import type { ResolvedContent } from '../composing/content.ts'
import { compose } from '../composing/message.ts'
import { envelopeIdOf } from '../headers.ts'
import { type ServerRow, serverOf } from '../integrations.ts'
import { deliverySeconds } from '../metrics.ts'
import type { OutboundMail } from '../queries.ts'
import type { Server } from '../smtp/connections.ts'
import { DeliveryError, type Failure } from '../smtp/failure.ts'
import { KeptContent } from '../smtp/kept-content.ts'
import { type Delivery, deliver } from '../smtp/transport.ts'
import { type Copy, type Lease, LeaseLost } from './lease.ts'
import type { LoadedMail } from './loading.ts'
import { failedForAll, type Outcome } from './outcome.ts'
import { newReturnAddresses } from './return-addresses.ts'
import type { Stamping } from './stamping.ts'

/** An email that is still there. */
export type Mail = LoadedMail & { mail: OutboundMail }

interface Attempt {
  context: Context
  recorder: Stamping
  lease: Lease
  loaded: Mail
  /** The recipients to try. */
  to: readonly string[]
  content: ResolvedContent
}

/**
 * Hands the email over. If it has several recipients, and failure reports come back to the service, each gets a copy with a return address of
 * its own: only the server of the recipient knows this address, so no other recipient can forge a report about it.
 * @throws LeaseLost; the reason of the signal; any error that occurs before the end of the content is sent
 */
export function handOver(attempt: Attempt): Promise<Outcome> {
  const { request, reply_as_envelope } = attempt.loaded.mail
  return reply_as_envelope && request.recipients.length > 1 ? handOverCopies(attempt) : handOverToAll(attempt)
}

async function handOverToAll(attempt: Attempt): Promise<Outcome> {
  const { to } = attempt
  const { hand, envelopeFrom } = await prepared(attempt)
  try {
    const { accepted, refused } = await hand({ from: envelopeFrom, to: [...to] })
    return { accepted: new Set(accepted.map((address) => address.toLowerCase())), refused: byAddress(refused), others: NO_ANSWER }
  } catch (error) {
    return failureOfAll(attempt, error)
  }
}

/** An attempt begins no further copy after this time, so that a slow server does not hold a connection for hours. */
const COPIES_MS = 600_000

/** The answers to the copies so far. Addresses are in lower case. */
interface Answers {
  accepted: Set<string>
  refused: Map<string, Failure>
  /** The positions of those who are accepted. */
  delivered: number[]
}

/** Hands over one copy after the other, up to a failure that is not that of a copy alone. The other recipients are left for the next attempt. */
async function handOverCopies(attempt: Attempt): Promise<Outcome> {
  const { context, loaded, to } = attempt
  const { hand } = await prepared(attempt)
  const returnAddresses = await newReturnAddresses(context, loaded.mail, to)
  const answers: Answers = { accepted: new Set(), refused: new Map(), delivered: [] }
  const until = performance.now() + COPIES_MS
  try {
    for (const email of to) {
      const current = positionOf(loaded.mail, email)
      const copy = { delivered: [...answers.delivered], current }
      const isLost = await noteAnswer(answers, { email, current }, hand({ from: returnAddresses.get(email) ?? '', to: [email] }, copy))
      if (isLost || performance.now() > until) break
    }
  } catch (error) {
    // Without an answer for anybody it does not matter that there are copies.
    if (!answers.accepted.size && !answers.refused.size) return failureOfAll(attempt, error)
    return { ...afterFailure(attempt, error), ...answers }
  }
  return { ...answers, others: NO_ANSWER }
}

const positionOf = ({ metadata }: OutboundMail, address: string) => metadata.recipients.findIndex(({ email }) => email === address)

/** Notes the answer to a copy. @returns true if the connection was lost before it came @throws any failure that is not that of the copy alone */
async function noteAnswer(
  { accepted, refused, delivered }: Answers,
  { email, current }: { email: string; current: number },
  delivery: Promise<Delivery>,
): Promise<boolean> {
  const address = email.toLowerCase()
  try {
    const answer = await delivery
    for (const [key, failure] of byAddress(answer.refused)) refused.set(key, failure)
    if (!answer.accepted.length) return false
    accepted.add(address)
    delivered.push(current)
    return false
  } catch (error) {
    const isLost = error instanceof DeliveryError && error.failure.kind === 'unknown'
    if (!(error instanceof DeliveryError) || !(error.isOfMail || isLost)) throw error
    refused.set(address, error.failure)
    return isLost
  }
}

/** What a failure means for the recipients without an answer, when others have one. */
function afterFailure(attempt: Attempt, error: unknown): Partial<Outcome> {
  const { context } = attempt
  // Another worker has the email, or this one stops: these recipients stay as they are.
  if (error instanceof LeaseLost || (context.signal.aborted && error === context.signal.reason)) return {}
  return error instanceof DeliveryError ? failureOfAll(attempt, error) : { others: unexpected(context, error) }
}

function failureOfAll({ loaded }: Attempt, error: unknown): Outcome {
  if (!(error instanceof DeliveryError)) throw error
  const { failure, refused, isFault } = error
  // A fault of the integration is no reason to drop the mail, even if the server calls it permanent.
  if (isFault) return { ...failedForAll({ ...failure, kind: 'temporary' }), fault: { version: loaded.mail.integration_version } }
  return { ...failedForAll(failure), refused: byAddress(refused) }
}

/** What handing over an email needs, once for all of its copies. */
async function prepared({ context, recorder, lease, loaded: { mail, thread }, content }: Attempt) {
  const { message, envelopeFrom } = compose(context, mail, thread, content)
  const server = serverOf(context, mail.server as ServerRow)
  const id = envelopeIdOf(mail.metadata.messageId)
  const dkim = await signerOf(context, mail.dkim)
  const kept = new KeptContent()
  let change = changeTo(mail, content)

  function hand(envelope: { from: string; to: string[] }, copy?: Copy): Promise<Delivery> {
    const beforeEnd = async () => {
      await recorder.stamp({ lease, change, ...(copy && { copy }) })
      change = undefined
    }
    const options = { allowPrivate: context.settings.smtpAllowPrivate, beforeEnd, signal: context.signal, dkim, ...(copy && { kept }) }
    return measured(context, server, () => deliver(server, { ...envelope, id }, message, options))
  }

  return { hand, envelopeFrom }
}

/** Notes how long the dialogue with the server took, in the metrics and in a span. */
async function measured({ metrics }: Context, { host, port }: Server, dialogue: () => Promise<Delivery>): Promise<Delivery> {
  const startedAt = performance.now()
  let outcome = 'failed'
  try {
    const delivery = await inSpan(
      'SMTP deliver',
      { kind: 'client', attributes: { 'server.address': host, 'server.port': port } },
      async (span) => {
        const { accepted, refused } = await dialogue()
        span?.set({ 'gridpost.smtp.accepted': accepted.length, 'gridpost.smtp.refused': refused.length })
        return { accepted, refused }
      },
    )
    outcome = delivery.accepted.length ? 'accepted' : 'refused'
    return delivery
  } finally {
    metrics.observe(deliverySeconds, (performance.now() - startedAt) / 1000, { outcome })
  }
}

/** How the comment changes to show the content; undefined if it shows it already. */
function changeTo(mail: OutboundMail, { html, ...metadata }: ResolvedContent) {
  const { subject, unresolved } = mail.metadata
  const isShown = mail.content === html && isDeepStrictEqual({ subject, unresolved }, metadata)
  return isShown ? undefined : { metadata, content: html }
}

const byAddress = (refused: DeliveryError['refused']) => new Map(refused.map(({ address, failure }) => [address.toLowerCase(), failure]))

const NO_ANSWER: Failure = {
  kind: 'temporary',
  code: 'NO_ANSWER',
  enhanced: null,
  message: 'The server gave no answer for this recipient',
}

/** An error of the service. The metadata shows a reference to the log entry in place of its text. */
export function unexpected({ log }: Context, error: unknown): Failure {
  const reference = randomUUID()
  log.error({ err: error, reference }, 'mail not sent')
  return { kind: 'temporary', code: 'INTERNAL', enhanced: null, message: `Something went wrong on our side (${reference})` }
}
