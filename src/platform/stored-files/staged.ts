/** Files that were uploaded for a task before the task exists. */
import { type Database, sql } from '../database/database.ts'
import { formatInstant } from '../time/time.ts'
import { STAGED_PREFIX, taskPrefix } from './paths.ts'
import type { FileEntry } from './rows.ts'

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
  const files = await db.read<FileEntry & { token_hash: string }>(sql`
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
  await db.write(sql`
    update stored_files f set path = b.path, storage_key = f.path, task_id = ${taskId}, dropped_at = null, was_held = true,
      staged_token_hash = null, staged_session_id = null
    from unnest(${staged.map(({ path }) => path)}::text[], ${bound.map(({ path }) => path)}::text[]) as b (old_path, path)
    where f.path = b.old_path`)
  return bound
}
