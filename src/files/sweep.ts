/** Deletes uploads that nothing has used, dropped files whose time is over, and bytes that killed processes have left. */
import { z } from 'zod'
import type { Context } from '../platform/context.ts'
import type { Database } from '../platform/database/database.ts'
import { defineQueue } from '../platform/jobs/queue.ts'
import { holdFiles } from '../platform/stored-files/held.ts'
import { STAGED_PREFIX } from '../platform/stored-files/paths.ts'
import { deleteFileRows, namedKeys, settleFile, storageKeyOf } from '../platform/stored-files/rows.ts'
import { holdersOf } from '../tables/file-references.ts'
import { expiryOf } from './dropped/service.ts'
import { lockExpired } from './queries.ts'
import { pathOfThumbnail, THUMBNAIL_PREFIX, thumbnailKeys } from './thumbnails/thumbnail-keys.ts'
import { sumUpTallies } from './usage/service.ts'
import { usedPaths } from './uses/queries.ts'

/** The time in which an upload can be attached. */
const KEPT_HOURS = 24
const AT_ONCE = 200
/** The most files without a row that a run deletes. The next run deletes more. */
const MOST_ORPHANS = 1_000
/**
 * Beyond this number, orphans must be a small part of the files: otherwise the database is probably a copy or an older backup, and the
 * storage belongs to another one.
 */
const FEW_ORPHANS = 20
const ORPHANS_PART = 0.1
/** A path that `store` in service.ts has made. A bucket may hold objects of other programs. */
const OWN_PATH = /^(?:\d+-\d+|task-\d+)-[\w-]{16}-/
/** True for the keys of files that have or had a row: not for thumbnails, and not for objects of other programs in the bucket. */
export const isOwn = (path: string) => OWN_PATH.test(path) || path.startsWith(STAGED_PREFIX)

export const sweepFiles = defineQueue({ name: 'files.sweep', schema: z.object({}) })
/** Moves the bytes of a staged file to its final path. */
export const settleFiles = defineQueue({ name: 'files.settle', schema: z.object({ paths: z.array(z.string()) }) })
/** Deletes bytes whose rows are deleted. It is retried for hours, because the nightly sweep deletes only some files in each run. */
export const removeBytes = defineQueue({
  name: 'files.remove-bytes',
  schema: z.object({ paths: z.array(z.string()) }),
  options: { retryLimit: 100 },
})
export const sweepLeftovers = defineQueue({ name: 'files.sweep-leftovers', schema: z.object({}) })

/** Deletes the rows of dropped files that nothing uses, enqueues the deletion of their bytes, and sums up what accounts store. */
export async function sweep(context: Context): Promise<void> {
  while (await sweepSome(context)) {}
  await sumUpTallies(context)
}

/** Deletes some files in one short transaction. @returns true if there may be more */
async function sweepSome(context: Context): Promise<boolean> {
  const { db, jobs, now, transaction } = context
  const before = { upload: new Date(now.getTime() - KEPT_HOURS * 3_600_000), dropped: expiryOf(context) }
  return transaction(async () => {
    const dropped = await lockExpired(db, before, AT_ONCE)
    if (!dropped.length) return false
    const held = await holdersOf(db, dropped)
    await holdFiles(db, [...held.keys()])
    const unheld = dropped.filter(({ path }) => !held.has(path))
    await deleteFileRows(
      db,
      unheld.map(({ path }) => path),
    )
    // The bytes of a file whose move was interrupted can be in both places.
    const paths = unheld.flatMap(({ path, storage_key }) => (storage_key === null ? [path] : [path, storage_key]))
    if (paths.length) await jobs.send(removeBytes, { paths })
    return dropped.length === AT_ONCE
  })
}

/** Deletes the bytes and their thumbnails. The rows are already deleted, and a path is never used twice, so this may run again. */
export async function removeAll({ storage }: Context, { paths }: { paths: string[] }): Promise<void> {
  for (const path of paths) await Promise.all([path, ...thumbnailKeys(path)].map((key) => storage.remove(key)))
}

/** Moves the bytes, then updates the row. In between, readers do not find the bytes under the old key, and look under the path next. */
export async function settleAll({ db, storage }: Context, { paths }: { paths: string[] }): Promise<void> {
  for (const path of paths) {
    const key = (await storageKeyOf(db, path))?.storage_key
    if (!key) continue
    // An interrupted run may have moved the bytes already.
    if (!(await storage.move(key, path)) && (await storage.size(path)) === null) throw new Error(`No bytes under ${key}`)
    const isThere = await settleFile(db, path)
    if (!isThere) await storage.remove(path)
  }
}

/**
 * Deletes what killed processes have left in storage: unfinished writes, staged files that were moved before their bytes were deleted,
 * thumbnails of files that are gone, and other bytes without a row.
 */
export async function sweepStorage(context: Context): Promise<void> {
  const { db, storage, now } = context
  // A row is written before its bytes, or as soon as an upload has arrived. Bytes that have no row after a day get none.
  const before = new Date(now.getTime() - KEPT_HOURS * 3_600_000)
  await storage.removeUnfinished(before, isOwn)
  for await (const paths of inBatches(storage.list(STAGED_PREFIX, before))) await removeAll(context, { paths: await unnamed(db, paths) })
  for await (const keys of inBatches(storage.list(THUMBNAIL_PREFIX, before))) await removeThumbnailsWithoutFile(context, keys)
  await removeOrphans(context, before)
}

/** Deletes thumbnails that were made while their file was deleted, or before a staged file got its final path. */
async function removeThumbnailsWithoutFile({ db, storage }: Context, keys: string[]): Promise<void> {
  const paths = keys.flatMap((key) => pathOfThumbnail(key) ?? [])
  const gone = new Set(await unnamed(db, paths))
  for (const key of keys) if (gone.has(pathOfThumbnail(key) ?? '')) await storage.remove(key)
}

/** Deletes bytes at final paths that no row names, some in each run. */
async function removeOrphans({ db, storage, log }: Context, before: Date): Promise<void> {
  const orphans: string[] = []
  let [examined, found] = [0, 0]
  for await (const paths of inBatches(storage.list('', before))) {
    const own = paths.filter((path) => OWN_PATH.test(path))
    examined += own.length
    const some = await unnamed(db, own)
    found += some.length
    orphans.push(...some.slice(0, MOST_ORPHANS - orphans.length))
  }
  if (found > Math.max(FEW_ORPHANS, examined * ORPHANS_PART))
    return log.error({ orphans: found, files: examined }, 'too many files without a row: does the storage belong to another database?')
  // Their rows are lost, and the bytes may be the last copy.
  const used = await usedPaths(db, orphans)
  if (used.size) log.error({ files: used.size }, 'files in use have no row: npm run admin -- files check names them')
  const unused = orphans.filter((path) => !used.has(path))
  for (const path of unused) await storage.remove(path)
  if (unused.length) log.warn({ files: unused.length }, 'files without a row deleted')
}

/** The paths that no row names. */
async function unnamed(db: Database, paths: string[]): Promise<string[]> {
  if (!paths.length) return []
  const named = await namedKeys(db, paths)
  return paths.filter((path) => !named.has(path))
}

async function* inBatches(paths: AsyncIterable<string>): AsyncGenerator<string[]> {
  let batch: string[] = []
  for await (const path of paths) {
    batch.push(path)
    if (batch.length < AT_ONCE) continue
    yield batch
    batch = []
  }
  if (batch.length) yield batch
}
