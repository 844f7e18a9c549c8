/** Which calendar indexes a table needs, and how they come and go with its views. */
import { z } from 'zod'
import { defineQueue } from '../jobs.ts'
import type { Scope } from '../scope.ts'
import { createLayoutIndex, createLayoutIndexConcurrently, dropLayoutIndex, isSmall } from './ddl.ts'
import { readViews, type ViewRow } from './saved.ts'

const LayoutIndex = z.object({ table_id: z.int(), field_id: z.string() })
type LayoutIndex = z.infer<typeof LayoutIndex>

/** For tables that are too large to keep writers waiting; a build may take minutes. */
export const buildLayoutIndex = defineQueue({ name: 'views.layout-index', schema: LayoutIndex, options: { expireInSeconds: 3_600 } })

/** The field whose index a view needs; undefined for one that needs none. */
export const indexedField = (view: Pick<ViewRow, 'config'> | undefined): string | undefined =>
  view && 'startField' in view.config ? view.config.startField : undefined

/**
 * Makes the indexes fit after a change of views, in its transaction.
 * @param before fields that views needed which are changed or gone
 * @param after the field that the saved view needs
 */
export async function fitLayoutIndexes(scope: Scope, tableId: number, before: readonly string[], after: string | undefined): Promise<void> {
  const { db, jobs } = scope
  if (after !== undefined) {
    if (await isSmall(db, tableId)) await createLayoutIndex(db, tableId, after)
    else await jobs.send(buildLayoutIndex, { table_id: tableId, field_id: after })
  }
  const given = new Set(before)
  if (!given.size) return
  for (const view of await readViews(db, tableId)) given.delete(indexedField(view) ?? '')
  for (const fieldId of given) await dropLayoutIndex(db, tableId, fieldId)
}

/** The job: builds the index unless the world has moved on. */
export async function build({ db }: Scope, { table_id, field_id }: LayoutIndex): Promise<void> {
  const isNeeded = async () => (await readViews(db, table_id)).some((view) => indexedField(view) === field_id)
  if (!(await isNeeded())) return
  await createLayoutIndexConcurrently(db, table_id, field_id)
  // The last view that needed it may have gone while it was built.
  if (!(await isNeeded())) await dropLayoutIndex(db, table_id, field_id)
}
