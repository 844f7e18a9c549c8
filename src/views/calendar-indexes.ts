/** Which calendar indexes a table needs, and how they come and go with its views. */
import type { Context } from '../platform/context.ts'
import { createLayoutIndex, dropLayoutIndex, isSmall } from './ddl.ts'
import { readViews, type ViewRow } from './saved.ts'

export const layoutIndex = (fieldId: string): string => `idx_layout_${fieldId}`

/** The field whose index a view needs; undefined for one that needs none. */
export const indexedField = (view: Pick<ViewRow, 'config'> | undefined): string | undefined =>
  view && 'startField' in view.config ? view.config.startField : undefined

/**
 * Makes the indexes fit after a change of views, in its transaction; on a large table the job that follows every change does it,
 * and lets others write meanwhile.
 * @param before fields that views needed which are changed or gone
 * @param after the field that the saved view needs
 */
export async function fitLayoutIndexes(
  { db }: Context,
  tableId: number,
  before: readonly string[],
  after: string | undefined,
): Promise<void> {
  if ((!before.length && after === undefined) || !(await isSmall(db, tableId))) return
  if (after !== undefined) await createLayoutIndex(db, tableId, layoutIndex(after), after)
  const given = new Set(before)
  for (const view of given.size ? await readViews(db, tableId) : []) given.delete(indexedField(view) ?? '')
  for (const fieldId of given) await dropLayoutIndex(db, tableId, layoutIndex(fieldId))
}
