/** The files of tasks and their comments: which uploads may be attached where (api.md, Task attachment uploads). */

import { emitting } from '../../events/log.ts'
import { settleFiles } from '../../files/sweep.ts'
import type { Context } from '../../platform/context.ts'
import { type Database, sql } from '../../platform/database/database.ts'
import { badInputs, conflict, type Issue } from '../../platform/errors.ts'
import { tokenHash } from '../../platform/secrets/secrets.ts'
import { isStorageHost } from '../../platform/storage/storage.ts'
import { holdFiles, lockFiles, lockForRestore } from '../../platform/stored-files/held.ts'
import { type FileEntry, findFiles, pathsOf, withPresentHosts } from '../../platform/stored-files/rows.ts'
import { bindStaged, lockStaged } from '../../platform/stored-files/staged.ts'
import { formatInstant } from '../../platform/time/time.ts'
import { releaseFiles } from '../../tables/file-references.ts'
import { taskEvents } from '../events.ts'
import { type AttachmentEntry, MAX_ATTACHMENTS, type StagedEntry } from './schema.ts'

/** The hours in which a staged file can be attached. */
const STAGED_HOURS = 24

/**
 * The stored files of a task or of a comment on it.
 * @throws AppError 400 for a file that was not uploaded for the task, that differs from the upload, or that is listed twice
 */
export async function taskEntries({ db, actor }: Context, taskId: number, given: readonly AttachmentEntry[]): Promise<FileEntry[]> {
  const paths = given.map(({ path }) => path)
  const files = await findFiles(db, { account_id: actor.accountId, task_id: taskId }, paths)
  return matched(given, 'path', (entry) => files.get(entry.path), 'is not a stored file of this task')
}

/**
 * The staged files of a new task, locked until the transaction ends.
 * @throws AppError 400 for a token that is used, expired or another session's, and as `taskEntries`
 */
export async function stagedEntries(context: Context, given: readonly StagedEntry[]): Promise<FileEntry[]> {
  const files = await lockEntries(context, given)
  return matched(given, 'staged_token', (entry) => files.get(tokenHash(entry.staged_token).toString('hex')), NOT_REDEEMABLE)
}

/**
 * Locks staged files until the transaction ends, and returns them by the hash of their token. A request that creates many tasks calls this
 * for all of them first, so that two requests with the same files in opposite orders cannot deadlock.
 */
export async function lockEntries({ db, actor, now }: Context, given: readonly StagedEntry[]): Promise<Map<string, FileEntry>> {
  if (!given.length) return new Map()
  const since = new Date(now.getTime() - STAGED_HOURS * 3_600_000)
  return lockStaged(
    db,
    actor,
    given.map(({ staged_token }) => tokenHash(staged_token)),
    since,
  )
}

const NOT_REDEEMABLE = 'is not a file that this session has staged, or was used before'

/** Attaches staged files to the new task. A job moves their bytes once the transaction is committed. */
export async function bind({ db, jobs }: Context, taskId: number, staged: readonly FileEntry[]): Promise<FileEntry[]> {
  const bound = await bindStaged(db, taskId, staged)
  await jobs.send(settleFiles, { paths: pathsOf(bound) })
  return bound
}

/**
 * Resolves the new attachments of a task. The caller's transaction updates the task and then calls `releaseReplaced`.
 * @param given undefined keeps the current files
 * @throws AppError 400 as `taskEntries`
 */
export async function replace(
  context: Context,
  { id, attachments }: { id: number; attachments: FileEntry[] },
  given: readonly AttachmentEntry[] | null | undefined,
): Promise<FileEntry[]> {
  if (given === undefined) return attachments
  const entries = await taskEntries(context, id, given ?? [])
  const [before, after] = [pathsOf(attachments), pathsOf(entries)]
  if (before.join('\n') === after.join('\n')) return attachments
  await lockFiles(context.db, [...before, ...after])
  const added = after.filter((path) => !before.includes(path))
  await holdFiles(context.db, added, null)
  return entries
}

/** Drops the files that the updated task no longer has. */
export async function releaseReplaced(context: Context, before: readonly FileEntry[], after: readonly FileEntry[]): Promise<void> {
  const kept = new Set(pathsOf(after))
  const removed = pathsOf(before).filter((path) => !kept.has(path))
  await releaseFiles(context, removed)
}

/**
 * Puts a dropped file back at the end of the task's list.
 * @returns false if the task is deleted
 * @throws AppError 409 if the list is full, or another request has restored the file; 404 if the file has just been deleted
 */
export async function restoreFile({ db, now }: Context, taskId: number, file: FileEntry): Promise<boolean> {
  const [task] = await db.read<{ files: number }>(
    sql`select jsonb_array_length(attachments) as files from tasks where id = ${taskId} for update`,
  )
  if (!task) return false
  if (task.files >= MAX_ATTACHMENTS) throw conflict(`The task has ${MAX_ATTACHMENTS} files already`)
  await lockForRestore(db, file.path)
  await holdFiles(db, [file.path], null)
  await db.write(sql`
    with changed as (
      update tasks set attachments = attachments || ${JSON.stringify([file])}::jsonb, updated_at = ${formatInstant(now)}::timestamp,
        version = version + 1
      where id = ${taskId} returning *
    )
    ${emitting([taskEvents('task.updated', sql`changed`)], now)}`)
  return true
}

/** As `renewHosts` of records/cells/file-cells.ts, for the files of tasks. */
export async function renewHosts(db: Database, ids: { first: number; last: number }): Promise<number> {
  const { list, isOutdated } = withPresentHosts(sql`k.attachments`)
  const { changed } = await db.write(
    sql`update tasks k set attachments = ${list} where k.id between ${ids.first} and ${ids.last} and ${isOutdated}`,
  )
  return changed
}

/** True if a detail of an entry is absent or equal to the stored one. A file that was moved may be given with its former host. */
const agrees = (name: string, given: unknown, stored: unknown): boolean =>
  given === undefined || given === stored || (name === 'host' && isStorageHost(given))

/** The stored files of the entries. An entry whose details differ from the stored file is refused, because it means another file. */
function matched<Entry extends AttachmentEntry | StagedEntry>(
  given: readonly Entry[],
  key: keyof Entry & string,
  find: (entry: Entry) => FileEntry | undefined,
  missing: string,
): FileEntry[] {
  const issues: Issue[] = []
  const found = given.flatMap((entry, index) => {
    const file = find(entry)
    const refuse = (name: string, message: string) => issues.push({ path: ['attachments', index, name], message })
    if (!file) refuse(key, missing)
    else if (given.findIndex((other) => other[key] === entry[key]) < index) refuse(key, 'is listed twice')
    else for (const name of DETAILS) if (!agrees(name, entry[name], file[name])) refuse(name, 'differs from the uploaded file')
    return file ?? []
  })
  if (issues.length) throw badInputs(issues)
  return found
}

const DETAILS = ['path', 'name', 'size', 'type', 'host'] as const
