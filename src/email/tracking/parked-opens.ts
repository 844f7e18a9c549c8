/** Opens of the mails of deleted records. They lie aside with these mails, and come back with the records. */
import { type Database, sql } from '../../platform/database/database.ts'
import { labelled } from '../../platform/database/statements/statement.ts'
import { formatInstant } from '../../platform/time/time.ts'
import { insertingAside, mergeAside } from '../../tables/deleted/rows.ts'
import { hexText } from '../inbound/parked.ts'
import type { OutgoingMetadata } from '../metadata.ts'
import { afterOpen, emailAfter, errorOf } from '../outbound/outcome.ts'
import type { Open } from '../schema.ts'
import { transitionTo } from '../states.ts'

/** The requests that are stored for one email. Anyone who knows its token can send more. */
export const MAX_OPENS_PER_EMAIL = 500

/** A request for the pixel with the hash of its token. */
export interface ClassifiedOpen {
  hash: Buffer
  class: Open['class']
  userAgent: string | null
  at: Date
  /** Whether the image was shown, which marks the email as read. */
  isShown: boolean
}

interface MailAside {
  hash: string
  table_id: number
  record_id: number
  comment_id: number
  /** Whether its integration has the pixel switched off by now. */
  is_off: boolean
  /** How many opens it has. */
  opens: number
  /** The row that has its comment. */
  row: number
  metadata: OutgoingMetadata
}

/** Records those of the requests that are for mails of deleted records. @returns how many of the mails are read now */
export async function parkOpens(db: Database, seen: readonly ClassifiedOpen[]): Promise<number> {
  const byHash = Map.groupBy(seen, ({ hash }) => hexText(hash))
  const mails = await lockMails(db, [...byHash.keys()])
  if (!mails.length) return 0
  const parked = mails.flatMap((mail) => {
    const opens = byHash.get(mail.hash) ?? []
    return opens.slice(0, Math.max(0, MAX_OPENS_PER_EMAIL - mail.opens)).map((open) => ({ mail, open }))
  })
  await db.write(
    insertingAside(sql`
      select x.table_id, x.record_id, 'email_opens', jsonb_build_object('id', nextval(pg_get_serial_sequence('email_opens', 'id')),
        'comment_id', x.comment_id, 'class', x.class, 'user_agent', x.user_agent, 'opened_at', x.at::timestamp)
      from unnest(${parked.map(({ mail }) => mail.table_id)}::int[], ${parked.map(({ mail }) => mail.record_id)}::int[],
        ${parked.map(({ mail }) => mail.comment_id)}::int[], ${parked.map(({ open }) => open.class)}::text[],
        ${parked.map(({ open }) => open.userAgent)}::text[], ${parked.map(({ open }) => formatInstant(open.at))}::text[])
        x (table_id, record_id, comment_id, class, user_agent, at)`),
  )
  const changes = mails.flatMap(({ hash, is_off, row, metadata }) => {
    const shown = is_off ? undefined : byHash.get(hash)?.find(({ isShown }) => isShown)
    const keys = shown && read(metadata, shown.at)
    return keys ? [{ row, keys }] : []
  })
  if (changes.length) await mergeAside(db, 'metadata', changes)
  return changes.length
}

/** Locks the mails with the hashes. Like a restore and a purge it locks the deleted records first, in their order. */
const lockMails = (db: Database, hashes: readonly string[]): Promise<MailAside[]> =>
  db.read<MailAside>(
    labelled(
      'lock-mails-aside',
      sql`
      select d.content->>'pixel_token_hash' as hash, d.table_id, d.record_id, c.content->'id' as comment_id,
        coalesce((select i.disable_pixel from smtp_integrations i where i.id = (d.content->>'smtp_integration_id')::int), false) as is_off,
        (select count(*)::int from (
          select from deleted_rows o where o.table_id = d.table_id and o.record_id = d.record_id and o.source = 'email_opens'
            and o.content->'comment_id' = c.content->'id' limit ${MAX_OPENS_PER_EMAIL}) n) as opens,
        c.id as row, c.content->'metadata' as metadata
      from deleted_rows d
        join deleted_records r on r.table_id = d.table_id and r.record_id = d.record_id
        join deleted_rows c on c.table_id = d.table_id and c.record_id = d.record_id and c.source = 'record_comments'
          and c.content->'id' = d.content->'comment_id'
      where d.source = 'outbound_emails' and d.content->>'pixel_token_hash' = any(${hashes}::text[])
      order by d.table_id, d.record_id, c.id for update of r, c`,
    ),
  )

/** What an open changes; undefined if the mail stays as it is. */
function read({ status, recipients }: OutgoingMetadata, at: Date): object | undefined {
  const proven = afterOpen(recipients)
  const sent = proven && emailAfter(status, proven)
  const { from, metadata } = transitionTo('read', at)
  const isRead = from.includes(sent ?? status)
  if (!proven && !isRead) return undefined
  return {
    ...(proven && { recipients: proven, error: errorOf(proven) }),
    ...(sent && transitionTo(sent, at).metadata),
    ...(isRead && metadata),
  }
}
