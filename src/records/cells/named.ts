/** Reads the users and records that cells refer to, for all rows of an answer together. */

import { emailOf } from '../../accounts/user-status.ts'
import type { LookupValue, UserValue } from '../../fields/cell.ts'
import { type JsonById, jsonPiece } from '../../fields/cell-json.ts'
import type { FieldDef } from '../../fields/definition.ts'
import type { Lookups } from '../../fields/field-type.ts'
import { TYPES } from '../../fields/registry.ts'
import { BoundedMap } from '../../platform/collections/bounded-map.ts'
import { type Database, ident, join, recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import { outdated } from '../../platform/database/outdated-definition.ts'
import { type Statement, shortRead } from '../../platform/database/statements/statement.ts'
import { MAX_ID } from '../../platform/row-ids.ts'
import type { JsonPiece } from '../../platform/writers/json-writer.ts'

/** The part of a field that decides what its cells refer to. */
type Referring = Pick<FieldDef, 'type' | 'lookup_table_id'>

/**
 * Reads what cells refer to, for all rows together. Runs at most two statements, whatever the number of rows.
 * @param idsIn returns the different ids in the cells of the fields that are meant
 * @param lookups from `lookupsOf` with at least these fields
 * @returns the values by id, as JSON, for each of the fields
 */
export async function readNamed(
  db: Database,
  lookups: Lookups,
  idsIn: (isMeant: (field: Referring) => boolean) => readonly number[],
  usersWith: (ids: readonly number[]) => Promise<ReadonlyMap<number, UserValue>>,
): Promise<(field: Referring) => JsonById> {
  const ids = idsIn(({ type }) => TYPES[type].names === 'users')
  const users = usersJson(ids.length ? await usersWith(ids) : NOBODY)
  const records = await readTitles(db, lookups, (tableId) =>
    idsIn(({ type, lookup_table_id }) => TYPES[type].names === 'records' && lookup_table_id === tableId),
  )
  const titles = new Map([...records].map(([tableId, named]) => [tableId, jsonById(named)]))
  return ({ type, lookup_table_id: tableId }) => {
    const { names } = TYPES[type]
    return (names === 'users' ? users : titles.get(names === 'records' ? (tableId ?? 0) : 0)) ?? NONE
  }
}

/** Each id once. @throws `outdated` for a value that is no id: the field has just become one of texts */
export function distinctIds(all: Iterable<number>): number[] {
  const ids = [...new Set(all)]
  for (const id of ids) if (!(Math.abs(id) <= MAX_ID)) throw outdated
  return ids
}

const NONE: JsonById = new Map()
const NOBODY: ReadonlyMap<number, UserValue> = new Map()
const MOST_USERS = 5_000
/** The users whom answers have named last, as JSON. It is used again while they have the same name and address. */
const namedUsers = new BoundedMap<number, { email: string | null; name: string; json: JsonPiece }>(MOST_USERS)

const usersJson = (users: ReadonlyMap<number, UserValue>): JsonById => new Map([...users].map(([id, user]) => [id, userJson(user)]))

function userJson(user: UserValue): JsonPiece {
  const { id, email, name } = user
  const known = namedUsers.get(id)
  if (known?.email === email && known.name === name) return known.json
  const json = jsonPiece(user)
  namedUsers.set(id, { email, name, json })
  return json
}

const jsonById = (values: ReadonlyMap<number, unknown>): JsonById => new Map([...values].map(([id, value]) => [id, jsonPiece(value)]))

/** Reads users, deleted ones included: their names stay readable. */
export async function readUsers(db: Database, accountId: number, ids: readonly number[]): Promise<ReadonlyMap<number, UserValue>> {
  if (!ids.length) return new Map()
  return usersById(await db.read<UserValue>(selectUsers(accountId, ids)))
}

/** The statement of `readUsers`. */
export const selectUsers = (accountId: number, ids: readonly number[]): Statement =>
  shortRead(
    'users-of-cells',
    sql`select id, ${emailOf(sql`u`)} as email, name from users u where account_id = ${accountId} and id = any(${ids}::int[])`,
  )

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
  for (const { table_id, ...record } of await db.records(anyTable).read<LookupValue & { table_id: number }>(join(parts, ' union all '))) {
    const records = titles.get(table_id) ?? new Map<number, LookupValue>()
    titles.set(table_id, records.set(record.id, record))
  }
  return titles
}
