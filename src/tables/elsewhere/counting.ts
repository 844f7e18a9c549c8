/** How records are counted, which depends on the server that has them. */
import type { Database } from '../../platform/database/database.ts'

/**
 * Groups tables by what one statement can read: up to `most` of those on the main server, and each of the others by itself. A group is
 * for the `db.records` of its first table.
 */
export function readTogether(db: Database, tableIds: readonly number[], most: number): number[][] {
  const groups: number[][] = tableIds.filter((id) => db.isElsewhere(id)).map((id) => [id])
  const here = tableIds.filter((id) => !db.isElsewhere(id))
  for (let from = 0; from < here.length; from += most) groups.push(here.slice(from, from + most))
  return groups
}

/** False where the records are elsewhere: triggers there cannot write on the main server, and Citus refuses them. */
export const mayHaveTriggers = (db: Database, tableId: number): boolean => !db.isElsewhere(tableId)

/** False in a transaction where records are elsewhere: the main server does not know their size, and Citus does not tell it after DDL. */
export const isSizeKnown = (db: Database, tableId: number): boolean => !(db.isElsewhere(tableId) && db.inTransaction())
