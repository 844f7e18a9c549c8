/** Reads the audit log for the owner of an account, and deletes rows that were kept long enough. */
import type { Context } from '../platform/context.ts'
import { type Database, type Sql, sql } from '../platform/database/database.ts'
import { decodeCursor, encodeCursor, type PageEnd } from '../platform/http/answers/cursor.ts'
import { formatInstant } from '../platform/time/time.ts'
import { audit } from './log.ts'
import type { AuditEntry, AuditFilters, AuditQuery } from './schema.ts'

const columns = sql`id, at, actor_user_id, api_key_id, ip, action, space_id, table_id, object, detail`

/** Rows beyond this number are not counted, because counting a long log would take longer than the page itself. */
const MOST_COUNTED = 10_000

/**
 * The rows of the account, newest first. The first page has `total` unless there are more than 10,000.
 * @throws AppError 400 for a cursor of another account or other filters
 */
export async function list(
  { db, actor, settings, signal }: Context,
  { limit, cursor, ...filters }: AuditQuery,
): Promise<{ rows: AuditEntry[]; total?: number; next_cursor?: string }> {
  const query = JSON.stringify(['audit', actor.accountId, namesOf(filters)])
  const end = decodeCursor(cursor ?? '', query, settings.secretKeys)
  const where = conditionOf(actor.accountId, filters)
  // One row more than requested shows whether another page follows.
  const found = await db.read<AuditEntry>(
    sql`select ${columns} from audit_entries where ${where}${end ? sql` and ${isBefore(end)}` : sql``}
      order by at desc, id desc limit ${limit + 1}`,
    { signal },
  )
  const rows = found.slice(0, limit)
  const last = found.length > limit ? rows.at(-1) : undefined
  const total = end ? undefined : found.length > limit ? await countOf(db, where, signal) : rows.length
  return {
    rows,
    ...(total !== undefined && { total }),
    ...(last && { next_cursor: encodeCursor({ keys: [last.at], id: last.id }, query, settings.secretKeys) }),
  }
}

async function countOf(db: Database, where: Sql, signal: AbortSignal): Promise<number | undefined> {
  const [counted] = await db.read<{ total: number }>(
    sql`select count(*)::int as total from (select from audit_entries where ${where} limit ${MOST_COUNTED + 1}) found`,
    { signal },
  )
  return counted && counted.total <= MOST_COUNTED ? counted.total : undefined
}

const EXPORTED_AT_ONCE = 1_000

/**
 * Exports the rows of the account, oldest first, up to the time of the request. The export itself is audited before the first row is read.
 * @returns pages of text with a JSON object per line; no transaction is open between two of them
 */
export async function exportEntries(context: Context, filters: AuditFilters): Promise<AsyncGenerator<string>> {
  const { actor, transaction } = context
  await transaction(() => audit(context, 'export.audit', { id: actor.accountId, detail: namesOf(filters) }))
  return lines(context, filters)
}

async function* lines({ db, actor, now, signal }: Context, filters: AuditFilters): AsyncGenerator<string> {
  const where = sql`${conditionOf(actor.accountId, filters)} and at <= ${formatInstant(now)}::timestamp`
  let end: PageEnd | undefined
  for (;;) {
    const rows: AuditEntry[] = await db.read<AuditEntry>(
      sql`select ${columns} from audit_entries where ${where}${end ? sql` and ${isAfter(end)}` : sql``}
        order by at, id limit ${EXPORTED_AT_ONCE}`,
      { signal },
    )
    if (rows.length) yield rows.map((row) => `${JSON.stringify(row)}\n`).join('')
    const last = rows.at(-1)
    if (!last || rows.length < EXPORTED_AT_ONCE) return
    end = { keys: [last.at], id: last.id }
  }
}

const isBefore = ({ keys: [at], id }: PageEnd) => sql`(at, id) < (${at}::timestamp, ${id}::bigint)`
const isAfter = ({ keys: [at], id }: PageEnd) => sql`(at, id) > (${at}::timestamp, ${id}::bigint)`

function conditionOf(accountId: number, { actor_user_id, action, space_id, since, until }: AuditFilters): Sql {
  const conditions = [
    actor_user_id != null && sql`actor_user_id = ${actor_user_id}`,
    action != null && sql`action = ${action}`,
    space_id != null && sql`space_id = ${space_id}`,
    since != null && sql`at >= ${since}::timestamp`,
    until != null && sql`at < ${until}::timestamp`,
  ]
  return conditions.reduce<Sql>((all, condition) => (condition ? sql`${all} and ${condition}` : all), sql`account_id = ${accountId}`)
}

/** The given filters, in a fixed order. */
const namesOf = ({ actor_user_id, action, space_id, since, until }: AuditFilters) =>
  Object.fromEntries(Object.entries({ actor_user_id, action, space_id, since, until }).filter(([, value]) => value != null))

const DELETED_AT_ONCE = 1_000

/**
 * Deletes the rows that are older than KEEP_AUDIT_DAYS and were kept for as long as the setting said when they were written. The clock of
 * the database decides as well, because its trigger does.
 */
export async function deleteOldEntries({ db, now, settings }: Pick<Context, 'db' | 'now' | 'settings'>): Promise<void> {
  const before = formatInstant(new Date(now.getTime() - settings.keepAuditDays * 86_400_000))
  let deleted: number
  do {
    deleted = (
      await db.write(sql`
      delete from audit_entries where id in (
        select id from audit_entries where keep_until <= now() at time zone 'UTC' and at < ${before}::timestamp
        order by keep_until limit ${DELETED_AT_ONCE})`)
    ).changed
  } while (deleted === DELETED_AT_ONCE)
}
