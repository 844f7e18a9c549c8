/**
 * Runs the actions of other features when records are deleted or restored, or a field changes. Those features import this one, so this
 * file cannot import them: each defines a cascade, and deps.ts puts the cascades into the list that every context carries.
 */

import type { FieldDef, TableDef } from '../fields/definition.ts'
import type { Context } from '../platform/context.ts'
import { conflict } from '../platform/errors.ts'
import type { FileEntry } from '../platform/stored-files/rows.ts'
import { deleteRowsOfTable, forgetRows, moveRowsAside, putRowsBack, type RowsOfRecords } from './deleted/rows.ts'

export interface NamedView {
  id: number
  name: string
}

/** Views that use a field, and views that are only sorted by it. */
export interface FieldNeeds {
  needing: NamedView[]
  sorting: NamedView[]
}

/** The actions of one feature in the transaction of the change. */
export interface Cascade {
  /** The rows about records that are moved aside with deleted records, and come back with them. */
  rows?: readonly RowsOfRecords[]
  /** Locks, before records are locked to be deleted, what the feature locks before a record elsewhere. */
  lockBeforeRecords?(context: Context, tableId: number, recordIds: readonly number[]): Promise<void>
  /** Runs when records are deleted, before their rows are moved aside. */
  onRecordsDeleted?(context: Context, tableId: number, recordIds: readonly number[]): Promise<void>
  /** Runs when deleted records are restored, after their rows have come back. */
  onRecordsRestored?(context: Context, tableId: number, recordIds: readonly number[]): Promise<void>
  /** Runs before the rows of deleted records, which are aside, are deleted for good. */
  onRecordsPurged?(context: Context, tableId: number, recordIds: readonly number[]): Promise<void>
  /** Runs before a table that was deleted days ago is removed with all rows about its records, those aside included. */
  onTablePurged?(context: Context, tableId: number): Promise<void>
  /**
   * Runs before a field is deleted, and before a change of its options or decimals affects cells. The table's version is already higher.
   * @throws AppError 409 when the field must not change at this time
   */
  beforeFieldChange?(context: Context, tableId: number, fieldId: string): Promise<void>
  /** Returns the views that need the field. The table's version is higher already, so that no view is saved until the answer is used. */
  needsOf?(context: Context, table: TableDef, field: FieldDef): Promise<FieldNeeds>
  /** Deletes the views that need the field, and drops the sort of views that are sorted by it. */
  dropField?(context: Context, table: TableDef, field: FieldDef, needs: FieldNeeds): Promise<void>
  /** Returns the views of other tables that name fields of the table through lookups. The version is higher, as for `needsOf`. */
  needsOfTable?(context: Context, table: TableDef): Promise<FieldNeeds>
  /** Deletes these views, or drops their sorts by such fields, before the table is deleted. */
  dropTable?(context: Context, table: TableDef): Promise<void>
  /**
   * Returns the views that would be invalid, or would mean something else, if the field were as `changed` describes it. The version is
   * higher, as for `needsOf`.
   */
  invalidWith?(context: Context, table: TableDef, changed: FieldDef): Promise<FieldNeeds>
  /**
   * Deletes the views that are invalid or mean something else with the field's new type and column, and drops sorts that the type does not
   * have. @returns both
   */
  retypeField?(context: Context, table: TableDef, changed: FieldDef): Promise<FieldNeeds>
  /** Renames options of a select. The version is higher, as for `needsOf`. @param titles the new titles by the old ones */
  renameOptions?(context: Context, table: TableDef, field: FieldDef, titles: ReadonlyMap<string, string>): Promise<void>
  /** Puts the feature's names of the table into NFC, as far as they do not meet others. The version is higher, as for `needsOf`. */
  normalizeNames?(context: Context, table: TableDef): Promise<void>
  /**
   * Puts a dropped file of a task back into the task's list.
   * @returns false if the feature has no such task any more
   */
  restoreFile?(context: Context, taskId: number, file: FileEntry): Promise<boolean>
}

declare module '../platform/context.ts' {
  interface Shared {
    /** The cascades of all features, in the order in which they run. */
    cascades: readonly Cascade[]
  }
}

/** @throws AppError 409 when a feature cannot let the field be deleted, or its cells change their meaning, at this time */
export async function requireChangeable(context: Context, tableId: number, fieldId: string): Promise<void> {
  for (const { beforeFieldChange } of context.cascades) await beforeFieldChange?.(context, tableId, fieldId)
}

/** Returns the combined answers of all cascades to `needsOf` or `invalidWith`. */
export async function viewsThat(ask: 'needsOf' | 'invalidWith', context: Context, table: TableDef, field: FieldDef): Promise<FieldNeeds> {
  const needs: FieldNeeds = { needing: [], sorting: [] }
  for (const cascade of context.cascades) {
    const found = await cascade[ask]?.(context, table, field)
    needs.needing.push(...(found?.needing ?? []))
    needs.sorting.push(...(found?.sorting ?? []))
  }
  return needs
}

/** Lets go of the table in views of other tables. @throws AppError 409 naming these views, unless `force` lets them be changed */
export async function releaseTable(context: Context, table: TableDef, force: boolean): Promise<void> {
  for (const { needsOfTable, dropTable } of context.cascades) {
    const { needing = [], sorting = [] } = (await needsOfTable?.(context, table)) ?? {}
    if (!force && needing.length + sorting.length) throw naming([...needing, ...sorting], 'Views need this table', 'change them')
    await dropTable?.(context, table)
  }
}

/** Runs in the transaction that deletes records, before it locks them. */
export async function lockBeforeRecords(context: Context, tableId: number, recordIds: readonly number[]): Promise<void> {
  for (const cascade of context.cascades) await cascade.lockBeforeRecords?.(context, tableId, recordIds)
}

/** Runs in the transaction that deletes the records. The cascades run one after another, because they share its connection. */
export async function recordsDeleted(context: Context, tableId: number, recordIds: readonly number[]): Promise<void> {
  for (const { onRecordsDeleted } of context.cascades) await onRecordsDeleted?.(context, tableId, recordIds)
  await moveRowsAside(context, tableId, recordIds)
}

/** Runs in the transaction that restores the records. */
export async function recordsRestored(context: Context, tableId: number, recordIds: readonly number[]): Promise<void> {
  await putRowsBack(context, tableId, recordIds)
  for (const { onRecordsRestored } of context.cascades) await onRecordsRestored?.(context, tableId, recordIds)
}

/** Runs in the transaction that deletes deleted records for good. */
export async function recordsPurged(context: Context, tableId: number, recordIds: readonly number[]): Promise<void> {
  for (const { onRecordsPurged } of context.cascades) await onRecordsPurged?.(context, tableId, recordIds)
  await forgetRows(context.db, tableId, recordIds)
}

/** Runs in the transaction that removes a deleted table. */
export async function tablePurged(context: Context, tableId: number): Promise<void> {
  for (const { onTablePurged } of context.cascades) await onTablePurged?.(context, tableId)
  await deleteRowsOfTable(context, tableId)
}

/** Returns a 409 that names the views. */
export const neededByViews = (views: readonly NamedView[]) => naming(views, 'Views need this field', 'change them')
/** Returns a 409 that names the views. They stay with force, and then find no record by the option. */
export const filteringByOption = (views: readonly NamedView[]) =>
  naming(views, 'Views filter by a removed option', 'remove it all the same')

const naming = (views: readonly NamedView[], reason: string, effect: string) =>
  conflict(`${reason}: ${views.map(({ name }) => name).join(', ')}; send force: true to ${effect}`, {
    issues: views.map(({ id, name }) => ({ path: ['views', id], message: name })),
  })
