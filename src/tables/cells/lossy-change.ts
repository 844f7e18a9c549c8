/**
 * A field of a large table loses digits or options, provided that no cell has them. While all cells are looked at, in short statements
 * that nobody waits for, the field says what it is about to lose. Whoever writes such a cell meanwhile takes that back first, and the
 * change is refused. What a request that broke off has left there harms nobody: the next such cell, or the next change, takes it away.
 */

import { type FieldDef, isSelect, type TableDef } from '../../fields/definition.ts'
import type { TableRef } from '../../platform/access/resources.ts'
import type { Context } from '../../platform/context.ts'
import { recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import { type AppError, conflict } from '../../platform/http/errors.ts'
import { changeTable } from '../alter-table.ts'
import { requireChangeable } from '../cascade.ts'
import { holdWriters } from '../ddl.ts'
import { isOutdated, tableDefinition } from '../definitions.ts'
import { isWorthIndexing } from '../indexing.ts'
import { type CellChange, inNeedOfForce, lastId } from './rewrite-cells.ts'

/** What was said, and found true of all cells. */
export interface Announced {
  since: number
  change: CellChange
}

/**
 * Before the transaction that changes the field: says what it is about to lose, and looks at all cells of a large table.
 * @param changeOf what becomes of the cells of the field as it stands; undefined when none would lose anything
 * @returns undefined when there is nothing to look at, or so little that it can be done in that transaction
 * @throws AppError 409 when a cell would lose something, and while the field is converted; 503 when the caller hangs up
 */
export async function announce(
  context: Context,
  table: TableRef,
  changeOf: (table: TableDef) => CellChange | undefined,
): Promise<Announced | undefined> {
  if (!changeOf(await tableDefinition(context.db, table)) || !(await isWorthIndexing(context.db, table.id))) return undefined
  const announced = await changeTable(context, table, async (definition) => {
    const change = changeOf(definition)
    if (!change) return undefined
    const { id } = change.field
    await requireChangeable(context, table.id, id)
    // Who writes by an older definition is done first: the look finds their cells.
    await holdWriters(context.db, table.id)
    const said = JSON.stringify({ ...change.loss, since: definition.version })
    await context.db.execute(sql`update fields set narrowing = ${said}::jsonb where table_id = ${table.id} and id = ${id}`)
    return { since: definition.version, change }
  })
  if (!announced || !(await hasRecord(context, table.id, announced.change.where).catch(asChange))) return announced
  await changeTable(context, table, () => takeBack(context, table.id, [announced.change.field.id]))
  throw inNeedOfForce(announced.change)
}

/** Ids in the first statement, which finds most of what there is to find, and in the others: a second or less, so that Postgres lets workers in. */
const FIRST_STEP = 20_000
const STEP = 1_000_000

async function hasRecord(context: Context, tableId: number, where: Sql): Promise<boolean> {
  const last = await lastId(context.db, tableId)
  for (let from = 0, to = FIRST_STEP; from < last; from = to, to += STEP) {
    // Counted, and not ended at the first one, for which Postgres would hope without workers.
    const [found] = await context.db.query<{ n: number }>(
      sql`select count(*) as n from ${recordsOf(tableId)} where id > ${from} and id <= ${Math.min(to, last)} and ${where}`,
      undefined,
      context.signal,
    )
    if (found?.n) return true
  }
  return false
}

/**
 * In that transaction: whether it still holds that no cell would lose anything.
 * @param change what becomes of the cells of the field as it stands by now
 * @throws AppError 409
 */
export function requireUnused(field: FieldDef, change: CellChange, { since, change: announced }: Announced): void {
  if (!field.narrowing) throw inNeedOfForce(change)
  if (field.narrowing.since !== since || JSON.stringify(change.loss) !== JSON.stringify(announced.loss)) throw justChanged()
}

/** The column may be gone, or of another type, when it is looked at. */
function asChange(error: unknown): never {
  throw isOutdated(error) ? justChanged() : error
}

const justChanged = (): AppError => conflict('The field has just been changed')

/**
 * Before cells are written: takes back what fields are about to lose, if one of these cells has it.
 * @param records cells by the ids of fields, as they are stored
 * @returns whether anything was taken back; the definition is stale then
 */
export async function keepWhatIsWritten(
  context: Context,
  table: TableDef,
  records: readonly ReadonlyMap<string, unknown>[],
): Promise<boolean> {
  const used = table.fields.filter((field) => field.narrowing && records.some((cells) => wouldLose(field, cells.get(field.id))))
  return keepAll(context, table.id, used)
}

/** The same for cells that are no longer at hand: takes back whatever the fields are about to lose. */
export async function keepAll(context: Context, tableId: number, fields: readonly FieldDef[]): Promise<boolean> {
  const ids = fields.flatMap(({ id, narrowing }) => (narrowing ? id : []))
  if (ids.length) await changeTable(context, { id: tableId }, () => takeBack(context, tableId, ids))
  return ids.length > 0
}

/** @param cell a number as plain decimal text without needless zeros, or the id or ids of options */
function wouldLose({ type, narrowing }: FieldDef, cell: unknown): boolean {
  if (!narrowing || cell === null || cell === undefined) return false
  if ('decimals' in narrowing) return (String(cell).split('.')[1] ?? '').length > narrowing.decimals
  return isSelect(type) && [cell].flat().some((id) => narrowing.options.includes(id as number))
}

async function takeBack({ db }: Context, tableId: number, fieldIds: readonly string[]): Promise<void> {
  await db.execute(sql`update fields set narrowing = null where table_id = ${tableId} and id = any(${fieldIds}::text[])`)
}
