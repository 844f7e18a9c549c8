/**
 * What other features keep of tables, fields and records. Imports run towards tables, so what must go with a field or a record
 * cannot be called from here by name: each such feature puts a dependent into the list, where the features are put together.
 */
import type { Scope } from '../scope.ts'
import type { FieldDef, TableDef } from './fields.ts'

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
  onRecordsDeleted?(scope: Scope, tableId: number, recordIds: readonly number[] | null): Promise<void>
  /** Which views need the field. The table's version is already up, so no view can be saved until the answer has been used. */
  needsOf?(scope: Scope, table: TableDef, field: FieldDef): Promise<FieldNeeds>
  /** Deletes the views that need the field, and drops the sort of those that are sorted by it. */
  dropField?(scope: Scope, table: TableDef, field: FieldDef, needs: FieldNeeds): Promise<void>
  /** Follows options of a select that have new titles, by their old ones. The version is up, as for `needsOf`. */
  renameOptions?(scope: Scope, table: TableDef, field: FieldDef, titles: ReadonlyMap<string, string>): Promise<void>
}

export const dependents: Dependent[] = []

/** In the transaction that deletes the records; one after the other, since they share its connection. */
export async function recordsDeleted(scope: Scope, tableId: number, recordIds: readonly number[] | null): Promise<void> {
  for (const { onRecordsDeleted } of dependents) await onRecordsDeleted?.(scope, tableId, recordIds)
}
