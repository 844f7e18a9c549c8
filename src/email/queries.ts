/** Reads of the email feature, some of them from tables of other features. */

import type { TableDef } from '../fields/definition.ts'
import { type Database, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { labelled } from '../platform/database/statements/statement.ts'
import type { FileEntry } from '../platform/stored-files/rows.ts'
import { type CellTexts, lookupsOf, present, type Row, selectTexts } from '../records/cells/present.ts'
import type { DkimRow } from './authenticity/dkim-keys.ts'
import type { OutgoingRequest } from './composing/content.ts'
import type { MailThread } from './composing/threading.ts'
import { usableOn } from './integrations.ts'
import type { OutgoingMetadata } from './metadata.ts'
import type { ServerRow } from './smtp/stored-server.ts'
import { THREAD_STATUSES } from './states.ts'

/** All fields of one record, as the API answers them. Returns undefined when the record does not exist. */
export async function readRecord(db: Database, table: TableDef, recordId: number): Promise<Row | undefined> {
  return (await readRecords(db, table, [recordId])).get(recordId)
}

/** Reads several records, by id. */
export async function readRecords(db: Database, table: TableDef, recordIds: readonly number[]): Promise<Map<number, Row>> {
  const rows = await db.records(table.id).read<{ id: number } & CellTexts>(sql`
      select ${selectTexts(table.fields)} from ${recordsOf(table.id)} r where r.id = any(${recordIds}::int[])`)
  const values = await present(db, table.account_id, table.fields, rows, lookupsOf(table.fields))
  return new Map(rows.map(({ id }, index) => [id, { id, ...values[index] }]))
}

export interface SendingIntegration {
  id: number
  from_domains: string[]
}

/** The integration, if the table may use it. */
export async function sendingIntegration(
  db: Database,
  table: { id: number; space_id: number },
  integrationId: number,
): Promise<SendingIntegration | undefined> {
  const [row] = await db.read<SendingIntegration>(sql`
    select id, from_domains from smtp_integrations where id = ${integrationId} and space_id = ${table.space_id} and ${usableOn(table.id)}`)
  return row
}

/** An outbound email, with everything that sending it needs. */
export interface OutboundMail {
  comment_id: number
  account_id: number
  space_id: number
  table_id: number
  record_id: number
  table_version: number | null
  request: OutgoingRequest
  tokens_encrypted: Buffer
  attempted_at: string | null
  attempts: number
  lease: number | null
  /** Since when the email waits for its integration. */
  waiting_since: string
  /** Whether a worker is sending the email, or has died while it did. */
  is_claimed: boolean
  integration_version: number | null
  /** The words of the server, while the integration is failing. */
  failing_message: string | null
  metadata: OutgoingMetadata
  content: string
  attachments: FileEntry[]
  /** Whether the sender of a scheduled email has lost the right to send it. A retry makes it an email that is not scheduled. */
  is_sender_lost: boolean
  /** Whether the user who answers for the email was disabled or erased. */
  is_sender_disabled: boolean
  from_domains: string[] | null
  disable_pixel: boolean | null
  reply_as_envelope: boolean | null
  /** Null when the integration was deleted, or is no longer for this table. */
  server: ServerRow | null
  /** Null when the mail is not signed. */
  dkim: DkimRow | null
}

/** The email of a comment, locked. Returns undefined when the comment was deleted; `table_version` is null when the table or space was. */
export async function lockMail(db: Database, commentId: number): Promise<OutboundMail | undefined> {
  const [row] = await db.read<OutboundMail & ServerColumns>(
    sql`select ${mailColumns} from outbound_emails o ${joinedToMail} where o.comment_id = ${commentId} for update of o, c`,
  )
  return row && mailOf(row)
}

/**
 * Reads the first of the emails, by id: at least one, and as many as have bodies of MAX_BODIES_BYTES together, which limits the memory of a
 * connection. An email whose comment was deleted is undefined.
 */
export async function outboundMails(db: Database, commentIds: readonly number[]): Promise<Map<number, OutboundMail | undefined>> {
  const rows = await db.read<{ id: number } & (OutboundMail | { comment_id: null }) & ServerColumns>(
    labelled(
      'outbound-mails',
      sql`
      select x.id, ${mailColumns}
      from (
        select g.id, g.position, sum(octet_length(b.request->>'body')) over (order by g.position) as bytes
        from unnest(${commentIds}::int[]) with ordinality g (id, position) left join outbound_emails b on b.comment_id = g.id
      ) x
      left join (outbound_emails o ${joinedToMail}) on o.comment_id = x.id
      where x.position = 1 or coalesce(x.bytes, 0) <= ${MAX_BODIES_BYTES}::int
      order by x.position`,
    ),
  )
  return new Map(rows.map(({ id, ...row }) => [id, row.comment_id === null ? undefined : mailOf(row)]))
}

/** The most bytes of bodies that are read at once. */
const MAX_BODIES_BYTES = 500_000

/** The user who answers for the email `o` with the comment `c`; null for one that was sent with an account's key, which is no user's. */
export const senderId = sql`case
  when not exists (select from api_keys k where k.id = c.api_key_id and k.kind = 'account')
  then coalesce((o.request->>'userId')::int, nullif(c.user_id, 0)) end`

const isSenderDisabled = sql`exists (select from users u where u.id = ${senderId} and u.status = 'deleted')`

/** A sender is a user or a key, and may have none of its rights by the time of a scheduled email. */
const maySend = sql`exists (
  select from accounts a join users u on u.account_id = a.id and u.status = 'active' left join api_keys k on k.id = c.api_key_id
  where a.id = o.account_id
    and u.id = case when c.api_key_id is null then c.user_id when k.kind = 'account' then a.owner_user_id else k.user_id end
    and (c.api_key_id is null or not k.read_only and (k.all_spaces or o.space_id = any(k.space_ids))
      and coalesce(k.expires_at > localtimestamp, true))
    and (u.id = a.owner_user_id or exists (
      select from space_members m where m.space_id = o.space_id and m.user_id = u.id and m.role <> 'viewer')))`

const mailColumns = sql`
  o.comment_id, o.account_id, o.space_id, o.table_id, o.record_id, t.version as table_version, o.request, o.tokens_encrypted,
  o.attempted_at, o.attempts, o.lease, coalesce(o.waiting_since, o.created_at) as waiting_since,
  (coalesce(o.leased_until > localtimestamp, false) or o.attempted_at is not null and o.due_at is not null) as is_claimed,
  i.version as integration_version, i.failing_message, c.metadata, c.content, c.attachments,
  case when c.metadata->>'sendAt' is null or c.user_id = 0 and c.api_key_id is null then false else not ${maySend} end as is_sender_lost,
  ${isSenderDisabled} as is_sender_disabled,
  i.from_domains, i.disable_pixel, i.reply_as_envelope,
  i.id as server_id, i.host, i.port, i.tls, i.username, i.password_encrypted,
  i.dkim_domain, i.dkim_selector, i.dkim_key_encrypted`

const joinedToMail = sql`
  join record_comments c on c.id = o.comment_id
  left join (tables t join spaces s on s.id = t.space_id and s.deleted_at is null) on t.id = o.table_id and t.deleted_at is null
  left join smtp_integrations i on i.id = o.smtp_integration_id and i.space_id = o.space_id
    and (i.all_tables or o.table_id = any(i.table_ids))`

function mailOf(row: OutboundMail & ServerColumns): OutboundMail {
  const { server_id, host, port, tls, username, password_encrypted, dkim_domain, dkim_selector, dkim_key_encrypted, ...mail } = row
  if (server_id === null) return { ...mail, server: null, dkim: null }
  return {
    ...mail,
    server: { id: server_id, host, port, tls, username, password_encrypted },
    dkim: dkim_key_encrypted && {
      integration_id: server_id,
      domain: dkim_domain ?? '',
      selector: dkim_selector ?? '',
      key_encrypted: dkim_key_encrypted,
    },
  }
}

/** What recording the outcome of an attempt needs of an email. */
export type AttemptedMail = Pick<
  OutboundMail,
  'comment_id' | 'account_id' | 'space_id' | 'table_id' | 'record_id' | 'attempts' | 'lease' | 'failing_message' | 'metadata'
>

/** Locks and reads the emails. @param waits true to wait for emails that another transaction has locked; otherwise they are left out */
export function lockAttempted(db: Database, commentIds: readonly number[], waits: boolean): Promise<AttemptedMail[]> {
  return db.read<AttemptedMail>(
    labelled(
      'attempted-mails',
      sql`
      select o.comment_id, o.account_id, o.space_id, o.table_id, o.record_id, o.attempts, o.lease, i.failing_message, c.metadata
      from outbound_emails o
      join record_comments c on c.id = o.comment_id
      left join smtp_integrations i on i.id = o.smtp_integration_id and i.space_id = o.space_id
        and (i.all_tables or o.table_id = any(i.table_ids))
      where o.comment_id = any(${commentIds}::int[]) for update of o, c ${waits ? sql`` : sql`skip locked`}`,
    ),
  )
}

type ServerColumns = Omit<ServerRow, 'id'> & {
  server_id: number | null
  dkim_domain: string | null
  dkim_selector: string | null
  dkim_key_encrypted: Buffer | null
}

/** How many emails of a record are searched for those with the same correspondents. */
const THREAD_SEARCH = 200

/**
 * For each email the thread of the latest emails of its record that were exchanged with one of its recipients. Another
 * correspondent's emails are of another thread: mail programs would show these recipients an answer to something that they do not have.
 */
export async function threadsOf(
  db: Database,
  mails: readonly Pick<OutboundMail, 'table_id' | 'record_id' | 'comment_id' | 'request'>[],
): Promise<Map<number, MailThread>> {
  const addresses = mails.map(({ request }) => JSON.stringify(request.recipients.map(({ email }) => email.toLowerCase())))
  const rows = await db.read<{ comment_id: number; id: string; earlier_ids: string[] | null; thread_index: string | null }>(
    labelled(
      'mail-threads',
      sql`
      select m.of_comment as comment_id, latest.id, latest.earlier_ids, latest.thread_index
      from unnest(${mails.map(({ table_id }) => table_id)}::int[], ${mails.map(({ record_id }) => record_id)}::int[],
        ${mails.map(({ comment_id }) => comment_id)}::int[], ${addresses}::text[]) m (of_table, of_record, of_comment, addresses)
      cross join lateral (
        select e.id as position, e.metadata->>'messageId' as id, e.metadata->'references' as earlier_ids,
          e.metadata->>'threadIndex' as thread_index
        from (
          select id, type, metadata from record_comments
          where table_id = m.of_table and record_id = m.of_record and id < m.of_comment and type in ('email_in', 'email_out')
          order by id desc limit ${THREAD_SEARCH}
        ) e
        -- A person may answer from another address than the one to which the email went.
        left join record_comments p on p.id = (e.metadata->>'parentCommentId')::int
          and (e.metadata->>'senderWasRecipient')::boolean is not true
        where e.metadata->>'messageId' is not null and (e.type = 'email_in' or e.metadata->>'status' = any(${THREAD_STATUSES}))
          and exists (
            select from (
              select jsonb_path_query(e.metadata, '$.recipients[*].email')
              union all select jsonb_path_query(p.metadata, '$.recipients[*].email')
              union all select jsonb_path_query(e.metadata, '$.from.email') where e.type = 'email_in'
              union all select jsonb_path_query(e.metadata, '$.to[*]') union all select jsonb_path_query(e.metadata, '$.cc[*]')
            ) c (address)
            where m.addresses::jsonb ? lower(c.address #>> '{}')
          )
        order by e.id desc limit 20
      ) latest
      order by m.of_comment, latest.position`,
    ),
  )
  const threads = Map.groupBy(rows, ({ comment_id }) => comment_id)
  return new Map(
    mails.map(({ comment_id }) => {
      const emails = threads.get(comment_id) ?? []
      const references = emails.findLast(({ earlier_ids }) => earlier_ids)?.earlier_ids ?? []
      const threadIndex = emails.findLast(({ thread_index }) => thread_index)?.thread_index ?? null
      return [comment_id, { messageIds: emails.map(({ id }) => id), references, threadIndex }]
    }),
  )
}

/** The target of a reply address. */
export interface Thread {
  token_hash: Buffer
  account_id: number
  space_id: number
  table_id: number
  record_id: number
  /** The email that a message to the address answers. */
  comment_id: number
  table_name: string
  /** The user who has sent the email; null if it is of an earlier release. */
  sender_user_id: number | null
  /** The recipients of the email. Their states may change until the email is locked. */
  recipients: OutgoingMetadata['recipients']
}

/**
 * As a statement: the thread of a reply address, locked, so that its messages are handled one after the other. It has no row when the
 * table, the space or the email was deleted. A deletion of the record locks the reply addresses before the record, as a message does, so
 * that the two cannot deadlock.
 */
export const lockedThread = (hash: Uint8Array): Sql => sql`
  select r.token_hash, r.account_id, r.space_id, r.table_id, r.record_id, r.comment_id, t.name as table_name,
    c.metadata->'recipients' as recipients,
    (select (o.request->>'userId')::int from outbound_emails o where o.comment_id = r.comment_id) as sender_user_id
  from reply_tokens r
  join tables t on t.id = r.table_id and t.deleted_at is null
  join spaces s on s.id = t.space_id and s.deleted_at is null
  join record_comments c on c.id = r.comment_id
  where r.token_hash = ${hash} for update of r`
