import { type Database, sql } from '../platform/database/database.ts'
import type { CommentQuery, RecordComment } from './schema.ts'

export const commentColumns = sql`id, table_id, record_id, type, user_id, user_name, api_key_id, content, attachments, metadata,
  created_at, updated_at`

/** The comments of a record, newest first, and how many there are. */
export async function listComments(
  db: Database,
  { table_id, record_id }: { table_id: number; record_id: number },
  { limit, offset }: CommentQuery,
): Promise<{ rows: RecordComment[]; total: number }> {
  const ofRecord = sql`table_id = ${table_id} and record_id = ${record_id}`
  const found = await db.query<RecordComment & { total: number; id: number | null }>(
    sql`select n.total, c.* from (select count(*)::int as total from record_comments where ${ofRecord}) n
      left join lateral (
        select ${commentColumns} from record_comments where ${ofRecord} order by id desc limit ${limit} offset ${offset}
      ) c on true
      order by c.id desc`,
    'record-comments',
  )
  return { total: found[0]?.total ?? 0, rows: found.flatMap(({ total: _, ...row }) => (row.id === null ? [] : [row])) }
}
