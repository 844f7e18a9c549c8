/** Takes records of a change back, in one transaction. */

import type { Cell } from '../../fields/cell.ts'
import { holdsFiles, type TableDef } from '../../fields/definition.ts'
import type { TableRef } from '../../platform/access/resources.ts'
import type { Context } from '../../platform/context.ts'
import { type Database, recordsOf, sql } from '../../platform/database/database.ts'
import { lockFiles } from '../../platform/stored-files/held.ts'
import { withdrawAll } from '../../tables/cells/lossy-change.ts'
import { type LockedRow, lockRows } from '../bulk/update-rows.ts'
import { updateLocked } from '../cells/file-cells.ts'
import { lockDeleted, restoreRecords } from '../deleted/restore.ts'
import { CHANGE_ID, changeIdOf } from '../history/entries.ts'
import { findReferences, type Reference, resolveReference } from '../references.ts'
import { removeAll } from '../service.ts'
import { type ChangeEntry, fieldsSince, isUndone } from './change.ts'
import { cellsByRecord, earlierOf, filesIn, missingReason, type RevertibleCell, revertible, type Skip } from './revertible.ts'
import { unchangedSince } from './unchanged-since.ts'

/** What is taken back. */
export interface TakenBack {
  changeId: number
  /** At most a thousand. */
  entries: readonly ChangeEntry[]
  /** The change of which this is a part, if a job takes the change back. It knows that nobody else does. */
  partOf?: number
}

/** What was set back or deleted, in which change, and what was left. */
export interface Reverted {
  undone: number
  /** Null if nothing was changed. */
  changeId: number | null
  skips: Skip[]
}

const NOTHING: Reverted = { undone: 0, changeId: null, skips: [] }

/**
 * Withdraws the announcements of what fields are about to lose, because earlier cells may have it. To be called before `takeBack`, outside
 * of its transaction.
 * @returns true if the definition is outdated by that
 */
export function withdrawFor(context: Context, definition: TableDef, entries: readonly ChangeEntry[] | 'all'): Promise<boolean> {
  const ids = entries === 'all' ? undefined : new Set(entries.flatMap(({ changes }) => Object.keys(changes ?? {})))
  const fields = definition.fields.filter(({ id }) => !ids || ids.has(id))
  return withdrawAll(context, definition.id, fields)
}

/**
 * Locks the records and takes their change back, as far as they were not changed since.
 * @returns undefined if the table has a newer version than the definition
 */
export function takeBack(context: Context, definition: TableDef, table: TableRef, of: TakenBack): Promise<Reverted | undefined> {
  const { db, transaction } = context
  return transaction(async () => {
    const locked = await lockRows(db, definition, idsOf(of.entries))
    const deletions = of.entries.filter(({ kind }) => kind === 'delete')
    if (deletions.length) await lockDeleted(context, definition, idsOf(deletions), of.changeId)
    // Of two undos at once the one that has locked the records first wins.
    if (of.partOf === undefined && (await isUndone(db, definition, of.changeId))) return NOTHING
    const restored = await bringBack(context, definition, { ...of, entries: deletions })
    if (!restored) return undefined
    const skips: Skip[] = [...restored.skips]
    const present = of.entries.filter(
      ({ record_id, kind }) => kind !== 'delete' && (locked.has(record_id) || !skips.push({ record_id, field: null, reason: 'deleted' })),
    )
    const reverted = await revert(context, definition, table, { ...of, entries: present.filter(({ changes }) => changes) })
    if (!reverted) return undefined
    const removed = await removeCreated(context, definition, table, { ...of, entries: present.filter(({ changes }) => !changes) }, locked)
    skips.push(...reverted.skips, ...removed.skips)
    return {
      undone: restored.undone + reverted.undone + removed.undone,
      changeId: restored.changeId ?? reverted.changeId ?? removed.changeId,
      skips: skips.sort((a, b) => a.record_id - b.record_id),
    }
  })
}

const idsOf = (entries: readonly ChangeEntry[]) => entries.map(({ record_id }) => record_id)

/**
 * Restores records that the change has deleted, unless they were restored or purged since.
 * @returns undefined if the table has a newer version than the definition
 */
async function bringBack(context: Context, definition: TableDef, { changeId, entries, partOf }: TakenBack): Promise<Reverted | undefined> {
  if (!entries.length) return NOTHING
  const done = await restoreRecords(context, definition, idsOf(entries), { undoes: changeId, partOf })
  if (!done) return undefined
  const { restored } = done
  const back = new Set(restored.map(({ id }) => id))
  const left = idsOf(entries).filter((id) => !back.has(id))
  const present = await presentAmong(context.db, definition, left)
  const skips: Skip[] = [
    ...restored.flatMap(({ id, lost }) => lost.map((each) => ({ record_id: id, ...each }))),
    ...left.map((id) => ({ record_id: id, field: null, reason: present.has(id) ? ('changed since' as const) : ('deleted' as const) })),
  ]
  return { undone: restored.length, changeId: done.changeId, skips }
}

/** Those of the records that are there, also if they have come back only now. */
async function presentAmong(db: Database, { id }: TableDef, recordIds: readonly number[]): Promise<ReadonlySet<number>> {
  if (!recordIds.length) return new Set()
  const statement = sql`select r.id from ${recordsOf(id)} r where r.id = any(${recordIds}::int[])`
  return new Set((await db.records(id).read<{ id: number }>(statement)).map((row) => row.id))
}

/** Sets cells back. @returns undefined if the table has a newer version than the definition */
async function revert(
  context: Context,
  definition: TableDef,
  { role }: TableRef,
  { changeId, entries, partOf }: TakenBack,
): Promise<Reverted | undefined> {
  const { cells, skips } = revertible(definition, role, entries, await fieldsSince(context.db, definition, changeId))
  const same = new Set(await unchangedSince(context.db, definition, cells))
  const earlier = await earlierCells(context, definition, [...same])
  for (const cell of cells) if (!same.has(cell)) skips.push({ record_id: cell.recordId, field: cell.fieldId, reason: 'changed since' })
  skips.push(...earlier.skips)
  const updates = [...cellsByRecord(earlier.cells)].map(([id, cells]) => ({ id, cells }))
  if (!updates.length) return { undone: 0, changeId: null, skips }
  const rows = await updateLocked(context, definition, updates, { kind: 'undo', undoes: changeId, partOf })
  return rows && { undone: rows.filter((row) => row[CHANGE_ID]).length, changeId: changeIdOf(rows), skips }
}

/** The values before the change, as cells that can be stored now. */
async function earlierCells(context: Context, definition: TableDef, cells: readonly RevertibleCell[]) {
  const { db, actor } = context
  const found: { recordId: number; fieldId: string; cell: Cell }[] = []
  const skips: Skip[] = []
  const references: (RevertibleCell & { parsed: Reference })[] = []
  for (const cell of cells) {
    const { recordId, fieldId, field, change } = cell
    const earlier = earlierOf(field, change)
    if ('cell' in earlier) found.push({ recordId, fieldId, cell: earlier.cell })
    else if ('reference' in earlier) references.push({ ...cell, parsed: earlier.reference })
    else skips.push({ record_id: recordId, field: fieldId, reason: earlier.reason })
  }
  // All files are locked at once, those that the records lose as well. Nobody deletes a locked file for good.
  const files = cells.filter(({ field }) => holdsFiles(field)).flatMap(({ change }) => [...filesIn(change.from), ...filesIn(change.to)])
  await lockFiles(db, [...new Set(files.map(({ path }) => path))])
  const targets = await findReferences(db, definition, actor, references)
  for (const { recordId, fieldId, field, parsed } of references) {
    const resolved = resolveReference(field, parsed, targets)
    if ('cell' in resolved) found.push({ recordId, fieldId, cell: resolved.cell })
    else skips.push({ record_id: recordId, field: fieldId, reason: missingReason(parsed) })
  }
  return { cells: found, skips }
}

/** Deletes records that the change has created, unless they were changed since. */
async function removeCreated(
  context: Context,
  definition: TableDef,
  table: TableRef,
  { changeId, entries, partOf }: TakenBack,
  locked: ReadonlyMap<number, LockedRow>,
): Promise<Reverted> {
  const [same, changed] = [
    entries.filter(({ record_id, version }) => locked.get(record_id)?.version === version),
    entries.filter(({ record_id, version }) => locked.get(record_id)?.version !== version),
  ]
  const skips = changed.map(({ record_id }): Skip => ({ record_id, field: null, reason: 'changed since' }))
  if (!same.length) return { undone: 0, changeId: null, skips }
  const ids = same.map(({ record_id }) => record_id)
  const { deleted, change_id } = await removeAll(context, { ...table, version: definition.version }, ids, {
    kind: 'delete',
    undoes: changeId,
    partOf,
  })
  return { undone: deleted, changeId: change_id, skips }
}
