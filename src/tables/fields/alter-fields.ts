/** Creates, changes and deletes fields of a table: metadata, column and cells in one transaction. */

import { isDeepStrictEqual } from 'node:util'
import { audit, differing } from '../../audit/log.ts'
import { type FieldDef, ownFields, type TableDef } from '../../fields/definition.ts'
import { TYPES } from '../../fields/registry.ts'
import type { TableRef } from '../../platform/access/resources.ts'
import { type Answer, type IfMatch, isStale } from '../../platform/answer.ts'
import type { Context } from '../../platform/context.ts'
import { type Database, DbNull, sql } from '../../platform/database/database.ts'
import { badInput, badInputs, conflict, notFound, stale } from '../../platform/errors.ts'
import { changeTable } from '../alter-table.ts'
import { filteringByOption, neededByViews, requireChangeable, viewsThat } from '../cascade.ts'
import { enqueueCleanup } from '../cells/cell-cleanup.ts'
import { announce, requireUnused } from '../cells/lossy-change.ts'
import { type CellChange, changeCells, rounded, withoutOptions } from '../cells/rewrite-cells.ts'
import { addColumn, dropColumn } from '../ddl.ts'
import { isChangedInSteps } from '../indexing.ts'
import { type Field, type FieldDeleted, type FieldUpdate, fieldOf, MAX_FIELDS, MAX_OPTIONS, type NewField } from '../schema.ts'
import { auditPlaceOf, insertFields, requireLookedUpTables, withUniqueName } from '../service.ts'
import { newFields } from './new-fields.ts'
import { changeColors, keptColors } from './option-colors.ts'
import { changeOptions, editOptions, unknownOption } from './select-options.ts'

/**
 * Adds a field at the end of the table.
 * @throws AppError 400 for a property that its type does not have, and past 300 fields; 409 for a name that is taken
 */
export async function create(context: Context, table: TableRef, wanted: NewField): Promise<Answer<Field>> {
  return withUniqueName(() =>
    changeTable(context, table, async (definition) => {
      const own = ownFields(definition)
      if (own.length >= MAX_FIELDS) throw badInput([], `A table has at most ${MAX_FIELDS} fields`)
      const { fields, issues } = newFields([wanted], new Set(own.map(({ id }) => id)))
      if (issues.length) throw badInputs(issues.map(({ path, message }) => ({ path: path.slice(1), message })))
      await requireLookedUpTables(context, definition.space_id, fields, () => ['table'])
      const [last] = await context.db.read<{ position: number }>(
        sql`select coalesce(max(position), 0) as position from fields where table_id = ${table.id}`,
      )
      await insertFields(context, definition, fields, (last?.position ?? 0) + 1)
      const [field] = fields as [FieldDef]
      await addColumn(context.db, table.id, field)
      // A field that was deleted may have had its id. The cells of changes before this one were not of this field.
      await context.db.write(sql`
        update fields set since_change = nextval('public.change_ids') where table_id = ${table.id} and id = ${field.id}`)
      await audit(context, 'field.created', { ...auditPlaceOf(definition), id: field.id, name: field.name, detail: { type: field.type } })
      return answerOf(field)
    }),
  )
}

/**
 * Changes the given properties. An option whose title stays keeps its id, so that records keep their values.
 * @throws AppError 400 for a key or calc field, and for a property that its type does not have; 404; 409 for a name that is taken, for
 * a stale If-Match, and without `force` when cells would lose values or a view filters by a removed option
 */
export async function update(
  context: Context,
  table: TableRef,
  fieldId: string,
  changes: FieldUpdate,
  ifMatch?: IfMatch,
): Promise<Answer<Field>> {
  const { force } = changes
  const announced = force ? undefined : await announce(context, table, (present) => nextOf(ownField(present, fieldId), changes).cells)
  return withUniqueName(() =>
    changeTable(context, table, async (definition) => {
      const field = ownField(definition, fieldId)
      if (isStale(ifMatch, field)) throw stale('The field has changed since', answerOf(field))
      const next = await changed(context, definition, field, changes, announced)
      await context.db.prisma.field.update({
        where: { tableId_id: { tableId: table.id, id: field.id } },
        data: { ...storedField(next), ...(announced && { narrowing: DbNull }) },
      })
      const renamed = renamedOptions(field, next)
      if (renamed.size) for (const { renameOptions } of context.cascades) await renameOptions?.(context, definition, field, renamed)
      await auditUpdate(context, definition, { before: fieldOf(field), after: fieldOf(next), force })
      return answerOf(next)
    }),
  )
}

type Announcement = Awaited<ReturnType<typeof announce>>

/**
 * The field after the change, to which its cells and views have been adapted. An update without effect keeps the version, so that it
 * makes no If-Match stale.
 */
async function changed(
  context: Context,
  table: TableDef,
  field: FieldDef,
  changes: FieldUpdate,
  announced: Announcement,
): Promise<FieldDef> {
  const { decimals, force } = changes
  if (optionKeys(changes).length || decimals !== undefined) await requireChangeable(context, table.id, field.id)
  const { field: own, cells } = nextOf(field, changes)
  if (own.options && cells && !force) await requireUnfiltered(context, table, { ...field, ...own })
  const deferred = cells ? await fitCells(context, table, field, cells, { announced, force }) : {}
  const next = { ...field, ...propertiesIn(changes), ...own, ...deferred }
  return isDeepStrictEqual(next, field) ? field : { ...next, version: field.version + 1 }
}

const answerOf = (field: FieldDef): Answer<Field> => ({ value: fieldOf(field), version: field.version })

/** @throws AppError 409 naming the views that filter by options which the changed field does not have */
async function requireUnfiltered(context: Context, table: TableDef, changed: FieldDef): Promise<void> {
  const { needing } = await viewsThat('invalidWith', context, table, changed)
  if (needing.length) throw filteringByOption(needing)
}

async function auditUpdate(
  context: Context,
  table: TableDef,
  { before, after, force = false }: { before: Field; after: Field; force: boolean | undefined },
): Promise<void> {
  const changed = differing(before, after)
  if (!changed.length) return
  await audit(context, 'field.updated', { ...auditPlaceOf(table), id: after.id, name: after.name, detail: { changed, force } })
}

/** Returns the given properties among those that all types have. Null resets a flag. */
function propertiesIn({ name, required, always_hidden, admin_only }: FieldUpdate): Partial<FieldDef> {
  return {
    ...(name !== undefined && { name }),
    ...(required !== undefined && { required: required ?? false }),
    ...(always_hidden !== undefined && { always_hidden: always_hidden ?? false }),
    ...(admin_only !== undefined && { admin_only: admin_only ?? false }),
  }
}

/**
 * Adapts the cells to the changed field: at once, or in a job if the table is large and `force` is true.
 * @returns the properties that the field has until the job is done
 * @throws AppError 409 without `force` when cells would lose values
 */
async function fitCells(
  context: Context,
  table: TableDef,
  field: FieldDef,
  cells: CellChange,
  { announced, force }: { announced: Announcement; force: boolean | undefined },
): Promise<Partial<FieldDef>> {
  if (announced) {
    requireUnused(field, cells, announced)
    return {}
  }
  if (force && (await isChangedInSteps(context.db, table.id))) return defer(context, table, cells)
  await changeCells(context, table.id, cells, force)
  return {}
}

/** The columns of the row of a field that a change may write. */
function storedField(field: FieldDef) {
  return {
    name: field.name,
    required: field.required,
    alwaysHidden: field.always_hidden,
    adminOnly: field.admin_only,
    ...(field.options && { options: field.options.map(({ id, title }) => ({ id, title })), optionColors: field.option_colors }),
    removedOptions: field.removed_options,
    decimals: field.decimals,
    isRounding: field.is_rounding,
    version: field.version,
  }
}

/** @throws AppError 404; 400 for a key or calc field */
export function ownField(table: TableDef, fieldId: string): FieldDef {
  const field = table.fields.find(({ id }) => id === fieldId)
  if (!field) throw notFound('Field')
  if (field.key || field.calc)
    throw badInput('field_id', `${field.key ? 'the key field' : 'a calculation field'} cannot be changed or deleted`)
  return field
}

/** Maps the old titles of renamed options to the new ones. */
function renamedOptions(before: FieldDef, after: FieldDef): Map<string, string> {
  const titles = new Map((after.options ?? []).map(({ id, title }) => [id, title]))
  return new Map(
    (before.options ?? []).flatMap(({ id, title }) => {
      const now = titles.get(id)
      return now === undefined || now === title ? [] : [[title, now] as const]
    }),
  )
}

interface Next {
  /** The changed properties of the field. */
  field: Partial<Pick<FieldDef, 'options' | 'option_colors' | 'decimals'>>
  /** The change that the cells need, if any. */
  cells?: CellChange | undefined
}

/** Applies the given options or decimals to the field. @throws AppError 400; 409 for decimals while cells are being rounded */
function nextOf(field: FieldDef, changes: FieldUpdate): Next {
  const { decimals } = changes
  const { takes } = TYPES[field.type]
  const key = optionKeys(changes).find((each) => changes[each] != null)
  if (key && takes !== 'options') throw badInput(key, `${field.type} fields have no options`)
  if (decimals != null && takes !== 'decimals') throw badInput('decimals', `${field.type} fields have no decimals`)
  if (changes.colors && takes !== 'options') throw badInput('colors', `${field.type} fields have no colors`)
  if (takes === 'options' && (optionKeys(changes).length || changes.colors !== undefined)) return nextOptions(field, changes)
  return decimals !== undefined && takes === 'decimals' ? nextDecimals(field, decimals) : { field: {} }
}

/** The keys by which the request changes the options. Null for `options` empties the list; the other two count as absent. */
function optionKeys({ options, add_options, remove_options }: FieldUpdate) {
  return [
    ...(options !== undefined ? (['options'] as const) : []),
    ...(add_options ? (['add_options'] as const) : []),
    ...(remove_options ? (['remove_options'] as const) : []),
  ]
}

function nextOptions(field: FieldDef, changes: FieldUpdate): Next {
  const { options: wanted, add_options, remove_options, colors: given } = changes
  const isEdit = wanted === undefined
  const [path, other] = optionKeys(changes)
  if (path === 'options' && other) throw badInput(other, 'does not go with options, which is the whole list')
  const present = field.options ?? []
  const { options, removed, problem } = isEdit
    ? editOptions(present, { add: add_options ?? [], remove: remove_options ?? [] }, field.removed_options)
    : changeOptions(present, wanted ?? [], field.removed_options)
  if (path && problem) throw badInput(path, problem)
  if (path && options.length > MAX_OPTIONS) throw badInput(path, `must have at most ${MAX_OPTIONS} options`)
  const { colors, unknown } = changeColors(field, { options, given, isEdit: isEdit && path !== undefined })
  if (unknown !== undefined) throw badInputs([{ path: ['colors', unknown], message: unknownOption(unknown) }])
  const own = { ...(path && { options }), option_colors: colors }
  return { field: own, cells: removed.length ? withoutOptions(field, removed) : undefined }
}

function nextDecimals(field: FieldDef, decimals: number | null): Next {
  if (decimals === field.decimals) return { field: {} }
  if (field.is_rounding) throw conflict('The cells are still being rounded; retry later')
  const isFewer = decimals !== null && (field.decimals === null || decimals < field.decimals)
  return { field: { decimals }, cells: isFewer ? rounded(field, decimals) : undefined }
}

/** Enqueues a job that changes the cells of a large table. Until it is done, readers see the cells as if they were changed. */
async function defer(context: Context, table: TableDef, { field, loss }: CellChange): Promise<Partial<FieldDef>> {
  await enqueueCleanup(context, table.id, field.id)
  return 'options' in loss ? { removed_options: [...field.removed_options, ...loss.options] } : { is_rounding: true }
}

/**
 * Deletes a field with its column.
 * @throws AppError 400 for a key or calc field; 404; 409 without `force`, naming the views that need it
 */
export async function remove(context: Context, table: TableRef, fieldId: string, force = false): Promise<FieldDeleted> {
  return changeTable(context, table, async (definition) => {
    const field = ownField(definition, fieldId)
    await requireChangeable(context, table.id, fieldId)
    const needs = await viewsThat('needsOf', context, definition, field)
    const views = [...needs.needing, ...needs.sorting]
    if (views.length && !force) throw neededByViews(views)
    for (const { dropField } of context.cascades) await dropField?.(context, definition, field, needs)
    await context.db.prisma.field.delete({ where: { tableId_id: { tableId: table.id, id: field.id } } })
    await dropColumn(context.db, table.id, field)
    const { id, name, type } = field
    await audit(context, 'field.deleted', { ...auditPlaceOf(definition), id, name, detail: { type, force } })
    return { ok: true, deleted_views: needs.needing, unsorted_views: needs.sorting }
  })
}

/**
 * Stores the type of a field after its cells were converted, with the properties of that type. Its cells before are those of another field
 * for whoever has kept them.
 */
export async function storeType(db: Database, tableId: number, before: FieldDef, after: FieldDef): Promise<void> {
  const { id, type, options, decimals, lookup_table_id } = after
  const colors = keptColors(before, options ?? [])
  await db.write(sql`
    update fields set type = ${type}, options = ${options && JSON.stringify(options)}::jsonb, decimals = ${decimals}::int,
      lookup_table_id = ${lookup_table_id}::int, option_colors = ${JSON.stringify(colors)}::jsonb, narrowing = null,
      version = version + 1, since_change = nextval('public.change_ids')
    where table_id = ${tableId} and id = ${id}`)
}
