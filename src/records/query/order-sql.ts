/** Prints the order of records (contract.md §5, last column of the table of compares). */

import { columnOf } from '../../fields/cell-sql.ts'
import type { FieldDef, Link } from '../../fields/definition.ts'
import type { QueryContext, SortRule } from '../../fields/field-type.ts'
import { TYPES } from '../../fields/registry.ts'
import { empty, ident, join, raw, recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import type { PageEnd } from '../../platform/http/answers/cursor.ts'
import { isEmptyFirst, isNeverEmpty, type Sort, wholeOrder } from '../../views/filters/order.ts'
import { ALWAYS } from './condition-sql.ts'

export function printOrder(order: readonly Sort[], queryContext: QueryContext): Sql {
  const keys = wholeOrder(order).map((sort) => sql`${sort.field.key ? sql`r.id` : sortKey(sort.field, queryContext)} ${directionOf(sort)}`)
  return join(keys)
}

/** Spelled as in the indexes. */
const directionOf = (sort: Sort): Sql => {
  const direction = sort.isDescending ? 'desc' : 'asc'
  return raw(sort.field.key ? direction : `${direction} nulls ${isEmptyFirst(sort) ? 'first' : 'last'}`)
}

/**
 * The conditions for the records after the end of a page, nearest first. Each is one range of an index that has the order; joined by OR
 * they would not be.
 */
export const printAfter = (order: readonly Sort[], end: PageEnd, queryContext: QueryContext): Sql[] =>
  partsAfter(keysAt(order, end, (field) => sortKey(field, queryContext))).map(({ where }) => where)

/** The condition for the records after the end of a page, over rows `r` of which the keys have been selected. */
export const printAfterInKeys = (order: readonly Sort[], end: PageEnd): Sql =>
  sql`(${join(
    partsAfter(keysAt(order, end, (_, index) => sql`r.${keyColumn(index)}`)).map(({ where }) => sql`(${where})`),
    ' or ',
  )})`

function keysAt(order: readonly Sort[], { keys, id }: PageEnd, keyOf: (field: FieldDef, index: number) => Sql): ComparedKey[] {
  return wholeOrder(order).map((sort, index) => {
    if (sort.field.key) return { sort, value: sql`r.id`, own: sql`${id}::int`, isEmpty: false }
    const key = keys[index] ?? null
    return { sort, value: keyOf(sort.field, index), own: sql`${key}::${raw(ruleOf(sort.field).keyType)}`, isEmpty: key === null }
  })
}

/**
 * The condition for the records of the order up to this one, which is included; undefined where they are nearly all records, because the
 * empty values have begun that follow all others.
 */
export function printUpTo(sort: Sort | undefined, { keys, id }: PageEnd, queryContext: QueryContext): Sql | undefined {
  const [key = null] = keys
  const isDescending = sort?.isDescending ?? false
  const within = isDescending ? raw('>=') : raw('<=')
  if (!sort || sort.field.key) return sql`r.id ${within} ${id}::int`
  const value = sortKey(sort.field, queryContext)
  if (key === null) return isEmptyFirst(sort) ? sql`${value} is null and r.id ${within} ${id}::int` : undefined
  const others = sql`(${value}, r.id) ${within} (${key}::${raw(ruleOf(sort.field).keyType)}, ${id}::int)`
  return isNeverEmpty(sort.field) || isEmptyLast(sort) ? others : sql`(${value} is null or ${others})`
}

/** True if records without a value come after those with one, and there may be some. */
const isEmptyLast = (sort: Sort): boolean => !isEmptyFirst(sort) && !isNeverEmpty(sort.field)

/** A key of an order, compared between rows `r` and one row. */
interface ComparedKey {
  sort: Sort
  /** The key of a row `r`. */
  value: Sql
  /** The same key of the one row. */
  own: Sql
  /** Whether the key of the one row is empty; undefined if only Postgres knows. */
  isEmpty?: boolean
}

/** The keys of rows `r` and of a row `m`, which has them in the columns of `printKeys`. @param order from `wholeOrder` */
export const comparedKeys = (order: readonly Sort[], queryContext: QueryContext): ComparedKey[] =>
  order.map((sort, index) => ({
    sort,
    value: sort.field.key ? sql`r.id` : sortKey(sort.field, queryContext),
    own: sort.field.key ? sql`m.id` : sql`m.${keyColumn(index)}`,
  }))

/** Rows `r` that follow the one row: those that meet `where`, if it meets `given`. */
interface Following {
  given: Sql
  where: Sql
}

/**
 * The rows after the one in an order that ends with the id, nearest first. Each part is one range of an index that has the order, so that
 * its first row is found at once: rows with the same first keys, of which the next key is beyond.
 */
export function partsAfter([key, ...others]: readonly ComparedKey[]): Following[] {
  if (!key) return []
  const { sort, value, own, isEmpty } = key
  const beyond = sort.isDescending ? raw('<') : raw('>')
  const [last, ...more] = others
  // One comparison of the last key and the id is one range, where two conditions are two.
  const isPair = last !== undefined && !more.length && last.sort.isDescending === sort.isDescending
  const following = isPair
    ? [always(sql`(${value}, ${last.value}) ${beyond} (${own}, ${last.own})`)]
    : [...within(others, sql`${value} = ${own}`), always(sql`${value} ${beyond} ${own}`)]
  const ofFilled = isEmptyLast(sort) ? [...following, always(sql`${value} is null`)] : following
  const otherEmpty = within(others, sql`${value} is null`)
  const ofEmpty = isEmptyFirst(sort) ? [...otherEmpty, always(sql`${value} is not null`)] : otherEmpty
  if (isEmpty !== undefined) return isEmpty ? ofEmpty : ofFilled
  if (isNeverEmpty(sort.field)) return ofFilled
  return [...given(sql`${own} is not null`, ofFilled), ...given(sql`${own} is null`, ofEmpty)]
}

const always = (where: Sql): Following => ({ given: ALWAYS, where })

const given = (condition: Sql, parts: readonly Following[]): Following[] =>
  parts.map((part) => ({ given: sql`${condition} and ${part.given}`, where: part.where }))

/** The parts that follow by the other keys, among rows with the same key. */
const within = (others: readonly ComparedKey[], same: Sql): Following[] =>
  partsAfter(others).map((part) => ({ given: part.given, where: sql`${same} and ${part.where}` }))

// ── keys that another statement selects ─────────────────────────────────────

/** The sort keys before the id. */
export const keysOf = (order: readonly Sort[]): Sort[] => wholeOrder(order).filter(({ field }) => !field.key)

/** True if a key is looked up for each record: the name of a user, or the title of a record. */
export const isLookedUp = (order: readonly Sort[]): boolean => keysOf(order).some(({ field }) => TYPES[field.type].names !== null)

/** The column of a key. No field id can contain a tilde. */
const keyColumn = (index: number): Sql => ident(`~key${index}`)

/** The keys of a row behind its other columns, in their own types for another statement to sort by, or as texts. */
export const printKeys = (order: readonly Sort[], queryContext: QueryContext, cast = empty): Sql =>
  listOf(keysOf(order).map(({ field }, index) => sql`${sortKey(field, queryContext)}${cast} as ${keyColumn(index)}`))

const R = raw('r')

/** The keys that another statement has selected for its rows, as texts. @param rows their alias */
export const printSelectedKeys = (order: readonly Sort[], rows = R): Sql =>
  listOf(keysOf(order).map((_, index) => sql`${rows}.${keyColumn(index)}::text as ${keyColumn(index)}`))

const listOf = (columns: readonly Sql[]): Sql => (columns.length ? sql`, ${join(columns)}` : empty)

/** The order by keys that another statement has selected for its rows. @param rows their alias */
export const printOrderOfSelected = (order: readonly Sort[], rows = R): Sql =>
  join(wholeOrder(order).map((sort, index) => sql`${rows}.${sort.field.key ? raw('id') : keyColumn(index)} ${directionOf(sort)}`))

/**
 * The expression that records are sorted by, over `printRecords`. Indexes are created on the same expression. A key of linked records is
 * joined, because PostgreSQL would look it up for each record by itself.
 */
export function sortKey(field: FieldDef, queryContext: QueryContext): Sql {
  const { link } = field
  const column = link ? sql`${linkedRecord(link)}.${ident(link.field.id)}` : columnOf(field)
  return ruleOf(field).key(field, column, queryContext)
}

/** The records `r` of a statement with these sort keys. */
export function printRecords(tableId: number, order: readonly Sort[]): Sql {
  const links = new Map(order.flatMap(({ field: { link } }) => (link ? [[link.lookup.id, link]] : [])))
  const joins = [...links.values()].map((link) => {
    const linked = linkedRecord(link)
    return sql`left join ${recordsOf(link.lookup.lookup_table_id ?? 0)} ${linked} on ${linked}.id = r.${ident(link.lookup.id)}`
  })
  return join([sql`${recordsOf(tableId)} r`, ...joins], ' ')
}

/** The record that a lookup refers to. No field id can contain a tilde. */
const linkedRecord = ({ lookup }: Link): Sql => ident(`~${lookup.id}`)

/** @throws Error for a type that is not sortable, which `resolveOrder` refuses before */
function ruleOf({ type }: FieldDef): SortRule {
  const rule = TYPES[type].sort
  if (!rule) throw new Error(`${type} fields have no order`)
  return rule
}
