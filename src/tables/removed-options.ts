/**
 * Options that go from a large table. They are gone from the field at once: who reads or writes takes them for no value, by the ids in the
 * field's `removed_options`. A job takes them out of the cells; until it is done no other option gets their ids.
 */
import { z } from 'zod'
import { sql } from '../db.ts'
import { defineQueue } from '../jobs.ts'
import type { Scope } from '../scope.ts'
import { changeInSteps, takingOut } from './cell-changes.ts'
import { changeTable } from './change.ts'
import { holdWriters } from './ddl.ts'
import { tableDefinitions } from './definitions.ts'

export const emptyOptions = defineQueue({
  name: 'tables.empty-options',
  schema: z.object({ table_id: z.int(), field_id: z.string(), user_id: z.int().nullable() }),
  options: { expireInSeconds: 3_600, retryLimit: 8, retryDelay: 5 },
})
export const resumeEmptying = defineQueue({ name: 'tables.resume-emptying', schema: z.object({}) })

/** In the transaction that removes options: who still writes by the old definition is done first, so that the job finds all cells. */
export async function emptyLater({ db, jobs, actor }: Scope, tableId: number, fieldId: string): Promise<void> {
  await holdWriters(db, tableId)
  await jobs.send(emptyOptions, { table_id: tableId, field_id: fieldId, user_id: actor.userId || null })
}

/** The job. It may be killed anywhere and run twice: what is left to do stands in the cells. */
export async function emptyRemoved(
  scope: Scope,
  { table_id, field_id, user_id }: { table_id: number; field_id: string; user_id: number | null },
): Promise<void> {
  const table = (await tableDefinitions(scope.db, [table_id])).get(table_id)
  const field = table?.fields.find(({ id }) => id === field_id)
  if (!field?.removed_options.length) return
  const actor = { ...scope.actor, userId: user_id ?? 0 }
  await changeInSteps({ ...scope, actor }, table_id, takingOut(field, field.removed_options))
  await changeTable(scope, { id: table_id }, () =>
    // Options that were removed meanwhile stay, for their own job.
    scope.db.execute(sql`
      update fields set removed_options = array(select o from unnest(removed_options) o where o <> all(${field.removed_options}::int[]))
      where table_id = ${table_id} and id = ${field_id}`),
  )
}

/** The clock: what a lost job has left is done without the name of who asked for it. */
export async function resumeEmptyingAll({ db, jobs }: Scope): Promise<void> {
  const left = await db.query<{ table_id: number; field_id: string }>(sql`
    select f.table_id, f.id as field_id from fields f join tables t on t.id = f.table_id
    where cardinality(f.removed_options) > 0 and t.deleted_at is null`)
  for (const { table_id, field_id } of left) await jobs.send(emptyOptions, { table_id, field_id, user_id: null })
}
