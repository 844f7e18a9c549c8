/** Builds and drops indexes without blocking reads and writes. It uses its own connection, because it cannot run in a transaction. */
import type pg from 'pg'
import { type Database, ident, recordsOf, sql } from '../platform/database/database.ts'
import { indexBuilder, isChanged, shadowIndex } from './ddl.ts'

/** The first key of the advisory lock; no other lock with two keys uses it. */
const LOCK = 7_201

/**
 * Runs `fn` with a connection that holds the lock for building and dropping indexes of the table.
 * @returns 'busy' when another connection holds that lock
 */
export async function withBuildLock<T>(db: Database, tableId: number, fn: (client: pg.Client) => Promise<T>): Promise<T | 'busy'> {
  // A large index takes hours, in which the server says nothing.
  const client = await db.connect(Number.POSITIVE_INFINITY)
  try {
    // A change of the table finds the build by this name and cancels it (ddl.ts, settle).
    await client.query(`set application_name = '${indexBuilder(tableId)}'; set statement_timeout = 0; set maintenance_work_mem = '128MB'`)
    const { rows } = await client.query('select pg_try_advisory_lock($1, $2) as is_ours', [LOCK, tableId])
    if (!rows[0].is_ours) return 'busy'
    // A build waits for older transactions; readers and writers do not wait for the build.
    await client.query(`set lock_timeout = '5min'`)
    return await fn(client)
  } finally {
    await client.end().catch(() => {})
  }
}

/**
 * With the default of 100 values PostgreSQL may take a rare word for a frequent one, and search by id
 * (docs/decisions/0007-indexes-follow-use.md).
 */
const TEXT_STATISTICS = 1_000

/** Size of a trigram index's pending list in kilobytes. Each search reads the whole list; a shorter one makes writes more expensive. */
const PENDING_KB = 1_024

export async function buildIndex(client: pg.Client, tableId: number, { name, on }: { name: string; on: string }): Promise<void> {
  const isTrigram = on.startsWith('using gin')
  const options = isTrigram ? ` with (gin_pending_list_limit = ${PENDING_KB})` : ''
  await client.query(`create index concurrently ${ident(name).sql} on ${recordsOf(tableId).sql} ${on}${options}`)
  if (isTrigram)
    await client.query(`alter index ${ident(`t${tableId}`).sql}.${ident(name).sql} alter column 1 set statistics ${TEXT_STATISTICS}`)
}

/**
 * Builds the index of a conversion after its shadow columns are filled, so that it has few entries. It replaces an index that an earlier
 * attempt has left half built.
 */
export async function buildShadowIndex(client: pg.Client, tableId: number, conversionId: number): Promise<void> {
  const name = shadowIndex(conversionId)
  const { rows } = await client.query('select indisvalid from pg_index where indexrelid = to_regclass($1) and indisvalid', [
    sql`${ident(`t${tableId}`)}.${ident(name)}`.sql,
  ])
  if (rows.length) return
  await dropIndex(client, tableId, name)
  await buildIndex(client, tableId, { name, on: `(id) where ${isChanged(conversionId).sql}` })
}

/** Updates the statistics, for the expressions of new indexes and for tables that have grown fast: plans depend on them. */
export async function analyzeRecords(client: pg.Client, tableId: number): Promise<void> {
  await client.query(`analyze ${recordsOf(tableId).sql}`)
}

export async function dropIndex(client: pg.Client, tableId: number, name: string): Promise<void> {
  await client.query(`drop index concurrently if exists ${ident(`t${tableId}`).sql}.${ident(name).sql}`)
}

/** Operators may have set these for a table; then it keeps them. */
export const VACUUM_SHARES = ['autovacuum_vacuum_scale_factor', 'autovacuum_vacuum_insert_scale_factor'] as const

/**
 * Lets autovacuum come when 2 % of the records have changed, where PostgreSQL waits for 20 %: a page far in is found in an index alone only
 * as far as the visibility map is fresh. Readers and writers do not wait. On a cluster Citus passes it on to the node.
 */
export async function vacuumOften(client: pg.Client, tableId: number): Promise<void> {
  await client.query(`alter table ${recordsOf(tableId).sql} set (${VACUUM_SHARES.map((name) => `${name} = 0.02`).join(', ')})`)
}
