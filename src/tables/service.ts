import { audit } from '../audit/log.ts'
import { placeOf, tellTables } from '../events/table-events.ts'
import { fieldsById, notAField } from '../fields/by-id.ts'
import { type FieldDef, isLookup, ownFields, type TableDef } from '../fields/definition.ts'
import type { SpaceRef, TableRef } from '../platform/access/resources.ts'
import type { Context } from '../platform/context.ts'
import { sql, toTheSecond } from '../platform/database/database.ts'
import { isUniqueViolation } from '../platform/database/database-errors.ts'
import { badInput, badInputs, conflict, notFound } from '../platform/errors.ts'
import { changeTable, withShortLocks } from './alter-table.ts'
import { releaseTable } from './cascade.ts'
import { createRecords } from './ddl.ts'
import { NORMALIZED, tableDefinition } from './definition-cache.ts'
import { newFields } from './fields/new-fields.ts'
import { fieldOf, type NewTable, type Table, type TableUpdate, type TableWithFields } from './schema.ts'

export async function get({ db }: Context, table: TableRef): Promise<TableWithFields> {
  return withFields(await tableDefinition(db, table))
}

const withFields = ({ id, name, space_id, fields }: TableDef): TableWithFields => ({ id, name, space_id, fields: fields.map(fieldOf) })

/**
 * Creates a table and the schema of its records, in one transaction.
 * @throws AppError 400 naming each invalid field; 409 for a name that is taken
 */
export async function create(context: Context, space: SpaceRef, { name, fields: wanted }: NewTable): Promise<TableWithFields> {
  const { fields, issues } = newFields(wanted ?? [], new Set())
  if (issues.length) throw badInputs(issues.map(({ path, message }) => ({ path: ['fields', ...path], message })))
  const at = toTheSecond(context.now)
  const table = await withUniqueName(() =>
    withShortLocks(context, async () => {
      const { db } = context
      await requireLookedUpTables(context, space.id, fields, (index) => ['fields', index, 'table'])
      const { id } = await db.prisma.table.create({
        data: { accountId: space.account_id, spaceId: space.id, name, layout: NORMALIZED, hasHistory: true, createdAt: at, updatedAt: at },
      })
      await insertFields(context, { id, account_id: space.account_id }, fields, 0)
      await createRecords(db, id, fields)
      await audit(context, 'table.created', { id, name, spaceId: space.id, tableId: id, detail: { fields: fields.length } })
      return withFields(await tableDefinition(db, { id, version: 1 }))
    }),
  )
  await context.db.refreshPlacement()
  return table
}

/** Turns a unique violation into a 409: another table or field has the name, ignoring case. */
export async function withUniqueName<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (error) {
    if (isUniqueViolation(error)) throw conflict('This name is taken')
    throw error
  }
}

/** Requires that lookups point to tables of the same space. A table of another space is treated as missing. */
export async function requireLookedUpTables(
  { db }: Context,
  spaceId: number,
  fields: readonly FieldDef[],
  path: (index: number) => (string | number)[],
): Promise<void> {
  const ids = fields.flatMap(({ lookup_table_id }) => lookup_table_id ?? [])
  if (!ids.length) return
  // The share lock prevents the deletion of a lookup's table before the commit.
  const found = await db.read<{ id: number }>(sql`
    select id from tables where id = any(${ids}) and space_id = ${spaceId} and deleted_at is null order by id for share`)
  const there = new Set(found.map(({ id }) => id))
  const issues = fields.flatMap(({ type, lookup_table_id }, index) =>
    isLookup(type) && !there.has(lookup_table_id ?? 0) ? [{ path: path(index), message: 'must be a table of the same space' }] : [],
  )
  if (issues.length) throw badInputs(issues)
}

/** Inserts the metadata of new fields. @param position the position of the first field */
export async function insertFields(
  { db }: Context,
  table: { id: number; account_id: number },
  fields: readonly FieldDef[],
  position: number,
): Promise<void> {
  if (!fields.length) return
  await db.prisma.field.createMany({
    data: fields.map((field, index) => ({
      tableId: table.id,
      id: field.id,
      accountId: table.account_id,
      name: field.name,
      type: field.type,
      position: position + index,
      required: field.required,
      alwaysHidden: field.always_hidden,
      adminOnly: field.admin_only,
      ...(field.options && { options: field.options.map(({ id, title }) => ({ id, title })), optionColors: field.option_colors }),
      decimals: field.decimals,
      lookupTableId: field.lookup_table_id,
    })),
  })
}

/** @throws AppError 409 for a name that is taken */
export async function update(context: Context, table: TableRef, { name }: TableUpdate): Promise<TableWithFields> {
  if (name === undefined || name === table.name) return get(context, table)
  return withUniqueName(() =>
    changeTable(context, table, async (definition) => {
      await context.db.prisma.table.update({ where: { id: table.id }, data: { name } })
      await audit(context, 'table.updated', { ...auditPlaceOf(definition), id: table.id, name, detail: { before: definition.name } })
      return withFields({ ...definition, name })
    }),
  )
}

/**
 * Marks the table as deleted: no query finds it any more, and a job removes it after seven days (purge.ts).
 * @throws AppError 409 without `force`, naming the views of other tables that name its fields
 */
export async function remove(context: Context, table: Pick<TableRef, 'id'>, force = false): Promise<void> {
  await changeTable(context, table, async (definition) => {
    await releaseTable(context, definition, force)
    await context.db.prisma.table.update({ where: { id: table.id }, data: { deletedAt: toTheSecond(context.now) } })
    await audit(context, 'table.deleted', { ...auditPlaceOf(definition), id: table.id, name: definition.name })
  })
}

/** Where a change of the table happened, for the audit log. */
export const auditPlaceOf = ({ id, space_id, account_id }: TableDef) => ({ tableId: id, spaceId: space_id, accountId: account_id })

/**
 * Restores a deleted table with its records and everything that belongs to them, as long as the job has not removed it. For scripts.
 * @throws AppError 404 when there is no such deleted table; 409 when its space is deleted as well, or another table has its name
 */
export async function restore(context: Context, tableId: number): Promise<Table> {
  const { db } = context
  return withUniqueName(async () => {
    const table = await withShortLocks(context, async () => {
      const [row] = await db.write<Table & { account_id: number }>(sql`
        update tables t set deleted_at = null from spaces s
        where t.id = ${tableId} and t.deleted_at is not null and s.id = t.space_id and s.deleted_at is null
        returning t.id, t.name, t.space_id, t.account_id`)
      if (!row) return undefined
      const { account_id: accountId, ...restored } = row
      // Tables whose lookups point here get a new version as well: their definitions were read while there was no such table.
      await changeTable(context, row, () =>
        audit(context, 'table.restored', { id: row.id, name: row.name, spaceId: row.space_id, tableId: row.id, accountId }),
      )
      await tellTables(context, [{ ...placeOf(row), type: 'table.updated' }])
      return restored
    })
    if (table) return table
    const deleted = await db.prisma.table.findFirst({ where: { id: tableId, deletedAt: { not: null } }, select: { spaceId: true } })
    throw deleted ? conflict(`Its space ${deleted.spaceId} is deleted, too: restore that first`) : notFound('Deleted table')
  })
}

/**
 * Reorders the fields.
 * @throws AppError 400 unless the list has each of the user's fields once
 */
export async function reorder(
  context: Context,
  table: TableRef,
  fieldIds: readonly string[],
): Promise<{ rows: TableWithFields['fields'] }> {
  return changeTable(context, table, async (definition) => {
    const fields = fieldsById(definition)
    const own = new Set(ownFields(definition).map(({ id }) => id))
    for (const [index, id] of fieldIds.entries()) {
      const field = fields.get(id)
      if (!field) throw badInput(['field_ids', index], notAField(id))
      if (!own.delete(id)) throw badInput(['field_ids', index], field.key || field.calc ? 'cannot be moved' : 'is listed twice')
    }
    if (own.size) throw badInput('field_ids', `lacks ${[...own].join(', ')}`)
    await context.db.write(sql`
      update fields set position = o.position from unnest(${fieldIds}::text[]) with ordinality o (id, position)
      where fields.table_id = ${table.id} and fields.id = o.id`)
    await audit(context, 'fields.reordered', { ...auditPlaceOf(definition), id: table.id, name: definition.name })
    return { rows: (await tableDefinition(context.db, definition)).fields.map(fieldOf) }
  })
}
