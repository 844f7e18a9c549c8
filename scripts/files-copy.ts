/** `npm run admin -- files copy` copies the stored files to another storage, for a backup and back from it (docs/backup.md). */
import { digest } from '../src/files/digest.ts'
import { isOwn } from '../src/files/sweep.ts'
import type { Storage } from '../src/platform/storage/storage.ts'

const AT_ONCE = 8
/** The clock of a bucket may be ahead. */
const CLOCKS_DIFFER_MS = 3_600_000

export interface Copied {
  /** What was copied now. */
  files: number
  bytes: number
  /** What was there already. */
  present: number
}

/**
 * Copies what `to` does not have, beside a running service: files never change. Nothing is deleted. Thumbnails, and objects of other programs
 * in the bucket, are left out. A run may be interrupted and repeated, because a storage shows a file when it is whole.
 * @throws Error if a copy differs from its source after it was written
 */
export async function copyFiles(from: Storage, to: Storage): Promise<Copied> {
  const there = new Set<string>()
  for await (const key of to.list('', soon())) there.add(key)
  const copied = { files: 0, bytes: 0, present: there.size }
  for (;;) {
    const before = copied.files
    for await (const keys of missing(from, there)) {
      const sizes = await Promise.all(keys.map((key) => copyFile(from, to, key)))
      for (const size of sizes) {
        if (size === null) continue
        copied.files++
        copied.bytes += size
      }
    }
    // Another pass finds files of tasks that got their final path while the storage was listed.
    if (copied.files === before) return copied
  }
}

/** The files that are not there, some at a time. Each is noted as there. */
async function* missing(from: Storage, there: Set<string>): AsyncGenerator<string[]> {
  let some: string[] = []
  for await (const key of from.list('', soon())) {
    if (!isOwn(key) || there.has(key)) continue
    there.add(key)
    some.push(key)
    if (some.length < AT_ONCE) continue
    yield some
    some = []
  }
  if (some.length) yield some
}

const soon = () => new Date(Date.now() + CLOCKS_DIFFER_MS)

/** @returns the size; null if the file was deleted or got its final path since it was listed */
async function copyFile(from: Storage, to: Storage, key: string): Promise<number | null> {
  const bytes = await from.read(key)
  if (!bytes) return null
  // A storage that fails may not have read the bytes to their end.
  await to.write(key, bytes).finally(() => bytes.destroy())
  const [source, copy] = [await digest(from, key), await digest(to, key)]
  if (source && !(copy && source.sha256.equals(copy.sha256))) throw new Error(`${key} differs after it was copied`)
  return copy?.size ?? null
}
