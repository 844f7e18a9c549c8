/** The indexes that calendar views need, created and dropped with their views. */
import { fieldsById } from '../fields/by-id.ts'
import type { FieldDef, TableDef } from '../fields/definition.ts'
import type { Context } from '../platform/context.ts'
import { createLayoutIndex, dropLayoutIndex, isSmall } from './ddl.ts'
import { readViews, type ViewRow } from './saved.ts'

export const layoutIndex = (fieldId: string): string => `idx_layout_${fieldId}`

/** The field that the view needs an index on; undefined if it needs none. */
export const indexedField = (view: Pick<ViewRow, 'config'> | undefined): string | undefined =>
  view && 'startField' in view.config ? view.config.startField : undefined

/** The definition of that field. */
export const indexedFieldOf = (table: TableDef, view: Pick<ViewRow, 'config'>): FieldDef | undefined =>
  fieldsById(table).get(indexedField(view) ?? '')

/**
 * Creates and drops indexes in the transaction that changes a view. On a large table the job that follows every change does this,
 * without blocking writers.
 * @param before the indexed fields of changed or deleted views
 * @param after the indexed field of the saved view
 */
export async function fitLayoutIndexes(
  { db }: Context,
  tableId: number,
  before: readonly string[],
  after: FieldDef | undefined,
): Promise<void> {
  if ((!before.length && after === undefined) || !(await isSmall(db, tableId))) return
  if (after !== undefined) await createLayoutIndex(db, tableId, layoutIndex(after.id), after)
  const given = new Set(before)
  for (const view of given.size ? await readViews(db, tableId) : []) given.delete(indexedField(view) ?? '')
  for (const fieldId of given) await dropLayoutIndex(db, tableId, layoutIndex(fieldId))
}
