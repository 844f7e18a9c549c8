/** Cells that hold files: what they take up is held in storage, what they let go of is dropped. */

import { MAX_VALUES } from '../../fields/cell.ts'
import { type FieldDef, holdsFiles, type TableDef } from '../../fields/definition.ts'
import type { RecordRef, TableRef } from '../../platform/access/resources.ts'
import type { IfMatch } from '../../platform/answer.ts'
import type { Context } from '../../platform/context.ts'
import { recordsOf, sql } from '../../platform/database/database.ts'
import { badInput, forbidden, notFound } from '../../platform/http/errors.ts'
import { dropFiles, type FileEntry, holdFiles, lockFiles } from '../../platform/stored-files.ts'
import { STALE, withDefinition } from '../../tables/with-definition.ts'
import type { Cells } from '../drafts.ts'
import { changeBy, readRow, type StoredRow, updateRow } from '../rows.ts'

/** Updates a record, in one statement unless a cell holds files. Returns what `updateRow` returns. */
export async function updateCells(
  context: Context,
  table: TableDef,
  recordId: number,
  cells: Cells,
  ifMatch: IfMatch,
): Promise<StoredRow | undefined> {
  const { db, transaction } = context
  const write = () => updateRow(db, table, recordId, cells, { ...changeBy(context), ifMatch })
  const files = table.fields.filter((field) => holdsFiles(field) && cells.has(field.id))
  if (!files.length) return write()
  return transaction(async () => {
    const before = await lockRow(context, table, recordId)
    const taken = pathsIn(table, cells)
    const left = before ? filesOf(before, files).map(({ path }) => path) : []
    await lockFiles(db, [...taken, ...left])
    await holdFiles(db, taken)
    const row = await write()
    if (before && row) await dropFiles(db, missingIn(filesOf(row, files), filesOf(before, files)), context.now)
    return row
  })
}

/**
 * Changes the list of one file field.
 * @returns the whole list as it is now
 * @throws AppError 400 for a field that is no file field, when a required one would be empty, and past 1,000 files; 403 for a
 * field that only admins write; 404 when the record has just been deleted
 */
export async function changeFiles(
  context: Context,
  table: TableRef,
  record: RecordRef,
  fieldId: string,
  change: (files: readonly FileEntry[]) => FileEntry[],
): Promise<FileEntry[]> {
  const { db, transaction } = context
  return withDefinition(context, table, async (definition) => {
    const field = fileField(definition, table, fieldId)
    return transaction(async () => {
      const row = await lockRow(context, definition, record.id)
      if (!row) throw notFound('Record')
      const before = filesOf(row, [field])
      const after = change(before)
      if (!after.length && field.required) throw badInput('field_id', 'is a required field')
      if (after.length > MAX_VALUES) throw badInput('field_id', `holds at most ${MAX_VALUES} files`)
      await holdFiles(db, missingIn(before, after))
      await dropFiles(db, missingIn(after, before), context.now)
      const cells: Cells = new Map([[field.id, after.length ? after : null]])
      return (await updateRow(db, definition, record.id, cells, { ...changeBy(context), ifMatch: undefined })) ? after : STALE
    })
  })
}

/** Whether the caller may write files there: asked before anything is stored. @throws AppError as `changeFiles` */
export async function requireFileField(context: Context, table: TableRef, fieldId: string): Promise<void> {
  await withDefinition(context, table, async (definition) => void fileField(definition, table, fieldId))
}

function fileField(definition: TableDef, { role }: TableRef, fieldId: string): FieldDef {
  const field = definition.fields.find(({ id }) => id === fieldId)
  if (!field || !holdsFiles(field)) throw badInput('field_id', 'is no file field of this table')
  if (field.admin_only && role !== 'admin') throw forbidden()
  return field
}

/** Locked, so that of two changes at once the later one sees the files that the earlier one put there. */
async function lockRow({ db }: Context, table: TableDef, recordId: number): Promise<StoredRow | undefined> {
  await db.query(sql`select 1 from ${recordsOf(table.id)} where id = ${recordId} for update`)
  return readRow(db, table, recordId)
}

/** The paths of all files among the cells, each once. */
export function pathsIn(table: TableDef, cells: Cells): string[] {
  const files = table.fields.filter(holdsFiles).flatMap(({ id }) => (cells.get(id) ?? []) as FileEntry[])
  return [...new Set(files.map(({ path }) => path))]
}

const filesOf = (row: StoredRow, fields: readonly FieldDef[]): FileEntry[] => fields.flatMap(({ id }) => (row[id] ?? []) as FileEntry[])

/** Paths of `files` that are not among `others`. */
function missingIn(others: readonly FileEntry[], files: readonly FileEntry[]): string[] {
  const there = new Set(others.map(({ path }) => path))
  return files.flatMap(({ path }) => (there.has(path) ? [] : path))
}
