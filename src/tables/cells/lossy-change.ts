/**
 * Removes digits or options from a field of a large table, provided that no cell has them. The field announces what it is about to lose
 * while all cells are checked in short statements. A writer of such a cell withdraws the announcement first, and the change is then
 * refused. An announcement that an aborted request has left does no harm: the next such cell or the next change removes it.
 */

import { type FieldDef, isSelect, type TableDef } from '../../fields/definition.ts'
import type { TableRef } from '../../platform/access/resources.ts'
import type { Context } from '../../platform/context.ts'
import { recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import { isOutdated } from '../../platform/database/outdated-definition.ts'
import { type AppError, conflict } from '../../platform/errors.ts'
import { changeTable } from '../alter-table.ts'
import { requireChangeable } from '../cascade.ts'
import { holdWriters } from '../ddl.ts'
import { tableDefinition } from '../definition-cache.ts'
import { isChangedInSteps } from '../indexing.ts'
import { type CellChange, lastId, needsForce } from './rewrite-cells.ts'

/** An announcement that all cells have been checked against. */
export interface Announced {
  since: number
  change: CellChange
}

/**
 * Announces what a field of a large table is about to lose, and checks all cells. It runs before the transaction that changes the field.
 * @param changeOf returns the change of the cells that the table's present definition needs; undefined when no cell would lose anything
 * @returns undefined when no cell needs a check, or when the table is small enough to be checked in that transaction
 * @throws AppError 409 when a cell would lose something, and while the field is converted; 503 when the caller hangs up
 */
export async function announce(
  context: Context,
  table: TableRef,
  changeOf: (table: TableDef) => CellChange | undefined,
): Promise<Announced | undefined> {
  if (!changeOf(await tableDefinition(context.db, table)) || !(await isChangedInSteps(context.db, table.id))) return undefined
  const announced = await changeTable(context, table, async (definition) => {
    const change = changeOf(definition)
    if (!change) return undefined
    const { id } = change.field
    await requireChangeable(context, table.id, id)
    // Writers that use an older definition finish first, so that the check finds their cells.
    await holdWriters(context.db, table.id)
    const announcement = JSON.stringify({ ...change.loss, since: definition.version })
    await context.db.write(sql`update fields set narrowing = ${announcement}::jsonb where table_id = ${table.id} and id = ${id}`)
    return { since: definition.version, change }
  })
  if (!announced || !(await hasRecord(context, table.id, announced.change.where).catch(asFieldChange))) return announced
  await changeTable(context, table, () => withdraw(context, table.id, [announced.change.field.id]))
  throw needsForce(announced.change)
}

/** The number of ids in the first statement, which usually finds such a cell, and in each later one, which takes up to a second. */
const FIRST_STEP = 20_000
const STEP = 1_000_000

async function hasRecord(context: Context, tableId: number, where: Sql): Promise<boolean> {
  const last = await lastId(context.db, tableId)
  for (let from = 0, to = FIRST_STEP; from < last; from = to, to += STEP) {
    // A count runs with parallel workers. For `limit 1` Postgres would expect an early match and not use them.
    const [found] = await context.db
      .records(tableId)
      .read<{ n: number }>(
        sql`select count(*) as n from ${recordsOf(tableId)} where id > ${from} and id <= ${Math.min(to, last)} and ${where}`,
        { signal: context.signal },
      )
    if (found?.n) return true
  }
  return false
}

/**
 * Checks that the announcement still stands, in the transaction that changes the field.
 * @param change the change of the cells that the field needs now
 * @throws AppError 409 when a cell would lose something, or the field was changed
 */
export function requireUnused(field: FieldDef, change: CellChange, { since, change: announced }: Announced): void {
  if (!field.narrowing) throw needsForce(change)
  if (field.narrowing.since !== since || JSON.stringify(change.loss) !== JSON.stringify(announced.loss)) throw justChanged()
}

/** Turns the error of a statement whose column was dropped or converted into a 409. */
function asFieldChange(error: unknown): never {
  throw isOutdated(error) ? justChanged() : error
}

const justChanged = (): AppError => conflict('The field has just been changed')

/**
 * Withdraws the announcements of fields that would lose one of the cells. To be called before the cells are written.
 * @param records cells by the ids of fields, as they are stored
 * @returns true if an announcement was withdrawn, which makes the definition outdated
 */
export async function withdrawForCells(
  context: Context,
  table: TableDef,
  records: readonly ReadonlyMap<string, unknown>[],
): Promise<boolean> {
  const used = table.fields.filter((field) => field.narrowing && records.some((cells) => wouldLose(field, cells.get(field.id))))
  return withdrawAll(context, table.id, used)
}

/** Withdraws the announcements of the fields, for callers that no longer have the cells that they write. */
export async function withdrawAll(context: Context, tableId: number, fields: readonly FieldDef[]): Promise<boolean> {
  const ids = fields.flatMap(({ id, narrowing }) => (narrowing ? id : []))
  if (ids.length) await changeTable(context, { id: tableId }, () => withdraw(context, tableId, ids))
  return ids.length > 0
}

/** @param cell a number as plain decimal text without trailing zeros, or the id or ids of options */
function wouldLose({ type, narrowing }: FieldDef, cell: unknown): boolean {
  if (!narrowing || cell === null || cell === undefined) return false
  if ('decimals' in narrowing) return (String(cell).split('.')[1] ?? '').length > narrowing.decimals
  return isSelect(type) && [cell].flat().some((id) => narrowing.options.includes(id as number))
}

async function withdraw({ db }: Context, tableId: number, fieldIds: readonly string[]): Promise<void> {
  await db.write(sql`update fields set narrowing = null where table_id = ${tableId} and id = any(${fieldIds}::text[])`)
}
