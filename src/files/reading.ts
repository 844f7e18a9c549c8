/** Checks who may read a file, and streams its bytes. */
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { NOT_ON_RECORD, type Role } from '../platform/access/authorize.ts'
import { checkSpace, type RecordRef, roleOf, type TableRef } from '../platform/access/resources.ts'
import type { Actor } from '../platform/actor.ts'
import type { Context } from '../platform/context.ts'
import type { Database } from '../platform/database/database.ts'
import { AppError, forbidden, notFound } from '../platform/errors.ts'
import { disposition } from '../platform/http/answers/content-disposition.ts'
import { isPath, type Storage, type StoredBytes } from '../platform/storage/storage.ts'
import { storageKeyOf } from '../platform/stored-files/rows.ts'
import { readFiles } from '../records/cells/file-cells.ts'
import { holdersOf } from '../tables/file-references.ts'
import type { ByteRange } from './downloads/byte-range.ts'
import { servedAs } from './media-types.ts'
import { findReadable, hasRecord, type ReadableFile } from './queries.ts'
import type { FileData, FileRef } from './schema.ts'

const MB = 1_048_576

/**
 * Returns the file if the caller may read its record or task.
 * @param withDropped true to let an admin of the space read a dropped file as well
 * @throws AppError 404 if the account has no such file, or it was dropped; 403
 */
export async function requireReadable(db: Database, actor: Actor, path: string, withDropped = false): Promise<ReadableFile> {
  const file = isPath(path) ? await findReadable(db, path, actor) : undefined
  if (!file) throw notFound('File')
  if (file.space_id !== null) checkSpace({ space_id: file.space_id, member_role: file.member_role }, actor, 'read')
  else if (actor.kind === 'account') throw forbidden(NOT_ON_RECORD)
  else if (!file.is_on_task) throw forbidden()
  if (await isGone(db, file, withDropped ? roleOf(actor, file.member_role) : null)) throw notFound('File')
  return file
}

/**
 * Whether the file cannot be read any more. A dropped file is gone at once, as is one of a deleted record; a new upload can be read as
 * long as its record exists.
 * @param role the role of a caller who asks for dropped files, or null: admins of a space may read files that they may restore
 */
async function isGone(db: Database, file: ReadableFile, role: Role | null): Promise<boolean> {
  const isUsed = async () => (await holdersOf(db, [file], { isLive: true })).has(file.path)
  if (file.dropped_at === null) return file.is_of_deleted && (file.is_shared === false || !(await isUsed()))
  if (file.was_held) {
    if (file.space_id !== null && role === 'admin') return false
    // The previous release, which may run beside this one, drops a file even if something else refers to it.
    return file.is_shared === false || !(await isUsed())
  }
  if (file.table_id === null || file.task_id !== null || (await hasRecord(db, file.path, file.table_id))) return false
  return !(await isUsed())
}

/** A link to the bytes in the storage, with the headers of a download; null if it has no links, or the bytes are about to be moved. */
export async function linkTo(storage: Storage, file: ReadableFile): Promise<string | null> {
  if (file.storage_key !== null) return null
  const { kind, type } = servedAs(file)
  return storage.link(file.path, { type, disposition: disposition(kind, file.name) })
}

/** @throws AppError 404 if the bytes have just been deleted */
export async function open(storage: Storage, file: ReadableFile, range: ByteRange | undefined): Promise<StoredBytes> {
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

/** The most bytes of a file that are answered as a text, which is in memory several times over. */
const MAX_TEXT_MB = 4

/**
 * A file of a record's cell with its bytes in base64.
 * @param sendData takes the bytes of the answer as a stream; without it they are in `data`
 * @throws AppError 400 for a field that is not a file field; 404 if the cell does not have the file; 413 for a file that is too large
 * without `sendData`
 */
export async function getOfField(
  context: Context,
  table: TableRef,
  { id }: Pick<RecordRef, 'id'>,
  { field_id, path }: FileRef,
  sendData?: (bytes: Readable) => void,
): Promise<FileData> {
  const files = await readFiles(context, table, id, field_id)
  const file = files.find((entry) => entry.path === path)
  if (!file) throw notFound('File')
  const { name, type, size } = file
  if (!sendData && size > MAX_TEXT_MB * MB)
    throw new AppError('PAYLOAD_TOO_LARGE', `The file has over ${MAX_TEXT_MB} MB, which RPC does not answer; use GET /api/file/${path}`)
  const bytes = await openStored(context, path)
  if (!bytes) throw notFound('File')
  if (sendData) sendData(bytes)
  return { name, type, size, data: sendData ? '' : await base64Of(bytes, size) }
}

async function base64Of(bytes: Readable, size: number): Promise<string> {
  const content = await buffer(bytes)
  if (content.length !== size) throw new Error(`The storage has ${content.length} bytes in place of ${size}`)
  return content.toString('base64')
}
