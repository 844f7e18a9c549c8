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

/**
 * A JSON object as SQL. Postgres finds its keys by halving, and does so within a parallel worker; a list would be searched for each
 * cell, and a table would be asked.
 */
export const jsonOf = (entries: readonly (readonly [number | string, number | string])[]): Sql =>
  sql`${JSON.stringify(Object.fromEntries(entries))}::jsonb`

// ── lists ───────────────────────────────────────────────────────────────────

/** One value as a list; no value is no list. */
export const asList = (one: Sql): Sql => sql`case when ${one} is not null then array[${one}] end`

/** A list of one as its value, read by `read`; no value for any other list. */
export const onlyValue = (list: Sql, read: (one: Sql) => Sql = (one) => one): Sql =>
  sql`case when cardinality(${list}) = 1 then ${read(sql`${list}[1]`)} end`

/** Values between commas, each read by itself and kept once; null when one of them cannot be read, or there are more than 1,000. */
export function eachOf(text: Sql, read: (one: Sql) => Sql): Sql {
  return sql`(select case when bool_and(p.id is not null) and count(*) <= 1000 then array_agg(p.id order by p.at) end
    from (select o.id, min(o.at) as at from (
      select ${read(sql`s.word`)} as id, s.at
      from (select btrim(t.word) as word, t.at from unnest(string_to_array(${text}, ',')) with ordinality t (word, at)) s
      where s.word <> '') o group by o.id) p)`
}
