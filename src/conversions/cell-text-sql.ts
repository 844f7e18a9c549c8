/** What a cell is in words, as SQL. */

import { type FieldDef, isMultiple } from '../fields/definition.ts'
import type { Option } from '../fields/settings.ts'
import { ident, recordsOf, type Sql, sql } from '../platform/database/database.ts'

/** Between the words of a list. */
const SEPARATOR = ', '

/** A cell of the field as the wire has it, lists joined by `SEPARATOR`. Null when it is no value. */
export function wordsOf(field: FieldDef, cell: Sql, { account_id }: { account_id: number }): Sql {
  const named = (one: (id: Sql) => Sql) =>
    isMultiple(field.type)
      ? sql`(select string_agg(${one(sql`o.id`)}, ${SEPARATOR} order by o.at) from unnest(${cell}) with ordinality o (id, at))`
      : one(cell)
  switch (field.type) {
    case 'number':
      return sql`trim_scale(${cell})::text`
    case 'checkbox':
      return sql`(case when ${cell} then 'true' when not ${cell} then 'false' end)`
    case 'select':
    case 'multi_select':
      return named((id) => picked(field.options ?? [], id))
    case 'user':
    case 'multi_user':
      return named(
        (id) => sql`((select jsonb_object_agg(u.id, u.email) from public.users u where u.account_id = ${account_id}) ->> (${id})::text)`,
      )
    case 'lookup':
    case 'multi_lookup':
      return named((id) => recordWords(field, id))
    default:
      return sql`${cell}::text`
  }
}

/** Records that are gone are no value, as they are read. */
function recordWords(field: FieldDef, id: Sql): Sql {
  if (!field.lookup || field.lookup_table_id === null) return sql`null::text`
  return sql`(select ${titleOf(field, sql`l`)} from ${recordsOf(field.lookup_table_id)} l where l.id = ${id})`
}

/** The title of the record in `alias`, or its id if it has none. */
const titleOf = ({ lookup }: FieldDef, alias: Sql): Sql =>
  lookup?.title_field ? sql`coalesce(${alias}.${ident(lookup.title_field)}, ${alias}.id::text)` : sql`${alias}.id::text`

const picked = (options: readonly Option[], id: Sql): Sql =>
  sql`(${jsonOf(options.map((option) => [option.id, option.title]))} ->> (${id})::text)`

/**
 * Postgres finds the keys of a JSON object by halving, and does so within a parallel worker; a list would be gone through for each
 * cell, and a table be asked.
 */
export const jsonOf = (entries: readonly (readonly [number | string, number | string])[]): Sql =>
  sql`${JSON.stringify(Object.fromEntries(entries))}::jsonb`
