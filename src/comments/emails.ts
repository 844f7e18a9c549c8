/** The rows that mail leaves among a record's comments. `email/` decides when; only this feature writes them. */
import type { Actor } from '../access.ts'
import { type Database, sql } from '../db.ts'
import { formatInstant } from '../time.ts'
import { authorOf } from './authorship.ts'

interface Place {
  account_id: number
  space_id: number
  table_id: number
  record_id: number
}

interface StoredAttachment {
  name: string
  path: string
  size: number
  type: string
  host: string
}

interface NewEmailComment extends Place {
  type: 'email_out' | 'email_in'
  content: string
  attachments: StoredAttachment[]
  metadata: object
}

/** Writes an email_out (by the actor) or email_in (user 0, by the sender's name) comment. Answers its id. */
export async function insertEmail(db: Database, email: NewEmailComment, author: Actor | { name: string }, now: Date): Promise<number> {
  const { user_id, user_name, api_key_id } = 'kind' in author ? authorOf(author) : { user_id: 0, user_name: author.name, api_key_id: null }
  const [row] = await db.query<{ id: number }>(sql`
    insert into record_comments
      (account_id, space_id, table_id, record_id, type, user_id, user_name, api_key_id, content, attachments, metadata, created_at)
    values (${email.account_id}, ${email.space_id}, ${email.table_id}, ${email.record_id}, ${email.type}, ${user_id}, ${user_name},
      ${api_key_id}::int, ${email.content}, ${JSON.stringify(email.attachments)}::jsonb, ${JSON.stringify(email.metadata)}::jsonb,
      ${formatInstant(now)}::timestamp)
    returning id`)
  return (row as { id: number }).id
}

/**
 * Merges keys into the metadata of an email comment, if its status is one of those given.
 * @returns whether it was: of two callers at once that both leave the status, one wins
 */
export async function patchEmail(
  db: Database,
  commentId: number,
  { from, metadata, content }: { from: readonly string[]; metadata: object; content?: string },
): Promise<boolean> {
  const changed = await db.execute(sql`
    update record_comments
    set metadata = metadata || ${JSON.stringify(metadata)}::jsonb, content = coalesce(${content ?? null}::text, content)
    where id = ${commentId} and type = 'email_out' and metadata->>'status' = any(${from as string[]})`)
  return changed > 0
}

/** An email_out comment's metadata as those may see it who cannot write: without the blind copies (contract.md §6). */
export function withoutBlindCopies(metadata: object | null): object | null {
  if (!metadata || !('bcc' in metadata)) return metadata
  const { bcc: _, recipients, ...rest } = metadata as { bcc: unknown; recipients?: { kind?: string }[] }
  return { ...rest, recipients: (recipients ?? []).filter(({ kind }) => kind !== 'bcc') }
}
