/** Keeps a field as it is while its cells are converted to another type. */
import type { Database } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/database.ts'
import { conflict } from '../../platform/http/errors.ts'

/** @throws AppError 409 while the field is converted: what its cells mean must not change meanwhile */
export async function requireNotConverting(db: Database, tableId: number, fieldId: string): Promise<void> {
  const underway = await db.query(
    sql`
      select from field_conversions where table_id = ${tableId} and field_id = ${fieldId} and not dry_run
      and state in ('queued', 'checking', 'running')`,
  )
  if (underway.length) throw conflict('The field is being converted to another type')
}
