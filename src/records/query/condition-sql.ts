/** Prints conditions as SQL. The comparisons of a type are in its definition (`fields/types/`); values are bound. */

import { columnOf } from '../../fields/cell-sql.ts'
import { cellValue, type FieldDef } from '../../fields/definition.ts'
import type { QueryContext } from '../../fields/field-type.ts'
import { TYPES } from '../../fields/registry.ts'
import { ident, join, type Sql, sql } from '../../platform/database/database.ts'
import type { Tree } from '../../views/filters/parse.ts'
import type { ResolvedCondition } from '../../views/filters/resolve-conditions.ts'

export const NEVER = sql`false`
export const ALWAYS = sql`true`

/** The cell to read of a field. Deleted options are read too, because no title is found for them. */
export const cellRead = (field: FieldDef): Sql => (field.is_rounding ? cellValue(field) : columnOf(field))
/** The same as a column. */
export const columnRead = (field: FieldDef): Sql => (field.is_rounding ? sql`${cellRead(field)} as ${ident(field.id)}` : columnOf(field))

/** An empty `all` is true, an empty `any` false. */
export function printTree(tree: Tree<ResolvedCondition>, queryContext: QueryContext): Sql {
  if ('all' in tree) return printGroup(tree.all, queryContext, ' and ', ALWAYS)
  if ('any' in tree) return printGroup(tree.any, queryContext, ' or ', NEVER)
  return printCondition(tree, queryContext)
}

function printGroup(parts: Tree<ResolvedCondition>[], queryContext: QueryContext, connector: string, whenEmpty: Sql): Sql {
  if (parts.length === 0) return whenEmpty
  const printed = parts.map((part) => printTree(part, queryContext))
  return printed.length === 1 ? (printed[0] as Sql) : sql`(${join(printed, connector)})`
}

function printCondition(condition: ResolvedCondition, queryContext: QueryContext): Sql {
  const { field, compare } = condition
  const type = TYPES[field.type]
  if (compare !== 'is_empty' && compare !== 'is_not_empty') return type.condition(condition, queryContext)
  const isEmpty = type.isEmpty(field, columnOf(field), queryContext)
  return compare === 'is_empty' ? isEmpty : sql`not ${isEmpty}`
}
