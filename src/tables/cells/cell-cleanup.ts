/**
 * Cleans up the cells of a large table after its field has lost options or digits. Readers and writers treat the cells as cleaned up at
 * once, by the field's `removed_options` and `is_rounding`, and a job then rewrites them. Until the job is done, no new option gets the
 * id of a removed one, and the decimals of the field cannot be changed.
 */
import { z } from 'zod'
import type { FieldDef } from '../../fields/definition.ts'
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { defineQueue } from '../../platform/jobs/queue.ts'
import { changeTable } from '../alter-table.ts'
import { columnNumber, holdWriters } from '../ddl.ts'
import { tableDefinitions } from '../definition-cache.ts'
import { type CellUpdate, rewriteCells, rounding, withoutOptionIds } from './rewrite-cells.ts'

export const cleanUpCells = defineQueue({
  name: 'tables.change-leftovers',
  schema: z.object({ table_id: z.int(), field_id: z.string(), user_id: z.int().nullable() }),
  options: { expireInSeconds: 3_600, retryLimit: 8, retryDelay: 5 },
})
export const resumeCellCleanups = defineQueue({ name: 'tables.resume-leftovers', schema: z.object({}) })

/**
 * Enqueues the job, in the transaction that changes the field. It waits for writers that use the old definition, so that the job finds
 * all cells.
 */
export async function enqueueCleanup({ db, jobs, actor }: Context, tableId: number, fieldId: string): Promise<void> {
  await holdWriters(db, tableId)
  await jobs.send(cleanUpCells, { table_id: tableId, field_id: fieldId, user_id: actor.userId || null })
}

/** Runs the job. It may be killed anywhere and run twice, because the cells show which of them still have to change. */
export async function cleanUp(
  context: Context,
  { table_id, field_id, user_id }: { table_id: number; field_id: string; user_id: number | null },
): Promise<void> {
  const { db } = context
  // A field that was deleted and created again under the same name has another column, which this job must not touch.
  const column = columnNumber(table_id, field_id)
  const [before] = await db.read<{ number: number | null }>(sql`select ${column} as number`)
  const isSame = sql`${column} = ${before?.number ?? 0}`
  const field = (await tableDefinitions(db, [table_id])).get(table_id)?.fields.find(({ id }) => id === field_id)
  const change = field && pendingChange(field)
  if (!change) return
  const actor = { ...context.actor, userId: user_id ?? 0 }
  await rewriteCells({ ...context, actor }, table_id, { ...change, where: sql`${change.where} and ${isSame}` })
  await changeTable(context, { id: table_id }, () =>
    // Options that were removed while this job ran have their own job.
    db.write(sql`
      update fields set removed_options = array(select o from unnest(removed_options) o where o <> all(${field.removed_options}::int[])),
        is_rounding = is_rounding and not ${field.is_rounding}
      where table_id = ${table_id} and id = ${field_id} and ${isSame}`),
  )
}

function pendingChange(field: FieldDef): CellUpdate | undefined {
  if (field.removed_options.length) return withoutOptionIds(field, field.removed_options)
  return field.is_rounding && field.decimals !== null ? rounding(field, field.decimals) : undefined
}

/** On a schedule: enqueues the clean-up again where its job was lost, without the user who asked for it. */
export async function resumeCleanups({ db, jobs }: Context): Promise<void> {
  const pending = await db.read<{ table_id: number; field_id: string }>(sql`
    select f.table_id, f.id as field_id from fields f join tables t on t.id = f.table_id
    where (cardinality(f.removed_options) > 0 or f.is_rounding) and t.deleted_at is null`)
  for (const { table_id, field_id } of pending) await jobs.send(cleanUpCells, { table_id, field_id, user_id: null })
}
