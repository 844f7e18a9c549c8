/** Pieces of SQL that types of fields share. Values are bound; identifiers come from the field list. */
import { ident, raw, type Sql, sql } from '../platform/database/database.ts'
import { formatInstant, isInRange } from '../platform/time.ts'
import type { Compare } from './compares.ts'

/** The column of a field. Always with its alias: in a subselect a bare name could mean a column of the inner table. */
export const columnOf = (field: { id: string }): Sql => sql`r.${ident(field.id)}`

/** Compares one value. `!=` includes empty cells, all other compares leave them out. */
export function scalar(column: Sql, compare: Compare, value: Sql): Sql {
  if (compare === '!=') return sql`${column} is distinct from ${value}`
  return sql`${column} ${operator(compare)} ${value}`
}

const OPERATORS: Partial<Record<Compare, Sql>> = { '=': raw('='), '>': raw('>'), '<': raw('<'), '>=': raw('>='), '<=': raw('<=') }

/** @throws Error for a compare that is no operator of SQL */
export function operator(compare: Compare): Sql {
  const printed = OPERATORS[compare]
  if (!printed) throw new Error(`No SQL operator for ${compare}`)
  return printed
}

/** Whether a list has the value, or with `!=` does not have it. */
export function hasValue(column: Sql, compare: Compare, value: Sql): Sql {
  const has = sql`${column} @> array[${value}]`
  return compare === '!=' ? sql`(${column} is null or not ${has})` : has
}

/** The instant as Postgres reads it. The first and the last of all days can end where no record lies, and no text names that instant. */
export function stampOf(instant: Date): string {
  if (isInRange(instant)) return formatInstant(instant)
  return instant.getTime() < 0 ? '-infinity' : 'infinity'
}

/** The test for emptiness of most types. */
export const isNull = (_: unknown, column: Sql): Sql => sql`(${column} is null)`

/** Gives text the collation that columns of records have: case by the rules of Unicode, whatever the database's own collation is. */
export const unicode = (text: Sql): Sql => sql`(${text}) collate "pg_c_utf8"`
export const lower = (text: string): Sql => sql`lower(${unicode(sql`${text}::text`)})`

/** contains, starts_with and ends_with: they ignore case, and % _ \ stand for themselves. The text has the collation of `unicode`. */
export function like(text: Sql, compare: Compare, part: string): Sql {
  const escaped = part.replaceAll(/[\\%_]/g, '\\$&')
  const pattern = `${compare === 'starts_with' ? '' : '%'}${escaped}${compare === 'ends_with' ? '' : '%'}`
  return sql`lower(${text}) like ${lower(pattern)}`
}
