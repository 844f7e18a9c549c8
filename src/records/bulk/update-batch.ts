/** Updates up to 1,000 records, all of them or none (contract.md §10). */

import type { TableDef } from '../../fields/definition.ts'
import type { TableRef } from '../../platform/access/resources.ts'
import type { Context } from '../../platform/context.ts'
import { badInputs, conflict, type Issue, notFoundAt } from '../../platform/errors.ts'
import { withdrawForCells } from '../../tables/cells/lossy-change.ts'
import { STALE, writeWithDefinition } from '../../tables/with-definition.ts'
import { updateLocked } from '../cells/file-cells.ts'
import { type Cells, doublesIn, type RecordDraft, readDrafts } from '../drafts.ts'
import { changeIdOf } from '../history/entries.ts'
import { readRows, recordOf } from '../rows.ts'
import type { ChangedList, DataRecord, RecordUpdates } from '../schema.ts'
import { type LockedRow, lockRows } from './update-rows.ts'

/** The most records that a refusal shows. */
const MOST_SHOWN = 100

type Update = RecordUpdates['records'][number]

/**
 * Updates the records and returns them in the order of the request.
 * @throws AppError 400 naming each invalid cell, and each id that comes twice; 403 for a field that only admins may write; 404 naming each
 * record that does not exist; 409 with the present records if some have another version than the request
 */
export async function updateBatch(context: Context, table: TableRef, { records }: RecordUpdates): Promise<ChangedList<DataRecord>> {
  requireDistinct(records)
  const drafts = records.map(({ data }, index): RecordDraft => ({ data, path: ['records', index, 'data'] }))
  return writeWithDefinition<ChangedList<DataRecord>>(context, table, async (definition) => {
    const cells = await readDrafts(context, definition, { role: table.role, isNew: false }, drafts)
    if (await withdrawForCells(context, definition, cells)) return STALE
    const updated = await context.transaction(() => updateAll(context, definition, records, cells))
    return updated ? { rows: updated.map((row) => recordOf(definition, row)), change_id: changeIdOf(updated) } : STALE
  })
}

async function updateAll(context: Context, definition: TableDef, records: readonly Update[], cells: readonly Cells[]) {
  const ids = records.map(({ id }) => id)
  const locked = await lockRows(context.db, definition, ids)
  requireAll(records, locked)
  await requireVersions(context, definition, records, locked)
  const updates = records.map(({ id, data }, index) => ({ id, cells: cells[index] ?? new Map(), doubles: doublesIn(data) }))
  return updateLocked(context, definition, updates)
}

function requireDistinct(records: readonly Update[]): void {
  const first = new Map<number, number>()
  const issues: Issue[] = []
  for (const [index, { id }] of records.entries()) {
    const earlier = first.get(id)
    if (earlier === undefined) first.set(id, index)
    else issues.push({ path: ['records', index, 'id'], message: `is the id of records[${earlier}], too` })
  }
  if (issues.length) throw badInputs(issues)
}

function requireAll(records: readonly Update[], locked: ReadonlyMap<number, LockedRow>): void {
  const missing = records.flatMap(({ id }, index) => (locked.has(id) ? [] : [['records', index, 'id']]))
  if (missing.length) throw notFoundAt('Record', missing.slice(0, MOST_SHOWN))
}

async function requireVersions(
  { db }: Context,
  definition: TableDef,
  records: readonly Update[],
  locked: ReadonlyMap<number, LockedRow>,
): Promise<void> {
  const outdated = records.filter(({ id, version }) => typeof version === 'number' && version !== locked.get(id)?.version)
  if (!outdated.length) return
  const ids = outdated.slice(0, MOST_SHOWN).map(({ id }) => id)
  const present = new Map((await readRows(db, definition, ids)).map((row) => [row.id, row]))
  const stale = ids.flatMap((id) => {
    const row = present.get(id)
    return row ? { id, version: row.version, current: recordOf(definition, row) } : []
  })
  throw conflict('Records have changed since', { stale })
}
