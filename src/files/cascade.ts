import { dropFilesOfRecords } from '../platform/stored-files.ts'
import type { Cascade } from '../tables/cascade.ts'

/** With a record go the files of its cells and comments. */
export const fileCascade: Cascade = {
  onRecordsDeleted: ({ db, now }, tableId, recordIds) => dropFilesOfRecords(db, tableId, recordIds, now),
}
