/** Prints conditions as SQL. The comparisons of a type are in its definition (`fields/types/`); values are bound. */

import { hash } from 'node:crypto'
import { columnOf, eachLinked } from '../../fields/cell-sql.ts'
import type { Compare } from '../../fields/compares.ts'
import { cellValue, type FieldDef, isMultiple, isThroughMany, type Link } from '../../fields/definition.ts'
import type { QueryContext } from '../../fields/field-type.ts'
import { TYPES } from '../../fields/registry.ts'
import { empty, ident, join, recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import { memo } from '../../platform/memo.ts'
import type { Tree } from '../../views/filters/parse.ts'
import { isListed, type ListedCondition, type ResolvedCondition } from '../../views/filters/resolve-conditions.ts'

export const NEVER = sql`false`
export const ALWAYS = sql`true`

/** The cell to read of a field. Deleted options are read too, because no title is found for them. */
export function cellRead(field: FieldDef): Sql {
  const { link } = field
  if (link && isThroughMany(field)) return textsRead(link)
  return field.is_rounding ? cellValue(field) : columnOf(field)
}

/** The texts of the cells of all linked records, as a JSON list. */
function textsRead(link: Link): Sql {
  const { field } = link
  const cells = eachLinked(link, (column) => (field.is_rounding ? TYPES[field.type].value(field, column) : column))
  return sql`(select json_agg(c.value::text order by c.at) from (${cells}) c)`
}

/** The same as a column. */
export const columnRead = (field: FieldDef): Sql =>
  field.is_rounding || field.link ? sql`${cellRead(field)} as ${ident(columnName(field))}` : columnOf(field)

/** The longest name that PostgreSQL does not cut. */
const MAX_NAME = 63

/** The name of a column that has the cells of the field in a statement. No field id contains a tilde. */
export const columnName = ({ id }: Pick<FieldDef, 'id'>): string => (id.length > MAX_NAME ? `~${hash('sha256', id, 'base64url')}` : id)

/** An empty `all` is true, an empty `any` false. */
export function printTree(tree: Tree<ResolvedCondition>, queryContext: QueryContext): Sql {
  if ('all' in tree) return printGroup(tree.all, queryContext, ' and ', ALWAYS)
  if ('any' in tree) return printGroup(tree.any, queryContext, ' or ', NEVER)
  // A condition on an empty value can be unknown to Postgres, which counts as false.
  if ('not' in tree) return sql`(${printTree(tree.not, queryContext)}) is not true`
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
  if (field.link) return printLinked(condition, field.link, queryContext)
  if (isListed(condition)) return printList(condition, queryContext)
  if (compare !== 'is_empty' && compare !== 'is_not_empty') return type.condition(condition, queryContext)
  const isEmpty = type.isEmpty(field, columnOf(field), queryContext)
  return compare === 'is_empty' ? isEmpty : sql`not ${isEmpty}`
}

function printList(condition: ListedCondition, queryContext: QueryContext): Sql {
  const { field, compare } = condition
  const among = TYPES[field.type].among?.(condition, queryContext) ?? NEVER
  return compare === '!=' ? sql`(${among}) is not true` : among
}

// ── linked fields ───────────────────────────────────────────────────────────

/** Through links these are the opposites of other compares (contract.md §9). */
const OPPOSITES: Partial<Record<Compare, Compare>> = { '!=': '=', is_empty: 'is_not_empty' }

/** The condition on the records of the other table of which one must be linked, or none where the compare is an opposite. */
export const conditionOnLinked = memo((condition: ResolvedCondition): ResolvedCondition => {
  const { field, compare } = condition
  return { ...condition, field: field.link?.field ?? field, compare: OPPOSITES[compare] ?? compare }
})

function printLinked(condition: ResolvedCondition, { lookup }: Link, queryContext: QueryContext): Sql {
  const asked = conditionOnLinked(condition)
  const column = columnOf(lookup)
  // The inner `r` is a record of the other table. The select names no column of the outer one, so Postgres runs it once.
  const meant = sql`select r.id from ${recordsOf(lookup.lookup_table_id ?? 0)} r where ${printCondition(asked, queryContext)}`
  const isLinked = isMultiple(lookup.type)
    ? sql`exists (select from unnest(${column}) as m (id) where m.id in (${meant}))`
    : sql`(${column} in (${meant})${holdsForEmpty(asked) ? sql` or ${TYPES[lookup.type].isEmpty(lookup, column, queryContext)}` : empty})`
  return asked.compare === condition.compare ? isLinked : sql`(${isLinked}) is not true`
}

/** Without a linked record a checkbox is empty, which counts as false. */
const holdsForEmpty = ({ operand }: ResolvedCondition) => operand.kind === 'boolean' && !operand.value
