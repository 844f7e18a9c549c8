/** Emails from a record: accepting, previewing and queueing them. outbound/delivery.ts sends them, inbound/receive.ts takes the replies. */

import { insertSent } from '../comments/emails.ts'
import { ownFields } from '../fields/definition.ts'
import { tableAttachments } from '../files/attachments.ts'
import type { RecordRef, TableRef } from '../platform/access/resources.ts'
import type { Context } from '../platform/context.ts'
import { sql } from '../platform/database/database.ts'
import { AppError, badInput, notFound } from '../platform/errors.ts'
import { countRemoteImages, sanitizeHtml } from '../platform/mail/html.ts'
import { textOfSanitized } from '../platform/mail/html-text.ts'
import { newHexToken, tokenHash } from '../platform/secrets/secrets.ts'
import { holdFiles } from '../platform/stored-files/held.ts'
import { type FileEntry, pathsOf } from '../platform/stored-files/rows.ts'
import { addMonths, formatInstant, parseInstant } from '../platform/time/time.ts'
import { inSpan } from '../platform/tracing/tracing.ts'
import { readWithDefinition } from '../tables/with-definition.ts'
import { domainOf, parseMailbox } from './address.ts'
import { type OutgoingRequest, type ResolvedContent, resolveContent, withSignature } from './composing/content.ts'
import { type FieldTexts, fieldTexts, problemOf, unclosedTokens, ValuesTooLong } from './composing/field-tokens.ts'
import { bytesOf, findImages, type Images, restore, type ShortHtml, shorten, storeImages, withSources } from './composing/inline-images.ts'
import { isMailOf } from './composing/replies.ts'
import { encryptTokens, newSecretTokens } from './composing/secret-tokens.ts'
import type { InlineImage, OutgoingMetadata, RecipientState } from './metadata.ts'
import { mails } from './metrics.ts'
import { sendEmail } from './outbound/queue.ts'
import { readRecord, sendingIntegration } from './queries.ts'
import { MAX_RECIPIENTS, type NewEmail, type Preview, type QueuedEmail, type RecordContext } from './schema.ts'
import { newEmailState } from './states.ts'
import { suppressedAmong } from './suppressions/service.ts'

/** The limit on all files of an email. Few servers take more than 25 MB. */
const MAX_ATTACHMENT_BYTES = 25 * 1_048_576

/** The limit on the HTML of a body, besides its images. */
const MAX_HTML_BYTES = 1_048_576

/** The same once it is sanitised. A body of nothing but & becomes five times as long. */
const MAX_ESCAPED_MB = 3

/** The characters that are kept of a data URL that is no image, but part of the text. */
const MAX_DATA_URL_TEXT = 1_000

/** The most unclosed tokens that a preview names. */
const MAX_PROBLEMS = 20
const UNCLOSED = 'a token must be closed with }} and contain no other token'

/** The addresses that a composer can offer, and the fields that tokens can name. */
export function recordContext(context: Context, table: TableRef, record: RecordRef): Promise<RecordContext> {
  return readWithDefinition(context, table, async (definition) => {
    const row = await readRecord(context.db, definition, record.id)
    if (!row) throw notFound('Record')
    const emails = definition.fields.filter(({ type }) => type === 'email').flatMap(({ id }) => (row[id] ? [String(row[id])] : []))
    return { emails: [...new Set(emails)], fields: ownFields(definition).map(({ id, name }) => ({ id, name })) }
  })
}

/**
 * Queues an email and inserts its email_out comment.
 * @throws AppError 404 for an integration or a signature that the caller cannot use; 400 for a From domain that the integration does not
 * have, for an attachment that is not a stored file of the table, for more than 50 recipients, and for a time in the past or more than a
 * year ahead
 */
export async function send(context: Context, table: TableRef, record: RecordRef, input: NewEmail): Promise<QueuedEmail> {
  const { db, actor, now, settings, jobs, metrics } = context
  const accepted = await accept(context, table, input)
  const sendAt = input.sendAt == null ? null : scheduled(input.sendAt, now)
  const { request, attachments, inline } = await withStoredImages(context, table, record, accepted)
  const metadata = {
    ...newMetadata(request, input, now),
    ...(inline.length > 0 && { inline }),
    ...(sendAt && { sendAt: formatInstant(sendAt) }),
  }
  const tokens = newSecretTokens()
  const place = { account_id: table.account_id, space_id: table.space_id, table_id: table.id, record_id: record.id }

  return context.transaction(async () => {
    const content = withSignature(request.body, request.signature)
    await holdFiles(db, pathsOf(attachments), record.id)
    const id = await insertSent(db, { ...place, content, attachments, metadata }, actor, now)
    if (id === undefined) throw notFound('Record')
    await inSpan('queue email', { kind: 'producer', onlyInside: true }, (span) =>
      db.write(sql`
      with token as (
        insert into reply_tokens (token_hash, account_id, space_id, table_id, record_id, comment_id, created_at)
        values (${tokenHash(tokens.reply)}, ${table.account_id}, ${table.space_id}, ${table.id}, ${record.id}, ${id},
          ${formatInstant(now)}::timestamp)
      )
      insert into outbound_emails (comment_id, account_id, space_id, table_id, record_id, smtp_integration_id, request, message_id,
        pixel_token_hash, tokens_encrypted, created_at, due_at, waiting_since, traceparent)
      values (${id}, ${table.account_id}, ${table.space_id}, ${table.id}, ${record.id}, ${input.smtpIntegrationId},
        ${JSON.stringify(request)}::jsonb, ${metadata.messageId}, ${tokenHash(tokens.pixel)},
        ${encryptTokens(settings.secretKeys, metadata.messageId, tokens)}, ${formatInstant(now)}::timestamp,
        ${formatInstant(sendAt ?? now)}::timestamp, ${sendAt && formatInstant(sendAt)}::timestamp, ${span?.traceparent() ?? null}::text)`),
    )
    await jobs.send(sendEmail, { comment_id: id }, sendAt ? { startAfter: sendAt } : {})
    metrics.count(mails, { state: 'queued' })
    return { id, status: 'queued', comment: { id, type: 'email_out', metadata } }
  })
}

/** The email that `send` would send now, with its problems. @throws AppError as `send` */
export async function preview(context: Context, table: TableRef, record: RecordRef, input: NewEmail): Promise<Preview> {
  const { request, images, dataUrls } = await accept(context, table, input)
  if (input.sendAt != null) scheduled(input.sendAt, context.now)
  const texts = await readWithDefinition(context, table, async (definition) => {
    const row = await readRecord(context.db, definition, record.id)
    if (!row) throw notFound('Record')
    return fieldTexts(definition.fields, row, context.actor.timeZone)
  })
  const { subject, html: resolved, unresolved } = resolvedContent(request, texts)
  const leftOut = [...images].filter(([, image]) => image === null).map(([source]) => [source, null] as const)
  const html = withSources(resolved, new Map(leftOut))
  const unclosed = [request.subject, request.body].flatMap(unclosedTokens).slice(0, MAX_PROBLEMS)
  const problems = [...unresolved.map((token) => problemOf(token, texts)), ...unclosed.map((text) => `${text}…: ${UNCLOSED}`)]
  if (!subject.trim()) problems.push('The subject is empty')
  const text = textOfSanitized(html)
  if (!text && !/<img\b/.test(html)) problems.push('The body is empty')
  if (leftOut.length) problems.push('An image is left out: only PNG, JPEG, GIF and WebP can be sent')
  const suppressed = await suppressedAmong(
    context.db,
    table.account_id,
    request.recipients.map(({ email }) => email),
  )
  for (const [email, { message }] of suppressed) problems.push(`${email}: ${message}`)
  return { subject, html: restore(html, dataUrls), text: restore(text, dataUrls, MAX_DATA_URL_TEXT), unresolved, problems }
}

/** @throws AppError 400 when the values of the tokens are too long */
function resolvedContent(request: OutgoingRequest, texts: FieldTexts): ResolvedContent {
  try {
    return resolveContent(request, texts)
  } catch (error) {
    throw error instanceof ValuesTooLong ? badInput(error.field, error.message) : error
  }
}

interface AcceptedEmail {
  /** Placeholders stand for the data URLs in its HTML. */
  request: OutgoingRequest
  attachments: FileEntry[]
  images: Images
  dataUrls: ShortHtml['dataUrls']
}

/** Applies the rules of `send` that need the database. */
async function accept(context: Context, table: TableRef, input: NewEmail): Promise<AcceptedEmail> {
  const recipients = recipientsOf(input)
  const place = { table_id: table.id, record_id: input.recordId }
  if (input.replyTo != null && !(await isMailOf(context.db, place, input.replyTo))) throw notFound('Comment')
  const integration = await sendingIntegration(context.db, table, input.smtpIntegrationId)
  if (!integration) throw notFound('SMTP integration')
  const from = { name: input.fromIdentity.name ?? '', email: parseMailbox(input.fromIdentity.email)?.email ?? '' }
  const domain = domainOf(from.email)
  if (!integration.from_domains.includes(domain)) {
    const message = `From domain not allowed: ${domain}`
    throw new AppError('BAD_REQUEST', message, { issues: [{ path: ['fromIdentity', 'email'], message }] })
  }
  const body = shortBody(input.body ?? '')
  const signature = shorten(input.signatureId == null ? '' : await signatureOf(context, input.signatureId))
  const attachments = await attachmentsOf(context, table, input.attachments ?? [])
  const images = new Map([
    ...(await findImages(context, table, body, 'body')),
    ...(await findImages(context, table, signature, 'signatureId')),
  ])
  const size = bytesOf(images) + attachments.reduce((sum, { size }) => sum + size, 0)
  if (size > MAX_ATTACHMENT_BYTES) throw badInput('attachments', 'must have at most 25 MB in all, with the images of the body')
  return {
    request: {
      from,
      recipients,
      subject: input.subject ?? '',
      body: body.html,
      signature: signature.html || null,
      ...(input.replyTo != null && { replyTo: input.replyTo }),
      userId: context.actor.userId,
      timeZone: context.actor.timeZone,
    },
    attachments,
    images,
    dataUrls: new Map([...body.dataUrls, ...signature.dataUrls]),
  }
}

/** The sanitised body. @throws AppError 400 if it is too large */
function shortBody(given: string): ShortHtml {
  const { html, dataUrls } = shorten(given)
  if (Buffer.byteLength(html) > MAX_HTML_BYTES) throw badInput('body', 'must have at most 1 MB besides its images')
  const sanitized = sanitizeHtml(html)
  if (Buffer.byteLength(sanitized) > MAX_ESCAPED_MB * 1_048_576)
    throw badInput('body', `must have at most ${MAX_ESCAPED_MB} MB once &, < and > are escaped`)
  return { html: sanitized, dataUrls }
}

/** Stores the images that are not files yet. The HTML then links to files, which are among the attachments. */
async function withStoredImages(
  context: Context,
  table: TableRef,
  record: RecordRef,
  { request, attachments, images, dataUrls }: AcceptedEmail,
): Promise<{ request: OutgoingRequest; attachments: FileEntry[]; inline: InlineImage[] }> {
  const { sources, files, inline } = await storeImages(context, table, record, images)
  const linked = (html: string) => restore(withSources(html, sources), dataUrls, MAX_DATA_URL_TEXT)
  const isAttached = ({ path }: FileEntry) => attachments.some((file) => file.path === path)
  return {
    request: { ...request, body: linked(request.body), signature: request.signature && linked(request.signature) },
    attachments: [...attachments, ...files.filter((file) => !isAttached(file))],
    inline,
  }
}

/** @throws AppError 400 for an instant in the past or more than a year ahead */
function scheduled(text: string, now: Date): Date {
  const at = parseInstant(text)
  const present = formatInstant(now)
  if (!at || formatInstant(at) < present) throw badInput('sendAt', 'must not be in the past')
  if (formatInstant(at) > `${addMonths(present.slice(0, 10), 12)}${present.slice(10)}`)
    throw badInput('sendAt', 'must be at most a year ahead')
  return at
}

/** The recipients in order; an address that is repeated, in whatever case, counts where it occurs first. */
function recipientsOf(input: NewEmail): OutgoingRequest['recipients'] {
  const given = (['to', 'cc', 'bcc'] as const).flatMap((kind) =>
    (input[kind] ?? []).flatMap((text) => {
      const mailbox = parseMailbox(text)
      return mailbox ? [{ ...mailbox, kind }] : []
    }),
  )
  if (given.length > MAX_RECIPIENTS) throw badInput('to', `to, cc and bcc must have at most ${MAX_RECIPIENTS} recipients in all`)
  const addresses = given.map(({ email }) => email.toLowerCase())
  return given.filter((_, index) => addresses.indexOf(addresses[index] as string) === index)
}

async function signatureOf({ db, actor }: Context, id: number): Promise<string> {
  const [row] = await db.read<{ html: string }>(sql`select html from email_signatures where id = ${id} and user_id = ${actor.userId}`)
  if (!row) throw notFound('Signature')
  return row.html
}

/** @throws AppError 400 for a path that is not a stored file of the table */
function attachmentsOf({ db }: Context, table: TableRef, given: NonNullable<NewEmail['attachments']>): Promise<FileEntry[]> {
  const prefix = `${table.space_id}-${table.id}-`
  return tableAttachments(db, table, given, (path) => (path.startsWith(prefix) ? undefined : `must begin with ${prefix}`))
}

function newMetadata({ from, recipients, subject, body, signature }: OutgoingRequest, input: NewEmail, now: Date): OutgoingMetadata {
  const addressesOf = (kind: RecipientState['kind']) => recipients.filter((recipient) => recipient.kind === kind).map(({ email }) => email)
  return {
    ...newEmailState(now),
    from,
    to: addressesOf('to'),
    cc: addressesOf('cc'),
    bcc: addressesOf('bcc'),
    subject,
    messageId: `<${newHexToken(16)}@${domainOf(from.email)}>`,
    smtpIntegrationId: input.smtpIntegrationId,
    signatureId: input.signatureId ?? null,
    error: null,
    recipients: recipients.map(({ email, kind }) => ({ email, kind, status: 'queued', error: null })),
    unresolved: [],
    remoteImages: countRemoteImages(withSignature(body, signature)),
    attachmentsLeftOut: 0,
  }
}
