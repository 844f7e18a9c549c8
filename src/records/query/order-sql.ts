/** Prints the order of records (contract.md §5, last column of the table of compares). */

import { columnOf } from '../../fields/cell-sql.ts'
import type { FieldDef } from '../../fields/definition.ts'
import type { QueryContext, SortRule } from '../../fields/field-type.ts'
import { TYPES } from '../../fields/registry.ts'
import { join, raw, type Sql, sql } from '../../platform/database/database.ts'
import type { PageEnd } from '../../platform/http/answers/cursor.ts'
import { type Sort, wholeOrder } from '../../views/filters/order.ts'

export function printOrder(order: readonly Sort[], queryContext: QueryContext): Sql {
  const keys = wholeOrder(order).map(({ field, isDescending }) =>
    field.key ? sql`r.id ${direction(isDescending)}` : sql`${sortKey(field, queryContext)} ${isDescending ? DESCENDING : ASCENDING}`,
  )
  return join(keys)
}

/** The order by a value that another statement has selected. */
export const printOrderBy = (value: Sql, isDescending: boolean): Sql =>
  sql`${value} ${isDescending ? DESCENDING : ASCENDING}, r.id ${direction(isDescending)}`

const direction = (isDescending: boolean): Sql => (isDescending ? raw('desc') : raw('asc'))
/** Spelled as in the indexes. */
const [ASCENDING, DESCENDING] = [raw('asc nulls first'), raw('desc nulls last')]

/**
 * The conditions for the records after the end of a page, in an order of one key: one condition, or two where values and empty
 * values meet. Each is one range of the index `(f NULLS FIRST, id)`; joined by OR they would not be.
 */
export function printAfter(sort: Sort | undefined, { key, id }: PageEnd, queryContext: QueryContext): Sql[] {
  const isDescending = sort?.isDescending ?? false
  const beyond = isDescending ? raw('<') : raw('>')
  if (!sort || sort.field.key) return [sql`r.id ${beyond} ${id}::int`]
  const value = sortKey(sort.field, queryContext)
  if (key === null) {
    const otherEmpty = sql`${value} is null and r.id ${beyond} ${id}::int`
    return isDescending ? [otherEmpty] : [otherEmpty, sql`${value} is not null`]
  }
  const { keyType, isNeverEmpty } = ruleOf(sort.field)
  const others = sql`(${value}, r.id) ${beyond} (${key}::${raw(keyType)}, ${id}::int)`
  return isDescending && !isNeverEmpty ? [others, sql`${value} is null`] : [others]
}

/**
 * The condition for the records of the order up to this one, which is included; undefined where they are nearly all records, because the
 * empty values have begun that follow all others.
 */
export function printUpTo(sort: Sort | undefined, { key, id }: PageEnd, queryContext: QueryContext): Sql | undefined {
  const isDescending = sort?.isDescending ?? false
  const within = isDescending ? raw('>=') : raw('<=')
  if (!sort || sort.field.key) return sql`r.id ${within} ${id}::int`
  const value = sortKey(sort.field, queryContext)
  if (key === null) return isDescending ? undefined : sql`${value} is null and r.id <= ${id}::int`
  const { keyType, isNeverEmpty } = ruleOf(sort.field)
  const others = sql`(${value}, r.id) ${within} (${key}::${raw(keyType)}, ${id}::int)`
  return isDescending || isNeverEmpty ? others : sql`(${value} is null or ${others})`
}

/** The expression that records are sorted by. Indexes are created on the same expression. */
export function sortKey(field: FieldDef, queryContext: QueryContext): Sql {
  return ruleOf(field).key(field, columnOf(field), queryContext)
}

/** @throws Error for a type that is not sortable, which `resolveOrder` refuses before */
function ruleOf({ type }: FieldDef): SortRule {
  const rule = TYPES[type].sort
  if (!rule) throw new Error(`${type} fields have no order`)
  return rule
}
