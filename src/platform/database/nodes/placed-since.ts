/** Recognises statements that fail because the records were placed on a node after they had been written. */
import pg from 'pg'
import type { Database } from '../database.ts'
import { causeOf } from '../outdated-definition.ts'

/**
 * Notes where the records are, before a statement on them is written. Citus refuses some statements that were written for records on the
 * main server.
 * @returns a function that tells of an error of the statement whether the records were placed on a node since. After an error that is not
 *   the server's answer nothing is asked: the caller is at fault, or a write may have been committed before its connection was lost
 */
export function notePlacement(db: Database, tableId: number): (thrown: unknown) => Promise<boolean> {
  const wasElsewhere = db.isElsewhere(tableId)
  return async (thrown) => {
    const error = causeOf(thrown)
    if (!db.hasNodes || !(error instanceof pg.DatabaseError) || error.severity !== 'ERROR') return false
    await db.refreshPlacement()
    return db.isElsewhere(tableId) !== wasElsewhere
  }
}
