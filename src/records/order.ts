/** How records are ordered: contract.md §5, last column of the table of compares. */
import { ident, join, raw, recordsOf, type Sql, sql } from '../db.ts'
import type { FieldDef } from '../tables/fields.ts'
import type { Sort } from '../views/sort.ts'
import { type Context, columnOf } from './condition.ts'

/**
 * An empty value is the smallest. Ties go by id in the direction of the last key, so that the order is total and pages never
 * overlap; and so that one index `(f NULLS FIRST, …, id)` serves an order and its reverse, whatever directions its keys have.
 */
export function printOrder(order: readonly Sort[], context: Context): Sql {
  const keys: Sql[] = []
  for (const { field, isDescending } of order) {
    // No two records share an id: what comes after it decides nothing.
    if (field.key) return join([...keys, sql`r.id ${direction(isDescending)}`])
    keys.push(sql`${sortKey(field, context)} ${isDescending ? DESCENDING : ASCENDING}`)
  }
  return join([...keys, sql`r.id ${direction(order.at(-1)?.isDescending ?? false)}`])
}

const direction = (isDescending: boolean): Sql => (isDescending ? raw('desc') : raw('asc'))
/** Spelled as the indexes are made. */
const [ASCENDING, DESCENDING] = [raw('asc nulls first'), raw('desc nulls last')]

/** What a field is sorted by. */
export function sortKey(field: FieldDef, { lookups, accountId }: Context): Sql {
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
  return isAscending ? columnOf(field) : sql`array_position(${ids}::int[], ${columnOf(field)})`
}
