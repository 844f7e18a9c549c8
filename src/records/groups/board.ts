/**
 * A board: the records of a query in a column for each value of a field, with the first rows of each (contract.md §9). A column is the page
 * of the query with one condition more, so it has the rows, the order, the indexes and the cursor of that page.
 */

import type { FieldDef, TableDef } from '../../fields/definition.ts'
import type { ValueGrouping } from '../../fields/field-type.ts'
import type { TableRef } from '../../platform/access/resources.ts'
import type { Answer } from '../../platform/answer.ts'
import type { Context } from '../../platform/context.ts'
import { recordsOf, sql } from '../../platform/database/database.ts'
import { badInput, notFound } from '../../platform/errors.ts'
import { decodeCursor, type PageEnd } from '../../platform/http/answers/cursor.ts'
import { joined, WrittenList } from '../../platform/http/answers/written-json.ts'
import { withLinkedTables } from '../../tables/linked-tables.ts'
import { totalOf } from '../../tables/row-counts.ts'
import { readWithDefinition } from '../../tables/with-definition.ts'
import { resolveTree } from '../../views/filters/resolve-conditions.ts'
import type { CellTexts } from '../cells/present.ts'
import { withSortKeys } from '../found-users.ts'
import { queryFingerprint } from '../query/fingerprint.ts'
import { printSelectedCount, printSelection } from '../query/print.ts'
import { readPages } from '../query/read-page.ts'
import { chosenFields, resolveQuery } from '../query/resolve.ts'
import { noticesOf, type ResolvedPage, type ResolvedQuery, type Selection } from '../query/selection.ts'
import { groupColumn, printValues, valuesOf } from './aggregate.ts'
import { groupedField } from './grouped-field.ts'
import type { BoardColumn, GroupValue, RecordsBoard } from './schema.ts'

/** The most columns of a field whose values are not listed: those with most records. */
const MOST_COLUMNS = 100

/**
 * Answers the columns in the order of the field, empty first, each with its number of records and its first rows; with a cursor the column
 * that it came with, and the rows that follow there.
 * @throws AppError 400 naming each wrong input, and for more than 32 MB; 404 for an unknown view
 */
export function board(context: Context, table: TableRef, input: RecordsBoard): Promise<Answer<WrittenList<BoardColumn>>> {
  return readWithDefinition(context, table, async (definition) => {
    const { by, per_group, cursor, fields: chosen, include, ...asked } = input
    const linking = await withLinkedTables(context.db, definition)
    const grouped = boardField(linking, by)
    const fields = chosenFields(linking, chosen)
    const resolved = await resolveQuery(context, linking, asked, () => notFound('View'), [...fields, grouped.field])
    const query = { ...resolved, grouped }
    const columns = cursor ? [await continuedColumn(context, query, cursor)] : await countColumns(context, query)
    const page = { fields, include, limit: per_group, offset: 0, isCounted: false }
    return { value: await writeBoard(context, query, columns, page), ...noticesOf(query) }
  })
}

interface Grouped {
  field: FieldDef
  grouping: ValueGrouping
}

interface GroupedQuery extends ResolvedQuery {
  grouped: Grouped
}

/** A column of the board. */
interface Column {
  value: GroupValue
  count: number
  /** The value as PostgreSQL prints it, and empty for the empty value: its cursors begin with it. A column without records has none. */
  key: string
  /** The row after which the rows begin; null for the first rows. */
  after: PageEnd | null
}

function boardField(table: TableDef, name: string): Grouped {
  const found = groupedField(table, name, 'board')
  if (typeof found === 'string') throw badInput('by', found)
  const { field, grouping } = found
  if (grouping.by !== 'value') throw new Error(`${field.type} fields have no columns`)
  return { field, grouping }
}

// ── the columns ─────────────────────────────────────────────────────────────

/** Counts the records of each column. Values that are listed are columns without records, too. */
async function countColumns(context: Context, query: GroupedQuery): Promise<Column[]> {
  const { db, signal } = context
  const { selection, grouped } = query
  const { field, grouping } = grouped
  const { queryContext } = await withSortKeys(db, query, [field])
  const { id } = selection.table
  const listed = grouping.values(field)
  const printed = printValues(field, grouping, 0, queryContext)
  const counted = await db.records(id).read<CellTexts & { '~count': number }>(
    sql`with counted as (select ${printed.value} as ${groupColumn(0)}, count(*) as "~count" from ${recordsOf(id)} r ${printed.join}
        where ${printSelection(selection, queryContext)} group by 1)
      select (${printed.text})::text as ${groupColumn(0)}, g."~count"
      from (select * from counted g order by g."~count" desc, ${printed.order} limit ${listed ? null : MOST_COLUMNS}::bigint) g
      order by ${printed.order}`,
    { signal },
  )
  const values = await valuesOf(context, queryContext, field, counted, GROUP)
  const found = counted.map((row, index): Column => {
    const key = (row[GROUP] as string | null) ?? ''
    return { value: values[index] ?? null, count: row['~count'], key, after: null }
  })
  // A record that has just been deleted, and that a lookup names, has no title any more.
  const present = found.filter(({ value, key }) => value !== null || key === '')
  if (!listed) return present
  const byValue = new Map(present.map((column) => [column.value, column]))
  const others = listed.map((value) => byValue.get(value) ?? { value, count: 0, key: '', after: null })
  return [...present.filter(({ value }) => value === null), ...others]
}

const GROUP = '~group0'

/** The selection of the records of the column. */
function selectionOf({ selection, grouped }: GroupedQuery, value: GroupValue): Selection {
  const compare = value === null ? 'is_empty' : '='
  const asked = typeof value === 'object' && value !== null ? value.id : value
  const condition = resolveTree({ column: grouped.field.id, compare, value: asked, path: ['by'] }, selection.table)
  return { ...selection, where: { all: [selection.where, condition] } }
}

// ── their cursors ───────────────────────────────────────────────────────────

/** A cursor of a column is its key and a cursor that goes with this column alone. No other cursor has a dot. */
const CURSOR = /^([a-z0-9]*)\.([^.]+)$/

const fingerprintOf = ({ selection, order, queryContext, grouped: { field } }: GroupedQuery, key: string): string =>
  `board ${field.id} ${field.type} ${key} ${queryFingerprint(selection, order, queryContext)}`

/** The column that the cursor came with, counted anew. */
async function continuedColumn(context: Context, query: GroupedQuery, cursor: string): Promise<Column> {
  const { db, signal, settings } = context
  const { selection, queryContext, grouped } = query
  const [, key = '', end = ''] = CURSOR.exec(cursor) ?? []
  if (!end) throw badInput('cursor', 'must be the next_cursor of a column')
  const after = decodeCursor(end, fingerprintOf(query, key), settings.secretKeys)
  const [value = null] = await valuesOf(context, queryContext, grouped.field, [{ [GROUP]: key === '' ? null : key }], GROUP)
  if (value === null && key !== '') throw badInput('cursor', 'belongs to a column that does not exist any more')
  const { id } = selection.table
  const counting = printSelectedCount({ ...query, selection: selectionOf(query, value) }, totalOf(db, id))
  const [counted] = await db.records(id).read<{ count: number }>(counting, { signal })
  return { value, count: counted?.count ?? 0, key, after }
}

// ── the rows ────────────────────────────────────────────────────────────────

/** What the pages of all columns have in common. */
type PageParts = Omit<ResolvedPage, keyof ResolvedQuery | 'walk'>

function pageOf(query: GroupedQuery, { value, key, after }: Column, page: PageParts): ResolvedPage {
  const { grouped: _, ...resolved } = query
  const walk = { fingerprint: fingerprintOf(query, key), after }
  return { ...resolved, ...page, selection: selectionOf(query, value), walk }
}

/** A column without records has no rows to read. */
async function writeBoard(
  context: Context,
  query: GroupedQuery,
  columns: readonly Column[],
  page: PageParts,
): Promise<WrittenList<BoardColumn>> {
  const filled = columns.filter(({ count }) => count > 0)
  const pages = filled.map((column) => pageOf(query, column, page))
  const written = await readPages(context, pages, 'ask for fewer records with per_group, or for fewer fields with fields')
  const byColumn = new Map(filled.map((column, index) => [column, written[index]]))
  const parts = columns.flatMap((column, index) => {
    const { value, count, key } = column
    const { rows = NO_ROWS, next_cursor: end } = byColumn.get(column) ?? {}
    const rest = end === undefined ? '}' : `,"next_cursor":${JSON.stringify(`${key}.${end}`)}}`
    return [`${index ? ',' : ''}{"value":${JSON.stringify(value)},"count":${count},"rows":`, rows, rest]
  })
  return new WrittenList(joined(['[', ...parts, ']']))
}

const NO_ROWS = '[]'
