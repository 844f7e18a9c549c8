/** Cells that hold files. Storing a cell takes its files into use, and replacing it releases them. */

import { audit } from '../../audit/log.ts'
import { MAX_VALUES } from '../../fields/cell.ts'
import { type FieldDef, holdsFiles, type TableDef } from '../../fields/definition.ts'
import type { RecordRef, TableRef } from '../../platform/access/resources.ts'
import type { IfMatch } from '../../platform/answer.ts'
import type { Context } from '../../platform/context.ts'
import { type Database, ident, join, recordsOf, sql } from '../../platform/database/database.ts'
import { badInput, forbidden, notFound } from '../../platform/errors.ts'
import { holdFiles, holdFilesOfRecords, lockFiles } from '../../platform/stored-files/held.ts'
import { type FileEntry, hostsOf, pathsOf } from '../../platform/stored-files/rows.ts'
import { releaseFiles } from '../../tables/file-references.ts'
import { auditPlaceOf } from '../../tables/service.ts'
import { STALE, withDefinition, writeWithDefinition } from '../../tables/with-definition.ts'
import { lockRows, type RowUpdate, updateRows } from '../bulk/update-rows.ts'
import type { Cells } from '../drafts.ts'
import { changeIdOf } from '../history/entries.ts'
import { changeBy, readRow } from '../rows.ts'
import type { ChangedList } from '../schema.ts'
import type { BulkChange, StoredRow } from '../stored-row.ts'
import { updateRow } from '../update-row.ts'

/** Updates a record, in one statement unless a cell holds files. Returns what `updateRow` returns. */
export async function updateCells(
  context: Context,
  table: TableDef,
  recordId: number,
  cells: Cells,
  { ifMatch, doubles }: { ifMatch: IfMatch; doubles: readonly string[] },
): Promise<StoredRow | undefined> {
  const { db, transaction } = context
  const write = () => updateRow(db, table, recordId, cells, { ...changeBy(context), ifMatch, doubles })
  const fields = fileFieldsOf(table, [cells])
  if (!fields.length) return write()
  return transaction(async () => {
    await lockRows(db, table, [recordId])
    return movingFiles(context, table, await fileChanges(db, table, fields, [{ id: recordId, cells }]), write)
  })
}

/**
 * Updates the cells of records that the transaction has locked, takes the files of the new cells into use and releases those that are lost.
 * @returns what `updateRows` returns
 */
export async function updateLocked(
  context: Context,
  table: TableDef,
  updates: readonly RowUpdate[],
  change: BulkChange = { kind: 'update' },
): Promise<StoredRow[] | undefined> {
  const { db } = context
  const write = () => updateRows(db, table, updates, { ...changeBy(context), ...change })
  const fields = fileFieldsOf(
    table,
    updates.map(({ cells }) => cells),
  )
  return fields.length ? movingFiles(context, table, await fileChanges(db, table, fields, updates), write) : write()
}

/** The fields for files that one of the records has a cell for. */
const fileFieldsOf = (table: TableDef, records: readonly Cells[]): FieldDef[] =>
  table.fields.filter((field) => holdsFiles(field) && records.some((cells) => cells.has(field.id)))

/** A cell that holds files, before and after its record is written. */
interface FileChange {
  recordId: number
  fieldId: string
  old: readonly FileEntry[]
  next: readonly FileEntry[]
}

/** @param updates of records that the transaction has locked, so that it sees the files of changes before it */
async function fileChanges(
  db: Database,
  table: TableDef,
  fields: readonly FieldDef[],
  updates: readonly Pick<RowUpdate, 'id' | 'cells'>[],
): Promise<FileChange[]> {
  const columns = join(fields.map(({ id }) => sql`r.${ident(id)}`))
  const ids = updates.map(({ id }) => id)
  const rows = await db
    .records(table.id)
    .read<{ id: number } & Record<string, FileEntry[] | null>>(
      sql`select r.id, ${columns} from ${recordsOf(table.id)} r where r.id = any(${ids}::int[])`,
    )
  const before = new Map(rows.map((row) => [row.id, row]))
  return updates.flatMap(({ id: recordId, cells }) =>
    fields.flatMap(({ id }) =>
      cells.has(id) ? { recordId, fieldId: id, old: entriesOf(before.get(recordId)?.[id]), next: entriesOf(cells.get(id)) } : [],
    ),
  )
}

/** Writes the cells by `write` and then moves their files. @returns what `write` returns */
async function movingFiles<Written>(
  context: Context,
  table: TableDef,
  changes: readonly FileChange[],
  write: () => Promise<Written | undefined>,
): Promise<Written | undefined> {
  const { db } = context
  await lockFiles(
    db,
    changes.flatMap(({ old, next }) => pathsOf([...old, ...next])),
  )
  const written = await write()
  if (!written) return undefined
  // Each cell is compared by itself. A file that moves to another cell of the record stays in use.
  const added = changes.flatMap(({ recordId, old, next }) => missingIn(old, next).map((path) => ({ path, recordId })))
  await holdFilesOfRecords(db, added)
  const kept = new Set(added.map(({ path, recordId }) => `${recordId} ${path}`))
  for (const { recordId, fieldId, old, next } of changes) {
    const lost = missingIn(next, old)
    await releaseFiles(context, lost, { record_id: recordId, field_id: fieldId })
    if (lost.some((path) => !kept.has(`${recordId} ${path}`))) await auditRemoval(context, table, recordId, fieldId)
  }
  return written
}

/** Audits that files were removed from a cell, whichever operation did it. */
function auditRemoval(context: Context, table: TableDef, recordId: number, fieldId: string): Promise<void> {
  return audit(context, 'file.deleted', { ...auditPlaceOf(table), id: recordId, detail: { field_id: fieldId } })
}

/**
 * Changes the files of one cell, and returns all files that it then holds, with the id of the change.
 * @throws AppError 400 for a field that is not a file field, a required field that would be empty, and more than 1,000 files; 403 for
 * a field that only admins may write; 404 if the record has just been deleted
 */
export async function changeFiles(
  context: Context,
  table: TableRef,
  record: RecordRef,
  fieldId: string,
  change: (files: readonly FileEntry[]) => FileEntry[],
): Promise<ChangedList<FileEntry>> {
  return writeWithDefinition(context, table, async (definition) => {
    const field = fileField(definition, table, fieldId)
    return context.transaction(async () => {
      const row = await lockRow(context, definition, record.id)
      if (!row) throw notFound('Record')
      const before = entriesIn(row, field.id)
      const after = change(before)
      checkFiles(field, after)
      const written = await writeFiles(context, definition, record.id, field, after)
      if (!written) return STALE
      await holdFiles(context.db, missingIn(before, after), record.id)
      const dropped = missingIn(after, before)
      await releaseFiles(context, dropped, { record_id: record.id, field_id: field.id })
      if (dropped.length) await auditRemoval(context, definition, record.id, field.id)
      return { rows: after, change_id: changeIdOf([written]) }
    })
  })
}

function checkFiles(field: FieldDef, files: readonly FileEntry[]): void {
  if (!files.length && field.required) throw badInput('field_id', 'is a required field')
  if (files.length > MAX_VALUES) throw badInput('field_id', `holds at most ${MAX_VALUES} files`)
}

function writeFiles(context: Context, table: TableDef, recordId: number, field: FieldDef, files: FileEntry[]) {
  const cells: Cells = new Map([[field.id, files.length ? files : null]])
  return updateRow(context.db, table, recordId, cells, { ...changeBy(context), ifMatch: undefined })
}

/** Checks that the caller may write files to the field, before an upload is stored. @throws AppError as `changeFiles` */
export async function requireFileField(context: Context, table: TableRef, fieldId: string): Promise<void> {
  await withDefinition(context, table, async (definition) => void fileField(definition, table, fieldId))
}

/**
 * The files of one cell.
 * @throws AppError 400 for a field that is not a file field; 404 if the record has just been deleted
 */
export function readFiles(context: Context, table: TableRef, recordId: number, fieldId: string): Promise<FileEntry[]> {
  return withDefinition(context, table, async (definition) => {
    const field = anyFileField(definition, fieldId)
    const row = await readRow(context.db, definition, recordId)
    if (!row) throw notFound('Record')
    return entriesIn(row, field.id)
  })
}

function fileField(definition: TableDef, { role }: TableRef, fieldId: string): FieldDef {
  const field = anyFileField(definition, fieldId)
  if (field.admin_only && role !== 'admin') throw forbidden()
  return field
}

function anyFileField(definition: TableDef, fieldId: string): FieldDef {
  const field = definition.fields.find(({ id }) => id === fieldId)
  if (!field || !holdsFiles(field)) throw badInput('field_id', 'is not a file field of this table')
  return field
}

/** Locks the record and reads it, so that the later of two concurrent changes sees the files of the earlier one. */
async function lockRow({ db }: Context, table: TableDef, recordId: number): Promise<StoredRow | undefined> {
  await db.records(table.id).read(sql`select 1 from ${recordsOf(table.id)} where id = ${recordId} for update`)
  return readRow(db, table, recordId)
}

/**
 * Writes the present storage of the files into the cells of a table, after files were moved. The records keep their version and the time of
 * their last change, because nobody has changed them.
 * @param ids the first and the last record
 * @returns the number of cells that were written
 */
export async function renewHosts(db: Database, table: TableDef, ids: { first: number; last: number }): Promise<number> {
  let written = 0
  for (const field of table.fields.filter(holdsFiles)) {
    // A record that is changed meanwhile is read again.
    for (
      let outdated = await outdatedCells(db, table, field, ids);
      outdated.length;
      outdated = await outdatedCells(db, table, field, ids)
    ) {
      written += await renewCells(db, table, field, outdated)
    }
  }
  return written
}

interface RenewedCell {
  id: number
  version: number
  files: FileEntry[]
}

/** The cells that name an outdated storage, with the present one of their files. The server of the cells may have no rows of files. */
async function outdatedCells(db: Database, table: TableDef, field: FieldDef, ids: { first: number; last: number }): Promise<RenewedCell[]> {
  // The table is named, because a field may be called like a part of the statement.
  const cell = sql`cells.${ident(field.id)}`
  const cells = await db.records(table.id).read<RenewedCell>(sql`
    select cells.id, cells.version, ${cell} as files from ${recordsOf(table.id)} as cells
    where cells.id between ${ids.first} and ${ids.last} and ${cell} is not null`)
  const hosts = await hostsOf(
    db,
    cells.flatMap(({ files }) => pathsOf(files)),
  )
  const hostOf = (file: FileEntry) => hosts.get(file.path) ?? file.host
  const outdated = cells.filter(({ files }) => files.some((file) => hostOf(file) !== file.host))
  return outdated.map(({ files, ...record }) => ({ ...record, files: files.map((file) => ({ ...file, host: hostOf(file) })) }))
}

async function renewCells(db: Database, table: TableDef, field: FieldDef, renewed: readonly RenewedCell[]): Promise<number> {
  const { changed } = await db.records(table.id).write(sql`
    update ${recordsOf(table.id)} as cells set ${ident(field.id)} = renewed.files
    from unnest(${renewed.map(({ id }) => id)}::int[], ${renewed.map(({ version }) => version)}::int[],
        ${renewed.map(({ files }) => JSON.stringify(files))}::jsonb[]) as renewed (id, version, files)
    where cells.id = renewed.id and cells.version = renewed.version`)
  return changed
}

/** The distinct paths of all files in the cells. */
export function pathsIn(table: TableDef, cells: Cells): string[] {
  const files = table.fields.filter(holdsFiles).flatMap(({ id }) => (cells.get(id) ?? []) as FileEntry[])
  return [...new Set(files.map(({ path }) => path))]
}

function entriesIn(row: StoredRow | undefined, fieldId: string): FileEntry[] {
  const text = (row?.[fieldId] ?? '[]') as string
  return JSON.parse(text)
}

const entriesOf = (cell: unknown): FileEntry[] => (cell ?? []) as FileEntry[]

/** The distinct paths of `files` that are not in `others`. */
function missingIn(others: readonly FileEntry[], files: readonly FileEntry[]): string[] {
  const existing = new Set(pathsOf(others))
  return [...new Set(pathsOf(files))].filter((path) => !existing.has(path))
}
