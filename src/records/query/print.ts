/** Prints a resolved query as one parameterised statement. Identifiers come from the field list; values are bound. */

import type { FieldDef, TableDef } from '../../fields/definition.ts'
import type { QueryContext } from '../../fields/field-type.ts'
import { isHeldByIndex } from '../../indexes/btrees.ts'
import { empty, ident, join, raw, recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import type { PageEnd } from '../../platform/http/answers/cursor.ts'
import { memo } from '../../platform/memo.ts'
import { ALWAYS, columnName, columnRead, printTree } from './condition-sql.ts'
import {
  isLookedUp,
  printAfter,
  printAfterInKeys,
  printKeys,
  printOrder,
  printOrderOfSelected,
  printRecords,
  printSelectedKeys,
  printUpTo,
  sortKey,
} from './order-sql.ts'
import { printSearch, printSearchByTrigrams } from './search-sql.ts'
import { isAlways, isRestricted, type ResolvedPage, type ResolvedQuery, type Selection } from './selection.ts'

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

/** A walk's rows end with their sort keys as texts, and there is one row more than `limit` if another page follows. */
export function printPage(page: ResolvedPage): PageStatement {
  const { walk, order } = page
  if (!walk) return { statement: printOffsetPage(page) }
  const { after } = walk
  if (!after) return { statement: printRange(page) }
  if (!isHeldByIndex(order)) return { statement: printSorted(page, after) }
  const ranges = rangesOf(page)
  const inRanges = () => (isShortEnough(page, ranges.length) ? printRanges(page, ranges) : printSorted(page, after))
  if (order.length > 1) return { statement: inRanges() }
  // With one key the nearest range nearly always fills the page.
  const statement = printRange(page, ranges[0])
  return ranges.length > 1 ? { statement, fallback: inRanges } : { statement }
}

/** The most values that a statement takes. */
export const MAX_VALUES = 65_535
/** The most values of a range beside those of the conditions and words: three keys, the id and twice the limit. */
const OTHER_VALUES = 6

/** False where the ranges, each of which repeats the conditions and words, would have more values than a statement takes. */
const isShortEnough = ({ selection, queryContext }: ResolvedPage, ranges: number): boolean =>
  (printSelection(selection, queryContext).values.length + OTHER_VALUES) * ranges <= MAX_VALUES

/** Prints the page as one statement, whatever it costs: for an explanation. */
export function printWholePage(page: ResolvedPage): Sql {
  const { statement, fallback } = printPage(page)
  return fallback ? fallback() : statement
}

function printOffsetPage(page: ResolvedPage): Sql {
  const { selection, order, queryContext, limit, offset } = page
  const { table } = selection
  const columns = selected(page)
  const records = printRecords(table.id, order)
  const orderBy = printOrder(order, queryContext)
  const window = sql`where ${printSelection(selection, queryContext)} order by ${orderBy} limit ${limit}::bigint offset ${offset}::bigint`
  const version = versionOf(table)
  if (offset < DEEP_OFFSET) return sql`select ${version} ${columns} from ${records} ${window}`
  return sql`select ${version} ${columns} from ${records} where r.id in (select r.id from ${records} ${window}) order by ${orderBy}`
}

/**
 * Reads a page from index ranges that follow each other. With a limit of 0 Postgres does not run a part, so a range is read only where
 * those before it end. The limit inside of each part tells the planner how few rows it is for.
 */
function printRanges(page: ResolvedPage, ranges: readonly Sql[]): Sql {
  const parts = ranges.map((range, index) => ({ name: raw(`part${index}`), rows: printRange(page, range, empty) }))
  const printed = parts.map(({ name, rows }, index) => {
    if (index === 0) return sql`${name} as materialized (${rows})`
    const earlier = parts.slice(0, index).map((part) => sql`(select count(*) from ${part.name})`)
    return sql`${name} as materialized (select * from (${rows}) r limit ${limitOf(page)} - ${join(earlier, ' - ')})`
  })
  const rows = parts.map(({ name }) => sql`select * from ${name}`)
  return sql`with ${join(printed)}
    select ${versionOf(page.selection.table)} ${selectedAgain(page)}${printSelectedKeys(page.order)} from (${join(rows, ' union all ')}) r
    order by ${printOrderOfSelected(page.order)}`
}

/**
 * Sorts all records that meet the conditions and come after the end of a page. The columns that are shown are read for the page alone,
 * because those of linked records are looked up one by one.
 */
function printSorted(page: ResolvedPage, after: PageEnd): Sql {
  const { selection, order, queryContext } = page
  const { table } = selection
  const place = raw('k')
  // With `offset 0` Postgres looks up a name or title once for each record, but gives the records to no further process.
  const apart = isLookedUp(order) ? raw(' offset 0') : empty
  return sql`select ${versionOf(table)} ${selected(page)}${printSelectedKeys(order, place)} from (
      select r.* from (select r.id${printKeys(order, queryContext)} from ${printRecords(table.id, order)}
        where ${printSelection(selection, queryContext)}${apart}) r
      where ${printAfterInKeys(order, after)} order by ${printOrderOfSelected(order)} limit ${page.limit + 1}::bigint) ${place}
    join ${recordsOf(table.id)} r on r.id = ${place}.id order by ${printOrderOfSelected(order, place)}`
}

/** The record at this place of the order, among those that meet the conditions, whatever they contain: one row with id and key. */
export function printPlace(page: ResolvedPage, place: number): Sql {
  const { selection, order, queryContext } = page
  const [near] = rangesOf(page)
  const [sort] = order
  const key = sort && !sort.field.key ? sql`${sortKey(sort.field, queryContext)}::text` : sql`null`
  return sql`select ${versionOf(selection.table)} r.id, ${key} as key from ${printRecords(selection.table.id, order)}
    where ${printTree(selection.where, queryContext)}${near ? sql` and ${near}` : empty}
    order by ${printOrder(order, queryContext)} limit 1 offset ${place}::bigint`
}

/** Reads the page of a search by the trigrams of its words, in all records. Its rows end with the key as those of a walk do. */
export function printAllByTrigrams(page: ResolvedPage): Sql {
  const ranges = rangesOf(page)
  return printByTrigrams(page, ranges.length ? sql`(${join(ranges, ' or ')})` : undefined)
}

/**
 * Searches by the trigrams in the records of the order up to `end`, or returns undefined where those are no range of an index. The answer
 * is the page if it has as many rows as were asked for.
 */
export function printWindow(page: ResolvedPage, end: PageEnd): Sql | undefined {
  const upTo = printUpTo(page.order[0], end, page.queryContext)
  const [near] = rangesOf(page)
  return upTo && printByTrigrams(page, near ? sql`${upTo} and ${near}` : upTo)
}

/**
 * Prints a search by trigrams in a range of an order of one key, or in all records without a range. `offset 0` keeps Postgres from walking
 * along the order.
 */
function printByTrigrams(page: ResolvedPage, range: Sql | undefined): Sql {
  const { selection, order, queryContext, offset } = page
  const columns = sql`${versionOf(selection.table)} ${selected(page)}`
  const again = sql`${versionOf(selection.table)} ${selectedAgain(page)}`
  return sql`select ${again}${printSelectedKeys(order)} from (
      select ${columns}${printKeys(order, queryContext)} from ${printRecords(selection.table.id, order)}
      where ${printSelection(selection, queryContext)}${range ? sql` and ${range}` : empty} offset 0) r
    order by ${printOrderOfSelected(order)} limit ${rowsToRead(page)}::bigint offset ${offset}::bigint`
}

/** The number of rows that a statement asks for. */
export const rowsToRead = ({ walk, limit }: ResolvedPage): number => (walk ? limit + 1 : limit)

/** The conditions for the records after the end of the page before, nearest first: index ranges. None for the first page. */
const rangesOf = ({ walk, order, queryContext }: ResolvedPage): Sql[] => (walk?.after ? printAfter(order, walk.after, queryContext) : [])

/** Reads one index range of a walk. @param cast of the sort keys: to texts, or none if another statement sorts by them */
function printRange(page: ResolvedPage, after?: Sql, cast = raw('::text')): Sql {
  const { selection, order, queryContext } = page
  const columns = sql`${versionOf(selection.table)} ${selected(page)}${printKeys(order, queryContext, cast)}`
  return sql`select ${columns} from ${printRecords(selection.table.id, order)}
    where ${printSelection(selection, queryContext)}${after ? sql` and ${after}` : empty}
    order by ${printOrder(order, queryContext)} limit ${limitOf(page)}`
}

/**
 * Without conditions every page follows the index of its order, so PostgreSQL may plan the statement once for all pages. It does if it
 * knows the limit; planning takes longer than running it.
 */
const limitOf = ({ selection, limit }: ResolvedPage): Sql => (isRestricted(selection) ? sql`${limit + 1}::bigint` : raw(String(limit + 1)))

/** A comment with the table's version: a statement that was prepared for an earlier version has another text. */
const versionOf = ({ version }: TableDef): Sql => raw(`/* v${version} */`)

/** The columns of a row: its id and its fields, and its version behind them if the page shows it. */
const selected = ({ fields, include }: ResolvedPage): Sql =>
  include.has('version') ? sql`${selectList(fields)}, r.version` : selectList(fields)

/** The same columns of rows `r` that an inner statement has selected. */
const selectedAgain = ({ fields, include }: ResolvedPage): Sql =>
  include.has('version') ? sql`${selectListAgain(fields)}, r.version` : selectListAgain(fields)

const selectListAgain = memo((fields: readonly FieldDef[]): Sql => {
  return raw(join([sql`r.id`, ...fields.filter(({ key }) => !key).map((field) => sql`r.${ident(columnName(field))}`)]).sql)
})

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
