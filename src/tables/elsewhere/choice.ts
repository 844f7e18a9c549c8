/**
 * Chooses between the two ways of a statement that names records and system tables: one statement where both are on the main server, two
 * where the records are on another (docs/decisions/0030-two-planes.md). Nothing outside of this room asks where records are. Both ways
 * give the same answer wherever they are, because the choice may be out of date while a space moves.
 */
import type { Database } from '../../platform/database/database.ts'

/** Returns the way for records on the main server, or the one for records on another. */
export const choose = <Way>(db: Database, tableId: number, { here, elsewhere }: { here: Way; elsewhere: Way }): Way =>
  db.isElsewhere(tableId) ? elsewhere : here
