/**
 * The rows of what is in storage. Records, comments, tasks and mails hold entries; this is who may hold what, and what nobody
 * holds any more. The bytes go later, by a job of `files/`.
 */
import { type Database, type Sql, sql, toTheSecond } from './database/database.ts'
import { badInput } from './http/errors.ts'
import { formatInstant } from './time.ts'

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

/** Who may put a file on a task that is still to be made: the session that uploaded it, by a token that counts once. */
export interface Staging {
  tokenHash: Buffer<ArrayBuffer>
  sessionId: number | null
}

/**
 * Notes a file whose bytes are in storage.
 * @param isHeld false while no cell or attachment names it: it goes again when none comes to
 */
export async function insertFile(
  db: Database,
  place: FilePlace,
  entry: FileEntry,
  { createdBy, now, isHeld, staging }: { createdBy: number | null; now: Date; isHeld: boolean; staging?: Staging | undefined },
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
      stagedTokenHash: staging?.tokenHash ?? null,
      stagedSessionId: staging?.sessionId ?? null,
    },
  })
}

/** The entries of files stored in a table, or for a task, by path. Paths of another place, or of none, are missing. */
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
 * The files that this session staged since the instant, by the hash of their token in hex. They are locked until the transaction ends: of
 * two requests that redeem one token, the second finds it spent.
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
 * Gives staged files to their task, in the transaction that makes it: from now on they have their final path, and count as held.
 * The bytes stay where they are until a job brings them there (`settleFiles`).
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

/** How the paths of a task's files begin (api.md, Task attachment uploads). */
export const taskPrefix = (taskId: number) => `task-${taskId}-`
/** How the paths of files begin whose task has no id yet. */
export const STAGED_PREFIX = 'staged-'

/** Where the bytes are, if not under the path; undefined when there is no such file. */
export async function storageKeyOf(db: Database, path: string): Promise<{ storage_key: string | null } | undefined> {
  const [file] = await db.query<{ storage_key: string | null }>(sql`select storage_key from stored_files where path = ${path}`)
  return file
}

/** Says that the bytes are under the path. @returns false when the file has gone meanwhile */
export async function settleFile(db: Database, path: string): Promise<boolean> {
  return (await db.execute(sql`update stored_files set storage_key = null where path = ${path}`)) > 0
}

const ofPaths = (paths: readonly string[]): Sql => sql`path = any(${paths}::text[])`

/** Selects files, locked in one order for everybody: two who name the same files in opposite orders would wait for each other. */
const locked = (which: Sql): Sql => sql`select path from stored_files where ${which} order by path for update`

/** Locks files for a transaction that holds some of them and drops others: each by itself would be an order of its own. */
export async function lockFiles(db: Database, paths: readonly string[]): Promise<void> {
  if (paths.length) await db.query(locked(ofPaths(paths)))
}

/**
 * Says that the files are held from now on, in the transaction that writes what holds them. Its row locks keep the job that
 * removes dropped files from taking one of them away at this moment.
 * @throws AppError 400 when one has just gone
 */
export async function holdFiles(db: Pick<Database, 'execute'>, paths: readonly string[]): Promise<void> {
  if (!paths.length) return
  const held = await db.execute(sql`
    with named as (${locked(ofPaths(paths))})
    update stored_files f set dropped_at = null from named where f.path = named.path`)
  if (held < new Set(paths).size) throw badInput('attachments', 'a file has just been removed')
}

/** Says that something no longer holds the files. The job looks whether anything else does. */
export async function dropFiles(db: Database, paths: readonly string[], now: Date): Promise<void> {
  if (paths.length) await drop(db, ofPaths(paths), now)
}

/** Drops what came with records that are deleted. @param recordIds null is every record of the table */
export async function dropFilesOfRecords(db: Database, tableId: number, recordIds: readonly number[] | null, now: Date): Promise<void> {
  await drop(db, sql`table_id = ${tableId} and (${recordIds}::int[] is null or record_id = any(${recordIds}::int[]))`, now)
}

/** Drops all files of tasks that have been deleted, those of their comments too. @param tasks selects their ids */
export async function dropFilesOfTasks(db: Database, tasks: Sql, now: Date): Promise<void> {
  await drop(db, sql`task_id in (${tasks})`, now)
}

async function drop(db: Database, which: Sql, now: Date): Promise<void> {
  await db.execute(sql`
    with named as (${locked(sql`dropped_at is null and ${which}`)})
    update stored_files f set dropped_at = ${formatInstant(now)}::timestamp from named where f.path = named.path`)
}

/** Removes the rows of files that nothing holds; the bytes are the caller's to remove once that is committed. */
export async function forgetFiles(db: Database, paths: readonly string[]): Promise<void> {
  if (paths.length) await db.prisma.storedFile.deleteMany({ where: { path: { in: [...paths] } } })
}
