/** How records are ordered: contract.md §5, last column of the table of compares. */

import { COLUMN_TYPES, type FieldDef, isLookup, isText, isUser } from '../../fields/definition.ts'
import { ident, join, raw, recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import { type Sort, wholeOrder } from '../../views/filters/sort.ts'
import { cellValue, columnOf, type QueryContext } from './condition-sql.ts'
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
  const others = sql`(${value}, r.id) ${beyond} (${key}::${sortKeyType(sort.field)}, ${id}::int)`
  return isDescending && sort.field.type !== 'checkbox' ? [others, sql`${value} is null`] : [others]
}

const sortKeyType = ({ type }: FieldDef): Sql => raw(isText(type) || isUser(type) || isLookup(type) ? 'text' : COLUMN_TYPES[type])

/** What a field is sorted by. */
export function sortKey(field: FieldDef, { lookups, accountId }: QueryContext): Sql {
  const column = columnOf(field)
  switch (field.type) {
    case 'text':
    case 'email':
    case 'url':
    case 'phone':
      return sql`lower(${column})`
    case 'long_text':
      return sql`lower(left(${column}, 200))`
    case 'checkbox':
      return sql`coalesce(${column}, false)`
    case 'number':
      return cellValue(field)
    case 'select':
      return byPosition(field)
    case 'user':
      return sql`(select lower(u.name collate "pg_c_utf8") from users u where u.id = ${column} and u.account_id = ${accountId})`
    case 'lookup': {
      const title = field.lookup_table_id === null ? null : lookups.get(field.lookup_table_id)?.titleField
      // Without a title all records are alike, and go by id. A bare null would be taken for the number of a column.
      if (!title || field.lookup_table_id === null) return sql`null::text`
      return sql`(select lower(l.${ident(title)}) from ${recordsOf(field.lookup_table_id)} l where l.id = ${column})`
    }
    default:
      return column
  }
}

/** While options stand in the order in which they were made, their ids do too, and an index on the column serves. */
function byPosition(field: FieldDef): Sql {
  const ids = (field.options ?? []).map(({ id }) => id)
  const isAscending = ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? 0))
  return isAscending ? cellValue(field) : sql`array_position(${ids}::int[], ${cellValue(field)})`
}
