import { holdsFiles } from '../../fields/definition.ts'
import { expireFiles, expireFilesOfTable, lockHeldOfRecords, reassignFiles } from '../../platform/stored-files/held.ts'
import type { Cascade } from '../../tables/cascade.ts'
import { holdersOf } from '../../tables/file-references.ts'
import { dropUnused } from './deleted-field.ts'

/** Files stay stored while their deleted record can be restored, and are dropped with it and with their field. */
export const fileCascade: Cascade = {
  async onRecordsDeleted({ db }, tableId, recordIds) {
    // A file that others use as well is read through one of them. It takes a scan of the table to find them.
    const files = (await lockHeldOfRecords(db, tableId, recordIds)).filter(({ is_shared }) => is_shared !== false)
    await reassignFiles(db, await holdersOf(db, files, { from: { tableId, recordIds }, isLive: true }))
  },

  async onRecordsPurged({ db, now }, tableId, recordIds) {
    const files = await lockHeldOfRecords(db, tableId, recordIds)
    const shared = files.filter(({ is_shared }) => is_shared !== false)
    const used = await holdersOf(db, shared, { from: { tableId, recordIds } })
    await reassignFiles(db, used)
    await expireFiles(
      db,
      files.flatMap(({ path }) => (used.has(path) ? [] : path)),
      now,
    )
  },

  onTablePurged: ({ db, now }, tableId) => expireFilesOfTable(db, tableId, now),

  async dropField({ jobs }, table, field) {
    if (holdsFiles(field)) await jobs.send(dropUnused, { table_id: table.id, field_id: field.id })
  },
}
