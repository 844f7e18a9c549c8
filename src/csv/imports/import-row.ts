/** Reads and writes the rows of imports that are done by jobs. */
import type { Role } from '../../platform/access/authorize.ts'
import type { Context } from '../../platform/context.ts'
import { type Database, type Sql, sql } from '../../platform/database/database.ts'
import { type CellIssue, conflict } from '../../platform/errors.ts'
import { formatInstant } from '../../platform/time/time.ts'
import type { Imported } from '../import.ts'
import type { Reading } from '../reading/reading.ts'

export interface ImportRow {
  id: number
  account_id: number
  space_id: number
  table_id: number
  /** The path of the file in storage. */
  storage_key: string
  /** True if the table was created for the file. */
  is_new_table: boolean
  /** The ids of the fields by column; null if the header names them. */
  columns: (string | null)[] | null
  /** How the file is read; null if nothing is said, and for an import of an earlier release. */
  reading: Reading | null
  role: Role
  user_id: number | null
  api_key_id: number | null
  ip: string | null
  attempts: number
}

export type NewImport = Omit<ImportRow, 'id' | 'attempts'> & { total: number | null }

/** How an import ended without records. */
export interface ImportEnd {
  state: 'refused' | 'failed' | 'cancelled'
  error: string
  issues: readonly CellIssue[]
}

/** The most unfinished imports of an account, because their files take space in the storage. */
const MOST_UNFINISHED = 5

/** @throws AppError 409 when the account has too many unfinished imports */
export async function requireFewImports({ db }: Pick<Context, 'db'>, accountId: number): Promise<void> {
  const [found] = await db.read<{ n: number }>(
    sql`select count(*) as n from record_imports where account_id = ${accountId} and state = 'running'`,
  )
  if ((found?.n ?? 0) >= MOST_UNFINISHED) throw conflict(`The account has ${MOST_UNFINISHED} unfinished imports; wait for one of them`)
}

/** Inserts the row, in the transaction that sends the job. @returns the id of the job */
export async function insertImport({ db, now }: Context, row: NewImport): Promise<number> {
  const at = sql`${formatInstant(now)}::timestamp`
  const [inserted] = await db.write<{ id: number }>(sql`
    insert into record_imports (id, account_id, space_id, table_id, storage_key, is_new_table, columns, reading, role,
      user_id, api_key_id, ip, total, created_at, updated_at)
    select nextval(pg_get_serial_sequence('field_conversions', 'id')), ${row.account_id}::int, ${row.space_id}::int, ${row.table_id}::int,
      ${row.storage_key}::text, ${row.is_new_table}::boolean, ${row.columns && JSON.stringify(row.columns)}::jsonb,
      ${row.reading && JSON.stringify(row.reading)}::jsonb, ${row.role}::text,
      ${row.user_id}::int, ${row.api_key_id}::int, ${row.ip}::text, ${row.total}::int, ${at}, ${at}
    returning id`)
  return inserted?.id ?? 0
}

/** Begins another attempt. @returns undefined if the import has ended */
export async function claimImport({ db }: Context, id: number): Promise<ImportRow | undefined> {
  const [row] = await db.write<ImportRow>(sql`
    update record_imports set attempts = attempts + 1, updated_at = now() where id = ${id} and state = 'running'
    returning id, account_id, space_id, table_id, storage_key, is_new_table, columns, reading, role, user_id, api_key_id, ip, attempts`)
  return row
}

/** Returns undefined if there is no such import any more. */
export async function readImport(
  { db }: Pick<Context, 'db'>,
  id: number,
): Promise<(Pick<ImportRow, 'id' | 'table_id' | 'is_new_table' | 'storage_key'> & { state: string }) | undefined> {
  const [row] = await db.read<Pick<ImportRow, 'id' | 'table_id' | 'is_new_table' | 'storage_key'> & { state: string }>(
    sql`select id, table_id, is_new_table, storage_key, state from record_imports where id = ${id}`,
  )
  return row
}

/** An attempt that only found another one underway does not count. */
export async function unclaimImport({ db }: Context, id: number): Promise<void> {
  await db.write(sql`update record_imports set attempts = attempts - 1 where id = ${id} and state = 'running'`)
}

export async function storeChecked(db: Database, id: number, rows: number): Promise<void> {
  await db.write(sql`update record_imports set done = ${rows}, updated_at = now() where id = ${id} and state = 'running'`)
}

/** Ends the import with its records. It changes no row if the import has ended before. */
export const ended = (id: number, { created, change_id, filled, cut }: Imported): Sql => sql`
  update record_imports set state = 'done', created = ${created}::int, done = ${created}::int, total = ${created}::int,
    change_id = ${change_id}::bigint,
    filled = ${filled ? JSON.stringify(filled) : null}::jsonb, cut = ${cut ? JSON.stringify(cut) : null}::jsonb, updated_at = now()
  where id = ${id} and state = 'running'`

/** @returns false if the import has ended before */
export async function storeRefusal(db: Database, id: number, { state, error, issues }: ImportEnd): Promise<boolean> {
  const { changed } = await db.write(sql`
      update record_imports set state = ${state}, error = ${error}, issues = ${JSON.stringify(issues)}::jsonb, updated_at = now()
      where id = ${id} and state = 'running'`)
  return changed > 0
}

const KEPT_DAYS = 30
/** An import without progress for this long may be lost. If it is being published, which can take longer, a second attempt notices. */
const IDLE_MINUTES = 10

/** Deletes the rows of imports that ended long ago. @returns the ids of imports whose job may be lost */
export async function idleImports({ db, now }: Context): Promise<number[]> {
  const before = (ms: number) => sql`${formatInstant(new Date(now.getTime() - ms))}::timestamp`
  await db.write(sql`delete from record_imports where state <> 'running' and updated_at < ${before(KEPT_DAYS * 86_400_000)}`)
  const idle = await db.read<{ id: number }>(sql`
    select id from record_imports where state = 'running' and updated_at < ${before(IDLE_MINUTES * 60_000)} order by id`)
  return idle.map(({ id }) => id)
}
