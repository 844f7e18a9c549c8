/** Exports records as a file, page by page, without an open transaction or cursor between two pages (design.md §3). */

import { audit } from '../audit/log.ts'
import { fieldsById } from '../fields/by-id.ts'
import { type FieldDef, type TableDef, withoutPendingChanges } from '../fields/definition.ts'
import type { QueryContext } from '../fields/field-type.ts'
import type { TableRef } from '../platform/access/resources.ts'
import type { Context } from '../platform/context.ts'
import { AppError, notFound } from '../platform/http/errors.ts'
import { MAX_ID } from '../platform/http/schemas.ts'
import { lookupsOf, present, type Row } from '../records/cells/present.ts'
import { resolveQuery } from '../records/query/resolve.ts'
import type { Selection } from '../records/query/selection.ts'
import { tableDefinitions } from '../tables/definition-cache.ts'
import { readWithDefinition } from '../tables/with-definition.ts'
import { readView } from '../views/saved.ts'
import { cellPrinter } from './cells.ts'
import { csvLine } from './format.ts'
import { headerOf } from './header.ts'
import { idsInOrder, rowsAfter, rowsOf } from './queries.ts'

const ROWS_AT_ONCE = 1_000

export interface Export {
  /** `Deals.csv`, or with a view `Deals - Open.csv`. */
  fileName: string
  /** The file in pieces of up to a thousand lines, the header first. Throws if the fields of the table change during the export. */
  text: AsyncGenerator<string>
  /** Writes the export to the audit log. Called before any line is handed out. */
  audit: () => Promise<void>
}

/**
 * Exports a table. With a view, exports the records that it selects, in its order, and with a grid its columns. A record that is
 * created during the export may be missing, and each line shows its record as it was when the page was read.
 * @param onProgress receives the number of rows written so far
 * @throws AppError 404 if the table does not have the view
 */
export function exportRecords(
  context: Context,
  table: TableRef,
  viewId: number | undefined,
  onProgress: (rows: number) => void = () => {},
): Promise<Export> {
  return readWithDefinition(context, table, async (definition) => {
    const { db } = context
    const view = viewId && viewId > 0 && viewId <= MAX_ID ? await readView(db, table.id, viewId) : undefined
    if (viewId && !view) throw notFound('View')
    const fields = shownFields(definition, view?.config)
    const { selection, order, queryContext } = await resolveQuery(context, definition, { table_id: table.id, view_id: viewId }, () =>
      notFound('View'),
    )
    // The ids are read before the answer starts, so that a timeout can still be reported with its status.
    const ids = order.length ? await idsInOrder(db, selection, queryContext, order) : undefined
    const pages = ids ? pagesOf(context, definition, fields, ids) : pagesById(context, selection, queryContext, fields)
    return {
      fileName: `${view ? `${table.name} - ${view.name}` : table.name}.csv`,
      text: lines(context, definition, fields, pages, onProgress),
      audit: () => auditExport(context, table, view?.id),
    }
  })
}

function auditExport(
  context: Context,
  { id, name, space_id: spaceId, account_id: accountId }: TableRef,
  viewId: number | undefined,
): Promise<void> {
  const detail = { ...(viewId !== undefined && { view_id: viewId }) }
  return context.transaction(() => audit(context, 'export.csv', { id, name, spaceId, tableId: id, accountId, detail }))
}

/** All properties of the fields that affect the file. */
const columnsText = ({ fields }: TableDef) => JSON.stringify(fields.map(withoutPendingChanges))

/** The columns of a grid in its order. Otherwise all fields, with always-hidden ones only if there is no view. */
function shownFields(table: TableDef, config: object | undefined): readonly FieldDef[] {
  const { columns = [] } = (config ?? {}) as { columns?: string[] }
  if (!config || !('columns' in config)) return table.fields
  const fields = fieldsById(table)
  if (columns.length) return columns.flatMap((id) => fields.get(id) ?? [])
  return table.fields.filter(({ always_hidden }) => !always_hidden)
}

async function* lines(
  { db }: Context,
  table: TableDef,
  fields: readonly FieldDef[],
  pages: AsyncGenerator<Row[]>,
  onProgress: (rows: number) => void,
): AsyncGenerator<string> {
  yield csvLine(fields.map((field) => headerOf(table, field)))
  const lookups = lookupsOf(fields)
  const columns = fields.map((field) => ({ id: field.id, print: cellPrinter(field) }))
  let written = 0
  for await (const rows of pages) {
    await present(db, table.account_id, fields, rows, lookups)
    yield rows.map((row) => csvLine(columns.map(({ id, print }) => print(row[id])))).join('')
    written += rows.length
    onProgress(written)
  }
}

async function* pagesById(
  context: Context,
  selection: Selection,
  queryContext: QueryContext,
  fields: readonly FieldDef[],
): AsyncGenerator<Row[]> {
  let current = selection
  for (let after = 0; ; ) {
    const rows = await rowsAfter(context.db, current, queryContext, fields, { after, limit: ROWS_AT_ONCE })
    const last = rows.at(-1)
    if (last) {
      yield rows
      after = last.id
      continue
    }
    const table = await sameTable(context, current.table)
    if (table === current.table) return
    current = { ...current, table }
  }
}

async function* pagesOf(context: Context, definition: TableDef, fields: readonly FieldDef[], ids: Int32Array): AsyncGenerator<Row[]> {
  let current = definition
  for (let from = 0; from < ids.length; ) {
    const rows = await rowsOf(context.db, current, fields, [...ids.subarray(from, from + ROWS_AT_ONCE)])
    if (rows.length) yield rows
    const table = rows.length ? current : await sameTable(context, current)
    // The page is read again with the new version. If the version is the same, all of its records have been deleted.
    if (table === current) from += ROWS_AT_ONCE
    current = table
  }
}

/**
 * Returns the present definition of the table. A new version is accepted if it does not affect the file, such as a changed view.
 * @throws AppError if the table was deleted or its fields changed, because all lines of a file need the same columns
 */
async function sameTable({ db }: Context, table: TableDef): Promise<TableDef> {
  const now = (await tableDefinitions(db, [table.id])).get(table.id)
  if (now?.version === table.version) return table
  if (!now || columnsText(now) !== columnsText(table)) throw new AppError('CONFLICT', 'The table was changed during the export')
  return now
}
