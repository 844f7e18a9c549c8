/**
 * The rows of stored files. Records, comments, tasks and mails refer to files; these rows decide who may refer to a file (`staged.ts`), and
 * which files are not referred to any more (`held.ts`). A job of `files/` deletes their bytes later.
 */
import { type Database, type Sql, sql, toTheSecond } from '../database/database.ts'

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
export interface StagingToken {
  tokenHash: Buffer<ArrayBuffer>
  sessionId: number | null
}

export interface NewFileRow {
  createdBy: number | null
  now: Date
  isHeld: boolean
  sha256: Uint8Array<ArrayBuffer>
  staging?: StagingToken | undefined
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
  const files = await db.read<FileEntry>(sql`
    select name, path, size, type, host from stored_files
    where path = any(${paths}::text[]) and account_id = ${place.account_id} and ${here}`)
  return new Map(files.map((file) => [file.path, file]))
}

/** The path of the bytes in storage, null if it is the path of the file; undefined if the file does not exist. */
export async function storageKeyOf(db: Database, path: string): Promise<{ storage_key: string | null } | undefined> {
  const [file] = await db.read<{ storage_key: string | null }>(sql`select storage_key from stored_files where path = ${path}`)
  return file
}

/** Those of the keys in storage that the row of a file names. */
export async function namedKeys(db: Database, keys: readonly string[]): Promise<Set<string>> {
  const rows = await db.read<{ path: string; storage_key: string | null }>(
    sql`select path, storage_key from stored_files
      where path = any(${keys}::text[]) or (storage_key is not null and storage_key = any(${keys}::text[]))`,
  )
  return new Set(rows.flatMap(({ path, storage_key }) => (storage_key === null ? [path] : [path, storage_key])))
}

/** Notes that the bytes have been moved to the path of the file. @returns false if the file has been deleted */
export async function settleFile(db: Database, path: string): Promise<boolean> {
  return (await db.write(sql`update stored_files set storage_key = null where path = ${path}`)).changed > 0
}

/** Notes the storage of the bytes. @returns false if no file names them any more */
export async function setHost(db: Database, key: string, host: string): Promise<boolean> {
  return (
    (await db.write(sql`update stored_files set host = ${host} where path = ${key} or (storage_key is not null and storage_key = ${key})`))
      .changed > 0
  )
}

/** The storages of the files, by path. */
export async function hostsOf(db: Database, paths: readonly string[]): Promise<Map<string, string>> {
  const rows = await db.read<{ path: string; host: string }>(sql`select path, host from stored_files where path = any(${paths}::text[])`)
  return new Map(rows.map(({ path, host }) => [path, host]))
}

/**
 * Lists of entries with the present storage of each file, after files were moved. Only rows that name another storage are written.
 * @param column a column of lists of entries
 */
export const withPresentHosts = (column: Sql): { list: Sql; isOutdated: Sql } => ({
  list: sql`(
    select jsonb_agg(e.entry || jsonb_build_object('host', coalesce(f.host, e.entry->>'host')) order by e.position)
    from jsonb_array_elements(${column}) with ordinality as e (entry, position) left join stored_files f on f.path = e.entry->>'path')`,
  isOutdated: sql`exists (
    select from jsonb_array_elements(${column}) as e (entry) join stored_files f on f.path = e.entry->>'path'
    where f.host <> e.entry->>'host')`,
})

/** The paths of entries, as the functions of `held.ts` take them. */
export const pathsOf = (entries: readonly Pick<FileEntry, 'path'>[]): string[] => entries.map(({ path }) => path)

/** Notes the hash of a file of an earlier release. */
export async function fillHash(db: Database, path: string, sha256: Buffer): Promise<void> {
  await db.write(sql`update stored_files set sha256 = ${sha256} where path = ${path} and sha256 is null`)
}

/** Deletes the rows of files without references. The caller deletes the bytes after the commit. */
export async function deleteFileRows(db: Database, paths: readonly string[]): Promise<void> {
  if (paths.length) await db.prisma.storedFile.deleteMany({ where: { path: { in: [...paths] } } })
}
