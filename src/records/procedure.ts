/** Reads a record in the statement that authorises the request: one round trip to the database instead of two. */
import type { Callers, Resource } from '../platform/access/authorize.ts'
import { type RecordRow, recordOfTable, recordResource, tableOf } from '../platform/access/resources.ts'
import { sql } from '../platform/database/database.ts'
import { resourceProcedure } from '../platform/http/trpc.ts'
import { guessedDefinition } from '../tables/definition-cache.ts'
import { type StoredRow, shownAsJson } from './rows.ts'

interface ShownRow extends RecordRow {
  /** The row, read by a definition that may be outdated. It is used only if `shown_version` is the table's version. */
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
  composedFor: (ids, db) => guessedDefinition(db, ids.table_id ?? 0),
  idsInText: ['table_id'],
  without: recordResource,
}

/** For procedures on the record `record_id` of `table_id`; `shown` is its row if this process knows the table's definition. */
export const shownRecordProcedure = (allowed: Callers) =>
  resourceProcedure(shownRecordResource, 'read', allowed, {}, (row, actor) => ({
    table: tableOf(row, actor),
    record: { id: row.record_id, version: row.record_version },
    shown: row.shown_version === row.table_version ? row.shown : undefined,
  }))
