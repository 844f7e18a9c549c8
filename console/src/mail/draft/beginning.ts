/** What a mail begins with: who may send it, whom it answers, and what it quotes. */
import { type QueryClient, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import type { RecordPlace } from '../../record/record-parts.ts'
import { type Client, type Outputs, useClient } from '../../session/client.ts'
import { composerTexts } from '../../texts/mail/composer.ts'
import { instantMeant } from '../../ui/locale/date-format.ts'
import { type BodyPart, EMPTY_BODY, inert } from '../editor/body.ts'
import { withoutTokens } from '../editor/tokens.ts'
import { inlinePathsOf, isResolved, missedRecipients, outgoingMail } from '../mail-facts.ts'
import { addressKey, type Mailbox, mailboxText, type Recipients } from '../recipients/addresses.ts'
import { emptyDraft, type MailDraft, type MailFile, type Sender } from './mail-draft.ts'
import { type AnsweredMail, againTo, answeringFrom, answerTo, type Caution, readPurpose, subjectOf, withoutSignature } from './reply.ts'

export type SmtpOption = Outputs['email']['smtpOptions']['rows'][number]
type Comment = Outputs['comments']['list']['rows'][number]

export interface Beginning {
  draft: MailDraft
  cautions: readonly Caution[]
  /** Who wrote the mail that it answers. */
  answered: string | null
  /** True if the mail that is to be answered is not on the record, or not any more. */
  isGone: boolean
}

export const senderOptionsQuery = (client: Client, tableId: number) =>
  queryOptions({
    queryKey: ['mail', 'senders', tableId],
    queryFn: async () => (await client.email.smtpOptions.query({ tableId })).rows,
    refetchOnMount: 'always',
  })

export const signaturesQuery = (client: Client) =>
  queryOptions({ queryKey: ['mail', 'signatures'], queryFn: async () => (await client.signatures.list.query()).rows, staleTime: 10_000 })

/** The newest answer on the record, to notice one that comes while somebody writes. */
export const newestAnswerQuery = (client: Client, tableId: number, recordId: number) =>
  queryOptions({
    queryKey: ['mail', 'newest answer', tableId, recordId],
    queryFn: async () => {
      const { rows } = await client.comments.list.query({ table_id: tableId, record_id: recordId, types: ['email_in'], limit: 1 })
      return rows[0] ?? null
    },
  })

/** The senders to choose from: those that the integrations offer, and the person's own address if one may send for its domain. */
export function sendersOf(options: readonly SmtpOption[], me: { name: string; email: string }): Sender[] {
  return options.flatMap(({ id, fromDomains, fromIdentities }) => {
    const domain = me.email.slice(me.email.lastIndexOf('@') + 1).toLowerCase()
    const isKnown = fromIdentities.some(({ email }) => addressKey(email) === addressKey(me.email))
    const own = fromDomains.includes(domain) && !isKnown ? [{ name: me.name, email: me.email }] : []
    return [...fromIdentities, ...own].map(({ name, email }) => ({ integration: id, name, email }))
  })
}

/** The sender of a new mail: the person's own address before others, and one whose server works before one that fails. */
function firstSender(options: readonly SmtpOption[], senders: readonly Sender[], me: { email: string }): Sender | null {
  const works = ({ integration }: Sender) => options.find(({ id }) => id === integration)?.failing === null
  const own = senders.filter(({ email }) => addressKey(email) === addressKey(me.email))
  return own.find(works) ?? senders.find(works) ?? own[0] ?? senders[0] ?? null
}

/** What an unwritten mail is like, once it is known. It is made once: a composer that is open goes on from it. */
export function useBeginning(place: RecordPlace, compose: string) {
  const client = useClient()
  const queries = useQueryClient()
  return useQuery({
    queryKey: ['mail', 'beginning', place.tableId, place.recordId, compose],
    queryFn: () => begin(client, queries, place, compose),
    ...{ staleTime: Number.POSITIVE_INFINITY, gcTime: 0, refetchOnWindowFocus: false, refetchOnReconnect: false },
  })
}

async function begin(client: Client, queries: QueryClient, place: RecordPlace, compose: string): Promise<Beginning> {
  const { tableId, recordId, definition } = place
  const purpose = readPurpose(compose)
  const [options, signatures, newest, found, shared] = await Promise.all([
    queries.fetchQuery(senderOptionsQuery(client, tableId)),
    queries.fetchQuery(signaturesQuery(client)),
    queries.fetchQuery(newestAnswerQuery(client, tableId, recordId)),
    purpose.kind === 'mail' ? null : mailOf(client, tableId, recordId, purpose.commentId),
    client.email.recordContext.query({ tableId, recordId }),
  ])
  const { me } = definition
  const senders = sendersOf(options, { name: me.name, email: me.email })
  const empty: MailDraft = {
    ...emptyDraft(compose),
    from: firstSender(options, senders, me),
    signature: signatures.find(({ is_default }) => is_default)?.id ?? null,
    seen: newest?.id ?? 0,
  }
  if (purpose.kind === 'mail') {
    const [only, another] = shared.emails
    return { draft: only && !another ? { ...empty, to: chosen([only]) } : empty, cautions: [], answered: null, isGone: false }
  }
  if (!found) return { draft: empty, cautions: [], answered: null, isGone: true }
  if (purpose.kind === 'again') return again(empty, found.comment, senders, signatures)
  return answer(empty, found, purpose.kind, senders, me)
}

/** An answer to the mail, or the mail for somebody else. */
async function answer(
  empty: MailDraft,
  { comment, parent }: FoundMail,
  kind: 'reply' | 'replyAll' | 'forward',
  senders: readonly Sender[],
  me: RecordPlace['definition']['me'],
): Promise<Beginning> {
  const mail = answeredMail(comment, parent)
  const own = [me.email, ...senders.map(({ email }) => email)]
  const quote = await quoteOf(comment, mail, kind, { zone: me.timezone, locale: navigator.language })
  const draft: MailDraft = {
    ...empty,
    from: answeringFrom(mail, senders) ?? empty.from,
    subject: withoutTokens(subjectOf(mail.subject, kind)),
    body: quote,
    files: kind === 'forward' ? comment.attachments.map(fileOf) : [],
  }
  const answered = mail.from.name || mail.from.email
  if (kind === 'forward') return { draft, cautions: [], answered, isGone: false }
  const { to, cc, cautions } = answerTo(mail, kind, own)
  return { draft: { ...draft, to: chosen(to), cc: chosen(cc), replyTo: comment.id }, cautions, answered, isGone: false }
}

type Signature = Outputs['signatures']['list']['rows'][number]

/** The mail as it was, to those who have not got it. Its signature is told apart from its body if it is still the person's. */
async function again(empty: MailDraft, comment: Comment, senders: readonly Sender[], signatures: readonly Signature[]): Promise<Beginning> {
  const mail = outgoingMail(comment.metadata)
  if (!mail) return { draft: empty, cautions: [], answered: null, isGone: true }
  const { bodyOfMail } = await import('../editor/quoted.ts')
  const signature = signatures.find(({ id }) => id === mail.signatureId)
  const signed = withoutSignature(comment.content, signature)
  const body = bodyOfMail(signed ?? comment.content)
  const inline = new Set(inlinePathsOf(comment.metadata))
  // A value that became part of the text may look like a token.
  const isDone = isResolved(mail)
  const draft: MailDraft = {
    ...empty,
    ...againTo(missedRecipients(mail)),
    from: answeringFrom(answeredMail(comment, undefined), senders) ?? empty.from,
    subject: isDone ? withoutTokens(mail.subject) : mail.subject,
    body: isDone ? inert(body) : body,
    signature: signed === null ? null : (signature?.id ?? null),
    files: comment.attachments.filter(({ path }) => !inline.has(path)).map(fileOf),
  }
  return { draft, cautions: [], answered: null, isGone: false }
}

const chosen = (texts: readonly string[]): Recipients => ({ chosen: texts, typed: '' })

const fileOf = ({ name, path, size, type }: Comment['attachments'][number]): MailFile => ({ name, path, size, type })

/** How many pages of mails are looked through for the one that is answered. */
const MOST_PAGES = 20
const PAGE = 100

interface FoundMail {
  comment: Comment
  /** The mail that it answers; undefined if it answers none, or one that is gone. */
  parent: Comment | undefined
}

/** The mail on the record; null if it is gone. */
async function mailOf(client: Client, tableId: number, recordId: number, commentId: number): Promise<FoundMail | null> {
  const mails: Comment[] = []
  const mailBy = (id: unknown) => mails.find((mail) => mail.id === id)
  for (let offset = 0; offset < MOST_PAGES * PAGE; offset += PAGE) {
    const which = { table_id: tableId, record_id: recordId, types: ['email_in' as const, 'email_out' as const] }
    const { rows } = await client.comments.list.query({ ...which, limit: PAGE, offset })
    mails.push(...rows)
    const parentId = mailBy(commentId)?.metadata?.parentCommentId
    const isWhole = mailBy(commentId) && (typeof parentId !== 'number' || mailBy(parentId))
    if (isWhole || rows.length < PAGE) break
  }
  const comment = mailBy(commentId)
  return comment ? { comment, parent: mailBy(comment.metadata?.parentCommentId) } : null
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const textsOf = (value: unknown): string[] => (Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [])

/** What the metadata of a mail's comment say (docs/email.md). */
function answeredMail({ type, metadata }: Comment, parent: Comment | undefined): AnsweredMail {
  const isOwn = type === 'email_out'
  return {
    isOwn,
    from: fromOf(metadata),
    sentBy: senderOf(isOwn ? metadata : parent?.metadata),
    replyTo: textsOf(metadata?.replyTo),
    to: textsOf(metadata?.to),
    cc: textsOf(metadata?.cc),
    subject: textOf(metadata?.subject),
    isAutomatic: metadata?.autoReply === true,
    isFromList: metadata?.isFromList === true,
  }
}

function fromOf(metadata: Comment['metadata'] | undefined): Mailbox {
  const from = (metadata?.from ?? {}) as { name?: unknown; email?: unknown }
  return { name: textOf(from.name), email: textOf(from.email) }
}

function senderOf(metadata: Comment['metadata'] | undefined): Sender | null {
  const integration = metadata?.smtpIntegrationId
  return typeof integration === 'number' ? { integration, ...fromOf(metadata) } : null
}

type Reader = Parameters<typeof instantMeant>[1]

/** The mail below an empty line, as mail programs quote it. */
async function quoteOf(comment: Comment, mail: AnsweredMail, kind: 'reply' | 'replyAll' | 'forward', reader: Reader): Promise<BodyPart> {
  const { quotedBody } = await import('../editor/quoted.ts')
  const html = comment.type === 'email_out' ? comment.content : textOf(comment.metadata?.html) || null
  const quoted = quotedBody(html, textOf(comment.metadata?.text) || comment.content)
  const when = instantMeant(`${comment.created_at.slice(0, 17)}00`, reader)
  const from = mailboxText(mail.from)
  const lines =
    kind === 'forward'
      ? composerTexts.forwarded({ from, when, subject: mail.subject, to: mail.to.join(', ') })
      : [composerTexts.wrote(when, from)]
  const introduction: BodyPart = {
    type: 'paragraph',
    content: lines.flatMap((text, at): BodyPart[] => [
      ...(at ? [{ type: 'hard_break' }] : []),
      { type: 'text', text: withoutTokens(text) },
    ]),
  }
  const rest = kind === 'forward' ? quoted : [{ type: 'blockquote', content: quoted }]
  return { type: 'doc', content: [...(EMPTY_BODY.content ?? []), introduction, ...rest] }
}
