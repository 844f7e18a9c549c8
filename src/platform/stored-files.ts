/**
 * The rows of stored files. Records, comments, tasks and mails refer to files; these rows decide who may refer to a file, and which
 * files are not referred to any more. A job of `files/` deletes their bytes later.
 */
import { type Database, type Sql, sql, toTheSecond } from './database/database.ts'
import { badInput, conflict, notFound } from './http/errors.ts'
import { newToken } from './secrets.ts'
import { formatInstant } from './time.ts'

/** An attachment, in the form of the wire and of cells. */
export interface FileEntry {
  name: string
  path: string
  size: number
  type: string
  host: string
}

/** The record or task that a file belongs to. A caller who may read it may read the file. */
export interface FilePlace {
  account_id: number
  space_id?: number
  table_id?: number
  record_id?: number
  task_id?: number
}

/** The right to attach a file to a task that does not exist yet: the session that uploaded it may use a token once. */
export interface Staging {
  tokenHash: Buffer<ArrayBuffer>
  sessionId: number | null
}

export interface NewFileRow {
  createdBy: number | null
  now: Date
  isHeld: boolean
  sha256: Uint8Array<ArrayBuffer>
  staging?: Staging | undefined
  storageKey?: string | null
  detectedType?: string | null
}

/**
 * Inserts the row of a file. Its bytes are in storage already, or are written next.
 * @param isHeld false if no cell or attachment refers to the file yet. Without a reference it is deleted later
 * @param detectedType the media type that the bytes show (files/media-types.ts)
 * @param storageKey the path of the bytes, until `settleFiles` has moved them to the path of the file
 */
export async function insertFile(
  db: Database,
  place: FilePlace,
  entry: FileEntry,
  { createdBy, now, isHeld, sha256, staging, storageKey = null, detectedType = null }: NewFileRow,
): Promise<void> {
  await db.prisma.storedFile.create({
    data: {
      ...entry,
      sha256,
      storageKey,
      detectedType,
      accountId: place.account_id,
      spaceId: place.space_id ?? null,
      tableId: place.table_id ?? null,
      recordId: place.record_id ?? null,
      taskId: place.task_id ?? null,
      createdBy,
      createdAt: toTheSecond(now),
      droppedAt: isHeld ? null : toTheSecond(now),
      wasHeld: isHeld,
      isShared: false,
      stagedTokenHash: staging?.tokenHash ?? null,
      stagedSessionId: staging?.sessionId ?? null,
    },
  })
}

/** The entries of files of a table or task, by path. Unknown paths, and those of another table or task, are missing. */
export async function findFiles(
  db: Database,
  place: { account_id: number; table_id: number } | { account_id: number; task_id: number },
  paths: readonly string[],
): Promise<Map<string, FileEntry>> {
  if (!paths.length) return new Map()
  const here = 'task_id' in place ? sql`task_id = ${place.task_id}` : sql`table_id = ${place.table_id}`
  const files = await db.query<FileEntry>(sql`
    select name, path, size, type, host from stored_files
    where path = any(${paths}::text[]) and account_id = ${place.account_id} and ${here}`)
  return new Map(files.map((file) => [file.path, file]))
}

/**
 * The files that the session staged since the instant, by the hash of their token in hex. They stay locked until the transaction ends,
 * so of two requests with the same token the second finds it used.
 */
export async function lockStaged(
  db: Database,
  { accountId, sessionId }: { accountId: number; sessionId: number | null },
  tokenHashes: readonly Buffer[],
  since: Date,
): Promise<Map<string, FileEntry>> {
  const files = await db.query<FileEntry & { token_hash: string }>(sql`
    select name, path, size, type, host, encode(staged_token_hash, 'hex') as token_hash from stored_files
    where staged_token_hash = any(${tokenHashes}::bytea[]) and account_id = ${accountId} and staged_session_id = ${sessionId}::int
      and created_at > ${formatInstant(since)}::timestamp
    order by path for update`)
  return new Map(files.map(({ token_hash, ...file }) => [token_hash, file]))
}

/**
 * Attaches staged files to their task, in the transaction that creates it. They get their final path and count as held. A job moves
 * the bytes to that path later (`settleFiles`).
 */
export async function bindStaged(db: Database, taskId: number, staged: readonly FileEntry[]): Promise<FileEntry[]> {
  const bound = staged.map((file) => ({ ...file, path: `${taskPrefix(taskId)}${file.path.slice(STAGED_PREFIX.length)}` }))
  await db.execute(sql`
    update stored_files f set path = b.path, storage_key = f.path, task_id = ${taskId}, dropped_at = null, was_held = true,
      staged_token_hash = null, staged_session_id = null
    from unnest(${staged.map(({ path }) => path)}::text[], ${bound.map(({ path }) => path)}::text[]) as b (old_path, path)
    where f.path = b.old_path`)
  return bound
}

/** The prefix of the paths of a task's files (api.md, Task attachment uploads). */
export const taskPrefix = (taskId: number) => `task-${taskId}-`
/** The prefix of the paths of files whose task does not exist yet. */
export const STAGED_PREFIX = 'staged-'

/** A path in storage that was never used: random, and ending in the file's name in plain characters, for people who look into the storage. */
export const newPath = (prefix: string, name: string) => `${prefix}${newToken(12)}-${plainName(name)}`

function plainName(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '_')
    .slice(-80)
  return plain.replace(/^[._]+/, '') || 'file'
}

/** The path of the bytes in storage, null if it is the path of the file; undefined if the file does not exist. */
export async function storageKeyOf(db: Database, path: string): Promise<{ storage_key: string | null } | undefined> {
  const [file] = await db.query<{ storage_key: string | null }>(sql`select storage_key from stored_files where path = ${path}`)
  return file
}

/** Those of the keys in storage that the row of a file names. */
export async function namedKeys(db: Database, keys: readonly string[]): Promise<Set<string>> {
  const rows = await db.query<{ path: string; storage_key: string | null }>(
    sql`select path, storage_key from stored_files where path = any(${keys}::text[]) or storage_key = any(${keys}::text[])`,
  )
  return new Set(rows.flatMap(({ path, storage_key }) => (storage_key === null ? [path] : [path, storage_key])))
}

/** Notes that the bytes have been moved to the path of the file. @returns false if the file has been deleted */
export async function settleFile(db: Database, path: string): Promise<boolean> {
  return (await db.execute(sql`update stored_files set storage_key = null where path = ${path}`)) > 0
}

/** Notes the storage of the bytes. @returns false if no file names them any more */
export async function setHost(db: Database, key: string, host: string): Promise<boolean> {
  return (await db.execute(sql`update stored_files set host = ${host} where path = ${key} or storage_key = ${key}`)) > 0
}

/**
 * Lists of entries of which each names the storage of its file again, after files were moved. Only rows are written in which an entry names another.
 * @param column a column of lists of entries
 */
export const withPresentHosts = (column: Sql): { list: Sql; isOutdated: Sql } => ({
  list: sql`(
    select jsonb_agg(e.entry || jsonb_build_object('host', coalesce(f.host, e.entry->>'host')) order by e.position)
    from jsonb_array_elements(${column}) with ordinality as e (entry, position) left join stored_files f on f.path = e.entry->>'path')`,
  isOutdated: sql`exists (
    select from jsonb_array_elements(${column}) as e (entry) join stored_files f on f.path = e.entry->>'path' where f.host <> e.entry->>'host')`,
})

/** The paths of entries, for the functions below. */
export const pathsOf = (entries: readonly Pick<FileEntry, 'path'>[]): string[] => entries.map(({ path }) => path)

const ofPaths = (paths: readonly string[]): Sql => sql`path = any(${paths}::text[])`

/** Selects and locks files. Everyone locks in the order of the paths, which prevents deadlocks. */
const locked = (which: Sql): Sql => sql`select path from stored_files where ${which} order by path for update`

/** Locks files in one statement for a transaction that holds some of them and drops others. */
export async function lockFiles(db: Database, paths: readonly string[]): Promise<void> {
  if (paths.length) await db.query(locked(ofPaths(paths)))
}

/**
 * Marks the files as held, in the transaction that writes the references. The row locks keep the job that deletes dropped files from
 * deleting one of them at the same time.
 * @param paths one for each new reference; a file with several is noted as shared
 * @param recordId the record that refers to the files; null for a task; undefined if the record is not known: the files then count as shared
 * @throws AppError 400 if one has just been deleted
 */
export async function holdFiles(db: Pick<Database, 'execute'>, paths: readonly string[], recordId?: number | null): Promise<void> {
  if (!paths.length) return
  const isKnown = recordId !== undefined
  // A file without references, such as a new upload or a dropped file, now belongs to the record. A file in use keeps its record.
  const held = await db.execute(sql`
    with named as (${locked(ofPaths(paths))}),
    given as (select path, count(*) > 1 as is_repeated from unnest(${paths}::text[]) as g (path) group by path)
    update stored_files f set dropped_at = null, was_held = true, field_id = null, comment_id = null,
      is_shared = is_shared or dropped_at is null or g.is_repeated or not ${isKnown}::boolean,
      record_id = case when dropped_at is null or is_shared is distinct from false then record_id
        else coalesce(${recordId ?? null}::int, record_id) end
    from named join given g on g.path = named.path where f.path = named.path`)
  if (held < new Set(paths).size) throw badInput('attachments', 'a file has just been removed')
}

/** Where files were in use when their reference was deleted. */
export interface ReleasedFrom {
  record_id?: number | null
  field_id?: string
  comment_id?: number
}

/** A file that loses a reference. */
export interface LosingFile {
  path: string
  table_id: number | null
  task_id: number | null
  /** False if the lost reference was the only one; null if that is not known. */
  is_shared: boolean | null
}

/** Locks and returns the files that are in use. */
export async function lockHeld(db: Database, paths: readonly string[]): Promise<LosingFile[]> {
  return paths.length ? lockUsed(db, ofPaths(paths)) : []
}

/** Locks and returns the files in use that belong to the records of the table. */
export async function lockHeldOfRecords(db: Database, tableId: number, recordIds: readonly number[]): Promise<LosingFile[]> {
  return lockUsed(db, sql`table_id = ${tableId} and record_id = any(${recordIds}::int[])`)
}

const lockUsed = (db: Database, which: Sql): Promise<LosingFile[]> =>
  db.query<LosingFile>(sql`
    select path, table_id, task_id, is_shared from stored_files where dropped_at is null and ${which} order by path for update`)

/**
 * Marks the files as dropped: nothing refers to them any more. An admin can restore them until a job deletes them.
 * Callers check for other references first (tables/file-references.ts).
 */
export async function dropFiles(db: Database, paths: readonly string[], now: Date, from: ReleasedFrom = {}): Promise<void> {
  if (paths.length) await drop(db, ofPaths(paths), now, from)
}

/**
 * Locks a dropped file for the transaction that restores it.
 * @throws AppError 404 if it has just been deleted; 409 if it has just been restored
 */
export async function lockForRestore(db: Database, path: string): Promise<void> {
  const [file] = await db.query<{ dropped: boolean }>(
    sql`select dropped_at is not null as dropped from stored_files where path = ${path} for update`,
  )
  if (!file) throw notFound('File')
  if (!file.dropped) throw conflict(IN_USE)
}

/** The reason why a file cannot be restored. */
export const IN_USE = 'The file is in use'

/** Notes the record that still refers to a file, which decides when the file is dropped. */
export async function reassignFiles(db: Database, holders: ReadonlyMap<string, number | null>): Promise<void> {
  const moved = [...holders].filter(([, recordId]) => recordId !== null)
  if (!moved.length) return
  await db.execute(sql`
    update stored_files f set record_id = h.record_id
    from unnest(${moved.map(([path]) => path)}::text[], ${moved.map(([, recordId]) => recordId)}::int[]) as h (path, record_id)
    where f.path = h.path and f.record_id is distinct from h.record_id`)
}

/** Drops all files of a table that is deleted for good. They cannot be restored, so they expire like uploads that nothing has used. */
export async function dropFilesOfTable(db: Database, tableId: number, now: Date): Promise<void> {
  await db.execute(sql`
    with named as (${locked(sql`dropped_at is null and table_id = ${tableId}`)})
    update stored_files f set dropped_at = ${formatInstant(now)}::timestamp, was_held = false from named where f.path = named.path`)
}

/** Drops all files of deleted tasks, including those of their comments. @param tasks selects the ids of the tasks */
export async function dropFilesOfTasks(db: Database, tasks: Sql, now: Date): Promise<void> {
  await drop(db, sql`task_id in (${tasks})`, now)
}

/** Notes the space of a task's file as well, because the task may be deleted. */
async function drop(db: Database, which: Sql, now: Date, { record_id, field_id, comment_id }: ReleasedFrom = {}): Promise<void> {
  await db.execute(sql`
    with named as (${locked(sql`dropped_at is null and ${which}`)})
    update stored_files f set dropped_at = ${formatInstant(now)}::timestamp, was_held = true, is_shared = false,
      field_id = ${field_id ?? null}::text, comment_id = ${comment_id ?? null}::int, record_id = coalesce(${record_id ?? null}::int, f.record_id),
      space_id = case when f.task_id is null then f.space_id else (
        select t.space_id from tables t where t.id = coalesce(
          (select k.table_id from tasks k where k.id = f.task_id), (select d.table_id from deleted_tasks d where d.id = f.task_id))) end
    from named where f.path = named.path`)
}

/** Notes the hash of a file of an earlier release. */
export async function fillHash(db: Database, path: string, sha256: Buffer): Promise<void> {
  await db.execute(sql`update stored_files set sha256 = ${sha256} where path = ${path} and sha256 is null`)
}

/** Deletes the rows of files without references. The caller deletes the bytes after the commit. */
export async function deleteFileRows(db: Database, paths: readonly string[]): Promise<void> {
  if (paths.length) await db.prisma.storedFile.deleteMany({ where: { path: { in: [...paths] } } })
}
