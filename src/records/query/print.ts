/** A resolved query as one parameterised statement. Identifiers come from the field list, values are bound. */

import type { FieldDef, TableDef } from '../../fields/definition.ts'
import { empty, ident, join, raw, recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import { totalOf } from '../../tables/row-counts.ts'
import type { Tree } from '../../views/filters/parse.ts'
import type { Checked } from '../../views/filters/resolve.ts'
import type { Sort } from '../../views/filters/sort.ts'
import { ALWAYS, columnRead, printTree, type QueryContext } from './condition-sql.ts'
import { type Position, printAfter, printOrder, printOrderBy, sortKey } from './order-sql.ts'
import { printSearch } from './search-sql.ts'

/** Which records. */
export interface Selection {
  table: TableDef
  where: Tree<Checked>
  /** Words that must all be found. */
  words: readonly string[]
}

/** One page of them. */
export interface Page extends Selection {
  /** The columns to read; `id` is always read. */
  fields: readonly FieldDef[]
  /** The first key first; none: by id, ascending. */
  order: readonly Sort[]
  limit: number
  offset: number
  /** A page of a walk by cursor: after a position, or null for the first. Its rows carry KEY, and there is one more than `limit` if more follow. */
  after?: Position | null | undefined
}

/** What a record is sorted by, as text. No field has such an id. */
export const KEY = '~key'

/** Beyond it a page is found by the ids alone, often in an index, and only its rows are read (measurements.md: 91 ms → 8.5 ms). */
const DEEP_OFFSET = 1_000

/** The version of the table stands in the text. */
export function printPage(page: Page, queryContext: QueryContext): Sql {
  const { table, fields, limit, offset } = page
  const columns = columnsOf(fields)
  const records = recordsOf(table.id)
  const order = printOrder(page.order, queryContext)
  if (page.after !== undefined) return printWalk(page, page.after, queryContext)
  const window = sql`where ${printSelection(page, queryContext)} order by ${order} limit ${limit}::bigint offset ${offset}::bigint`
  const version = versionOf(table)
  if (offset < DEEP_OFFSET) return sql`select ${version} ${columns} from ${records} r ${window}`
  return sql`select ${version} ${columns} from ${records} r where r.id in (select r.id from ${records} r ${window}) order by ${order}`
}

/** Each page is one range of the index, or two where the empty values meet the others: how deep it lies makes no difference. */
function printWalk(page: Page, after: Position | null, queryContext: QueryContext): Sql {
  const { order, limit } = page
  const [sort] = order
  const [near, far] = after ? printAfter(sort, after, queryContext) : []
  if (!far) return printRange(page, near, queryContext)
  const columns = sql`${versionOf(page.table)} ${columnsOf(page.fields)}`
  const left = sql`(${limit + 1}::bigint - (select count(*) from near))`
  const key = ident(KEY)
  // A limit of 0 runs nothing: the far part is read only where the near one ends.
  return sql`with near as materialized (${printRange(page, near, queryContext, { isTyped: true })}),
    page as (select * from near union all (${printRange(page, far, queryContext, { isTyped: true, atMost: left })}))
    select ${columns}, r.${key}::text as ${key} from page r order by ${printOrderBy(sql`r.${key}`, sort?.isDescending ?? false)}`
}

/**
 * The page of a walk that may reach into a second range, as if it did not: half as dear, and right whenever it brings more rows than
 * `limit`. Undefined for a page that `printPage` finds in one range.
 */
export function printNearPage(page: Page, queryContext: QueryContext): Sql | undefined {
  const [near, far] = page.after ? printAfter(page.order[0], page.after, queryContext) : []
  return far && printRange(page, near, queryContext)
}

/** One range of a walk, its rows with what they are sorted by: as text, or of its own type. */
function printRange(
  { table, fields, order, limit, ...selection }: Page,
  after: Sql | undefined,
  queryContext: QueryContext,
  { isTyped = false, atMost = sql`${limit + 1}::bigint` }: { isTyped?: boolean; atMost?: Sql } = {},
): Sql {
  const [sort] = order
  const value = sort && !sort.field.key ? sortKey(sort.field, queryContext) : undefined
  const key = value ? sql`, ${value}${isTyped ? empty : raw('::text')} as ${ident(KEY)}` : empty
  return sql`select ${versionOf(table)} ${columnsOf(fields)}${key} from ${recordsOf(table.id)} r
    where ${printSelection({ table, ...selection }, queryContext)}${after ? sql` and ${after}` : empty}
    order by ${printOrder(order, queryContext)} limit ${atMost}`
}

/** What was prepared for an earlier version of the table is another statement. */
const versionOf = ({ version }: TableDef): Sql => raw(`/* v${version} */`)

const columnLists = new WeakMap<readonly FieldDef[], Sql>()

/** Kept with the definition of the table, in one piece: put together anew, it was three quarters of the printing. */
export function columnsOf(fields: readonly FieldDef[]): Sql {
  const kept = columnLists.get(fields)
  if (kept) return kept
  const columns = raw(join([sql`r.id`, ...fields.filter(({ key }) => !key).map(columnRead)]).sql)
  columnLists.set(fields, columns)
  return columns
}

/** One row: how many records are selected, and how many the table has. */
export function printCount(selection: Selection, queryContext: QueryContext): Sql {
  const total = totalOf(selection.table.id)
  if (!isRestricted(selection)) return sql`select n as count, n as total from (select ${total}) t (n)`
  return sql`select (${printSelectedCount(selection, queryContext)}) as count, ${total} as total`
}

/** How many records are selected, as `count`. */
export function printSelectedCount(selection: Selection, queryContext: QueryContext): Sql {
  if (!isRestricted(selection)) return sql`select ${totalOf(selection.table.id)} as count`
  return sql`select count(*) as count from ${recordsOf(selection.table.id)} r where ${printSelection(selection, queryContext)}`
}

/** Whether anything narrows the selection. */
export function isRestricted({ where, words }: Selection): boolean {
  return words.length > 0 || !isAlways(where)
}

export const isAlways = (tree: Tree<Checked>): boolean => 'all' in tree && tree.all.every(isAlways)

/** The condition of every record that is selected. */
export function printSelection({ table, where, words }: Selection, queryContext: QueryContext): Sql {
  const parts = [...(isAlways(where) ? [] : [printTree(where, queryContext)]), ...(words.length ? [printSearch(words, table)] : [])]
  return parts.length ? join(parts, ' and ') : ALWAYS
}
