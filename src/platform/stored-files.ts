/**
 * The rows of stored files. Records, comments, tasks and mails refer to files; these rows decide who may refer to a file, and which
 * files are not referred to any more. A job of `files/` deletes their bytes later.
 */
import { type Database, type Sql, sql, toTheSecond } from './database/database.ts'
import { badInput } from './http/errors.ts'
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
 * Inserts the row of a file whose bytes are in storage.
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
    update stored_files f set path = b.path, storage_key = f.path, task_id = ${taskId}, dropped_at = null,
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
 * Marks the files as held, in the transaction that writes the reference. The row locks keep the job that deletes dropped files from
 * deleting one of them at the same time.
 * @throws AppError 400 if one has just been deleted
 */
export async function holdFiles(db: Pick<Database, 'execute'>, paths: readonly string[]): Promise<void> {
  if (!paths.length) return
  const held = await db.execute(sql`
    with named as (${locked(ofPaths(paths))})
    update stored_files f set dropped_at = null from named where f.path = named.path`)
  if (held < new Set(paths).size) throw badInput('attachments', 'a file has just been removed')
}

/** Marks the files as dropped by one reference. The job checks whether there is another one. */
export async function dropFiles(db: Database, paths: readonly string[], now: Date): Promise<void> {
  if (paths.length) await drop(db, ofPaths(paths), now)
}

/** Drops the files of deleted records. @param recordIds null stands for all records of the table */
export async function dropFilesOfRecords(db: Database, tableId: number, recordIds: readonly number[] | null, now: Date): Promise<void> {
  await drop(db, sql`table_id = ${tableId} and (${recordIds}::int[] is null or record_id = any(${recordIds}::int[]))`, now)
}

/** Drops all files of deleted tasks, including those of their comments. @param tasks selects the ids of the tasks */
export async function dropFilesOfTasks(db: Database, tasks: Sql, now: Date): Promise<void> {
  await drop(db, sql`task_id in (${tasks})`, now)
}

async function drop(db: Database, which: Sql, now: Date): Promise<void> {
  await db.execute(sql`
    with named as (${locked(sql`dropped_at is null and ${which}`)})
    update stored_files f set dropped_at = ${formatInstant(now)}::timestamp from named where f.path = named.path`)
}

/** Deletes the rows of files without references. The caller deletes the bytes after the commit. */
export async function deleteFileRows(db: Database, paths: readonly string[]): Promise<void> {
  if (paths.length) await db.prisma.storedFile.deleteMany({ where: { path: { in: [...paths] } } })
}
