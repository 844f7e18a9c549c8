/**
 * The rows of what is in storage. Records, comments, tasks and mails hold entries; this is who may hold what, and what nobody
 * holds any more. The bytes go later, by a job of `files/`.
 */
import { type Database, sql, toTheSecond } from './db.ts'
import { badInput } from './errors.ts'

/** An attachment, as the wire and every cell has it. */
export interface FileEntry {
  name: string
  path: string
  size: number
  type: string
  host: string
}

/** What may be read decides who may read the file: a record of a table, or a task. */
export interface FilePlace {
  account_id: number
  space_id?: number
  table_id?: number
  record_id?: number
  task_id?: number
}

/**
 * Notes a file whose bytes are in storage.
 * @param isHeld false while no cell or attachment names it: it goes again when none comes to
 */
export async function insertFile(
  db: Database,
  place: FilePlace,
  entry: FileEntry,
  { createdBy, now, isHeld }: { createdBy: number | null; now: Date; isHeld: boolean },
): Promise<void> {
  await db.prisma.storedFile.create({
    data: {
      ...entry,
      accountId: place.account_id,
      spaceId: place.space_id ?? null,
      tableId: place.table_id ?? null,
      recordId: place.record_id ?? null,
      taskId: place.task_id ?? null,
      createdBy,
      createdAt: toTheSecond(now),
      droppedAt: isHeld ? null : toTheSecond(now),
    },
  })
}

/** The entries of files stored in a table, by path. Paths of another table, or of none, are missing. */
export async function findFiles(
  db: Database,
  { account_id, table_id }: { account_id: number; table_id: number },
  paths: readonly string[],
): Promise<Map<string, FileEntry>> {
  if (!paths.length) return new Map()
  const files = await db.query<FileEntry>(sql`
    select name, path, size, type, host from stored_files
    where path = any(${paths}::text[]) and account_id = ${account_id} and table_id = ${table_id}`)
  return new Map(files.map((file) => [file.path, file]))
}

/**
 * Says that the files are held from now on, in the transaction that writes what holds them. Its row locks keep the job that
 * removes dropped files from taking one of them away at this moment.
 * @throws AppError 400 when one has just gone
 */
export async function holdFiles(db: Database, paths: readonly string[]): Promise<void> {
  if (!paths.length) return
  const held = await db.execute(sql`update stored_files set dropped_at = null where path = any(${paths}::text[])`)
  if (held < new Set(paths).size) throw badInput('attachments', 'a file has just been removed')
}

/** Says that something no longer holds the files. The job looks whether anything else does. */
export async function dropFiles(db: Database, paths: readonly string[], now: Date): Promise<void> {
  if (!paths.length) return
  await db.prisma.storedFile.updateMany({ where: { path: { in: [...paths] }, droppedAt: null }, data: { droppedAt: toTheSecond(now) } })
}

/** Drops what came with records that are deleted. @param recordIds null is every record of the table */
export async function dropFilesOfRecords(db: Database, tableId: number, recordIds: readonly number[] | null, now: Date): Promise<void> {
  await db.prisma.storedFile.updateMany({
    where: { tableId, droppedAt: null, ...(recordIds && { recordId: { in: [...recordIds] } }) },
    data: { droppedAt: toTheSecond(now) },
  })
}

/** Removes the rows of files that nothing holds; the bytes are the caller's to remove once that is committed. */
export async function forgetFiles(db: Database, paths: readonly string[]): Promise<void> {
  if (paths.length) await db.prisma.storedFile.deleteMany({ where: { path: { in: [...paths] } } })
}
