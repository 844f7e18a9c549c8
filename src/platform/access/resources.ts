/** The resources that several features use: spaces, tables and records. */

import type { Actor } from '../actor.ts'
import { empty, recordsOf, type Sql, sql } from '../database/database.ts'
import { constant, type Given } from '../database/prepare.ts'
import { forbidden } from '../errors.ts'
import type { Container, SelectedIds, TextKey } from './access-statement.ts'
import { OTHER_SPACE, type Resource, type Right, type Role } from './authorize.ts'
import { readRecord, unreadRecord } from './record-elsewhere.ts'

export interface SpaceRow {
  space_id: number
  space_name: string
  account_id: number
  member_role: Role | null
}
export interface TableRow extends SpaceRow {
  table_id: number
  table_name: string
  table_version: number
}
export interface RecordRow extends TableRow {
  record_id: number
  record_version: number
}

const RANK: Record<Role, number> = { viewer: 0, member: 1, admin: 2 }
const NEEDED: Record<Right, Role> = { read: 'viewer', write: 'member', admin: 'admin' }

/** The effective role: the account's owner, and so its account keys, are admins of every space. */
export function roleOf(actor: Actor, memberRole: Role | null): Role | null {
  return actor.isOwner ? 'admin' : memberRole
}

/**
 * Checks the whitelist and then the role.
 * @throws AppError 403 with the message of api.md, Errors
 */
export function checkSpace(space: { space_id: number; member_role: Role | null }, actor: Actor, right: Right): void {
  if (actor.spaceIds && !actor.spaceIds.includes(space.space_id)) throw forbidden(OTHER_SPACE)
  const role = roleOf(actor, space.member_role)
  if (!role || RANK[role] < RANK[NEEDED[right]]) throw forbidden()
}

/** Requires that a role that was checked a while ago has not been lowered since. @throws AppError 403 */
export function requireNoLess(role: Role, before: Role): void {
  if (RANK[role] < RANK[before]) throw forbidden('The role of the sender was lowered meanwhile')
}

export const spaceResource: Resource<SpaceRow> = {
  ids: [{ name: 'space_id', thing: 'Space', found: 'space_id' }],
  select: ({ space_id }) => sql`
    select s.id as space_id, s.name as space_name, s.account_id, m.role as member_role
    from spaces s left join space_members m on m.space_id = s.id and m.user_id = p.p_user_id
    where s.id = ${space_id} and s.account_id = p.p_account_id and s.deleted_at is null`,
  container: {
    kind: 'space',
    id: 'space_id',
    columns: ['space_id', 'space_name', 'account_id', 'member_role'] satisfies (keyof SpaceRow)[],
  },
  check: checkSpace,
}

const ofTable = (tableId: Given<number> | undefined, more: Sql = empty, join: Sql = empty) => sql`
    select s.id as space_id, s.name as space_name, t.account_id, m.role as member_role,
      t.id as table_id, t.name as table_name, t.version as table_version${more}
    from tables t
    join spaces s on s.id = t.space_id and s.deleted_at is null
    left join space_members m on m.space_id = s.id and m.user_id = p.p_user_id ${join}
    where t.id = ${tableId} and t.account_id = p.p_account_id and t.deleted_at is null`

/** What is remembered of the table of a resource. */
const TABLE: Container = {
  kind: 'table',
  id: 'table_id',
  columns: ['space_id', 'space_name', 'account_id', 'member_role', 'table_id', 'table_name', 'table_version'] satisfies (keyof TableRow)[],
}

export const tableResource: Resource<TableRow> = {
  ids: [{ name: 'table_id', thing: 'Table', found: 'table_id' }],
  select: ({ table_id }) => ofTable(table_id),
  container: TABLE,
  check: checkSpace,
}

/** The resource with a further rule, which is checked last. */
export const withRule = <Row extends object>(resource: Resource<Row>, rule: (row: Row, actor: Actor) => boolean): Resource<Row> => ({
  ...resource,
  check: (row, actor, right) => {
    resource.check(row, actor, right)
    if (!rule(row, actor)) throw forbidden()
  },
})

/** The resource with other names for its ids, as the bodies of the email endpoints have them. */
export function renamed<Row extends object>(resource: Resource<Row>, names: Record<string, string>): Resource<Row> {
  const original = <Id>(ids: Readonly<Record<string, Id>>) =>
    Object.fromEntries(resource.ids.map(({ name }) => [name, ids[names[name] ?? name] as Id]))
  const { container } = resource
  return {
    ...resource,
    ids: resource.ids.map((id) => ({ ...id, name: names[id.name] ?? id.name })),
    select: (ids, of) => resource.select(original(ids), of),
    ...(resource.textOf && { textOf: (ids, db) => resource.textOf?.(original(ids), db) ?? null }),
    ...(container && { container: { ...container, id: names[container.id] ?? container.id } }),
    ...(resource.selectRest && { selectRest: (ids, of) => resource.selectRest?.(original(ids), of) as Sql }),
    ...(resource.fallback && { fallback: renamed(resource.fallback, names) }),
  }
}

/** A record with its table, whose number is in the text. @param more columns of the record, `r` */
export const recordOfTable = (tableId: number, { record_id }: SelectedIds, more: Sql = empty): Sql =>
  ofTable(constant(tableId), sql`, ${RECORD}${more}`, sql`left join ${recordsOf(tableId)} r on r.id = ${record_id}`)

/** The same without the table. */
export const recordAlone = (tableId: number, { record_id }: SelectedIds, more: Sql = empty): Sql =>
  sql`select ${RECORD}${more} from ${recordsOf(tableId)} r where r.id = ${record_id}`

const RECORD = sql`r.id as record_id, r.version as record_version`

/** The same for what `recordResource` knows of the place of the record. */
export function recordRest(ids: SelectedIds, tableId: TextKey): Sql {
  return typeof tableId === 'number' ? recordAlone(tableId, ids) : sql`select ${unreadRecord(ids.record_id)}`
}

export const recordResource: Resource<RecordRow> = {
  ids: [...tableResource.ids, { name: 'record_id', thing: 'Record', found: 'record_id' }],
  // The id was checked to be a number, so it is safe in the name of the schema.
  textOf: ({ table_id = 0 }, db) => (db.isElsewhere(table_id) ? null : table_id),
  select: (ids, tableId) =>
    typeof tableId === 'number' ? recordOfTable(tableId, ids) : ofTable(ids.table_id, sql`, ${unreadRecord(ids.record_id)}`),
  container: TABLE,
  selectRest: recordRest,
  readUnread: async (row, db) => ({ ...row, ...(await readRecord(row, db)) }),
  check: checkSpace,
  fallback: {
    ...tableResource,
    ids: [...tableResource.ids, { name: 'record_id', thing: 'Record', found: 'record_id' }],
  } as unknown as Resource<RecordRow>,
}

// ── references for services, from checked rows ──────────────────────────────

export interface SpaceRef {
  id: number
  account_id: number
  name: string
  /** The role of the acting user. */
  role: Role
}

export interface TableRef extends SpaceRef {
  space_id: number
  version: number
}

export interface RecordRef {
  id: number
  version: number
}

// A checked row has a role, because `checkSpace` refuses callers without one.
export const spaceOf = (row: SpaceRow, actor: Actor): SpaceRef => ({
  id: row.space_id,
  account_id: row.account_id,
  name: row.space_name,
  role: roleOf(actor, row.member_role) ?? 'viewer',
})

export const tableOf = (row: TableRow, actor: Actor): TableRef => ({
  id: row.table_id,
  space_id: row.space_id,
  account_id: row.account_id,
  name: row.table_name,
  version: row.table_version,
  role: roleOf(actor, row.member_role) ?? 'viewer',
})
