/** `npm run admin -- files check` compares the stored bytes with the rows of files: none may be missing, damaged, or without a row. */
import { createHash } from 'node:crypto'
import { isOwn } from '../src/files/sweep.ts'
import type { Deps } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { fillHash, namedKeys } from '../src/platform/stored-files.ts'

const AT_ONCE = 500
/** The most findings of a kind that are printed. All of them are counted. */
const MOST_SHOWN = 100
/** The most orphans that a run deletes, so that their names fit into memory. */
const MOST_DELETED = 10_000
/** Younger bytes without a row may belong to an upload. A nightly job deletes those that are older than a day. */
const ORPHAN_HOURS = 48
/** More orphans than this must be a small part of all bytes: otherwise the storage probably belongs to another database. */
const FEW_ORPHANS = 20
const ORPHANS_PART = 0.1

type Wrong = 'missing' | 'damaged' | 'orphaned'

interface Row {
  path: string
  storage_key: string | null
  size: number
  sha256: string | null
  /** False for an upload that nothing has used yet. Its bytes may not have arrived, or were lost with a killed process. */
  is_used: boolean
}

class Report {
  readonly counts: Record<Wrong, number> = { missing: 0, damaged: 0, orphaned: 0 }
  readonly notes = { files: 0, bytes: 0, unfinished: 0, waiting: 0, unhashed: 0, hashed: 0, deleted: 0 }
  /** Keys in storage that no row names, for the repair. */
  readonly orphans: string[] = []
  readonly #print: (line: string) => void

  constructor(print: (line: string) => void) {
    this.#print = print
  }

  found(kind: Wrong, path: string, reason: string): void {
    this.counts[kind]++
    if (this.counts[kind] <= MOST_SHOWN) this.#print(`${kind} ${path}: ${reason}`)
    else if (this.counts[kind] === MOST_SHOWN + 1) this.#print(`${kind}: more are only counted`)
  }
}

interface Options {
  /** Fills in missing hashes and deletes bytes without a row. Lost and damaged bytes can only come from a backup. */
  repairs: boolean
  print: (line: string) => void
}

/** Reads all stored bytes once, beside a running service. @returns whether nothing is wrong, or all of it was repaired */
export async function checkFiles(deps: Deps, { repairs, print }: Options): Promise<boolean> {
  const report = new Report(print)
  for (let last = ''; ; ) {
    const rows = await rowsAfter(deps, last)
    for (const row of rows) await checkRow(deps, row, repairs, report)
    if (rows.length < AT_ONCE) break
    last = rows.at(-1)?.path ?? ''
  }
  const examined = await findOrphans(deps, report)
  if (repairs) await deleteOrphans(deps, report, examined, print)
  const { counts, notes } = report
  print(`${notes.files} files, ${notes.bytes} bytes: ${counts.missing} missing, ${counts.damaged} damaged, ${counts.orphaned} orphaned`)
  if (notes.unfinished) print(`${notes.unfinished} uploads have no bytes and expire within a day`)
  if (notes.waiting) print(`${notes.waiting} leftovers of uploads wait for the clean-up`)
  if (notes.unhashed) print(`${notes.unhashed} files of an earlier release have no hash: --repair computes it`)
  if (notes.hashed) print(`${notes.hashed} hashes filled in`)
  if (notes.deleted) print(`${notes.deleted} orphans deleted`)
  return counts.missing + counts.damaged === 0 && counts.orphaned === notes.deleted
}

const columns = sql`path, storage_key, size, encode(sha256, 'hex') as sha256, was_held or dropped_at is null as is_used`

const rowsAfter = ({ db }: Deps, last: string): Promise<Row[]> =>
  db.query<Row>(sql`select ${columns} from stored_files where path > ${last} order by path limit ${AT_ONCE}`)

async function checkRow(deps: Deps, row: Row, repairs: boolean, report: Report): Promise<void> {
  const { notes } = report
  const stored = await measured(deps, row)
  if (stored && stored.size === row.size && (row.sha256 === null || row.sha256 === stored.sha256.toString('hex'))) {
    notes.files++
    notes.bytes += stored.size
    if (row.sha256 !== null) return
    if (repairs) await fillHash(deps.db, row.path, stored.sha256)
    notes[repairs ? 'hashed' : 'unhashed']++
    return
  }
  // The service may have deleted the file since its row was read.
  const [present] = await deps.db.query<Row>(sql`select ${columns} from stored_files where path = ${row.path}`)
  if (!present) return
  if (!stored && !present.is_used) {
    notes.unfinished++
    return
  }
  notes.files++
  if (!stored) report.found('missing', row.path, 'the storage has no bytes')
  else if (stored.size !== row.size) report.found('damaged', row.path, `${stored.size} bytes in place of ${row.size}`)
  else report.found('damaged', row.path, 'the bytes have another hash')
}

/** The size and the hash of the stored bytes; undefined without any. */
async function measured({ storage }: Deps, { path, storage_key }: Row): Promise<{ size: number; sha256: Buffer<ArrayBuffer> } | undefined> {
  // Bytes may have been moved to the path since the row was read.
  const bytes = (storage_key === null ? null : await storage.read(storage_key)) ?? (await storage.read(path))
  if (!bytes) return undefined
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    hash.update(chunk)
    size += chunk.length
  }
  return { size, sha256: hash.digest() }
}

/** Finds bytes that no row names. Thumbnails have no rows, and a bucket may hold objects of others. @returns how many were examined */
async function findOrphans({ db, storage, clock }: Deps, report: Report): Promise<number> {
  const before = new Date(clock().getTime() - ORPHAN_HOURS * 3_600_000)
  let examined = 0
  for await (const keys of inBatches(storage.list('', clock()))) {
    const named = await namedKeys(db, keys)
    examined += keys.length
    report.notes.waiting += keys.filter((key) => !named.has(key)).length
  }
  for await (const keys of inBatches(storage.list('', before))) {
    const named = await namedKeys(db, keys)
    for (const key of keys.filter((each) => !named.has(each))) {
      report.found('orphaned', key, 'no row names these bytes')
      report.notes.waiting--
      if (report.orphans.length < MOST_DELETED) report.orphans.push(key)
    }
  }
  return examined
}

async function deleteOrphans(
  { db, storage }: Deps,
  { orphans, counts, notes }: Report,
  examined: number,
  print: Options['print'],
): Promise<void> {
  if (counts.orphaned > Math.max(FEW_ORPHANS, examined * ORPHANS_PART))
    return print('too many orphans to delete: does the storage belong to another database?')
  const named = await namedKeys(db, orphans)
  for (const key of orphans) {
    if (named.has(key)) continue
    await storage.remove(key)
    notes.deleted++
  }
}

async function* inBatches(keys: AsyncIterable<string>): AsyncGenerator<string[]> {
  let batch: string[] = []
  for await (const key of keys) {
    if (!isOwn(key)) continue
    batch.push(key)
    if (batch.length < AT_ONCE) continue
    yield batch
    batch = []
  }
  if (batch.length) yield batch
}
