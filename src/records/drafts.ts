/** What callers want written, record by record, turned into cells: judged as a whole, so that all that is wrong is told at once. */

import { fieldsById, notAField } from '../fields/by-id.ts'
import type { Cell, Parsed, UserRef } from '../fields/cell.ts'
import { type FieldDef, isMultiple, ownFields, parseCell, type TableDef } from '../fields/definition.ts'
import type { Actor, Role } from '../platform/access/authorize.ts'
import type { Context } from '../platform/context.ts'
import { type Database, recordsOf, sql } from '../platform/database/database.ts'
import { badInputs, forbidden, type Issue } from '../platform/http/errors.ts'
import { findFiles } from '../platform/stored-files.ts'
import { isMember } from '../spaces/membership.ts'
import { tableDefinitions } from '../tables/definitions.ts'

/** The values of one record, and where they stand in the request. */
export interface Draft {
  data: Record<string, unknown>
  path: (string | number)[]
}

/** Cells by field id; fields that were not given are missing. */
export type Cells = Map<string, Cell>

/** More than anyone reads; a batch could have hundreds of thousands. */
export const MAX_ISSUES = 100

interface Found {
  users: Map<UserRef, number>
  /** Ids that exist, by table. */
  records: Map<number, Set<number>>
  files: Awaited<ReturnType<typeof findFiles>>
}

interface Open {
  field: FieldDef
  parsed: Exclude<Parsed, { kind: 'cell' | 'wrong' }>
  path: Draft['path']
  /** Which of the drafts. */
  at: number
}

interface Rules {
  role: Role
  /** Whether required fields that are not given are missing. */
  isNew: boolean
  /** Members found so far, for who judges one chunk after the other: only others are looked for. */
  members?: Map<UserRef, number>
}

/**
 * Checks and converts what is given.
 * @throws AppError 400 with the first hundred refused cells; 403 for a field that only admins write
 */
export async function readDrafts(context: Context, table: TableDef, rules: Rules, drafts: readonly Draft[]): Promise<Cells[]> {
  const { cells, issues } = await judgeDrafts(context, table, rules, drafts)
  if (issues.length) throw badInputs(issues.slice(0, MAX_ISSUES))
  return cells
}

/**
 * The cells of each draft, and what is wrong with them, in their order. Members, records and files that cells name are looked for in
 * one statement for each kind (records: for each table), however many drafts there are.
 * @throws AppError 403 for a field that only admins write
 */
export async function judgeDrafts(
  { db, actor }: Context,
  table: TableDef,
  { role, isNew, members }: Rules,
  drafts: Iterable<Draft>,
): Promise<{ cells: Cells[]; issues: Issue[] }> {
  const fields = fieldsById(table)
  const required = isNew ? ownFields(table).filter((field) => field.required && mayWrite(field, role)) : []
  const refused: { at: number; path: Draft['path']; id: string; message: string }[] = []
  const open: Open[] = []
  const read: Cells[] = []
  for (const { data, path } of drafts) {
    const at = read.length
    const cells: Cells = new Map()
    const refuse = (id: string, message: string) => refused.push({ at, path, id, message })
    for (const id of Object.keys(data)) {
      const field = fields.get(id)
      if (!field) refuse(id, notAField(id))
      else if (field.key || field.calc) refuse(id, `Unassignable - cannot set calculation field: ${id}`)
      else if (!mayWrite(field, role)) throw forbidden()
      else {
        const parsed = parseCell(field, data[id], actor.userId)
        if (parsed.kind === 'wrong') refuse(id, parsed.reason)
        else if (parsed.kind !== 'cell') open.push({ field, parsed, path, at })
        else if (parsed.cell === null && field.required) refuse(id, 'is required')
        else cells.set(id, parsed.cell)
      }
    }
    for (const { id } of required) if (!Object.hasOwn(data, id)) refuse(id, 'is required')
    read.push(cells)
  }
  const found = open.length ? await find(db, table, actor, open, members) : null
  for (const { field, parsed, path, at } of found ? open : []) {
    const resolved = resolve(field, parsed, found as Found)
    if ('reason' in resolved) refused.push({ at, path, id: field.id, message: resolved.reason })
    else read[at]?.set(field.id, resolved.cell)
  }
  const issues = refused.sort((a, b) => a.at - b.at).map(({ path, id, message }) => ({ path: [...path, id], message }))
  return { cells: read, issues }
}

export const mayWrite = (field: FieldDef, role: Role) => !field.admin_only || role === 'admin'

/** One statement after the other: inside a transaction they share a connection. */
async function find(
  db: Database,
  table: TableDef,
  actor: Actor,
  open: readonly Open[],
  members = new Map<UserRef, number>(),
): Promise<Found> {
  const named = { users: new Set<UserRef>(), records: new Map<number, Set<number>>(), paths: new Set<string>() }
  for (const { field, parsed } of open) {
    if (parsed.kind === 'users') for (const user of parsed.users) named.users.add(user)
    else if (parsed.kind === 'files') for (const path of parsed.paths) named.paths.add(path)
    else {
      const ids = named.records.get(field.lookup_table_id ?? 0) ?? new Set()
      for (const id of parsed.ids) ids.add(id)
      named.records.set(field.lookup_table_id ?? 0, ids)
    }
  }
  return {
    users: await findMembers(db, table, actor, [...named.users], members),
    records: await findRecords(db, named.records),
    files: await findFiles(db, { account_id: table.account_id, table_id: table.id }, [...named.paths]),
  }
}

/** Members of the table's space, invited ones too; the account's owner counts as one. */
async function findMembers(
  db: Database,
  table: TableDef,
  actor: Actor,
  named: UserRef[],
  known: Map<UserRef, number>,
): Promise<Map<UserRef, number>> {
  const refs = named.filter((ref) => !known.has(ref))
  if (!refs.length) return known
  // Who may write here is a member: `@me`, which most forms send, needs no look.
  if (refs.every((ref) => ref === actor.userId && actor.kind !== 'system')) return known.set(actor.userId, actor.userId)
  const ids = refs.filter((ref) => typeof ref === 'number' && ref > 0 && ref <= 2_147_483_647)
  const emails = refs.filter((ref) => typeof ref === 'string')
  const members = await db.query<{ id: number; email: string }>(
    sql`select u.id, u.email from users u
      where u.account_id = ${table.account_id} and u.status <> 'deleted' and (u.id = any(${ids}::int[]) or u.email = any(${emails}::text[]))
        and ${isMember(sql`u`, sql`${table.space_id}::int`)}`,
    'members-of-cells',
  )
  for (const { id, email } of members) known.set(id, id).set(email, id)
  return known
}

async function findRecords(db: Database, named: ReadonlyMap<number, ReadonlySet<number>>): Promise<Map<number, Set<number>>> {
  const found = new Map<number, Set<number>>()
  // A table that is deleted may have lost its schema, too: only those that are there are asked.
  const tables = await tableDefinitions(db, [...named.keys()])
  for (const tableId of tables.keys()) {
    const ids = [...(named.get(tableId) ?? [])].filter((id) => id > 0 && id <= 2_147_483_647)
    const records = await db.query<{ id: number }>(sql`select id from ${recordsOf(tableId)} where id = any(${ids}::int[])`)
    found.set(tableId, new Set(records.map(({ id }) => id)))
  }
  return found
}

function resolve(field: FieldDef, parsed: Open['parsed'], found: Found): { cell: Cell } | { reason: string } {
  if (parsed.kind === 'users') {
    const stranger = parsed.users.find((user) => !found.users.has(user))
    if (stranger !== undefined) return { reason: `${shortened(stranger)} is not a member of this space` }
    return { cell: listOrOne(field, [...new Set(parsed.users.flatMap((user) => found.users.get(user) ?? []))]) }
  }
  if (parsed.kind === 'records') {
    const there = found.records.get(field.lookup_table_id ?? 0)
    const missing = parsed.ids.find((id) => !there?.has(id))
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
