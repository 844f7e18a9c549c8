import type { RecordRef, TableRef } from '../platform/access/resources.ts'
import type { FilePart } from '../platform/bytes/file-part.ts'
import { sha256 } from '../platform/bytes/sha256.ts'
import type { Context } from '../platform/context.ts'
import { notFound } from '../platform/errors.ts'
import { bytesOfData } from '../platform/http/bodies/upload-bytes.ts'
import { newToken, tokenHash } from '../platform/secrets/secrets.ts'
import { newPath, STAGED_PREFIX, taskPrefix } from '../platform/stored-files/paths.ts'
import { ReceivedBytes } from '../platform/stored-files/received-bytes.ts'
import { type FileEntry, type FilePlace, insertFile, type NewFileRow, type StagingToken } from '../platform/stored-files/rows.ts'
import { changeFiles, requireFileField } from '../records/cells/file-cells.ts'
import type { ChangedList } from '../records/schema.ts'
import { detectType, isMediaType, UNKNOWN_TYPE } from './media-types.ts'
import { uploadedBytes, uploads } from './metrics.ts'
import { type FieldUpload, type File, type FileRef, MAX_UPLOAD_BYTES, type StagedFile, type Upload } from './schema.ts'
import { settleFiles } from './sweep.ts'
import { withinLimit } from './usage/service.ts'

/** A file before it has a row: its bytes are in memory, in a temporary file, or have been received to storage. */
export interface NewFile<Content extends Uint8Array | FilePart | ReceivedBytes = Uint8Array> {
  name: string
  type: string
  content: Content
}
type AnyNewFile = NewFile<Uint8Array | FilePart | ReceivedBytes>

/**
 * Stores a file in a record's field.
 * @returns the field's whole list, with the id of the change
 * @throws AppError 400 for invalid base64, a file that is too large, and a field that is not a file field; 403 for a field that only
 * admins write
 */
export async function addToField(
  context: Context,
  table: TableRef,
  record: RecordRef,
  { field_id, ...upload }: FieldUpload,
  received?: ReceivedBytes,
): Promise<ChangedList<File>> {
  await requireFileField(context, table, field_id)
  const file = await stage(context, placeOf(table, record), fileOf(upload, received))
  return changeFiles(context, table, record, field_id, (files) => [...files, file])
}

/**
 * Removes a file from a record's field. A job deletes the bytes later.
 * @returns the field's whole list
 * @throws AppError 404 if the field does not contain the file
 */
export async function removeFromField(
  context: Context,
  table: TableRef,
  record: RecordRef,
  { field_id, path }: FileRef,
): Promise<ChangedList<File>> {
  return changeFiles(context, table, record, field_id, (files) => {
    const kept = files.filter((file) => file.path !== path)
    if (kept.length === files.length) throw notFound('File')
    return kept
  })
}

/**
 * Stores a file that a comment on the record may attach.
 * @throws AppError 400 for invalid base64 and for a file that is too large
 */
export async function upload(context: Context, table: TableRef, record: RecordRef, input: Upload, received?: ReceivedBytes): Promise<File> {
  return stage(context, placeOf(table, record), fileOf(input, received))
}

/**
 * Stores a file that the task, or a comment on it, may attach.
 * @throws AppError 400 for invalid base64 and for a file that is too large
 */
export async function uploadToTask(
  context: Context,
  { task_id }: { task_id: number },
  input: Upload,
  received?: ReceivedBytes,
): Promise<File> {
  return store(context, { account_id: context.actor.accountId, task_id }, taskPrefix(task_id), fileOf(input, received))
}

/**
 * Stores a file for a new task, until the session that uploaded it creates the task.
 * @throws AppError 400 for invalid base64 and for a file that is too large
 */
export async function stageForTask(context: Context, input: Upload, received?: ReceivedBytes): Promise<StagedFile> {
  const { accountId, sessionId } = context.actor
  const token = newToken()
  const staging = { tokenHash: tokenHash(token), sessionId }
  const file = await store(context, { account_id: accountId }, STAGED_PREFIX, fileOf(input, received), staging)
  return { ...file, staged_token: token }
}

const placeOf = (table: TableRef, record: RecordRef): FilePlace & { space_id: number; table_id: number } => ({
  account_id: table.account_id,
  space_id: table.space_id,
  table_id: table.id,
  record_id: record.id,
})

/**
 * Stores bytes under a path of the record. The file counts as dropped until `holdFiles` is called, so that the clean-up deletes it if the
 * request fails.
 */
export async function stage(
  context: Context,
  place: FilePlace & { space_id: number; table_id: number },
  file: AnyNewFile,
): Promise<FileEntry> {
  return store(context, place, `${place.space_id}-${place.table_id}-`, file)
}

/** Stores bytes under a new path with the given prefix, as `stage` does. */
async function store(context: Context, place: FilePlace, prefix: string, file: AnyNewFile, staging?: StagingToken): Promise<FileEntry> {
  const { name, type, content } = file
  const entry = {
    name,
    size: content instanceof ReceivedBytes ? content.size : content.byteLength,
    type: isMediaType(type) ? type : UNKNOWN_TYPE,
    host: context.storage.host,
  }
  const facts: NewFileRow = {
    ...{ createdBy: context.actor.userId || null, now: context.now, isHeld: false, staging },
    sha256: content instanceof Uint8Array ? await sha256(content) : content.sha256,
    detectedType: await detectType(content instanceof Uint8Array ? content : content.head),
  }
  const stored = await (content instanceof ReceivedBytes
    ? keepReceived(context, place, prefix, entry, content, facts)
    : write(context, place, prefix, entry, content, facts))
  context.metrics.count(uploads)
  context.metrics.count(uploadedBytes, {}, entry.size)
  return stored
}

type Unplaced = Omit<FileEntry, 'path'>

async function write(
  context: Context,
  place: FilePlace,
  prefix: string,
  entry: Unplaced,
  content: Uint8Array | FilePart,
  facts: NewFileRow,
): Promise<FileEntry> {
  const { db, storage, jobs } = context
  const path = newPath(prefix, entry.name)
  // In the transaction of an Idempotency-Key the row can be lost after the bytes were written. Staged bytes without a row are swept.
  const storageKey = db.inTransaction() && prefix !== STAGED_PREFIX ? newPath(STAGED_PREFIX, entry.name) : null
  // The row is written first: other bytes without a row would never be deleted.
  await withinLimit(context, place.account_id, entry.size, () => insertFile(db, place, { ...entry, path }, { ...facts, storageKey }))
  await storage.write(storageKey ?? path, content instanceof Uint8Array ? content : content.read())
  if (storageKey) await jobs.send(settleFiles, { paths: [path] })
  return { ...entry, path }
}

/** Inserts the row of received bytes, and moves them to their path: at once, or after the commit of a transaction that may be lost. */
async function keepReceived(
  context: Context,
  place: FilePlace,
  prefix: string,
  entry: Unplaced,
  received: ReceivedBytes,
  facts: NewFileRow,
): Promise<FileEntry> {
  const { db, storage, jobs } = context
  // Received bytes already have a path of staged files, which a staged file keeps.
  const path = prefix === STAGED_PREFIX ? received.key : newPath(prefix, entry.name)
  const storageKey = db.inTransaction() && path !== received.key ? received.key : null
  if (storageKey || path === received.key) await received.keep(storage)
  await withinLimit(context, place.account_id, entry.size, () => {
    received.isTaken = true
    return insertFile(db, place, { ...entry, path }, { ...facts, storageKey })
  })
  if (storageKey) await jobs.send(settleFiles, { paths: [path] })
  else if (path !== received.key && !(await storage.move(received.key, path))) throw new Error(`No bytes under ${received.key}`)
  return { ...entry, path }
}

/**
 * The file of an upload: the bytes that were received before, or those of `data`.
 * @throws AppError 400 if `data` is not base64, 413 above the limit
 */
function fileOf({ name, type, data }: Upload, received: ReceivedBytes | undefined): AnyNewFile {
  return { name, type: type ?? '', content: received ?? bytesOfData(data, MAX_UPLOAD_BYTES) }
}
