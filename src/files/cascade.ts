import { dropFilesOfRecords } from '../platform/stored-files.ts'
import type { Cascade } from '../tables/cascade.ts'

/** When a record is deleted, the files of its cells and comments are dropped. */
export const fileCascade: Cascade = {
  onRecordsDeleted: ({ db, now }, tableId, recordIds) => dropFilesOfRecords(db, tableId, recordIds, now),
}
