/** Prints a resolved query as one parameterised statement. Identifiers come from the field list; values are bound. */

import type { FieldDef, TableDef } from '../../fields/definition.ts'
import type { QueryContext } from '../../fields/field-type.ts'
import { empty, ident, join, raw, recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import type { PageEnd } from '../../platform/http/answers/cursor.ts'
import { memo } from '../../platform/memo.ts'
import { ALWAYS, columnRead, printTree } from './condition-sql.ts'
import { printAfter, printOrder, printOrderBy, printUpTo, sortKey } from './order-sql.ts'
import { printSearch, printSearchByTrigrams } from './search-sql.ts'
import { isAlways, isRestricted, type ResolvedPage, type ResolvedQuery, type Selection } from './selection.ts'

/** The column in which a walk's rows carry their sort value, as text. No field id can contain a tilde. */
const SORT_KEY = '~key'

/** From this offset on, a page first finds its ids, often from an index alone, and then reads only those rows. */
const DEEP_OFFSET = 1_000

export interface PageStatement {
  statement: Sql
  /**
   * Present when the page may span two index ranges and `statement` reads only the first: it costs half as much and is complete if it
   * returns more than `limit` rows. Otherwise this prints the statement that reads both.
   */
  fallback?: () => Sql
}

/** A walk's rows end with SORT_KEY unless they are sorted by id alone, and there is one row more than `limit` if another page follows. */
export function printPage(page: ResolvedPage): PageStatement {
  if (!page.walk) return { statement: printOffsetPage(page) }
  const { near, far } = startOf(page)
  const statement = printRange(page, near)
  return far ? { statement, fallback: () => printTwoRanges(page, near, far) } : { statement }
}

/** Prints the page as one statement, whatever it costs: for an explanation. */
export function printWholePage(page: ResolvedPage): Sql {
  const { statement, fallback } = printPage(page)
  return fallback ? fallback() : statement
}

function printOffsetPage({ selection, order, queryContext, fields, limit, offset }: ResolvedPage): Sql {
  const { table } = selection
  const columns = selectList(fields)
  const records = recordsOf(table.id)
  const orderBy = printOrder(order, queryContext)
  const window = sql`where ${printSelection(selection, queryContext)} order by ${orderBy} limit ${limit}::bigint offset ${offset}::bigint`
  const version = versionOf(table)
  if (offset < DEEP_OFFSET) return sql`select ${version} ${columns} from ${records} r ${window}`
  return sql`select ${version} ${columns} from ${records} r where r.id in (select r.id from ${records} r ${window}) order by ${orderBy}`
}

/** Reads a page that starts in one index range and may end in another, where the empty values begin or end. */
function printTwoRanges(page: ResolvedPage, near: Sql | undefined, far: Sql): Sql {
  const [sort] = page.order
  const columns = sql`${versionOf(page.selection.table)} ${selectList(page.fields)}`
  const left = sql`(${page.limit + 1}::bigint - (select count(*) from near))`
  const key = ident(SORT_KEY)
  // With a limit of 0 Postgres does not run the second part: the far range is read only where the near one ends.
  return sql`with near as materialized (${printRange(page, near, { isTyped: true })}),
    page as (select * from near union all (${printRange(page, far, { isTyped: true, atMost: left })}))
    select ${columns}, r.${key}::text as ${key} from page r order by ${printOrderBy(sql`r.${key}`, sort?.isDescending ?? false)}`
}

/** The record at this place of the order, among those that meet the conditions, whatever they contain: one row with id and SORT_KEY. */
export function printPlace(page: ResolvedPage, place: number): Sql {
  const { selection, order, queryContext } = page
  const { near } = startOf(page)
  const [sort] = order
  const key = sort && !sort.field.key ? sql`${sortKey(sort.field, queryContext)}::text` : sql`null`
  return sql`select ${versionOf(selection.table)} r.id, ${key} as key from ${recordsOf(selection.table.id)} r
    where ${printTree(selection.where, queryContext)}${near ? sql` and ${near}` : empty}
    order by ${printOrder(order, queryContext)} limit 1 offset ${place}::bigint`
}

/** Reads the page of a search by the trigrams of its words, in all records. Its rows end with SORT_KEY as those of a walk do. */
export function printAllByTrigrams(page: ResolvedPage): Sql {
  const { near, far } = startOf(page)
  return printByTrigrams(page, near && far ? sql`(${near} or ${far})` : near)
}

/**
 * Searches by the trigrams in the records of the order up to `end`, or returns undefined where those are no range of an index. The answer
 * is the page if it has as many rows as were asked for.
 */
export function printWindow(page: ResolvedPage, end: PageEnd): Sql | undefined {
  const upTo = printUpTo(page.order[0], end, page.queryContext)
  const { near } = startOf(page)
  return upTo && printByTrigrams(page, near ? sql`${upTo} and ${near}` : upTo)
}

/**
 * Prints a search by trigrams in a range of an order of one key, or in all records without a range. `offset 0` keeps Postgres from walking
 * along the order.
 */
function printByTrigrams(page: ResolvedPage, range: Sql | undefined): Sql {
  const { selection, order, queryContext, fields, offset } = page
  const [sort] = order
  const columns = sql`${versionOf(selection.table)} ${selectList(fields)}`
  const key = ident(SORT_KEY)
  const value = sort && !sort.field.key ? sortKey(sort.field, queryContext) : undefined
  const orderBy = value ? printOrderBy(sql`r.${key}`, sort?.isDescending ?? false) : printOrder(order, queryContext)
  return sql`select ${columns}${value ? sql`, r.${key}::text as ${key}` : empty} from (
      select ${columns}${value ? sql`, ${value} as ${key}` : empty} from ${recordsOf(selection.table.id)} r
      where ${printSelection(selection, queryContext)}${range ? sql` and ${range}` : empty} offset 0) r
    order by ${orderBy} limit ${rowsToRead(page)}::bigint offset ${offset}::bigint`
}

/** The number of rows that a statement asks for. */
export const rowsToRead = ({ walk, limit }: ResolvedPage): number => (walk ? limit + 1 : limit)

/** The conditions for the records after the end of the page before: one index range, or two. */
function startOf({ walk, order, queryContext }: ResolvedPage): { near?: Sql | undefined; far?: Sql | undefined } {
  const [near, far] = walk?.after ? printAfter(order[0], walk.after, queryContext) : []
  return { near, far }
}

/** Reads one index range of a walk. The sort value is returned as text, or in its own type for another statement to sort by. */
function printRange(
  { selection, order, queryContext, fields, limit }: ResolvedPage,
  after: Sql | undefined,
  { isTyped = false, atMost = sql`${limit + 1}::bigint` }: { isTyped?: boolean; atMost?: Sql } = {},
): Sql {
  const [sort] = order
  const value = sort && !sort.field.key ? sortKey(sort.field, queryContext) : undefined
  const key = value ? sql`, ${value}${isTyped ? empty : raw('::text')} as ${ident(SORT_KEY)}` : empty
  return sql`select ${versionOf(selection.table)} ${selectList(fields)}${key} from ${recordsOf(selection.table.id)} r
    where ${printSelection(selection, queryContext)}${after ? sql` and ${after}` : empty}
    order by ${printOrder(order, queryContext)} limit ${atMost}`
}

/** A comment with the table's version: a statement that was prepared for an earlier version has another text. */
const versionOf = ({ version }: TableDef): Sql => raw(`/* v${version} */`)

/** The id and the columns of the fields. Kept as one fragment: building it for every request took three quarters of the printing. */
export const selectList = memo((fields: readonly FieldDef[]): Sql => {
  return raw(join([sql`r.id`, ...fields.filter(({ key }) => !key).map(columnRead)]).sql)
})

/** One row with `count`, the selected records, and `total`, all records of the table. @param total from `totalOf` */
export function printCount(query: ResolvedQuery, total: Sql): Sql {
  if (!isRestricted(query.selection)) return sql`select t.n as count, t.n as total from (select ${total}) t (n)`
  return sql`select (${printSelectedCount(query, total)}) as count, ${total} as total`
}

/** One row with `count`, the selected records. @param total from `totalOf` */
export function printSelectedCount({ selection, queryContext }: ResolvedQuery, total: Sql): Sql {
  if (!isRestricted(selection)) return sql`select ${total} as count`
  return sql`select count(*) as count from ${recordsOf(selection.table.id)} r where ${printSelection(selection, queryContext)}`
}

/** The condition that the selected records meet, for a WHERE clause over `r`. */
export function printSelection({ table, where, words, searched }: Selection, queryContext: QueryContext): Sql {
  const search = searched ? printSearchByTrigrams(searched, table) : printSearch(words, table)
  const parts = [...(isAlways(where) ? [] : [printTree(where, queryContext)]), ...(words.length ? [search] : [])]
  return parts.length ? join(parts, ' and ') : ALWAYS
}
