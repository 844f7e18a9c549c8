/** A record that is read by the statement that admits its reader: one trip to the database instead of two. */
import type { Callers, Resource } from '../platform/access/authorize.ts'
import { type RecordRow, recordOfTable, recordResource, tableOf } from '../platform/access/resources.ts'
import { sql } from '../platform/database/database.ts'
import { resourceProcedure } from '../platform/http/trpc.ts'
import { guessedDefinition } from '../tables/definitions.ts'
import { type StoredRow, shownAsJson } from './rows.ts'

interface ShownRow extends RecordRow {
  /** Read by a definition that may be out of date: it counts only if the version is the table's. */
  shown?: StoredRow
  shown_version?: number
}

const shownRecordResource: Resource<ShownRow> = {
  ...recordResource,
  select: (ids, db) => {
    const definition = db && guessedDefinition(db, ids.table_id ?? 0)
    if (!definition) return recordResource.select(ids, db)
    return recordOfTable(ids, sql`, ${shownAsJson(definition)} as shown, ${definition.version}::int as shown_version`)
  },
  without: recordResource,
}

/** On the record named `table_id`, `record_id`, which is read at once where that can be told before. */
export const shownRecordProcedure = (allowed: Callers) =>
  resourceProcedure(shownRecordResource, 'read', allowed, {}, (row, actor) => ({
    table: tableOf(row, actor),
    record: { id: row.record_id, version: row.record_version },
    shown: row.shown_version === row.table_version ? row.shown : undefined,
  }))
