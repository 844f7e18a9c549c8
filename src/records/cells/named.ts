/** Reads the users and records that cells refer to, for all rows of an answer together. */

import type { LookupValue, UserValue } from '../../fields/cell.ts'
import type { Lookups } from '../../fields/field-type.ts'
import { type Database, type Following, ident, join, recordsOf, type Sql, sql } from '../../platform/database/database.ts'

/** Reads users, deleted ones included: their names stay readable. */
export async function readUsers(db: Database, accountId: number, ids: readonly number[]): Promise<ReadonlyMap<number, UserValue>> {
  if (!ids.length) return new Map()
  const { statement, label } = selectUsers(accountId, ids)
  return usersById(await db.readShort<UserValue>(statement, label))
}

/** The statement of `readUsers`. */
export const selectUsers = (accountId: number, ids: readonly number[]): Pick<Following, 'statement' | 'label'> => ({
  statement: sql`select id, email, name from users where account_id = ${accountId} and id = any(${ids}::int[])`,
  label: 'users-of-cells',
})

export const usersById = (users: readonly UserValue[]): Map<number, UserValue> => new Map(users.map((user) => [user.id, user]))

/** Reads the titles of records, by table and id, in one statement. @param idsOf returns the ids to read of a table */
export async function readTitles(
  db: Database,
  lookups: Lookups,
  idsOf: (tableId: number) => readonly number[],
): Promise<ReadonlyMap<number, ReadonlyMap<number, LookupValue>>> {
  const titles = new Map<number, Map<number, LookupValue>>()
  const parts: Sql[] = []
  for (const [tableId, table] of lookups) {
    const ids = idsOf(tableId)
    if (!ids.length) continue
    const title = table.titleField === null ? sql`null::text` : sql`l.${ident(table.titleField)}`
    parts.push(
      sql`select ${tableId}::int as table_id, l.id, ${title} as title from ${recordsOf(tableId)} l where l.id = any(${ids}::int[])`,
    )
  }
  if (!parts.length) return titles
  // Lookups never leave the space, so all of these tables are on the same server.
  const [anyTable = 0] = lookups.keys()
  for (const { table_id, ...record } of await db.records(anyTable).query<LookupValue & { table_id: number }>(join(parts, ' union all '))) {
    const records = titles.get(table_id) ?? new Map<number, LookupValue>()
    titles.set(table_id, records.set(record.id, record))
  }
  return titles
}
