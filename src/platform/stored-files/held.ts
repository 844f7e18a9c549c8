/** Marks files as held when something begins to refer to them, and as dropped when nothing refers to them any more. */
import { type Database, type Sql, sql } from '../database/database.ts'
import { badInput, conflict, notFound } from '../errors.ts'
import { formatInstant } from '../time/time.ts'

const ofPaths = (paths: readonly string[]): Sql => sql`path = any(${paths}::text[])`

/** Selects and locks files. Everyone locks in the order of the paths, which prevents deadlocks. */
const locked = (which: Sql): Sql => sql`select path from stored_files where ${which} order by path for update`

/** Locks files in one statement for a transaction that holds some of them and drops others. */
export async function lockFiles(db: Database, paths: readonly string[]): Promise<void> {
  if (paths.length) await db.read(locked(ofPaths(paths)))
}

/**
 * Marks the files as held, in the transaction that writes the references. The row locks keep the job that deletes dropped files from
 * deleting one of them at the same time.
 * @param paths one for each new reference; a file with several is noted as shared
 * @param recordId the record that refers to the files; null for a task; undefined if it is not known: the files then count as shared
 * @throws AppError 400 if one has just been deleted
 */
export const holdFiles = (db: Pick<Database, 'write'>, paths: readonly string[], recordId?: number | null): Promise<void> =>
  hold(
    db,
    paths.map((path) => ({ path, recordId: recordId ?? null })),
    recordId !== undefined,
  )

/** Does the same for new references of several records. */
export const holdFilesOfRecords = (db: Pick<Database, 'write'>, uses: readonly FileUse[]): Promise<void> => hold(db, uses, true)

/** A new reference to a file, and the record that has it; null for a task. */
export interface FileUse {
  path: string
  recordId: number | null
}

/** @param isKnown false if the records are not known */
async function hold(db: Pick<Database, 'write'>, uses: readonly FileUse[], isKnown: boolean): Promise<void> {
  if (!uses.length) return
  const paths = uses.map(({ path }) => path)
  // A file without references, such as a new upload or a dropped file, now belongs to the record. A file in use keeps its record.
  const { changed: held } = await db.write(sql`
    with named as (${locked(ofPaths(paths))}),
    given as (
      select path, count(*) > 1 as is_repeated, min(record_id) as record_id
      from unnest(${paths}::text[], ${uses.map(({ recordId }) => recordId)}::int[]) as g (path, record_id) group by path)
    update stored_files f set dropped_at = null, was_held = true, field_id = null, comment_id = null,
      is_shared = is_shared or dropped_at is null or g.is_repeated or not ${isKnown}::boolean,
      record_id = case when dropped_at is null or is_shared is distinct from false then f.record_id
        else coalesce(g.record_id, f.record_id) end
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
  db.read<LosingFile>(sql`
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
  const [file] = await db.read<{ dropped: boolean }>(
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
  await db.write(sql`
    update stored_files f set record_id = h.record_id
    from unnest(${moved.map(([path]) => path)}::text[], ${moved.map(([, recordId]) => recordId)}::int[]) as h (path, record_id)
    where f.path = h.path and f.record_id is distinct from h.record_id`)
}

/** Drops all files of a table that is deleted for good. */
export const expireFilesOfTable = (db: Database, tableId: number, now: Date): Promise<void> => expire(db, sql`table_id = ${tableId}`, now)

/** Drops all files of tasks that are deleted for good, including those of their comments. @param tasks selects the ids of the tasks */
export const expireFilesOfTasks = (db: Database, tasks: Sql, now: Date): Promise<void> => expire(db, sql`task_id in (${tasks})`, now)

/** Drops files whose record is deleted for good. */
export async function expireFiles(db: Database, paths: readonly string[], now: Date): Promise<void> {
  if (paths.length) await expire(db, ofPaths(paths), now)
}

/** The files cannot be restored, because their place is gone, so they expire like uploads that nothing has used. */
async function expire(db: Database, which: Sql, now: Date): Promise<void> {
  await db.write(sql`
    with named as (${locked(sql`dropped_at is null and ${which}`)})
    update stored_files f set dropped_at = ${formatInstant(now)}::timestamp, was_held = false from named where f.path = named.path`)
}

/** Drops all files of deleted tasks, including those of their comments. @param tasks selects the ids of the tasks */
export async function dropFilesOfTasks(db: Database, tasks: Sql, now: Date): Promise<void> {
  await drop(db, sql`task_id in (${tasks})`, now)
}

/** Notes the space of a task's file as well, because the task may be deleted. */
async function drop(db: Database, which: Sql, now: Date, { record_id, field_id, comment_id }: ReleasedFrom = {}): Promise<void> {
  await db.write(sql`
    with named as (${locked(sql`dropped_at is null and ${which}`)})
    update stored_files f set dropped_at = ${formatInstant(now)}::timestamp, was_held = true, is_shared = false,
      field_id = ${field_id ?? null}::text, comment_id = ${comment_id ?? null}::int,
      record_id = coalesce(${record_id ?? null}::int, f.record_id),
      space_id = case when f.task_id is null then f.space_id else (
        select t.space_id from tables t where t.id = coalesce(
          (select k.table_id from tasks k where k.id = f.task_id), (select d.table_id from deleted_tasks d where d.id = f.task_id))) end
    from named where f.path = named.path`)
}
