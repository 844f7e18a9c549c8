/** Looks up the members, records and files that the values of a request refer to. */

import type { Cell, Parsed, UserRef } from '../fields/cell.ts'
import { type FieldDef, isMultiple, type TableDef } from '../fields/definition.ts'
import type { Actor } from '../platform/actor.ts'
import { type Database, recordsOf, sql } from '../platform/database/database.ts'
import { labelled } from '../platform/database/statements/statement.ts'
import { MAX_ID } from '../platform/row-ids.ts'
import { findFiles } from '../platform/stored-files/rows.ts'
import { isMember } from '../spaces/membership.ts'
import { tableDefinitions } from '../tables/definition-cache.ts'

/** A parsed value that refers to users, records or files. */
export type Reference = Exclude<Parsed, { kind: 'cell' | 'wrong' }>

/** What exists of the users, records and files that were referred to. */
export interface Found {
  /** User ids, by id and by email address. */
  users: ReadonlyMap<UserRef, number>
  /** Record ids by table. */
  records: ReadonlyMap<number, ReadonlySet<number>>
  files: Awaited<ReturnType<typeof findFiles>>
}

/**
 * Looks up all references: one statement for users, one for files, and one for the records of each table.
 * @param members users that earlier calls have found; only others are looked up, and added
 */
export async function findReferences(
  db: Database,
  table: TableDef,
  actor: Actor,
  references: readonly { field: FieldDef; parsed: Reference }[],
  members = new Map<UserRef, number>(),
): Promise<Found> {
  const users = new Set<UserRef>()
  const paths = new Set<string>()
  const records = new Map<number, Set<number>>()
  for (const { field, parsed } of references) {
    if (parsed.kind === 'users') addAll(users, parsed.users)
    else if (parsed.kind === 'files') addAll(paths, parsed.paths)
    else addAll(idsOfTable(records, field.lookup_table_id ?? 0), parsed.ids)
  }
  // One after the other, because statements of a transaction share a connection.
  return {
    users: await findMembers(db, table, actor, [...users], members),
    records: await findRecords(db, records),
    files: await findFiles(db, { account_id: table.account_id, table_id: table.id }, [...paths]),
  }
}

function addAll<T>(set: Set<T>, values: readonly T[]): void {
  for (const value of values) set.add(value)
}

function idsOfTable(records: Map<number, Set<number>>, tableId: number): Set<number> {
  const ids = records.get(tableId) ?? new Set()
  records.set(tableId, ids)
  return ids
}

/** Returns the cell for a reference, or the reason why it cannot be stored. */
export function resolveReference(field: FieldDef, parsed: Reference, found: Found): { cell: Cell } | { reason: string } {
  if (parsed.kind === 'users') {
    const stranger = parsed.users.find((user) => !found.users.has(user))
    if (stranger !== undefined) return { reason: `${shortened(stranger)} is not a member of this space` }
    return { cell: listOrOne(field, [...new Set(parsed.users.flatMap((user) => found.users.get(user) ?? []))]) }
  }
  if (parsed.kind === 'records') {
    const existing = found.records.get(field.lookup_table_id ?? 0)
    const missing = parsed.ids.find((id) => !existing?.has(id))
    if (missing !== undefined) return { reason: `there is no record ${missing} in table ${field.lookup_table_id}` }
    return { cell: listOrOne(field, parsed.ids) }
  }
  const missing = parsed.paths.find((path) => !found.files.has(path))
  if (missing !== undefined) return { reason: `${shortened(missing)} is not a stored file of this table` }
  return { cell: parsed.paths.flatMap((path) => found.files.get(path) ?? []) }
}

const listOrOne = (field: FieldDef, ids: number[]): Cell => (isMultiple(field.type) ? ids : (ids[0] ?? null))

/** The caller's text for a user or file, cut to what a message can hold. */
const shortened = (ref: UserRef) => String(ref).slice(0, 200)

/** Finds members of the table's space, invited ones included; the account's owner counts as a member. */
async function findMembers(
  db: Database,
  table: TableDef,
  actor: Actor,
  referred: UserRef[],
  known: Map<UserRef, number>,
): Promise<Map<UserRef, number>> {
  const refs = referred.filter((ref) => !known.has(ref))
  if (!refs.length) return known
  // A caller who may write is a member, so `@me`, which most forms send, needs no statement.
  if (refs.every((ref) => ref === actor.userId && actor.kind !== 'system')) return known.set(actor.userId, actor.userId)
  const ids = refs.filter((ref) => typeof ref === 'number' && ref > 0 && ref <= MAX_ID)
  const emails = refs.filter((ref) => typeof ref === 'string')
  const members = await db.read<{ id: number; email: string }>(
    labelled(
      'members-of-cells',
      sql`select u.id, u.email from users u
      where u.account_id = ${table.account_id} and u.status <> 'deleted' and (u.id = any(${ids}::int[]) or u.email = any(${emails}::text[]))
        and ${isMember(sql`u`, sql`${table.space_id}::int`)}`,
    ),
  )
  for (const { id, email } of members) known.set(id, id).set(email, id)
  return known
}

async function findRecords(
  db: Database,
  referred: ReadonlyMap<number, ReadonlySet<number>>,
): Promise<ReadonlyMap<number, ReadonlySet<number>>> {
  const found = new Map<number, Set<number>>()
  // The schema of a deleted table may be gone, so only existing tables are queried.
  const tables = await tableDefinitions(db, [...referred.keys()])
  for (const tableId of tables.keys()) {
    const ids = [...(referred.get(tableId) ?? [])].filter((id) => id > 0 && id <= MAX_ID)
    const records = await db.records(tableId).read<{ id: number }>(sql`select id from ${recordsOf(tableId)} where id = any(${ids}::int[])`)
    found.set(tableId, new Set(records.map(({ id }) => id)))
  }
  return found
}
