/** The lines of an export, page by page, without an open transaction or cursor between two pages. */

import { audit } from '../audit/log.ts'
import { fieldNamed } from '../fields/by-id.ts'
import { type FieldDef, type TableDef, withoutPendingChanges } from '../fields/definition.ts'
import type { QueryContext } from '../fields/field-type.ts'
import type { TableRef } from '../platform/access/resources.ts'
import type { Context } from '../platform/context.ts'
import { outdated } from '../platform/database/outdated-definition.ts'
import type { PrintedRows } from '../platform/database/statements/printed-rows.ts'
import { notFound } from '../platform/errors.ts'
import { MAX_ID } from '../platform/row-ids.ts'
import { csvLine } from '../platform/writers/csv-format.ts'
import { resolveQuery } from '../records/query/resolve.ts'
import type { Selection } from '../records/query/selection.ts'
import { tableDefinitions } from '../tables/definition-cache.ts'
import { withLinkedTables } from '../tables/linked-tables.ts'
import { readWithDefinition } from '../tables/with-definition.ts'
import { leavesOf } from '../views/filters/parse.ts'
import { readView } from '../views/saved.ts'
import { headerOf } from './header.ts'
import { lineWriter } from './lines.ts'
import { idsInOrder, rowsAfter, rowsOf } from './queries.ts'
import type { ExportQuery } from './schema.ts'

const ROWS_AT_ONCE = 1_000

export interface Export {
  /** `Deals.csv`, or with a view `Deals - Open.csv`. */
  fileName: string
  /**
   * The file in pieces of up to a thousand lines, the header first; each is overwritten by the next. Throws an error that `isOutdated` if
   * the fields of the table change.
   */
  text: AsyncGenerator<Buffer>
  /** Writes the export to the audit log. Called before any line is handed out. */
  audit: () => Promise<void>
}

export interface ExportOptions {
  /** Receives the number of rows written so far. */
  onProgress?: (rows: number) => void
  /** True while no column of the table can be dropped. The export then goes on after other changes, with the fields as they were. */
  isLocked?: boolean
}

/**
 * Exports a table. With a view, exports the records that it selects, in its order, and with a grid its columns. Conditions narrow it, and
 * an order replaces that of the view. A record that is created during the export may be missing, and each line shows its record as it was
 * when the page was read.
 * @throws AppError 404 if the table does not have the view
 */
export function exportRecords(
  context: Context,
  table: TableRef,
  { view_id: viewId, conditions }: ExportQuery,
  { onProgress = () => {}, isLocked = false }: ExportOptions = {},
): Promise<Export> {
  return readWithDefinition(context, table, async (known) => {
    const { db } = context
    const definition = await withLinkedTables(db, known)
    const view = viewId && viewId > 0 && viewId <= MAX_ID ? await readView(db, table.id, viewId) : undefined
    if (viewId && !view) throw notFound('View')
    const fields = shownFields(definition, view?.config)
    const query = { table_id: table.id, view_id: viewId, append_filters: true, ...conditions }
    const { selection, order, queryContext } = await resolveQuery(context, definition, query, () => notFound('View'))
    // The ids are read before the answer starts, so that a timeout can still be reported with its status.
    const ids = order.length ? await idsInOrder(db, selection, queryContext, order) : undefined
    const used = [...fields, ...[...leavesOf(selection.where), ...order].map(({ field }) => field)]
    const linked = used.flatMap(({ id, link }) => (link ? [id] : []))
    const present: Present = (known) => (isLocked ? latestVersion(context, known) : sameTable(context, known, linked))
    const pages = ids ? pagesOf(context, definition, fields, ids, present) : pagesById(context, selection, queryContext, fields, present)
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

/** All properties of the fields that affect the file. @param linked names of fields of other tables, among them */
const columnsText = (table: TableDef, linked: readonly string[]) =>
  JSON.stringify([...table.fields, ...fieldsNamed(table, linked)].map((field) => ({ ...withoutPendingChanges(field), link: undefined })))

/** The fields of these names that exist. */
const fieldsNamed = (table: TableDef, names: readonly string[]): FieldDef[] =>
  names.flatMap((name) => {
    const field = fieldNamed(table, name)
    return typeof field === 'string' ? [] : field
  })

/** The columns of a grid in its order. Otherwise all fields, with always-hidden ones only if there is no view. */
function shownFields(table: TableDef, config: object | undefined): readonly FieldDef[] {
  const { columns = [] } = (config ?? {}) as { columns?: string[] }
  if (!config || !('columns' in config)) return table.fields
  if (columns.length) return fieldsNamed(table, columns)
  return table.fields.filter(({ always_hidden }) => !always_hidden)
}

async function* lines(
  { db }: Context,
  table: TableDef,
  fields: readonly FieldDef[],
  pages: AsyncGenerator<PrintedRows>,
  onProgress: (rows: number) => void,
): AsyncGenerator<Buffer> {
  yield Buffer.from(csvLine(fields.map((field) => headerOf(table, field))))
  const linesOf = lineWriter(db, table.account_id, fields)
  let written = 0
  for await (const rows of pages) {
    yield await linesOf(rows)
    written += rows.length
    onProgress(written)
  }
}

/** Returns the definition with the present version of the table. */
type Present = (known: TableDef) => Promise<TableDef>

async function* pagesById(
  context: Context,
  selection: Selection,
  queryContext: QueryContext,
  fields: readonly FieldDef[],
  present: Present,
): AsyncGenerator<PrintedRows> {
  let current = selection
  for (let after = 0; ; ) {
    const rows = await rowsAfter(context.db, current, queryContext, fields, { after, limit: ROWS_AT_ONCE })
    if (rows.length) {
      yield rows
      after = rows.ids().at(-1) as number
      rows.free()
      continue
    }
    const table = await present(current.table)
    if (table.version === current.table.version) return
    current = { ...current, table }
  }
}

async function* pagesOf(
  context: Context,
  definition: TableDef,
  fields: readonly FieldDef[],
  ids: Int32Array,
  present: Present,
): AsyncGenerator<PrintedRows> {
  let current = definition
  for (let from = 0; from < ids.length; ) {
    const rows = await rowsOf(context.db, current, fields, [...ids.subarray(from, from + ROWS_AT_ONCE)])
    if (rows.length) yield rows
    const table = rows.length ? current : await present(current)
    rows.free()
    // The page is read again with the new version. If the version is the same, all of its records have been deleted.
    if (table.version === current.version) from += ROWS_AT_ONCE
    current = table
  }
}

/**
 * Returns the present definition of the table. A new version is accepted if it does not affect the file, such as a changed view.
 * @throws outdated if its fields changed, because all lines of a file need the same columns; AppError 404 if it was deleted
 */
async function sameTable(context: Context, table: TableDef, linked: readonly string[]): Promise<TableDef> {
  const now = await withLinkedTables(context.db, await readTable(context, table.id))
  if (now.version !== table.version && columnsText(now, linked) !== columnsText(table, linked)) throw outdated
  return now
}

/** Returns the definition with the present version of the table. @throws AppError 404 if it was deleted */
async function latestVersion(context: Context, table: TableDef): Promise<TableDef> {
  return { ...table, version: (await readTable(context, table.id)).version }
}

async function readTable({ db }: Context, id: number): Promise<TableDef> {
  const table = (await tableDefinitions(db, [id])).get(id)
  if (!table) throw notFound('Table')
  return table
}
