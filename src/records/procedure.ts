/** Reads a record in the statement that authorises the request: one round trip to the database instead of two. */

import type { TableDef } from '../fields/definition.ts'
import type { TextKey } from '../platform/access/access-statement.ts'
import { type Callers, callers, type Resource } from '../platform/access/authorize.ts'
import {
  type RecordRow,
  recordAlone,
  recordOfTable,
  recordResource,
  recordRest,
  roleOf,
  tableOf,
  tableResource,
  withRule,
} from '../platform/access/resources.ts'
import { sql } from '../platform/database/database.ts'
import { isOutdated } from '../platform/database/outdated-definition.ts'
import { constant } from '../platform/database/prepare.ts'
import { resourceProcedure } from '../platform/http/procedures/trpc.ts'
import { guessedDefinition } from '../tables/definition-cache.ts'
import { definitionHere } from '../tables/elsewhere/definition-here.ts'
import { readRow, selectedColumns } from './rows.ts'
import type { StoredRow } from './stored-row.ts'

interface ShownRow extends RecordRow {
  record_version: number
  /** The record, read by a definition that may be outdated. It is used only if `shown_version` is the table's version. */
  shown?: StoredRow
  shown_version?: number
}

const shownRecordResource: Resource<ShownRow> = {
  ...recordResource,
  textOf: (ids, db) => definitionHere(db, ids.table_id ?? 0) ?? recordResource.textOf?.(ids, db) ?? null,
  select: (ids, of) => (isDefinition(of) ? recordOfTable(of.id, ids, shownColumns(of)) : recordResource.select(ids, of)),
  readUnread: async (row, db) => {
    const definition = guessedDefinition(db, row.table_id)
    const shown = definition?.version === row.table_version ? await readRow(db, definition, row.record_id).catch(ifOutdated) : undefined
    if (!shown) return recordResource.readUnread?.(row, db) ?? row
    return { ...row, record_version: shown.version, shown, shown_version: row.table_version }
  },
  selectRest: (ids, of) => (isDefinition(of) ? recordAlone(of.id, ids, shownColumns(of)) : recordRest(ids, of)),
  fallback: recordResource,
}

/** The record is one value, because its fields may have the names of other columns. */
const shownColumns = (definition: TableDef) => sql`, ${constant(definition.version)} as shown_version,
  (select row_to_json(shown.*) from (select ${selectedColumns(definition)}) shown) as shown`

/** Without a definition, only the id and the version of the record are read. */
const isDefinition = (of: TextKey): of is TableDef => typeof of === 'object' && of !== null

/** A row that cannot be read, because the table has just been changed, is read again by its new definition. */
function ifOutdated(error: unknown): undefined {
  if (!isOutdated(error)) throw error
}

/** For procedures on the record `record_id` of `table_id`; `shown` is what was read of it, if this process knows the table's definition. */
export const shownRecordProcedure = (allowed: Callers) =>
  resourceProcedure(shownRecordResource, 'read', allowed, {}, (row, actor) => ({
    table: tableOf(row, actor),
    record: { id: row.record_id, version: row.record_version },
    shown: row.shown_version === row.table_version ? row.shown : undefined,
  }))

/** For lists of what was deleted, which only who may delete and restore sees, with a read-only key as well. */
export const deletedProcedure = resourceProcedure(
  withRule(tableResource, ({ member_role }, actor) => roleOf(actor, member_role) !== 'viewer'),
  'read',
  callers.any,
  {},
  (row, actor) => ({ table: tableOf(row, actor) }),
)

/** A record that is deleted, or one that is not: then it is read as if it was on another server, after the statement. */
const restorableResource: Resource<RecordRow> = {
  ids: recordResource.ids,
  select: (ids) => sql`
    select f.*, ${ids.record_id ?? null}::int as record_id, d.version as record_version, d.record_id is null as is_elsewhere
    from (${tableResource.select(ids, null)}) f
      left join deleted_records d on d.table_id = f.table_id and d.record_id = ${ids.record_id ?? null}::int`,
  readUnread: async (row, db) => recordResource.readUnread?.(row, db) ?? row,
  check: recordResource.check,
}

/** For procedures on a deleted record. */
export const restorableProcedure = resourceProcedure(restorableResource, 'write', callers.any, {}, (row, actor) => ({
  table: tableOf(row, actor),
}))
