/**
 * `npm run admin -- files check` compares three things: the stored bytes, the rows of files, and the places that use files (cells,
 * comments, mails and tasks). Every file that is in use has all three.
 */
import { type Digest, digest } from '../src/files/digest.ts'
import { isOwn } from '../src/files/sweep.ts'
import { type Fault, type FaultyUse, faultyUses, usedPaths } from '../src/files/uses/queries.ts'
import { findUnused, holdUsed, repairUses } from '../src/files/uses/repair.ts'
import { type Deps, systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { fillHash, namedKeys } from '../src/platform/stored-files/rows.ts'
import { countNear } from '../src/tables/file-references.ts'

/** The rows of files that are read at once. */
const AT_ONCE = 500
/** The files whose bytes are read at once: more would take the disk from the service. */
const READ_AT_ONCE = 8
/** The records, comments or tasks that a statement examines. */
const EXAMINED_AT_ONCE = 5_000
/** The files for which a table is searched at once. */
const SEARCHED_AT_ONCE = 5_000
/** The most findings of a kind that are printed. All of them are counted. */
const MOST_SHOWN = 100
/** The most orphans that a run deletes, so that their names fit into memory. */
const MOST_DELETED = 10_000
/** Younger bytes without a row may belong to an upload. A nightly job deletes those that are older than a day. */
const ORPHAN_HOURS = 48
/** More orphans than this must be a small part of all bytes: otherwise the storage probably belongs to another database. */
const FEW_ORPHANS = 20
const ORPHANS_PART = 0.1

type Wrong = 'missing' | 'damaged' | 'orphaned' | 'unused' | Fault

interface Row {
  path: string
  storage_key: string | null
  size: number
  sha256: string | null
  /** False for an upload that nothing has used yet. Its bytes may not have arrived, or were lost with a killed process. */
  is_used: boolean
  /** True until its last use ends. */
  is_held: boolean
  is_shared: boolean | null
  table_id: number | null
  record_id: number | null
  task_id: number | null
}

class Report {
  readonly counts: Record<Wrong, number> = {
    ...{ missing: 0, damaged: 0, orphaned: 0 },
    ...{ unused: 0, rowless: 0, misplaced: 0, dropped: 0, uncounted: 0 },
  }
  readonly notes = { files: 0, bytes: 0, unfinished: 0, waiting: 0, unhashed: 0, hashed: 0, deleted: 0, repaired: 0 }
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
  /**
   * Fills in missing hashes, brings rows and uses to agree (files/uses/repair.ts), and deletes bytes that neither a row nor a use names. Lost and
   * damaged bytes can only come from a backup.
   */
  repairs: boolean
  print: (line: string) => void
}

/** Reads all stored bytes once, beside a running service. @returns whether nothing is wrong, or all of it was repaired */
export async function checkFiles(deps: Deps, { repairs, print }: Options): Promise<boolean> {
  const report = new Report(print)
  await checkRows(deps, repairs, report)
  await checkUses(deps, repairs, report)
  const examined = await findOrphans(deps, report)
  if (repairs) await deleteOrphans(deps, report, examined, print)
  const { counts, notes } = report
  const found = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`)
  print(`${notes.files} files, ${notes.bytes} bytes: ${found.join(', ')}`)
  if (notes.unfinished) print(`${notes.unfinished} uploads have no bytes and expire within a day`)
  if (notes.waiting) print(`${notes.waiting} leftovers of uploads wait for the clean-up`)
  if (notes.unhashed) print(`${notes.unhashed} files of an earlier release have no hash: --repair computes it`)
  if (notes.hashed) print(`${notes.hashed} hashes filled in`)
  if (notes.deleted) print(`${notes.deleted} orphans deleted`)
  if (notes.repaired) print(`${notes.repaired} repaired`)
  return Object.values(counts).reduce((sum, count) => sum + count) === notes.deleted + notes.repaired
}

async function checkRows(deps: Deps, repairs: boolean, report: Report): Promise<void> {
  let suspects: Row[] = []
  for (let last = ''; ; ) {
    const rows = await rowsAfter(deps, last)
    for (let at = 0; at < rows.length; at += READ_AT_ONCE) await checkSome(deps, rows.slice(at, at + READ_AT_ONCE), repairs, report)
    suspects.push(...(await checkCounts(deps, rows, repairs, report)))
    const isEnd = rows.length < AT_ONCE
    if (isEnd || suspects.length >= SEARCHED_AT_ONCE) {
      await checkUnused(deps, suspects, repairs, report)
      suspects = []
    }
    if (isEnd) return
    last = rows.at(-1)?.path ?? ''
  }
}

/**
 * Finds files whose row says that they are used once, although their record or task uses them more often.
 * @returns the files that their record or task does not use: another record may
 */
async function checkCounts(deps: Deps, rows: readonly Row[], repairs: boolean, report: Report): Promise<Row[]> {
  const held = rows.filter(({ is_held }) => is_held)
  const uses = await countNear(deps.db, held)
  const uncounted = held.filter(({ path, is_shared }) => is_shared === false && (uses.get(path) ?? 0) > 1)
  for (const { path } of uncounted) report.found('uncounted', path, 'is used more than once, and its row says once')
  if (repairs) report.notes.repaired += (await holdUsed(systemContext(deps), uncounted)).length
  return held.filter(({ path }) => !uses.has(path))
}

async function checkUnused(deps: Deps, suspects: readonly Row[], repairs: boolean, report: Report): Promise<void> {
  for (const path of await findUnused(systemContext(deps), suspects, repairs)) {
    report.found('unused', path, repairs ? 'nothing used it, so it is dropped now' : 'nothing uses it')
    if (repairs) report.notes.repaired++
  }
}

/** Compares the places that use files with the rows of the files. */
async function checkUses(deps: Deps, repairs: boolean, report: Report): Promise<void> {
  for await (const uses of faultyUses(deps.db, EXAMINED_AT_ONCE)) {
    const repaired = new Set<string>()
    for (let at = 0; repairs && at < uses.length; at += AT_ONCE)
      for (const path of await repairUses(systemContext(deps), uses.slice(at, at + AT_ONCE))) repaired.add(path)
    for (const use of uses) {
      report.found(use.fault, use.path ?? '(no path)', `${describedUse(use)} ${MEANING[use.fault]}`)
      if (repaired.has(use.path ?? '')) report.notes.repaired++
    }
  }
}

const MEANING: Record<Fault, string> = {
  rowless: 'names it, and it has no row',
  misplaced: 'names it, and it belongs to another table or task',
  dropped: 'uses it, and it counts as dropped',
  uncounted: 'uses it as well, and its row says that it is used once',
}

function describedUse({ table_id, record_id, task_id, field_id, comment_id }: FaultyUse): string {
  const owner = task_id === null ? `record ${record_id} of table ${table_id}` : `task ${task_id}`
  if (field_id !== null) return `field ${field_id} of ${owner}`
  return comment_id === null ? owner : `comment or mail ${comment_id} of ${owner}`
}

const columns = sql`path, storage_key, size, encode(sha256, 'hex') as sha256, was_held or dropped_at is null as is_used,
  dropped_at is null as is_held, is_shared, table_id, record_id, task_id`

const rowsAfter = ({ db }: Deps, last: string): Promise<Row[]> =>
  db.read<Row>(sql`select ${columns} from stored_files where path > ${last} order by path limit ${AT_ONCE}`)

async function checkSome(deps: Deps, rows: readonly Row[], repairs: boolean, report: Report): Promise<void> {
  const stored = await Promise.all(rows.map((row) => measured(deps, row)))
  for (const [index, row] of rows.entries()) await checkRow(deps, row, stored[index], repairs, report)
}

async function checkRow(deps: Deps, row: Row, stored: Digest | undefined, repairs: boolean, report: Report): Promise<void> {
  const { notes } = report
  if (stored && stored.size === row.size && (row.sha256 === null || row.sha256 === stored.sha256.toString('hex'))) {
    notes.files++
    notes.bytes += stored.size
    if (row.sha256 !== null) return
    if (repairs) await fillHash(deps.db, row.path, stored.sha256)
    notes[repairs ? 'hashed' : 'unhashed']++
    return
  }
  // The service may have deleted the file since its row was read.
  const [present] = await deps.db.read<Row>(sql`select ${columns} from stored_files where path = ${row.path}`)
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

/** The digest of the stored bytes; undefined without any. */
async function measured({ storage }: Deps, { path, storage_key }: Row): Promise<Digest | undefined> {
  // Bytes may have been moved to the path since the row was read.
  return (storage_key === null ? null : await digest(storage, storage_key)) ?? (await digest(storage, path)) ?? undefined
}

/**
 * Finds bytes that neither a row nor a use names. Thumbnails have no rows, and a bucket may hold objects of others.
 * @returns how many were examined
 */
async function findOrphans({ db, storage, clock }: Deps, report: Report): Promise<number> {
  const before = new Date(clock().getTime() - ORPHAN_HOURS * 3_600_000)
  let examined = 0
  for await (const keys of inBatches(storage.list('', clock()))) {
    const named = await namedKeys(db, keys)
    examined += keys.length
    report.notes.waiting += keys.filter((key) => !named.has(key)).length
  }
  // Only a list tells the age of bytes, and another list takes as long as the first.
  if (!report.notes.waiting) return examined
  for await (const keys of inBatches(storage.list('', before))) {
    const named = await namedKeys(db, keys)
    const unnamed = keys.filter((each) => !named.has(each))
    const used = await usedPaths(db, unnamed)
    report.notes.waiting -= unnamed.length
    for (const key of unnamed) {
      // Reported as a use without a row.
      if (used.has(key)) continue
      report.found('orphaned', key, 'no row names these bytes')
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
