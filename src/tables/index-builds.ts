/** Builds and drops indexes while others read and write, on a connection of its own: none of this can be part of a transaction. */
import type pg from 'pg'
import { type Database, ident, recordsOf, sql } from '../platform/database/database.ts'
import { indexBeside, indexBuilder, isChanged } from './ddl.ts'

/** Any number that no other advisory lock of two parts has. */
const LOCK = 7_201

/**
 * Runs `fn` with a connection that alone may work on the indexes of the table.
 * @returns 'busy' when another one has that right now
 */
export async function asBuilder<T>(db: Database, tableId: number, fn: (client: pg.Client) => Promise<T>): Promise<T | 'busy'> {
  const client = await db.connect()
  // What breaks the connection rejects the statement under way, too; without a listener it would end the process.
  client.on('error', () => {})
  try {
    // By this name a change of the table finds a build that is in its way (ddl.ts).
    await client.query(`set application_name = '${indexBuilder(tableId)}'; set statement_timeout = 0; set maintenance_work_mem = '128MB'`)
    const { rows } = await client.query('select pg_try_advisory_lock($1, $2) as is_ours', [LOCK, tableId])
    if (!rows[0].is_ours) return 'busy'
    // A build waits for transactions that are older than it. Readers and writers do not wait for the build.
    await client.query(`set lock_timeout = '5min'`)
    return await fn(client)
  } finally {
    await client.end().catch(() => {})
  }
}

/**
 * By the usual hundred samples of a text, a word that stands in one of two thousand records may pass for one of a hundred: it would be
 * looked for in all records by id, for 250 ms of a million, and not by the index, in 25 (docs/benchmarks.md, Records).
 */
const TEXT_STATISTICS = 1_000

/**
 * Kilobytes of fresh entries that a trigram index lets wait, all of which each search reads through. With the usual 4 MB a rare word among
 * a million records took 16 to 23 ms of CPU while records were written, instead of 6; with this it takes 8 to 10. Less would make writes dearer.
 */
const PENDING_KB = 1_024

export async function buildIndex(client: pg.Client, tableId: number, { name, on }: { name: string; on: string }): Promise<void> {
  const isTrigram = on.startsWith('using gin')
  const options = isTrigram ? ` with (gin_pending_list_limit = ${PENDING_KB})` : ''
  await client.query(`create index concurrently ${ident(name).sql} on ${recordsOf(tableId).sql} ${on}${options}`)
  if (isTrigram)
    await client.query(`alter index ${ident(`t${tableId}`).sql}.${ident(name).sql} alter column 1 set statistics ${TEXT_STATISTICS}`)
}

/** For a conversion whose columns beside are filled, so that there is next to nothing in the index. What an earlier run left unfinished goes. */
export async function buildIndexBeside(client: pg.Client, tableId: number, conversionId: number): Promise<void> {
  const name = indexBeside(conversionId)
  const { rows } = await client.query('select indisvalid from pg_index where indexrelid = to_regclass($1) and indisvalid', [
    sql`${ident(`t${tableId}`)}.${ident(name)}`.sql,
  ])
  if (rows.length) return
  await dropIndex(client, tableId, name)
  await buildIndex(client, tableId, { name, on: `(id) where ${isChanged(conversionId).sql}` })
}

/** Statistics of the expressions of new indexes, and of a table that has grown by much at once: without them no plan is good. */
export async function analyzeRecords(client: pg.Client, tableId: number): Promise<void> {
  await client.query(`analyze ${recordsOf(tableId).sql}`)
}

export async function dropIndex(client: pg.Client, tableId: number, name: string): Promise<void> {
  await client.query(`drop index concurrently if exists ${ident(`t${tableId}`).sql}.${ident(name).sql}`)
}
