/** Shows admins what came for their spaces: the list of messages with their verdicts, and the raw bytes of one. */
import { Readable } from 'node:stream'
import type { Resource, Role } from '../../platform/access/authorize.ts'
import { checkSpace } from '../../platform/access/resources.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Context } from '../../platform/context.ts'
import { type Database, type Sql, sql } from '../../platform/database/database.ts'
import { notFound } from '../../platform/errors.ts'
import { decodeCursor, encodeCursor } from '../../platform/http/answers/cursor.ts'
import { tokenHash } from '../../platform/secrets/secrets.ts'
import { MAX_HEADER_BYTES, readHeaders, replyTokens } from '../headers.ts'
import { storedBytes } from '../inbound/stored-bytes.ts'
import type { InboundMessage, InboundQuery } from './schema.ts'

/** Rows beyond this number are not counted, because counting would take longer than the page itself. */
const MOST_COUNTED = 10_000

/**
 * The messages that came for the spaces that the caller administers, newest first, each with the verdicts of those spaces only. The first
 * page has `total` unless there are more than 10,000.
 * @throws AppError 400 for a cursor of another account
 */
export async function list(
  { db, actor, settings, signal }: Context,
  { limit, cursor }: InboundQuery,
): Promise<{ rows: InboundMessage[]; total?: number; next_cursor?: string }> {
  const query = JSON.stringify(['inbound', actor.accountId])
  const end = decodeCursor(cursor ?? '', query, settings.secretKeys)
  const rows = await db.read<InboundMessage>(
    sql`
      select e.id, e.received_at, jsonb_build_object('name', coalesce(e.from_name, ''), 'email', coalesce(e.from_email, '')) as "from",
        coalesce(e.subject, '') as subject, coalesce(g.verdict, 'pending') as verdict, g.reason, g.comment_ids
      from (
        select v.inbound_email_id as id, (array_agg(v.verdict order by ${rank}))[1] as verdict,
          (array_agg(v.reason order by ${rank}))[1] as reason,
          coalesce(array_agg(distinct c.id) filter (where c.id is not null), '{}') as comment_ids
        from inbound_verdicts v
        join inbound_emails m on m.id = v.inbound_email_id
        left join inbound_verdicts o on o.inbound_email_id = m.duplicate_of and o.token_hash = v.token_hash
        left join record_comments c on c.id = coalesce(v.comment_id, o.comment_id)
        where ${administeredBy(actor)} ${end ? sql`and v.inbound_email_id < ${end.id}` : sql``}
        group by 1 order by 1 desc limit ${limit + 1}
      ) g join inbound_emails e on e.id = g.id order by e.id desc`,
    { signal },
  )
  const page = rows.slice(0, limit)
  const last = rows.length > limit ? page.at(-1) : undefined
  const total = end ? undefined : last ? await countFor(db, actor, signal) : page.length
  return {
    rows: page,
    ...(total !== undefined && { total }),
    ...(last && { next_cursor: encodeCursor({ keys: [], id: last.id }, query, settings.secretKeys) }),
  }
}

/** A message for two records has the verdict that says most: first of all that it is not decided. */
const rank = sql`array_position(array['comment', 'bounced', 'automatic', 'duplicate', 'dropped'], v.verdict) nulls first, v.token_hash`

async function countFor(db: Database, actor: Actor, signal: AbortSignal): Promise<number | undefined> {
  const [counted] = await db.read<{ total: number }>(
    sql`select count(*)::int as total from (
      select distinct v.inbound_email_id from inbound_verdicts v where ${administeredBy(actor)} limit ${MOST_COUNTED + 1}) found`,
    { signal },
  )
  return counted && counted.total <= MOST_COUNTED ? counted.total : undefined
}

/** The condition that the verdict `v` belongs to a space that the actor administers, and to a table that is not deleted. */
const administeredBy = ({ accountId, userId, isOwner, spaceIds }: Actor): Sql => sql`
  v.account_id = ${accountId} and v.space_id in (
    select s.id from spaces s
    where s.account_id = ${accountId} and s.deleted_at is null and (${spaceIds}::int[] is null or s.id = any(${spaceIds}))
      and (${isOwner} or exists (select from space_members m where m.space_id = s.id and m.user_id = ${userId} and m.role = 'admin')))
  and exists (select from tables t where t.id = v.table_id and t.deleted_at is null)`

export interface MessageRow {
  message_id: number
  space_id: number
  member_role: Role | null
}

/** A message, found by its id alone. Of several spaces that it came for, the one counts in which the caller may do most. */
export const messageResource: Resource<MessageRow> = {
  ids: [{ name: 'id', thing: 'Message', found: 'message_id' }],
  select: ({ id }) => sql`
    select v.inbound_email_id as message_id, v.space_id, m.role as member_role
    from inbound_verdicts v
    join tables t on t.id = v.table_id and t.deleted_at is null
    join spaces s on s.id = v.space_id and s.deleted_at is null
    left join space_members m on m.space_id = s.id and m.user_id = p.p_user_id
    where v.inbound_email_id = ${id} and v.account_id = p.p_account_id
    order by p.p_space_ids is null or v.space_id = any(p.p_space_ids) desc, m.role = 'admin' desc nulls last limit 1`,
  check: checkSpace,
}

export interface MailRow {
  comment_id: number
  space_id: number
  table_id: number
  record_id: number
  member_role: Role | null
}

/** A comment that is a mail, sent or received, found by its id alone. */
export const mailResource: Resource<MailRow> = {
  ids: [{ name: 'comment_id', thing: 'Comment', found: 'comment_id' }],
  select: ({ comment_id }) => sql`
    select c.id as comment_id, c.space_id, c.table_id, c.record_id, m.role as member_role
    from record_comments c
    join tables t on t.id = c.table_id and t.deleted_at is null
    join spaces s on s.id = t.space_id and s.deleted_at is null
    left join space_members m on m.space_id = s.id and m.user_id = p.p_user_id
    where c.id = ${comment_id} and c.type in ('email_in', 'email_out') and c.account_id = p.p_account_id`,
  check: checkSpace,
}

/** The message that became the comment. @throws AppError 404 for a mail that was sent, and when the bytes have been deleted */
export async function rawOfComment(context: Context, { comment_id, table_id, record_id }: MailRow): Promise<RawMessage> {
  // The reply addresses of a record are few, and lead to its messages by an index.
  const [message] = await context.db.read<{ message_id: number }>(sql`
    select v.inbound_email_id as message_id from reply_tokens r join inbound_verdicts v on v.token_hash = r.token_hash
    where r.table_id = ${table_id} and r.record_id = ${record_id} and v.comment_id = ${comment_id} order by 1 limit 1`)
  if (!message) throw notFound('Message')
  return rawMessage(context, message)
}

export interface RawMessage {
  message_id: number
  bytes: number
  content: Readable
}

/**
 * The raw bytes of a message. Reply addresses of spaces that the caller does not administer are masked, because they would let the caller
 * write to them.
 * @throws AppError 404 when the bytes have been deleted
 */
export async function rawMessage({ db, actor, settings }: Context, { message_id }: Pick<MessageRow, 'message_id'>): Promise<RawMessage> {
  const [stored] = await db.read<{ id: number; bytes: number; head: Buffer; foreign_hashes: Buffer[] }>(sql`
    select e.id, octet_length(e.raw) as bytes, substring(e.raw from 1 for ${MAX_HEADER_BYTES}) as head, array(
      select h.token_hash from unnest(e.token_hashes) as h (token_hash)
      where not exists (
        select from inbound_verdicts v
        where v.inbound_email_id = e.id and v.token_hash = h.token_hash and ${administeredBy(actor)})
    ) as foreign_hashes
    from inbound_emails e
    where e.id = (select coalesce(duplicate_of, id) from inbound_emails where id = ${message_id}) and e.raw is not null`)
  if (!stored) throw notFound('Message')
  const pieces = storedBytes(db, stored)
  const secrets = foreignTokens(stored, settings.catchDomain)
  return { message_id, bytes: stored.bytes, content: Readable.from(secrets.length ? masked(pieces, secrets) : pieces) }
}

function foreignTokens({ head, foreign_hashes }: { head: Buffer; foreign_hashes: Buffer[] }, catchDomain: string): string[] {
  if (!foreign_hashes.length) return []
  const foreign = new Set(foreign_hashes.map((hash) => hash.toString('hex')))
  return replyTokens(readHeaders(head), catchDomain).filter((token) => foreign.has(tokenHash(token).toString('hex')))
}

async function* masked(pieces: AsyncIterable<Buffer>, secrets: string[]): AsyncGenerator<Buffer> {
  const tokens = new RegExp(secrets.join('|'), 'gi')
  let held = ''
  for await (const piece of pieces) {
    const text = (held + piece.toString('latin1')).replaceAll(tokens, (token) => '*'.repeat(token.length))
    // A token may begin in one piece and end in the next.
    held = text.slice(-TOKEN_LENGTH)
    yield Buffer.from(text.slice(0, -TOKEN_LENGTH), 'latin1')
  }
  if (held) yield Buffer.from(held, 'latin1')
}

const TOKEN_LENGTH = 16
