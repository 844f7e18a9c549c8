/** Imports a CSV file as records: all of its rows, or none. */

import type { UserRef } from '../fields/cell.ts'
import type { TitledRecords } from '../fields/csv-rules.ts'
import { type FieldDef, ownFields, type TableDef, withoutPendingChanges } from '../fields/definition.ts'
import type { Role } from '../platform/access/authorize.ts'
import type { TableRef } from '../platform/access/resources.ts'
import type { Answer } from '../platform/answer.ts'
import type { Context } from '../platform/context.ts'
import type { Sql } from '../platform/database/database.ts'
import { isOutdated } from '../platform/database/outdated-definition.ts'
import { AppError, badCells, type CellIssue, conflict, forbidden } from '../platform/errors.ts'
import { cellArrays } from '../records/cell-values.ts'
import { judgeDrafts, MAX_ISSUES, mayWrite, type RecordDraft } from '../records/drafts.ts'
import { withdrawAll } from '../tables/cells/lossy-change.ts'
import { tableDefinition, tableDefinitions } from '../tables/definition-cache.ts'
import { enqueueIndexingAfterGrowth } from '../tables/indexing.ts'
import { withLinkedTables } from '../tables/linked-tables.ts'
import { STALE, writeWithDefinition } from '../tables/with-definition.ts'
import { type CellReading, readCell } from './cells.ts'
import { chosenColumns, type FileColumn, namesField, readHeader } from './header.ts'
import { namedRecords } from './lookups.ts'
import { type ReadFile, readFile } from './reading/reader.ts'
import { dateFormOf, type Reading } from './reading/reading.ts'
import type { Row } from './reading/rows.ts'
import { type ChangedWidths, RowWidths } from './reading/widths.ts'
import { type Commit, type CreatedRecords, type Staging, withStaging } from './staging.ts'

export interface ImportOptions extends Pick<Commit, 'beforeCommit'> {
  maxBytes: number
  /** What is said of the file. */
  reading?: Reading
  /** A statement that is committed together with the records. If it changes no row, no records are created. */
  committedWith?: (imported: Imported) => Sql
  /** Receives the number of rows checked so far, without the header. */
  onProgress?: (rows: number) => void
  /** The ids of the fields by column, and null for a column to ignore, in place of the names in the header. */
  columns?: readonly (string | null)[]
}

export type Imported = { created: number; change_id: number | null } & ChangedWidths

/**
 * Imports a file in constant memory, whatever its size.
 * @param bytes the file, which is read only as far as the first hundred refused cells
 * @throws AppError 400 with the first hundred refused cells, 403 for a column that only admins write, 409 while another import into
 * the table runs or when its fields change during the import, 413
 */
export function importRecords(
  context: Context,
  table: TableRef,
  bytes: AsyncIterable<Uint8Array>,
  { maxBytes, reading = {}, onProgress = () => {}, columns: chosen, beforeCommit, committedWith }: ImportOptions,
): Promise<Answer<Imported>> {
  let definition: TableDef | undefined
  return withStaging(context.db, table.id, async (open) => {
    definition = await withLinkedTables(context.db, await tableDefinition(context.db, table))
    const { fields } = definition
    const file = await readFile(bytes, { ...reading, maxBytes, isName: (text) => namesField(fields, text) })
    const options = { open, onProgress, chosen, dateForm: dateFormOf(reading) }
    const { columns, staging, count, widths } = await stageRows(context, table, definition, file, options)
    const imported = (created: CreatedRecords | typeof NONE): Imported => ({ ...created, ...widths.changed() })
    const commit: Commit = {
      ...(beforeCommit && { beforeCommit }),
      ...(committedWith && { committedWith: (created: CreatedRecords) => committedWith(imported(created)) }),
    }
    const created = count ? await publish(context, table, definition, staging, commit) : NONE
    await enqueueIndexingAfterGrowth(context, table.id)
    return { value: imported(created), ignored: ignoredHeaders(columns) }
  }).catch(async (error) => {
    throw isOutdated(error) && definition && (await hasNewVersion(context, definition)) ? changed() : error
  })
}

const NONE = { created: 0, change_id: null }

/** True if the table was changed since `definition` was read. Other failures are not a conflict, which callers would repeat for ever. */
async function hasNewVersion({ db }: Context, { id, version }: TableDef): Promise<boolean> {
  return (await tableDefinitions(db, [id])).get(id)?.version !== version
}

interface OpenFile {
  columns: FileColumn[]
  widths: RowWidths
  staging: Staging
  namedBy: ReturnType<typeof namedRecords>
}

interface StagingOptions extends Pick<CellReading, 'dateForm'> {
  open: OpenStaging
  onProgress: (rows: number) => void
  chosen: ImportOptions['columns']
}

type OpenStaging = (fields: readonly FieldDef[]) => Promise<Staging>

/** Checks all rows of the file and writes them into the staging table. @throws AppError as `importRecords` */
async function stageRows(
  context: Context,
  table: TableRef,
  definition: TableDef,
  { rows: chunks, separator }: ReadFile,
  { open, onProgress, chosen, dateForm }: StagingOptions,
): Promise<OpenFile & { count: number }> {
  let file: OpenFile | undefined
  let issues: CellIssue[] = []
  let count = 0
  const members = new Map<UserRef, number>()
  let staged: Promise<void> = Promise.resolve()
  for await (const rows of chunks) {
    // No chunk is empty, and the first one starts with the header.
    file ??= await openFile(context, importedColumns(definition, table, rows.shift() as Row, chosen), open)
    file.widths.fit(rows)
    // One chunk is written while the next one is checked, so that at most two are in memory.
    const named = await file.namedBy(rows)
    const [chunk] = await Promise.all([
      judgeRows(context, definition, { role: table.role, members, named, separator, dateForm }, file.columns, rows),
      staged,
    ])
    issues = [...issues, ...chunk.issues].slice(0, MAX_ISSUES)
    if (issues.length === MAX_ISSUES) break
    staged = issues.length ? Promise.resolve() : file.staging.add(chunk.columns)
    // The promise is awaited with the next chunk; without this handler, a failure before that would be an unhandled rejection.
    staged.catch(() => {})
    count += rows.length
    onProgress(count)
  }
  await staged
  if (!file) throw new AppError('BAD_REQUEST', 'The file is empty: its first row must name the fields')
  if (issues.length) throw badCells(issues)
  return { ...file, count }
}

async function openFile({ db }: Context, columns: FileColumn[], open: OpenStaging): Promise<OpenFile> {
  const namedBy = namedRecords(
    db,
    columns.map(({ field }) => field),
  )
  return { columns, widths: new RowWidths(columns.length), namedBy, staging: await open(columns.flatMap(({ field }) => field ?? [])) }
}

/** @throws AppError 400 naming each column that is wrong; 403 for one that only admins write */
function importedColumns(definition: TableDef, { role }: TableRef, header: Row, chosen: ImportOptions['columns']): FileColumn[] {
  const required = ownFields(definition).filter((field) => field.required && mayWrite(field, role))
  const { columns, issues } = chosen ? chosenColumns(definition, header, chosen) : readHeader(definition, header, required)
  if (issues.length) throw badCells(issues.slice(0, MAX_ISSUES))
  if (columns.some(({ field }) => field && !mayWrite(field, role))) throw forbidden()
  return columns
}

/** The headers of columns that are not imported, reduced to the characters that an HTTP header can hold. */
const ignoredHeaders = (columns: readonly FileColumn[]): string[] =>
  columns.flatMap(({ header, field }) => (field ? [] : header.replaceAll(/[^\x20-\x7e]/g, '?')))

interface Rules extends CellRules {
  role: Role
  members: Map<UserRef, number>
}

/** How cells are read. */
interface CellRules extends CellReading {
  named: ReadonlyMap<number, TitledRecords>
}

/** Returns the cells of the rows by field, and the refused cells by row and column. */
export async function judgeRows(
  context: Context,
  definition: TableDef,
  { named, separator, dateForm, ...rules }: Rules,
  columns: readonly FileColumn[],
  rows: readonly Row[],
) {
  const issues: CellIssue[] = []
  const headers = new Map(columns.map(({ header, field }) => [field?.id, header]))
  const drafts = draftsOf(columns, rows, { named, separator, dateForm }, (issue) => issues.push(issue))
  const judged = await judgeDrafts(context, definition, { ...rules, isNew: false }, drafts)
  for (const { path, message } of judged.issues) {
    const [row, id] = path as [number, string]
    issues.push({ row, column: headers.get(id) ?? id, message })
  }
  // Columns take less memory than rows, and the chunk waits in memory until the previous one is written.
  const fields = columns.flatMap(({ field }) => field ?? [])
  return { columns: cellArrays(fields, judged.cells), issues: issues.sort((a, b) => a.row - b.row) }
}

/** Yields a draft for each row that has no more cells than the header. Drafts are made one by one as they are checked, to save memory. */
function* draftsOf(
  columns: readonly FileColumn[],
  rows: readonly Row[],
  reading: CellRules,
  refuse: (issue: CellIssue) => void,
): Generator<RecordDraft> {
  for (const { number, cells } of rows) {
    if (cells.length !== columns.length) {
      refuse({ row: number, column: null, message: `has ${cells.length} cells, the header has ${columns.length}` })
      continue
    }
    yield { data: valuesOf(columns, cells, reading, (column, message) => refuse({ row: number, column, message })), path: [number] }
  }
}

/** The values of one row by field id. */
function valuesOf(
  columns: readonly FileColumn[],
  cells: readonly string[],
  { named, ...reading }: CellRules,
  refuse: (column: string, message: string) => void,
): Record<string, unknown> {
  const data: Record<string, unknown> = {}
  for (const [index, { header, field }] of columns.entries()) {
    if (!field) continue
    const read = readCell(field, cells[index] ?? '', { ...reading, named: named.get(field.lookup_table_id ?? 0) })
    if ('reason' in read) refuse(header, read.reason)
    else data[field.id] = read.value
  }
  return data
}

/** A new version of the table matters only if its fields differ: the version also rises when somebody saves a view. */
function publish(context: Context, table: TableRef, judgedBy: TableDef, staging: Staging, commit: Commit): Promise<CreatedRecords> {
  return writeWithDefinition(context, table, async (definition) => {
    if (!hasSameFields(definition, judgedBy)) throw changed()
    if (await withdrawAll(context, table.id, definition.fields)) return STALE
    return (await staging.publish(context, definition, commit)) ?? STALE
  })
}

const changed = () => conflict('The fields of the table were changed while the file was read')

const fieldsText = (table: TableDef) =>
  JSON.stringify(ownFields(table).map((field) => ({ ...withoutPendingChanges(field), name: '', always_hidden: false })))
/** True if cells that were checked against one definition are valid for the other. */
const hasSameFields = (one: TableDef, other: TableDef) => one.version === other.version || fieldsText(one) === fieldsText(other)
