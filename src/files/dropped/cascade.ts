import { holdsFiles } from '../../fields/definition.ts'
import { dropFilesOfTable, lockHeldOfRecords } from '../../platform/stored-files/held.ts'
import type { Cascade } from '../../tables/cascade.ts'
import { release } from '../../tables/file-references.ts'
import { dropUnused } from './deleted-field.ts'

/** Drops the files of deleted records and fields. */
export const fileCascade: Cascade = {
  async onRecordsDeleted(context, tableId, recordIds) {
    if (recordIds === null) return dropFilesOfTable(context.db, tableId, context.now)
    await release(context, await lockHeldOfRecords(context.db, tableId, recordIds))
  },

  async dropField({ jobs }, table, field) {
    if (holdsFiles(field)) await jobs.send(dropUnused, { table_id: table.id, field_id: field.id })
  },
}
