/** Lists deleted records. */
import type { TableRef } from '../../platform/access/resources.ts'
import type { Context } from '../../platform/context.ts'
import { empty, sql } from '../../platform/database/database.ts'
import { decodeCursor, encodeCursor } from '../../platform/http/answers/cursor.ts'
import type { List } from '../../platform/http/answers/written-json.ts'
import { formatInstant } from '../../platform/time/time.ts'
import { readUsers } from '../cells/named.ts'
import { authorNames } from '../history/authors.ts'
import { keptSince } from './purge.ts'
import type { DeletedQuery, DeletedRecord } from './schema.ts'

type Row = Omit<DeletedRecord, 'user_name'> & { api_key_id: number | null }

/** Numbers beyond this are not counted, because that would take longer than the page itself. */
const MOST_COUNTED = 10_000

/**
 * The deleted records of the table that can be restored, the latest first. The first page has `total` unless there are more than 10,000.
 * @throws AppError 400 for a cursor of another search
 */
export async function listDeleted(
  context: Context,
  { id, account_id }: TableRef,
  { search, limit, cursor }: DeletedQuery,
): Promise<List<DeletedRecord>> {
  const { db, settings, signal } = context
  const words = search?.normalize().split(/\s+/).filter(Boolean) ?? []
  const walk = JSON.stringify(['deleted', id, ...words])
  const end = decodeCursor(cursor ?? '', walk, settings.secretKeys)
  const isMeant = sql`
    d.table_id = ${id} and d.deleted_at > ${formatInstant(keptSince(context))}::timestamp and not exists (
      select from unnest(${words}::text[]) as w (word)
      where position(lower(w.word collate "pg_c_utf8") in lower(coalesce(d.title, '') collate "pg_c_utf8")) = 0)`
  const isAfter = end ? sql`and (d.deleted_at, d.record_id) < (${end.keys[0] ?? null}::timestamp, ${end.id})` : empty
  const rows = await db.read<Row>(
    sql`
      select d.record_id as id, d.title, d.deleted_at, d.user_id, d.api_key_id, d.change_id,
        d.deleted_at + make_interval(days => ${settings.keepDeletedRecordsDays}::int) as kept_until
      from deleted_records d where ${isMeant} ${isAfter} order by d.deleted_at desc, d.record_id desc limit ${limit + 1}`,
    { signal },
  )
  const page = rows.slice(0, limit)
  const last = rows.length > limit ? page.at(-1) : undefined
  const count = async () => {
    const [counted] = await db.read<{ total: number }>(
      sql`select count(*)::int as total from (select from deleted_records d where ${isMeant} limit ${MOST_COUNTED + 1}) n`,
      { signal },
    )
    return counted && counted.total <= MOST_COUNTED ? counted.total : undefined
  }
  const total = end ? undefined : last ? await count() : page.length
  const userIds = [...new Set(page.flatMap(({ user_id }) => user_id ?? []))]
  const nameOf = await authorNames(db, account_id, page, await readUsers(db, account_id, userIds))
  return {
    rows: page.map(({ id: recordId, title, deleted_at, user_id, api_key_id, change_id, kept_until }) => ({
      ...{ id: recordId, title, deleted_at, user_id, user_name: nameOf({ user_id, api_key_id }), change_id, kept_until },
    })),
    ...(total !== undefined && { total }),
    ...(last && { next_cursor: encodeCursor({ keys: [last.deleted_at], id: last.id }, walk, settings.secretKeys) }),
  }
}
