/** Moves all files from one storage to another, while the service runs with both (`npm run admin -- files move`). */
import { type Database, sql } from '../platform/database/database.ts'
import type { Storage } from '../platform/storage/storage.ts'
import { setHost } from '../platform/stored-files/rows.ts'
import { digest as digestOf } from './digest.ts'
import { THUMBNAIL_PREFIX } from './thumbnails/thumbnail-keys.ts'

const AT_ONCE = 4

/** The result of a run. Paths are those of the bytes in storage. */
export interface Relocation {
  files: number
  bytes: number
  /** Files whose bytes differ from the upload. They stay where they are. */
  damaged: string[]
  /** The number of objects that no row names. They stay as well, because they may belong to other programs. */
  unnamed: number
}

interface NamedBytes {
  size: number
  /** In hex; null for files of earlier releases. */
  sha256: string | null
}

/**
 * Moves the bytes of every row. Each file is removed from `from` after its copy in `to` was read back and compared. A run may be
 * interrupted and repeated, and two may run at once: bytes that are in `to` already are only compared. Thumbnails are removed, because they
 * can be made again.
 */
export async function relocate(db: Database, from: Storage, to: Storage): Promise<Relocation> {
  const total = { files: 0, bytes: 0 }
  for (;;) {
    const pass: Relocation = { files: 0, bytes: 0, damaged: [], unnamed: 0 }
    for await (const keys of inGroups(from.list('', new Date(Date.now() + CLOCKS_DIFFER_MS)))) {
      const rows = await rowsNaming(db, keys)
      await Promise.all(keys.map((key) => moveBytes(db, { from, to, key, row: rows.get(key) }, pass)))
    }
    total.files += pass.files
    total.bytes += pass.bytes
    // Another pass finds files that got their final path meanwhile, or were uploaded by a process that does not know the new storage yet.
    if (!pass.files) return { ...pass, ...total }
  }
}

/** The clock of a bucket may be ahead. */
const CLOCKS_DIFFER_MS = 3_600_000

interface Move {
  from: Storage
  to: Storage
  key: string
  row: NamedBytes | undefined
}

async function moveBytes(db: Database, { from, to, key, row }: Move, done: Relocation): Promise<void> {
  if (key.startsWith(THUMBNAIL_PREFIX)) return from.remove(key)
  if (!row) {
    done.unnamed += 1
    return
  }
  const isWhole = (found: NamedBytes | null) => found?.size === row.size && (row.sha256 === null || found.sha256 === row.sha256)
  const source = await digest(from, key)
  // The file was deleted or got its final path since it was listed.
  if (!source) return
  if (!isWhole(source)) {
    done.damaged.push(key)
    return
  }
  if (!same(await digest(to, key), source)) {
    const bytes = await from.read(key)
    if (!bytes) return
    // A storage that fails may not have read the bytes to their end.
    await to.write(key, bytes).finally(() => bytes.destroy())
    if (!same(await digest(to, key), source))
      throw new Error(`${key} differs after it was written to the new storage; the old storage keeps it`)
  }
  // Without a row the file was deleted meanwhile, and its copy must not stay.
  if (!(await setHost(db, key, to.host))) return to.remove(key)
  await from.remove(key)
  done.files += 1
  done.bytes += source.size
}

async function digest(storage: Storage, key: string): Promise<NamedBytes | null> {
  const found = await digestOf(storage, key)
  return found && { size: found.size, sha256: found.sha256.toString('hex') }
}

const same = (one: NamedBytes | null, other: NamedBytes) => one?.size === other.size && one.sha256 === other.sha256

async function rowsNaming(db: Database, keys: string[]): Promise<Map<string, NamedBytes>> {
  const rows = await db.read<NamedBytes & { path: string; storage_key: string | null }>(sql`
    select path, storage_key, size, encode(sha256, 'hex') as sha256 from stored_files
    where path = any(${keys}::text[]) or (storage_key is not null and storage_key = any(${keys}::text[]))`)
  return new Map(rows.flatMap((row) => [row.path, row.storage_key ?? row.path].map((key) => [key, row] as const)))
}

async function* inGroups(keys: AsyncIterable<string>): AsyncGenerator<string[]> {
  let some: string[] = []
  for await (const key of keys) {
    some.push(key)
    if (some.length < AT_ONCE) continue
    yield some
    some = []
  }
  if (some.length) yield some
}
