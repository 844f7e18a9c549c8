/** Single records and batches: reading, creating, updating and deleting them. */
import { audit } from '../audit/log.ts'
import { ownFields, type TableDef, titleField } from '../fields/definition.ts'
import type { RecordRef, TableRef } from '../platform/access/resources.ts'
import { type Answer, type IfMatch, isStale } from '../platform/answer.ts'
import type { Context } from '../platform/context.ts'
import { recordsOf, sql } from '../platform/database/database.ts'
import { PrintedCell, PrintedRows } from '../platform/database/printed-rows.ts'
import { notFound, stale } from '../platform/http/errors.ts'
import type { List, WrittenJson, WrittenList } from '../platform/http/written-json.ts'
import { holdFiles } from '../platform/stored-files/held.ts'
import { recordsDeleted } from '../tables/cascade.ts'
import { withdrawForCells } from '../tables/cells/lossy-change.ts'
import { guessedDefinition } from '../tables/definition-cache.ts'
import { enqueueIndexingAfterGrowth, FEW_RECORDS } from '../tables/indexing.ts'
import { readWithDefinition, STALE, withDefinition } from '../tables/with-definition.ts'
import { pathsIn, updateCells } from './cells/file-cells.ts'
import { valuesOf } from './cells/present.ts'
import { type Cells, type RecordDraft, readDrafts } from './drafts.ts'
import type { StoredRow } from './placed-rows.ts'
import { changeBy, type InsertedRows, insertRow, insertRows, readRow } from './rows.ts'
import type { DataRecord, NewRecord, RecordBatch, RecordUpdate } from './schema.ts'
import type { UpdatedRow } from './update-row.ts'
import { writeRecord, writeRecords } from './write-record.ts'

/** A record, or its finished JSON. */
type AnyRecord = DataRecord | WrittenJson<DataRecord>
type AnyAnswer = Answer<AnyRecord>

/**
 * @param shown what the statement that authorised the request has read of it (procedure.ts)
 * @throws AppError 404 if the record has just been deleted
 */
export async function get(context: Context, table: TableRef, record: RecordRef, shown?: PrintedCell | StoredRow): Promise<AnyAnswer> {
  const known = shown instanceof PrintedCell ? guessedDefinition(context.db, table.id) : undefined
  // Most records are read by the latest definition, and then nothing has to be waited for.
  if (known?.version === table.version && !known.isConverting)
    return { value: writeRecord(known, shown as PrintedCell), version: record.version }
  return readWithDefinition<AnyAnswer>(context, table, async (definition) => {
    const read = definition.version === table.version ? shown : undefined
    if (read instanceof PrintedCell) return { value: writeRecord(definition, read), version: record.version }
    const row = read ?? (await readRow(context.db, definition, record.id))
    if (!row) throw notFound('Record')
    return answerOf(definition, row)
  })
}

/**
 * Creates a record, in one statement unless it refers to files.
 * @throws AppError 400 naming each invalid cell; 403 for a field that only admins may write
 */
export async function create(context: Context, table: TableRef, { data }: NewRecord): Promise<AnyAnswer> {
  const { db } = context
  const value = await withDefinition<AnyRecord>(context, table, async (definition) => {
    const [cells = new Map()] = await readDrafts(context, definition, { role: table.role, isNew: true }, [{ data, path: ['data'] }])
    if (pathsIn(definition, cells).length || db.isElsewhere(table.id)) {
      return insertedRecord(definition, await insertCells(context, definition, [cells]))
    }
    if (await withdrawForCells(context, definition, [cells])) return STALE
    const row = await insertRow(db, definition, cells, changeBy(context))
    return row ? writeRecord(definition, row) : STALE
  })
  return { value, version: 1 }
}

/** Returns the first inserted record, or STALE if the definition of the table is outdated. */
function insertedRecord(table: TableDef, rows: InsertedRows): AnyRecord | typeof STALE {
  if (rows instanceof PrintedRows) return rows.length ? writeRecord(table, rows.firstCell()) : STALE
  return rows[0] ? recordOf(table, rows[0]) : STALE
}

/** Creates all records or none, in one statement, and returns them in the order of the request. */
export async function createBatch(
  context: Context,
  table: TableRef,
  { records }: RecordBatch,
): Promise<List<DataRecord> | WrittenList<DataRecord>> {
  if (!records.length) return { rows: [] }
  const drafts = records.map(({ data }, index): RecordDraft => ({ data, path: ['records', index, 'data'] }))
  const { ids, answer } = await withDefinition(context, table, async (definition) => {
    const cells = await readDrafts(context, definition, { role: table.role, isNew: true }, drafts)
    const rows = await insertCells(context, definition, cells)
    if (!rows.length) return STALE
    if (rows instanceof PrintedRows) return { ids: rows.ids(), answer: writeRecords(definition, rows) }
    return { ids: rows.map(({ id }) => id), answer: { rows: rows.map((row) => recordOf(definition, row)) } }
  })
  const [first = 0, last = 0] = [ids[0], ids.at(-1)]
  if (stepOf(last) > stepOf(first - 1)) await enqueueIndexingAfterGrowth(context, table.id)
  return answer
}

/**
 * Batches check the table's indexes when its ids exceed the number of records that need none, each time they have doubled, and each time they pass
 * another 100,000, as a table that is emptied and filled again has high ids. Each check costs as much as several batches. Where records were deleted
 * it may come too early; then a job finds the table within five minutes.
 */
const stepOf = (id: number) => (id <= FEW_RECORDS ? -1 : Math.floor(Math.log2((id - 1) / FEW_RECORDS)) + Math.floor(id / 100_000))

/** Inserts the records and holds their files. @returns none if the definition is outdated */
async function insertCells(context: Context, definition: TableDef, cells: readonly Cells[]): Promise<InsertedRows> {
  const { db, transaction } = context
  if (await withdrawForCells(context, definition, cells)) return []
  const paths = cells.flatMap((record) => pathsIn(definition, record))
  const write = async () => {
    const inserted = await insertRows(db, definition, cells, changeBy(context))
    if (inserted.length) await holdFiles(db, paths)
    return inserted
  }
  return paths.length ? transaction(write) : write()
}

/**
 * Updates the cells in the request.
 * @throws AppError as `create`; 404 if the record has just been deleted; 409 with the current record for a stale If-Match
 */
export async function update(
  context: Context,
  table: TableRef,
  record: RecordRef,
  { data }: RecordUpdate,
  ifMatch?: IfMatch,
): Promise<AnyAnswer> {
  const { db } = context
  return withDefinition<AnyAnswer>(context, table, async (definition) => {
    const [cells = new Map()] = await readDrafts(context, definition, { role: table.role, isNew: false }, [{ data, path: ['data'] }])
    if (await withdrawForCells(context, definition, [cells])) return STALE
    const changed = cells.size ? await updateCells(context, definition, record.id, cells, ifMatch) : undefined
    if (changed) return updatedAnswer(definition, changed)

    const current = await readRow(db, definition, record.id)
    if (!current) throw notFound('Record')
    if (isStale(ifMatch, current)) throw stale('The record has changed since', answerOf(definition, current))
    return cells.size ? STALE : answerOf(definition, current)
  })
}

/**
 * Deletes records with their tasks, comments and files, and ignores ids that do not exist.
 * @returns the number of deleted records
 */
export async function removeAll(context: Context, table: TableRef, recordIds: readonly number[]): Promise<number> {
  const { db, transaction } = context
  return transaction(async () => {
    const records = recordsOf(table.id)
    // Rows are locked in the order of their ids, so that two calls for the same records wait for each other without a deadlock.
    const deleted = await db.records(table.id).query<{ id: number }>(sql`
      with named as (select id from ${records} where id = any(${recordIds}::int[]) order by id for update)
      delete from ${records} where id in (select id from named) returning id`)
    if (!deleted.length) return 0
    const ids = deleted.map(({ id }) => id)
    await recordsDeleted(context, table.id, ids)
    const [only, ...others] = ids
    const { id: tableId, space_id: spaceId, account_id: accountId } = table
    const detail = { count: ids.length, record_ids: ids }
    await audit(context, 'records.deleted', { ...(!others.length && { id: only }), spaceId, tableId, accountId, detail })
    return ids.length
  })
}

/** @throws AppError 404 if another request has just deleted it */
export async function remove(context: Context, table: TableRef, record: RecordRef): Promise<void> {
  if (!(await removeAll(context, table, [record.id]))) throw notFound('Record')
}

const answerOf = (table: TableDef, row: StoredRow): Answer<DataRecord> => ({ value: recordOf(table, row), version: row.version })

const updatedAnswer = (table: TableDef, { version, shown }: UpdatedRow): AnyAnswer =>
  shown instanceof PrintedCell ? { value: writeRecord(table, shown), version } : answerOf(table, shown)

/** The record as the API answers it. */
function recordOf(table: TableDef, row: StoredRow): DataRecord {
  const { id, created_at, updated_at } = row
  const title = titleField(table)
  return { id, title: title ? (row[title.id] as string | null) : null, data: valuesOf(ownFields(table), row), created_at, updated_at }
}
