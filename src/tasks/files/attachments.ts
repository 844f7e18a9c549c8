/** The files of tasks and their comments: which uploads may be taken up where (api.md, Task attachment uploads). */

import { settleFiles } from '../../files/sweep.ts'
import type { Context } from '../../platform/context.ts'
import { badInputs, type Issue } from '../../platform/http/errors.ts'
import { tokenHash } from '../../platform/secrets.ts'
import { bindStaged, dropFiles, type FileEntry, findFiles, holdFiles, lockFiles, lockStaged } from '../../platform/stored-files.ts'
import type { AttachmentEntry, StagedEntry } from './schema.ts'

/** So long a staged file waits for its task. */
const STAGED_HOURS = 24

/**
 * The entries of a task or of a comment on it, as they are stored.
 * @throws AppError 400 for one that was not uploaded for the task, that differs from what was, or that is listed twice
 */
export async function taskEntries({ db, actor }: Context, taskId: number, given: readonly AttachmentEntry[]): Promise<FileEntry[]> {
  const paths = given.map(({ path }) => path)
  const files = await findFiles(db, { account_id: actor.accountId, task_id: taskId }, paths)
  return matched(given, 'path', (entry) => files.get(entry.path), 'is not a stored file of this task')
}

/**
 * The staged files that a new task takes up, locked until the transaction ends.
 * @throws AppError 400 for a token that is spent, expired or another session's, and as `taskEntries`
 */
export async function stagedEntries(context: Context, given: readonly StagedEntry[]): Promise<FileEntry[]> {
  const files = await lockEntries(context, given)
  return matched(given, 'staged_token', (entry) => files.get(tokenHash(entry.staged_token).toString('hex')), NOT_REDEEMABLE)
}

/**
 * Locks the staged files of entries until the transaction ends, and answers them by the hash of their token. Whoever makes many tasks locks
 * the files of all of them first, since two who name the same files in opposite orders would wait for each other.
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

const NOT_REDEEMABLE = 'is no file that this session has staged, or was used before'

/** Gives staged files to the task that was just made. Their bytes follow once that is committed. */
export async function bind({ db, jobs }: Context, taskId: number, staged: readonly FileEntry[]): Promise<FileEntry[]> {
  const bound = await bindStaged(db, taskId, staged)
  await jobs.send(settleFiles, { paths: pathsOf(bound) })
  return bound
}

/**
 * The new list of a task, in the transaction that writes it: what it names is held from now on, what it leaves out is dropped.
 * @param given undefined leaves the list alone
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
  await holdFiles(context.db, after)
  const dropped = before.filter((path) => !after.includes(path))
  await dropFiles(context.db, dropped, context.now)
  return entries
}

const pathsOf = (entries: readonly FileEntry[]) => entries.map(({ path }) => path)

/** What was stored counts; where the caller says something else of it, the two are not about the same file. */
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
    else for (const name of DETAILS) if (entry[name] !== undefined && entry[name] !== file[name]) refuse(name, 'is not what was uploaded')
    return file ?? []
  })
  if (issues.length) throw badInputs(issues)
  return found
}

const DETAILS = ['path', 'name', 'size', 'type', 'host'] as const
