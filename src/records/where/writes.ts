/** What is done to records that match and are locked: the same for a request and for each batch of a job. */
import type { TableDef } from '../../fields/definition.ts'
import type { TableRef } from '../../platform/access/resources.ts'
import type { Context } from '../../platform/context.ts'
import { withdrawForCells } from '../../tables/cells/lossy-change.ts'
import { STALE } from '../../tables/with-definition.ts'
import type { LockedRow } from '../bulk/update-rows.ts'
import { updateLocked } from '../cells/file-cells.ts'
import { doublesIn, readDrafts } from '../drafts.ts'
import { changeIdOf } from '../history/entries.ts'
import { removeAll } from '../service.ts'

/** What was done to records. */
export interface Written {
  /** How many of them became different. */
  changed: number
  /** Null if none did. */
  changeId: number | null
}

/**
 * Changes locked records.
 * @param partOf the change that the records belong to, of a job; by default they are one of their own
 * @returns undefined if the definition is outdated
 */
export type Write = (records: readonly LockedRow[], partOf?: number) => Promise<Written | undefined>

/**
 * Checks values for all records once.
 * @param isDryRun true if they are not written
 * @returns what writes them; STALE if the definition has just become outdated
 * @throws AppError 400 naming each invalid value; 403 for a field that only admins may write
 */
export async function writeValues(
  context: Context,
  definition: TableDef,
  { role }: TableRef,
  data: Record<string, unknown>,
  { isDryRun = false }: { isDryRun?: boolean } = {},
): Promise<Write | typeof STALE> {
  const [cells = new Map()] = await readDrafts(context, definition, { role, isNew: false }, [{ data, path: ['data'] }])
  if (!isDryRun && (await withdrawForCells(context, definition, [cells]))) return STALE
  const doubles = doublesIn(data)
  return async (records, partOf) => {
    const updates = records.map(({ id }) => ({ id, cells, doubles }))
    const rows = await updateLocked(context, definition, updates, { kind: 'update', partOf })
    if (!rows) return undefined
    const changed = rows.filter(({ version }, index) => version !== records[index]?.version).length
    return { changed, changeId: changeIdOf(rows) }
  }
}

/** @returns what deletes records with their tasks, comments and files */
export const deleteRecords =
  (context: Context, definition: TableDef): Write =>
  async (records, partOf) => {
    const ids = records.map(({ id }) => id)
    const { deleted, change_id } = await removeAll(context, definition, ids, { kind: 'delete', partOf })
    return { changed: deleted, changeId: change_id }
  }
