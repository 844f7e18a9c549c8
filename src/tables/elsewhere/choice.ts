/**
 * Chooses between the two ways of a statement that names records and system tables: one statement where both are on the main server, two where
 * the records are on another (docs/decisions/0030-two-planes.md). Nothing outside of this room asks where records are. Both ways give the same
 * answer wherever they are, because the choice may be out of date while a space moves.
 */
import type { Database } from '../../platform/database/database.ts'

/** Returns the way for records on the main server, or the one for records on another. */
export const choose = <Way>(db: Database, tableId: number, { here, elsewhere }: { here: Way; elsewhere: Way }): Way =>
  db.isElsewhere(tableId) ? elsewhere : here

/**
 * Groups tables by what one statement can read: up to `most` of those on the main server, and each of the others by itself. A group is for the
 * `db.records` of its first table.
 */
export function readTogether(db: Database, tableIds: readonly number[], most: number): number[][] {
  const groups: number[][] = tableIds.filter((id) => db.isElsewhere(id)).map((id) => [id])
  const here = tableIds.filter((id) => !db.isElsewhere(id))
  for (let from = 0; from < here.length; from += most) groups.push(here.slice(from, from + most))
  return groups
}

/** False where the records are elsewhere: triggers there cannot write on the main server, and Citus refuses them. */
export const mayHaveTriggers = (db: Database, tableId: number): boolean => !db.isElsewhere(tableId)
