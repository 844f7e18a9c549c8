/** How records are ordered: contract.md §5, last column of the table of compares. */

import { columnOf } from '../../fields/cell-sql.ts'
import type { FieldDef } from '../../fields/definition.ts'
import type { QueryContext, SortRule } from '../../fields/field-type.ts'
import { TYPES } from '../../fields/registry.ts'
import { join, raw, type Sql, sql } from '../../platform/database/database.ts'
import { type Sort, wholeOrder } from '../../views/filters/sort.ts'
import type { PageEnd } from './selection.ts'

export function printOrder(order: readonly Sort[], queryContext: QueryContext): Sql {
  const keys = wholeOrder(order).map(({ field, isDescending }) =>
    field.key ? sql`r.id ${direction(isDescending)}` : sql`${sortKey(field, queryContext)} ${isDescending ? DESCENDING : ASCENDING}`,
  )
  return join(keys)
}

/** The order by one value, for where the field is not at hand. */
export const printOrderBy = (value: Sql, isDescending: boolean): Sql =>
  sql`${value} ${isDescending ? DESCENDING : ASCENDING}, r.id ${direction(isDescending)}`

const direction = (isDescending: boolean): Sql => (isDescending ? raw('desc') : raw('asc'))
/** Spelled as the indexes are made. */
const [ASCENDING, DESCENDING] = [raw('asc nulls first'), raw('desc nulls last')]

/**
 * What follows a position in an order of one key, as one condition or two whose records follow each other: first those that have a
 * value and then the empty ones, or the other way round. Each is one range of the index `(f NULLS FIRST, id)`; said in one
 * condition with OR they are not.
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

/** The value that records are sorted by: the same expression that indexes are made of. */
export function sortKey(field: FieldDef, queryContext: QueryContext): Sql {
  return ruleOf(field).key(field, columnOf(field), queryContext)
}

/** @throws Error for a type that cannot be sorted by, which resolveOrder lets nobody ask for */
function ruleOf({ type }: FieldDef): SortRule {
  const rule = TYPES[type].sort
  if (!rule) throw new Error(`${type} fields have no order`)
  return rule
}
