/**
 * An export as a temporary file. It is sent once it is complete, so a slow reader keeps nothing in the database busy, and a change of the
 * table during the export can only delay it.
 */
import type { FileHandle } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type pg from 'pg'
import type { TableDef } from '../fields/definition.ts'
import type { TableRef } from '../platform/access/resources.ts'
import { openTemporaryFile, readToEnd, writeAt } from '../platform/bytes/temporary-files.ts'
import { Semaphore } from '../platform/concurrency/semaphore.ts'
import type { Context } from '../platform/context.ts'
import { type Database, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { isOutdated } from '../platform/database/outdated-definition.ts'
import { notFound, tooBusy, unavailable } from '../platform/errors.ts'
import { memo } from '../platform/memo.ts'
import { perProcess } from '../platform/processes/per-process.ts'
import { tableDefinitions } from '../tables/definition-cache.ts'
import { withLinkedTables } from '../tables/linked-tables.ts'
import { type Export, exportRecords } from './export.ts'
import type { ExportQuery } from './schema.ts'

export interface ExportFile {
  fileName: string
  bytes: number
  /** The file is gone when the stream is closed, at its end or before. */
  content: Readable
}

type Written = Pick<ExportFile, 'fileName' | 'bytes'> & Pick<Export, 'audit'>

/** Slow readers keep their files, so this many of one account may take space on the disk of a process. */
const MOST_OPEN = perProcess(20)
const openOf = memo((_: Database) => new Map<number, number>())

/** With this many attempts without a lock, an export succeeds beside a script that changes the table now and then. */
const FREE_ATTEMPTS = 3

/**
 * Writes the export of a table to a temporary file. If the fields of the table change, it starts again, and at last blocks such changes
 * while it writes.
 * @param requireStill checks the right of the caller again, because the file of a large table is written for minutes
 * @throws AppError 404 if the table does not have the view, or has just been deleted; 503 when too many exports of the account are open,
 * or too many block their table; what `requireStill` throws
 */
export async function writeExport(
  context: Context,
  table: TableRef,
  chosen: ExportQuery,
  requireStill: () => Promise<unknown>,
): Promise<ExportFile> {
  const close = countOpen(context.db, table.account_id)
  let content: Readable | undefined
  try {
    const file = await openTemporaryFile(context.settings.dataDir)
    // Closing the file may fail, as on a full disk. After a failed export nobody reads the file, and the error would have no listener.
    content = readToEnd(file)
      .on('error', () => {})
      .once('close', close)
    const { fileName, bytes, audit } = await writeWhole(context, table, chosen, file)
    // Rights are never read from a replica, which may be a moment behind.
    await (context.replicas ? context.replicas.onPrimary(requireStill) : requireStill())
    await audit()
    return { fileName, bytes, content }
  } catch (error) {
    if (content) content.destroy()
    else close()
    throw error
  }
}

/** Counts one more open export of the account. @returns counts it as closed */
function countOpen(db: Database, accountId: number): () => void {
  const counts = openOf(db)
  const add = (difference: number) => {
    const count = (counts.get(accountId) ?? 0) + difference
    if (count) counts.set(accountId, count)
    else counts.delete(accountId)
  }
  if ((counts.get(accountId) ?? 0) >= MOST_OPEN) throw unavailable(`The account has ${MOST_OPEN} exports open; retry`, 5)
  add(1)
  return () => add(-1)
}

async function writeWhole(context: Context, table: TableRef, chosen: ExportQuery, file: FileHandle): Promise<Written> {
  let current = table
  for (let attempt = 1; attempt <= FREE_ATTEMPTS; attempt++) {
    try {
      return await write(context, current, chosen, file, false)
    } catch (error) {
      if (!isOutdated(error)) throw error
      const { version } = await presentDefinition(context, table.id)
      // If the table has not changed, the statement fails for another reason.
      if (version === current.version) throw error
      current = { ...current, version }
    }
  }
  const writeLocked = ({ version }: TableDef) => write(context, { ...current, version }, chosen, file, true)
  const run = () => withColumnsLocked(context, table.id, writeLocked)
  // The lock does not keep a replica from replaying a change.
  return context.replicas ? context.replicas.onPrimary(run) : run()
}

/** @throws AppError 404 if the table has been deleted */
async function presentDefinition({ db }: Context, id: number): Promise<TableDef> {
  const table = (await tableDefinitions(db, [id])).get(id)
  if (!table) throw notFound('Table')
  return table
}

async function write(context: Context, table: TableRef, chosen: ExportQuery, file: FileHandle, isLocked: boolean): Promise<Written> {
  const { fileName, text, audit } = await exportRecords(context, table, chosen, { isLocked })
  await file.truncate(0)
  let bytes = 0
  for await (const part of text) {
    context.signal.throwIfAborted()
    bytes += await writeAt(file, part, bytes)
  }
  context.signal.throwIfAborted()
  return { fileName, bytes, audit }
}

/** Each has a connection of its own, outside of the pool. */
const MOST_LOCKED = perProcess(2)
const LOCK_WAIT_MS = 10_000
const permits = memo((_: Database) => new Semaphore(MOST_LOCKED, tooBusy))

/**
 * Runs `work` while no column that the export may read can be dropped or replaced: of the table, of those that its lookups point to, and
 * of those whose titles the linked fields show. Records can be written.
 * @throws AppError 404 if the table has just been deleted
 */
function withColumnsLocked<T>(context: Context, tableId: number, work: (table: TableDef) => Promise<T>): Promise<T> {
  return permits(context.db).run(() => lockColumns(context, tableId, work), { signal: context.signal, timeoutMs: LOCK_WAIT_MS })
}

async function lockColumns<T>(context: Context, tableId: number, work: (table: TableDef) => Promise<T>): Promise<T> {
  const client = await context.db.connect()
  // A lost connection shows in the next statement. Without the lock the export fails only if the table is changed just then.
  client.on('error', () => {})
  const run = ({ text, values }: Sql) => client.query({ text, values })
  try {
    await run(sql`begin`)
    // The connection does nothing while the export is written.
    await run(sql`set local idle_in_transaction_session_timeout = 0`)
    await lock(run, tableId)
    const table = await withLinkedTables(context.db, await presentDefinition(context, tableId))
    const fields = [table, ...(table.linked?.values() ?? [])].flatMap((each) => each.fields)
    const lookedUp = fields.flatMap(({ lookup, lookup_table_id: id }) => (lookup && id ? [id] : []))
    for (const id of new Set(lookedUp)) if (id !== tableId) await lock(run, id)
    return await work(await presentDefinition(context, tableId))
  } finally {
    await client.end()
  }
}

const lock = (run: (statement: Sql) => Promise<pg.QueryResult>, tableId: number) =>
  run(sql`lock table ${recordsOf(tableId)} in access share mode`)
