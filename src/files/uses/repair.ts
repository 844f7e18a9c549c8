/** Brings the rows of files and the places that use them to agree again, where that deletes nothing. */
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { isPath } from '../../platform/storage/storage.ts'
import { dropFiles, holdFiles, type LosingFile, lockFiles, lockHeld, reassignFiles } from '../../platform/stored-files/held.ts'
import { taskPrefix } from '../../platform/stored-files/paths.ts'
import { insertFile, namedKeys } from '../../platform/stored-files/rows.ts'
import { holdersOf } from '../../tables/file-references.ts'
import { digest } from '../digest.ts'
import { detectType } from '../media-types.ts'
import type { FaultyUse } from './queries.ts'

/** Lets a statement scan the largest table. */
const longScans = sql`set local statement_timeout = '120s'`

/**
 * Of files that are in use according to their rows, finds those that nothing uses, but none of a deleted table, which may be restored.
 * @param drops true to drop them, so that an admin can restore them until a job deletes them
 */
export async function findUnused(context: Context, files: readonly SearchedFile[], drops: boolean): Promise<string[]> {
  const { db, transaction } = context
  // The search takes seconds, and what it finds is locked only afterwards: nobody waits for it as long as every file is in use.
  const suspects = await transaction(async () => {
    await db.write(longScans)
    const used = await holdersOf(db, files)
    return files.filter(({ path }) => !used.has(path))
  })
  return suspects.length ? confirmUnused(context, suspects, drops) : []
}

type SearchedFile = Pick<LosingFile, 'path' | 'table_id' | 'task_id'>

/** Searches for the files once more while nobody can change their uses. */
async function confirmUnused({ db, now, transaction }: Context, files: readonly SearchedFile[], drops: boolean): Promise<string[]> {
  return transaction(async () => {
    await db.write(longScans)
    // The cells of a deleted table are not searched. The lock keeps the tables from being deleted now.
    const tables = await db.read<{ id: number; is_deleted: boolean }>(sql`
      select t.id, t.deleted_at is not null or s.deleted_at is not null as is_deleted from tables t join spaces s on s.id = t.space_id
      where t.id = any(${files.flatMap(({ table_id }) => table_id ?? [])}::int[]) order by t.id for share`)
    const deleted = new Set(tables.flatMap(({ id, is_deleted }) => (is_deleted ? id : [])))
    const searched = files.filter(({ table_id }) => table_id === null || !deleted.has(table_id))
    // Nobody can attach a locked file.
    const held = await lockHeld(
      db,
      searched.map(({ path }) => path),
    )
    const used = await holdersOf(db, held)
    const unused = held.flatMap(({ path }) => (used.has(path) ? [] : path))
    if (drops) await dropFiles(db, unused, now)
    return unused
  })
}

/**
 * Repairs uses: a dropped file is in use again, one with uncounted uses counts as shared, and a file without a row gets one if the storage
 * has its bytes. A misplaced use stays as it is, because only a person can decide whose file it is.
 * @returns the paths that were repaired
 */
export async function repairUses(context: Context, uses: readonly FaultyUse[]): Promise<Set<string>> {
  const repaired = new Set<string>()
  const known = uses.filter(({ fault }) => fault === 'dropped' || fault === 'uncounted')
  for (const path of await holdUsed(context, placesOf(known))) repaired.add(path)
  for (const use of uses) if (use.fault === 'rowless' && (await insertRow(context, use))) repaired.add(use.path ?? '')
  return repaired
}

/** Marks those of the files that something uses as held, and as shared by several uses. @returns their paths */
export async function holdUsed(
  { db, transaction }: Context,
  files: readonly { path: string; table_id: number | null; task_id: number | null }[],
): Promise<string[]> {
  if (!files.length) return []
  return transaction(async () => {
    await db.write(longScans)
    const paths = files.map(({ path }) => path)
    await lockFiles(db, paths)
    const [present, used] = [await namedKeys(db, paths), await holdersOf(db, files)]
    const held = paths.filter((path) => present.has(path) && used.has(path))
    // Without the id of a record the files count as shared: further uses are looked for when this one ends.
    await holdFiles(db, held)
    await reassignFiles(db, used)
    return held
  })
}

/** A place for each path, where `holdersOf` looks for it. */
function placesOf(uses: readonly FaultyUse[]): { path: string; table_id: number | null; task_id: number | null }[] {
  const places = uses.map(({ path, table_id, task_id }) => ({ path: path ?? '', table_id: task_id === null ? table_id : null, task_id }))
  return [...new Map(places.map((place) => [place.path, place])).values()]
}

/** @returns whether the file has a row now */
async function insertRow(context: Context, use: FaultyUse): Promise<boolean> {
  const { db, storage, now, transaction } = context
  const { path, name, type, size, account_id, space_id, table_id, record_id, task_id } = use
  const prefix = task_id === null ? `${space_id}-${table_id}-` : taskPrefix(task_id)
  // The path of another table's file would give its readers the bytes.
  if (path === null || name === null || type === null || size === null || !path.startsWith(prefix) || !isPath(path)) return false
  const found = await digest(storage, path)
  if (found?.size !== size) return false
  const detectedType = await detectType(found.head)
  const place =
    task_id === null ? { account_id, space_id: space_id ?? 0, table_id: table_id ?? 0, record_id: record_id ?? 0 } : { account_id, task_id }
  return transaction(async () => {
    await db.write(longScans)
    if ((await namedKeys(db, [path])).has(path)) return true
    if (!(await holdersOf(db, placesOf([use]))).has(path)) return false
    const facts = { createdBy: null, now, isHeld: true, sha256: found.sha256, detectedType }
    await insertFile(db, place, { name, path, size, type, host: storage.host }, facts)
    await holdFiles(db, [path])
    return true
  })
}
