/** A table's fields come, change and go: metadata, column and cells in one transaction. */
import { sql } from '../db.ts'
import { badInput, badInputs, conflict, notFound } from '../errors.ts'
import type { Scope } from '../scope.ts'
import type { TableRef } from '../targets.ts'
import { changeAhead, changeCells, rounded, withoutOptions } from './cell-changes.ts'
import { changeTable } from './change.ts'
import { requireNotConverting } from './conversions.ts'
import { addColumn, dropColumn } from './ddl.ts'
import { tableDefinition } from './definitions.ts'
import { dependents, neededByViews, viewsThat } from './dependents.ts'
import { type FieldDef, isSelect, ownFields, type TableDef } from './fields.ts'
import { isWorthIndexing } from './indexing.ts'
import { newFields } from './new-fields.ts'
import { changeOptions, type OptionChange } from './options.ts'
import { emptyLater } from './removed-options.ts'
import { type Field, type FieldDeleted, type FieldUpdate, fieldOf, MAX_FIELDS, MAX_OPTIONS, type NewField } from './schema.ts'
import { insertFields, naming, requireLookedUpTables } from './service.ts'

/**
 * Adds a field at the end.
 * @throws AppError 400 for what its type does not have, and past 300 fields; 409 for a name that is taken
 */
export async function create(scope: Scope, table: TableRef, wanted: NewField): Promise<Field> {
  return naming(() =>
    changeTable(scope, table, async (definition) => {
      const own = ownFields(definition)
      if (own.length >= MAX_FIELDS) throw badInput([], `A table has at most ${MAX_FIELDS} fields`)
      const { fields, issues } = newFields([wanted], new Set(own.map(({ id }) => id)))
      if (issues.length) throw badInputs(issues.map(({ path, message }) => ({ path: path.slice(1), message })))
      await requireLookedUpTables(scope, definition.space_id, fields, () => ['table'])
      const [last] = await scope.db.query<{ position: number }>(
        sql`select coalesce(max(position), 0) as position from fields where table_id = ${table.id}`,
      )
      await insertFields(scope, definition, fields, (last?.position ?? 0) + 1)
      for (const field of fields) await addColumn(scope.db, table.id, field)
      return fieldOf(fields[0] as FieldDef)
    }),
  )
}

/**
 * Changes what is given. Options keep their ids by title, so that records keep what they hold.
 * @throws AppError 400 for a key or calc field, and for what the type does not have; 404; 409 for a name that is taken, and
 * when cells would lose something without `force`
 */
export async function update(scope: Scope, table: TableRef, fieldId: string, changes: FieldUpdate): Promise<Field> {
  await prepareCells(scope, table, fieldId, changes)
  return naming(() =>
    changeTable(scope, table, async (definition) => {
      const field = ownField(definition, fieldId)
      const { name, required, always_hidden, admin_only, options, decimals } = changes
      if (options !== undefined || decimals !== undefined) await requireNotConverting(scope.db, table.id, fieldId)
      const next: FieldDef = {
        ...field,
        ...(name !== undefined && { name }),
        ...(required !== undefined && { required: required ?? false }),
        ...(always_hidden !== undefined && { always_hidden: always_hidden ?? false }),
        ...(admin_only !== undefined && { admin_only: admin_only ?? false }),
        ...(await nextOptions(scope, definition, field, changes)),
        decimals: await nextDecimals(scope, definition, field, changes),
      }
      await scope.db.prisma.field.update({
        where: { tableId_id: { tableId: table.id, id: field.id } },
        data: {
          name: next.name,
          required: next.required,
          alwaysHidden: next.always_hidden,
          adminOnly: next.admin_only,
          ...(next.options && { options: next.options.map(({ id, title }) => ({ id, title })) }),
          removedOptions: next.removed_options,
          decimals: next.decimals,
        },
      })
      const renamed = renamedOptions(field, next)
      if (renamed.size) for (const { renameOptions } of dependents) await renameOptions?.(scope, definition, field, renamed)
      return fieldOf(next)
    }),
  )
}

/** @throws AppError 404; 400 for a key or calc field */
export function ownField(table: TableDef, fieldId: string): FieldDef {
  const field = table.fields.find(({ id }) => id === fieldId)
  if (!field) throw notFound('Field')
  if (field.key || field.calc)
    throw badInput('field_id', `${field.key ? 'the key field' : 'a calculation field'} cannot be changed or deleted`)
  return field
}

/** The new titles of options that keep their id, by the old ones. */
function renamedOptions(before: FieldDef, after: FieldDef): Map<string, string> {
  const titles = new Map((after.options ?? []).map(({ id, title }) => [id, title]))
  return new Map(
    (before.options ?? []).flatMap(({ id, title }) => {
      const now = titles.get(id)
      return now === undefined || now === title ? [] : [[title, now] as const]
    }),
  )
}

async function nextOptions(
  scope: Scope,
  table: TableDef,
  field: FieldDef,
  changes: FieldUpdate,
): Promise<Pick<FieldDef, 'options' | 'removed_options'>> {
  const { options: present, removed_options } = field
  if (changes.options === undefined) return { options: present, removed_options }
  const { options, removed } = wantedOptions(field, changes)
  if (!removed.length) return { options, removed_options }
  if (changes.force && (await isWorthIndexing(scope.db, table.id))) {
    await emptyLater(scope, table.id, field.id)
    return { options, removed_options: [...removed_options, ...removed.map(({ id }) => id)] }
  }
  await changeCells(scope, table.id, withoutOptions(field, removed), changes.force)
  return { options, removed_options }
}

/** @throws AppError 400 for a list that cannot be */
function wantedOptions(field: FieldDef, { options: wanted }: FieldUpdate): OptionChange {
  if (!isSelect(field.type)) throw badInput('options', `${field.type} fields have no options`)
  const change = changeOptions(field.options ?? [], wanted ?? [], field.removed_options)
  if (change.problem) throw badInput('options', change.problem)
  if (change.options.length > MAX_OPTIONS) throw badInput('options', `must have at most ${MAX_OPTIONS} options`)
  return change
}

async function nextDecimals(scope: Scope, table: TableDef, field: FieldDef, { decimals, force }: FieldUpdate): Promise<number | null> {
  if (decimals === undefined) return field.decimals
  if (field.type !== 'number') throw badInput('decimals', `${field.type} fields have no decimals`)
  if (decimals !== null && (field.decimals === null || decimals < field.decimals))
    await changeCells(scope, table.id, rounded(field, decimals), force)
  return decimals
}

/** On a large table the cells that lose digits are changed first, once nothing else can be wrong with the request. */
async function prepareCells(scope: Scope, table: TableRef, fieldId: string, changes: FieldUpdate): Promise<void> {
  const { name, options, decimals, force } = changes
  if (!force || decimals == null) return
  const definition = await tableDefinition(scope.db, table)
  const field = ownField(definition, fieldId)
  await requireNotConverting(scope.db, table.id, fieldId)
  const isTaken = definition.fields.some((other) => other.id !== fieldId && other.name.toLowerCase() === name?.toLowerCase())
  if (isTaken) throw conflict('This name is taken')
  if (options === undefined && field.type === 'number') await changeAhead(scope, table.id, rounded(field, decimals))
}

/**
 * Removes a field with its column.
 * @throws AppError 400 for a key or calc field; 404; 409 naming the views that need it, without `force`
 */
export async function remove(scope: Scope, table: TableRef, fieldId: string, force = false): Promise<FieldDeleted> {
  return changeTable(scope, table, async (definition) => {
    const field = ownField(definition, fieldId)
    await requireNotConverting(scope.db, table.id, fieldId)
    const needs = await viewsThat('needsOf', scope, definition, field)
    const views = [...needs.needing, ...needs.sorting]
    if (views.length && !force) throw neededByViews(views)
    for (const { dropField } of dependents) await dropField?.(scope, definition, field, needs)
    await scope.db.prisma.field.delete({ where: { tableId_id: { tableId: table.id, id: field.id } } })
    await dropColumn(scope.db, table.id, field)
    return { ok: true, deleted_views: needs.needing, unsorted_views: needs.sorting }
  })
}
