/**
 * What a change of a field leaves in the cells of a large table: options that are gone, digits that are too many. From the change on
 * whoever reads or writes takes such cells for what they are to be, by the field's `removed_options` and `is_rounding`. A job changes
 * them; until it is done no other option gets the id of one that is gone, and the decimals of the field stay.
 */
import { z } from 'zod'
import type { FieldDef } from '../../fields/definition.ts'
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { defineQueue } from '../../platform/jobs/queue.ts'
import { changeTable } from '../alter-table.ts'
import { columnNumber, holdWriters } from '../ddl.ts'
import { tableDefinitions } from '../definitions.ts'
import { type CellUpdate, changeInSteps, rounding, takingOut } from './rewrite-cells.ts'

export const changeLeftovers = defineQueue({
  name: 'tables.change-leftovers',
  schema: z.object({ table_id: z.int(), field_id: z.string(), user_id: z.int().nullable() }),
  options: { expireInSeconds: 3_600, retryLimit: 8, retryDelay: 5 },
})
export const resumeLeftovers = defineQueue({ name: 'tables.resume-leftovers', schema: z.object({}) })

/** In the transaction that changes the field: who still writes by the old definition is done first, so that the job finds all cells. */
export async function leaveCells({ db, jobs, actor }: Context, tableId: number, fieldId: string): Promise<void> {
  await holdWriters(db, tableId)
  await jobs.send(changeLeftovers, { table_id: tableId, field_id: fieldId, user_id: actor.userId || null })
}

/** The job. It may be killed anywhere and run twice: what is left to do stands in the cells. */
export async function changeLeft(
  context: Context,
  { table_id, field_id, user_id }: { table_id: number; field_id: string; user_id: number | null },
): Promise<void> {
  const { db } = context
  // A field that is deleted and made anew by the same name has another column: its cells are none of this job's.
  const column = columnNumber(table_id, field_id)
  const [before] = await db.query<{ number: number | null }>(sql`select ${column} as number`)
  const isSame = sql`${column} = ${before?.number ?? 0}`
  const field = (await tableDefinitions(db, [table_id])).get(table_id)?.fields.find(({ id }) => id === field_id)
  const change = field && leftIn(field)
  if (!change) return
  const actor = { ...context.actor, userId: user_id ?? 0 }
  await changeInSteps({ ...context, actor }, table_id, { ...change, where: sql`${change.where} and ${isSame}` })
  await changeTable(context, { id: table_id }, () =>
    // Options that were removed meanwhile stay, for their own job.
    db.execute(sql`
      update fields set removed_options = array(select o from unnest(removed_options) o where o <> all(${field.removed_options}::int[])),
        is_rounding = is_rounding and not ${field.is_rounding}
      where table_id = ${table_id} and id = ${field_id} and ${isSame}`),
  )
}

function leftIn(field: FieldDef): CellUpdate | undefined {
  if (field.removed_options.length) return takingOut(field, field.removed_options)
  return field.is_rounding && field.decimals !== null ? rounding(field, field.decimals) : undefined
}

/** The clock: what a lost job has left is done without the name of who asked for it. */
export async function resumeLeft({ db, jobs }: Context): Promise<void> {
  const left = await db.query<{ table_id: number; field_id: string }>(sql`
    select f.table_id, f.id as field_id from fields f join tables t on t.id = f.table_id
    where (cardinality(f.removed_options) > 0 or f.is_rounding) and t.deleted_at is null`)
  for (const { table_id, field_id } of left) await jobs.send(changeLeftovers, { table_id, field_id, user_id: null })
}
