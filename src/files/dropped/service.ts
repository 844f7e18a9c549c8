/** Dropped files: files that nothing refers to any more. For some time the admins of their space can restore them. */
import { audit } from '../../audit/log.ts'
import { holdsFiles } from '../../fields/definition.ts'
import { checkSpace, roleOf, type SpaceRef, type TableRef } from '../../platform/access/resources.ts'
import type { Context } from '../../platform/context.ts'
import { recordsOf, sql } from '../../platform/database/database.ts'
import { conflict, notFound } from '../../platform/errors.ts'
import { isPath } from '../../platform/storage/storage.ts'
import { IN_USE, lockForRestore } from '../../platform/stored-files/held.ts'
import { changeFiles } from '../../records/cells/file-cells.ts'
import { tableDefinitions } from '../../tables/definition-cache.ts'
import type { DroppedFile, File, RestoredFile } from '../schema.ts'
import { countDropped, findRestorable, listDropped, type RestorableFile } from './queries.ts'

/** Files that were dropped before this instant are deleted. */
export const expiryOf = ({ settings, now }: Pick<Context, 'settings' | 'now'>): Date =>
  new Date(now.getTime() - settings.keepDroppedFilesDays * 86_400_000)

/** The dropped files of the space, the latest first, and their number. */
export async function list(
  context: Context,
  space: SpaceRef,
  page: { limit: number; offset: number },
): Promise<{ rows: DroppedFile[]; total: number }> {
  const { db, settings } = context
  const since = expiryOf(context)
  const rows = await listDropped(db, space.id, { since, keepDays: settings.keepDroppedFilesDays, ...page })
  return { rows, total: await countDropped(db, space.id, since) }
}

/**
 * Puts a dropped file back where it was: at the end of the cell of its field, or of the task's attachments.
 * @throws AppError 404 if the account has no dropped file with the path; 403 unless the caller is an admin of its space; 409 if the place
 * of the file is gone, the list there is full, or the file is in use
 */
export async function restore(context: Context, { path }: { path: string }): Promise<RestoredFile> {
  const { db, actor, transaction } = context
  const file = isPath(path) ? await findRestorable(db, path, actor, expiryOf(context)) : undefined
  if (!file) throw notFound('File')
  checkSpace(file, actor, 'admin')
  if (!file.is_dropped) throw conflict(IN_USE)
  const { name, size, type, host, task_id, field_id, record_id, space_id: spaceId, table_id: tableId } = file
  const entry: File = { name, path, size, type, host }
  return transaction(async () => {
    const change = await putBack(context, file, entry)
    if (!change) throw conflict('Its place is gone')
    const detail = task_id === null ? { field_id, record_id } : { task_id }
    await audit(context, 'file.restored', { id: path, spaceId, tableId, detail })
    return { ...entry, ...change }
  })
}

/** The id of the change of records; null for a task. */
type PutBack = Pick<RestoredFile, 'change_id'>

/** @returns undefined if the place of the file is gone, as always for a file of a comment, which is dropped only with the comment. */
async function putBack(context: Context, file: RestorableFile, entry: File): Promise<PutBack | undefined> {
  if (file.comment_id !== null) return undefined
  if (file.task_id === null) return putIntoCell(context, file, entry)
  for (const { restoreFile } of context.cascades) if (await restoreFile?.(context, file.task_id, entry)) return { change_id: null }
  return undefined
}

/** Appends the file to its cell. A field that was created again with the id of a deleted one gets the files of that one. */
async function putIntoCell(context: Context, file: RestorableFile, entry: File): Promise<PutBack | undefined> {
  const { db, actor } = context
  const { table_id, record_id, field_id } = file
  if (table_id === null || record_id === null || field_id === null) return undefined
  const definition = (await tableDefinitions(db, [table_id])).get(table_id)
  if (!definition?.fields.some((field) => field.id === field_id && holdsFiles(field))) return undefined
  // The record is locked before the file. Changes of cells lock in the same order, which prevents deadlocks.
  const [record] = await db
    .records(table_id)
    .read<{ version: number }>(sql`select version from ${recordsOf(table_id)} where id = ${record_id} for update`)
  if (!record) return undefined
  await lockForRestore(db, entry.path)
  const { id, name, space_id, account_id, version } = definition
  const table: TableRef = { id, name, space_id, account_id, version, role: roleOf(actor, file.member_role) ?? 'viewer' }
  return changeFiles(context, table, { id: record_id, version: record.version }, field_id, (files) => [...files, entry])
}
