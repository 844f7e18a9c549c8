/**
 * Messages that answer the emails of deleted records. Their verdicts lie aside, with the reply addresses of these records, and are decided
 * once the records are restored.
 */
import { type Database, type Sql, sql } from '../../platform/database/database.ts'
import { insertingAside } from '../../tables/deleted/rows.ts'

const VERDICTS = 'inbound_verdicts'
const isToken = sql`d.source = 'reply_tokens'`
/** How jsonb shows bytes. */
export const hexText = (hash: Uint8Array): string => `\\x${Buffer.from(hash).toString('hex')}`

/** Selects those of the hashes that are of reply addresses of deleted records. */
export const tokensAside = (hashes: readonly Uint8Array[]): Sql => sql`
  select (d.content->>'token_hash')::bytea as token_hash from deleted_rows d
  where ${isToken} and d.content->>'token_hash' = any(${hashes.map(hexText)}::text[])`

/**
 * The statement that parks a stored message. A restore that is under way is waited for; the job of the message then finds its thread.
 * @param stored a relation with the id of the message
 */
export const parking = (stored: Sql, hashes: readonly Uint8Array[]): Sql =>
  insertingAside(sql`
    select d.table_id, d.record_id, ${VERDICTS}::text, jsonb_build_object('inbound_email_id', s.id, 'token_hash', d.content->'token_hash',
      'account_id', d.content->'account_id', 'space_id', d.content->'space_id', 'table_id', d.content->'table_id')
    from ${stored} s, deleted_rows d
    where ${isToken} and d.content->>'token_hash' = any(${hashes.map(hexText)}::text[]) for share of d`)

/** Parks a message whose record was deleted after it was stored. @returns false if its thread is gone for good */
export async function park(db: Database, id: number, hash: Uint8Array): Promise<boolean> {
  const { changed } = await db.write(sql`
    with token as (
      select d.table_id, d.record_id from deleted_rows d where ${isToken} and d.content->>'token_hash' = ${hexText(hash)} for share
    ), verdict as (
      delete from inbound_verdicts v using token t where v.inbound_email_id = ${id} and v.token_hash = ${hash} returning v.*
    )
    ${insertingAside(sql`select t.table_id, t.record_id, ${VERDICTS}::text, to_jsonb(v.*) from verdict v, token t`)}`)
  return changed > 0
}

/** The verdicts `d` of the message that lie aside. */
export const verdictsAside = (messageId: Sql): Sql => sql`
  select from deleted_rows d where d.source = 'inbound_verdicts' and (d.content->>'inbound_email_id')::int = ${messageId}`
