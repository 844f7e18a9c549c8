/** A file becomes records: all of them, or none. */

import type { UserRef } from '../fields/cell.ts'
import { ownFields, settled, type TableDef } from '../fields/definition.ts'
import type { TitledRecords } from '../fields/field-type.ts'
import type { Role } from '../platform/access/authorize.ts'
import type { TableRef } from '../platform/access/resources.ts'
import type { Answer } from '../platform/answer.ts'
import type { Context } from '../platform/context.ts'
import { AppError, badCells, type CellIssue, conflict, forbidden } from '../platform/http/errors.ts'
import { type Draft, judgeDrafts, MAX_ISSUES, mayWrite } from '../records/drafts.ts'
import { cellArrays, changeBy } from '../records/rows.ts'
import { keepAll } from '../tables/cells/lossy-change.ts'
import { isOutdated, tableDefinition } from '../tables/definitions.ts'
import { indexesFollowGrowth } from '../tables/indexing.ts'
import { STALE, withDefinition } from '../tables/with-definition.ts'
import { readCell } from './cells.ts'
import { type Column, readHeader } from './header.ts'
import { namedRecords } from './lookups.ts'
import { type Row, readRows } from './reader.ts'
import { type Staging, withStaging } from './staging.ts'

/**
 * Imports a file in constant memory, whatever its size.
 * @param bytes the file; what is left of it when it is refused is not read
 * @param onProgress told how many rows have been judged, the header left out
 * @throws AppError 400 with the first hundred refused cells, 403 for a column that only admins write, 409 while another import into
 * the table runs or when its fields change meanwhile, 413
 */
export function importRecords(
  context: Context,
  table: TableRef,
  bytes: AsyncIterable<Uint8Array>,
  { maxBytes, onProgress = () => {} }: { maxBytes: number; onProgress?: (rows: number) => void },
): Promise<Answer<{ created: number }>> {
  return withStaging(context.db, table.id, async (open) => {
    const definition = await tableDefinition(context.db, table)
    let file: { columns: Column[]; staging: Staging; namedBy: ReturnType<typeof namedRecords> } | undefined
    let issues: CellIssue[] = []
    let judged = 0
    const members = new Map<UserRef, number>()
    let staged: Promise<void> = Promise.resolve()
    for await (const rows of readRows(bytes, maxBytes)) {
      if (!file) {
        // No part is empty.
        const columns = importedColumns(definition, table, rows.shift() as Row)
        const namedBy = namedRecords(
          context.db,
          columns.map(({ field }) => field),
        )
        file = { columns, namedBy, staging: await open(columns.flatMap(({ field }) => field ?? [])) }
      }
      // One chunk is written while the next is judged; two would be held in memory otherwise.
      const named = await file.namedBy(rows)
      const [chunk] = await Promise.all([judge(context, definition, { role: table.role, members, named }, file.columns, rows), staged])
      issues = [...issues, ...chunk.issues].slice(0, MAX_ISSUES)
      if (issues.length === MAX_ISSUES) break
      staged = issues.length ? Promise.resolve() : file.staging.add(chunk.columns)
      // Awaited with the next chunk; until then nobody would take its failure.
      staged.catch(() => {})
      judged += rows.length
      onProgress(judged)
    }
    await staged
    if (!file) throw new AppError('BAD_REQUEST', 'The file is empty: its first row must name the fields')
    if (issues.length) throw badCells(issues)
    const created = judged ? await publish(context, table, definition, file.staging) : 0
    await indexesFollowGrowth(context, table.id)
    return { value: { created }, ignored: ignoredHeaders(file.columns) }
  }).catch((error) => {
    throw isOutdated(error) ? changed() : error
  })
}

/** @throws AppError 400 naming each column that is wrong; 403 for one that only admins write */
function importedColumns(definition: TableDef, { role }: TableRef, header: Row): Column[] {
  const required = ownFields(definition).filter((field) => field.required && mayWrite(field, role))
  const { columns, issues } = readHeader(definition, header, required)
  if (issues.length) throw badCells(issues.slice(0, MAX_ISSUES))
  if (columns.some(({ field }) => field && !mayWrite(field, role))) throw forbidden()
  return columns
}

/** The headers of columns that are not imported, in characters that an HTTP header can hold. */
const ignoredHeaders = (columns: readonly Column[]): string[] =>
  columns.flatMap(({ header, field }) => (field ? [] : header.replaceAll(/[^\x20-\x7e]/g, '?')))

/** The cells of the rows by field, and what is wrong with them by row and column. */
async function judge(
  context: Context,
  definition: TableDef,
  { named, ...rules }: { role: Role; members: Map<UserRef, number>; named: ReadonlyMap<number, TitledRecords> },
  columns: readonly Column[],
  rows: readonly Row[],
) {
  const issues: CellIssue[] = []
  const headers = new Map(columns.map(({ header, field }) => [field?.id, header]))
  const drafts = draftsOf(columns, rows, named, (issue) => issues.push(issue))
  const judged = await judgeDrafts(context, definition, { ...rules, isNew: false }, drafts)
  for (const { path, message } of judged.issues) {
    const [row, id] = path as [number, string]
    issues.push({ row, column: headers.get(id) ?? id, message })
  }
  // As columns at once: until the chunk before has been written, they are held in memory.
  const fields = columns.flatMap(({ field }) => field ?? [])
  return { columns: cellArrays(fields, judged.cells), issues: issues.sort((a, b) => a.row - b.row) }
}

/** One draft a row that has a cell for every column, made only when it is judged. */
function* draftsOf(
  columns: readonly Column[],
  rows: readonly Row[],
  named: ReadonlyMap<number, TitledRecords>,
  refuse: (issue: CellIssue) => void,
): Generator<Draft> {
  for (const { number, cells } of rows) {
    if (cells.length !== columns.length) {
      const count = cells.length === 1 ? '1 cell' : `${cells.length} cells`
      refuse({ row: number, column: null, message: `has ${count}, the header has ${columns.length}` })
      continue
    }
    const data: Record<string, unknown> = {}
    for (const [index, { header, field }] of columns.entries()) {
      if (!field) continue
      const read = readCell(field, cells[index] ?? '', named.get(field.lookup_table_id ?? 0))
      if ('reason' in read) refuse({ row: number, column: header, message: read.reason })
      else data[field.id] = read.value
    }
    yield { data, path: [number] }
  }
}

/** A new version of the table matters only if its fields are others: a view may be saved meanwhile. */
function publish(context: Context, table: TableRef, judgedBy: TableDef, staging: Staging): Promise<number> {
  return withDefinition(context, table, async (definition) => {
    if (!hasSameFields(definition, judgedBy)) throw changed()
    if (await keepAll(context, table.id, definition.fields)) return STALE
    return (await staging.publish(definition, changeBy(context))) || STALE
  })
}

const changed = () => conflict('The fields of the table were changed while the file was read')

const fieldsText = (table: TableDef) =>
  JSON.stringify(ownFields(table).map((field) => ({ ...settled(field), name: '', always_hidden: false })))
/** Whether cells that were judged by one definition are as good by the other. */
const hasSameFields = (one: TableDef, other: TableDef) => one.version === other.version || fieldsText(one) === fieldsText(other)
