/** Prevents changes of a field while its cells are being converted to another type. */
import type { Context } from '../platform/context.ts'
import { sql } from '../platform/database/database.ts'
import { conflict } from '../platform/errors.ts'
import type { Cascade } from '../tables/cascade.ts'

export const conversionCascade: Cascade = { beforeFieldChange: requireNotConverting }

/** @throws AppError 409 while the field is being converted. A dry run only reads, so it prevents nothing. */
export async function requireNotConverting({ db }: Context, tableId: number, fieldId: string): Promise<void> {
  const underway = await db.read(sql`
    select from field_conversions where table_id = ${tableId} and field_id = ${fieldId} and not dry_run
      and state in ('queued', 'running')`)
  if (underway.length) throw conflict('The field is being converted to another type')
}
