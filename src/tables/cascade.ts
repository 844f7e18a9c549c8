/**
 * What other features keep of tables, fields and records. Imports run towards tables, so what must go with a field or a record
 * cannot be called from here by name: each such feature puts a dependent into the list, where the features are put together.
 */

import type { FieldDef, TableDef } from '../fields/definition.ts'
import type { Context } from '../platform/context.ts'
import { conflict } from '../platform/http/errors.ts'

export interface NamedView {
  id: number
  name: string
}

/** Views that cannot do without a field, and views that are only sorted by it. */
export interface FieldNeeds {
  needing: NamedView[]
  sorting: NamedView[]
}

export interface Dependent {
  /**
   * Removes what hangs on records, in the transaction that deletes them.
   * @param recordIds null is every record of the table
   */
  onRecordsDeleted?(context: Context, tableId: number, recordIds: readonly number[] | null): Promise<void>
  /** Which views need the field. The table's version is already up, so no view can be saved until the answer has been used. */
  needsOf?(context: Context, table: TableDef, field: FieldDef): Promise<FieldNeeds>
  /** Deletes the views that need the field, and drops the sort of those that are sorted by it. */
  dropField?(context: Context, table: TableDef, field: FieldDef, needs: FieldNeeds): Promise<void>
  /** Which views could not be saved as they are, were the field as `changed` has it. The version is up, as for `needsOf`. */
  invalidWith?(context: Context, table: TableDef, changed: FieldDef): Promise<FieldNeeds>
  /** The field has another type, and a new column: deletes the views that are invalid with it, and drops sorts that it does not have. */
  retypeField?(context: Context, table: TableDef, changed: FieldDef): Promise<void>
  /** Follows options of a select that have new titles, by their old ones. The version is up, as for `needsOf`. */
  renameOptions?(context: Context, table: TableDef, field: FieldDef, titles: ReadonlyMap<string, string>): Promise<void>
}

export const dependents: Dependent[] = []

/** What all dependents together answer to `needsOf` or `invalidWith`. */
export async function viewsThat(ask: 'needsOf' | 'invalidWith', context: Context, table: TableDef, field: FieldDef): Promise<FieldNeeds> {
  const needs: FieldNeeds = { needing: [], sorting: [] }
  for (const dependent of dependents) {
    const found = await dependent[ask]?.(context, table, field)
    needs.needing.push(...(found?.needing ?? []))
    needs.sorting.push(...(found?.sorting ?? []))
  }
  return needs
}

/** In the transaction that deletes the records; one after the other, since they share its connection. */
export async function recordsDeleted(context: Context, tableId: number, recordIds: readonly number[] | null): Promise<void> {
  for (const { onRecordsDeleted } of dependents) await onRecordsDeleted?.(context, tableId, recordIds)
}

/** 409, naming the views. */
export const neededByViews = (views: readonly NamedView[]) =>
  conflict(`Views need this field: ${views.map(({ name }) => name).join(', ')}; send force: true to change them`, {
    issues: views.map(({ id, name }) => ({ path: ['views', id], message: name })),
  })
