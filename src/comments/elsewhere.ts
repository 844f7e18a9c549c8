/** Comments on records that are on another server, and those who follow them. */
import { type Database, sql } from '../platform/database/database.ts'
import { choose } from '../tables/elsewhere/choice.ts'
import { type Followable, locked } from './subject.ts'

/**
 * Calls `work` with a subject whose `row` names no record on another server: such a record is locked first, in the transaction of `work`.
 * `row` then selects nothing if the record does not exist.
 */
export async function withRowHere<Row extends Followable, T>(db: Database, subject: Row, work: (subject: Row) => Promise<T>): Promise<T> {
  const { record } = subject
  if (!record) return work(subject)
  const lockFirst = async () => {
    const isLive = (await db.records(record.tableId).read(locked(subject))).length > 0
    return work({ ...subject, row: isLive ? record.row : sql`${record.row} where false` })
  }
  return choose(db, record.tableId, { here: () => work(subject), elsewhere: () => db.transaction(lockFirst) })()
}
