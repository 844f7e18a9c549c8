/** Checks who may read a file, and streams its bytes. */
import type { Readable } from 'node:stream'
import type { Actor } from '../platform/access/authenticate.ts'
import { checkSpace } from '../platform/access/resources.ts'
import type { Context } from '../platform/context.ts'
import type { Database } from '../platform/database/database.ts'
import { forbidden, notFound } from '../platform/http/errors.ts'
import { isPath, type Storage } from '../platform/storage/storage.ts'
import { storageKeyOf } from '../platform/stored-files.ts'
import type { ByteRange } from './byte-range.ts'
import { findReadable, hasRecord, heldPaths, type ReadableFile } from './queries.ts'

/**
 * Returns the file if the caller may read its record or task.
 * @throws AppError 404 if the account has no such file; 403
 */
export async function requireReadable(db: Database, actor: Actor, path: string): Promise<ReadableFile> {
  const file = isPath(path) ? await findReadable(db, path, actor) : undefined
  if (!file) throw notFound('File')
  if (file.space_id !== null) checkSpace({ space_id: file.space_id, member_role: file.member_role }, actor, 'read')
  else if (actor.kind === 'account') throw forbidden('Task is not on a record')
  else if (!file.is_on_task) throw forbidden()
  if (await isGone(db, file)) throw notFound('File')
  return file
}

/** A dropped file stays readable for a while, as a new upload does. A file of a deleted record is gone at once. */
async function isGone(db: Database, file: ReadableFile): Promise<boolean> {
  if (file.dropped_at === null || file.table_id === null || file.task_id !== null) return false
  if (await hasRecord(db, file.path, file.table_id)) return false
  return !(await heldPaths(db, [file])).has(file.path)
}

/** @throws AppError 404 if the bytes have just been deleted */
export async function open(storage: Storage, file: ReadableFile, range: ByteRange | undefined): Promise<Readable> {
  // Staged bytes may have been moved to the path since the row was read.
  const staged = file.storage_key === null ? null : await storage.read(file.storage_key, range)
  const stream = staged ?? (await storage.read(file.path, range))
  if (!stream) throw notFound('File')
  return stream
}

/** Streams the bytes of a stored file, for the service itself; null if they are gone. */
export async function openStored({ db, storage }: Pick<Context, 'db' | 'storage'>, path: string): Promise<Readable | null> {
  const key = (await storageKeyOf(db, path))?.storage_key
  // Staged bytes may have been moved to the path since the row was read.
  return (key ? await storage.read(key) : null) ?? storage.read(path)
}
