import { dropFilesOfRecords } from '../stored-files.ts'
import type { Dependent } from '../tables/dependents.ts'

/** With a record go the files of its cells and comments. */
export const fileDependent: Dependent = {
  onRecordsDeleted: ({ db, now }, tableId, recordIds) => dropFilesOfRecords(db, tableId, recordIds, now),
}
