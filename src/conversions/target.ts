/** Reads the target of a conversion from the request. */
import { type FieldDef, isLookup, isSelect, type TableDef, withArticle } from '../fields/definition.ts'
import type { Context } from '../platform/context.ts'
import { badInput, badInputs } from '../platform/errors.ts'
import { neededByViews, viewsThat } from '../tables/cascade.ts'
import { newFields } from '../tables/fields/new-fields.ts'
import { changeOptions } from '../tables/fields/select-options.ts'
import { requireLookedUpTables } from '../tables/service.ts'
import type { Target } from './job/conversion-row.ts'
import { isConvertible } from './rules.ts'
import type { TypeChange } from './schema.ts'

/**
 * Returns the field's new type and settings. The options of a select are null if a job must read them from the cells.
 * @throws AppError 400 for a type that the field cannot be converted to, and for a setting that the new type does not have
 */
export async function targetOf(context: Context, table: TableDef, field: FieldDef, input: TypeChange): Promise<Target> {
  const { type, options, decimals } = input
  if (type === field.type) throw badInput('type', `is ${type} already`)
  if (!isConvertible(field.type, type)) throw badInput('type', `${withArticle(field.type)} cannot be converted to ${withArticle(type)}`)
  const lookedUp = input.table ?? (isLookup(type) ? field.lookup_table_id : null)
  if (isLookup(type) && isLookup(field.type) && lookedUp !== field.lookup_table_id)
    throw badInput('table', "must be the field's present table")

  const { fields, issues } = newFields([{ name: field.name, type, options, decimals, table: lookedUp }], new Set())
  if (issues.length) throw badInputs(issues.map(({ path, message }) => ({ path: path.slice(1), message })))
  await requireLookedUpTables(context, table.space_id, fields, () => ['table'])
  const wanted = fields[0] as FieldDef
  return { type, decimals: wanted.decimals, lookup_table_id: wanted.lookup_table_id, options: optionsOf(field, wanted, input) }
}

/** Returns the options of the request, or those of the field. A title that the field has already keeps its id. */
function optionsOf(field: FieldDef, wanted: FieldDef, { options }: TypeChange): FieldDef['options'] {
  if (!isSelect(wanted.type)) return null
  if (isSelect(field.type)) return changeOptions(field.options ?? [], options ?? (field.options ?? []).map(({ title }) => title)).options
  return options ? wanted.options : null
}

/** @throws AppError 409 naming the views that would be invalid if the field were as `changed` describes it */
export async function requireValidViews(context: Context, table: TableDef, changed: FieldDef): Promise<void> {
  const { needing, sorting } = await viewsThat('invalidWith', context, table, changed)
  if (needing.length || sorting.length) throw neededByViews([...needing, ...sorting])
}
