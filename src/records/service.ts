/** Single records and batches: reading, creating, updating and deleting them. */
import { audit } from '../audit/log.ts'
import { ownFields, type TableDef, titleField } from '../fields/definition.ts'
import type { RecordRef, TableRef } from '../platform/access/resources.ts'
import { type Answer, type IfMatch, isStale } from '../platform/answer.ts'
import type { Context } from '../platform/context.ts'
import { recordsOf, sql } from '../platform/database/database.ts'
import { notFound, stale } from '../platform/errors.ts'
import type { List } from '../platform/http/answers/written-json.ts'
import { holdFiles } from '../platform/stored-files/held.ts'
import { recordsDeleted } from '../tables/cascade.ts'
import { withdrawForCells } from '../tables/cells/lossy-change.ts'
import { enqueueIndexingAfterGrowth, FEW_RECORDS } from '../tables/indexing.ts'
import { readWithDefinition, STALE, withDefinition } from '../tables/with-definition.ts'
import { pathsIn, updateCells } from './cells/file-cells.ts'
import { valuesOf } from './cells/present.ts'
import { type Cells, type RecordDraft, readDrafts } from './drafts.ts'
import { changeBy, insertRow, insertRows, readRow } from './rows.ts'
import type { DataRecord, NewRecord, RecordBatch, RecordUpdate } from './schema.ts'
import type { StoredRow } from './stored-row.ts'

/**
 * @param shown what the statement that authorised the request has read of it (procedure.ts)
 * @throws AppError 404 if the record has just been deleted
 */
export function get(context: Context, table: TableRef, record: RecordRef, shown?: StoredRow): Promise<Answer<DataRecord>> {
  return readWithDefinition(context, table, async (definition) => {
    const read = definition.version === table.version ? shown : undefined
    const row = read ?? (await readRow(context.db, definition, record.id))
    if (!row) throw notFound('Record')
    return answerOf(definition, row)
  })
}

/**
 * Creates a record, in one statement unless it refers to files.
 * @throws AppError 400 naming each invalid cell; 403 for a field that only admins may write
 */
export async function create(context: Context, table: TableRef, { data }: NewRecord): Promise<Answer<DataRecord>> {
  return withDefinition<Answer<DataRecord>>(context, table, async (definition) => {
    const [cells = new Map()] = await readDrafts(context, definition, { role: table.role, isNew: true }, [{ data, path: ['data'] }])
    const row = await insertCells(context, definition, [cells], () => insertRow(context.db, definition, cells, changeBy(context)))
    return row ? answerOf(definition, row) : STALE
  })
}

/** Creates all records or none, in one statement, and returns them in the order of the request. */
export async function createBatch(context: Context, table: TableRef, { records }: RecordBatch): Promise<List<DataRecord>> {
  if (!records.length) return { rows: [] }
  const drafts = records.map(({ data }, index): RecordDraft => ({ data, path: ['records', index, 'data'] }))
  const rows = await withDefinition<DataRecord[]>(context, table, async (definition) => {
    const cells = await readDrafts(context, definition, { role: table.role, isNew: true }, drafts)
    const inserted = await insertCells(context, definition, cells, () => insertRows(context.db, definition, cells, changeBy(context)))
    return inserted ? inserted.map((row) => recordOf(definition, row)) : STALE
  })
  const [first = 0, last = 0] = [rows[0]?.id, rows.at(-1)?.id]
  if (stepOf(last) > stepOf(first - 1)) await enqueueIndexingAfterGrowth(context, table.id)
  return { rows }
}

/**
 * Batches check the table's indexes when its ids exceed the number of records that need none, each time the ids have doubled, and each
 * time they pass another 100,000, because a table that is emptied and filled again has high ids. A check is dear, so most batches make
 * none. Where records were deleted it may come too early; then a job finds the table within five minutes.
 */
const stepOf = (id: number) => (id <= FEW_RECORDS ? -1 : Math.floor(Math.log2((id - 1) / FEW_RECORDS)) + Math.floor(id / 100_000))

/** Inserts the records and holds their files. @returns undefined if the definition is outdated */
async function insertCells<Inserted>(
  context: Context,
  definition: TableDef,
  cells: readonly Cells[],
  insert: () => Promise<Inserted | undefined>,
): Promise<Inserted | undefined> {
  const { db, transaction } = context
  if (await withdrawForCells(context, definition, cells)) return undefined
  const paths = cells.flatMap((record) => pathsIn(definition, record))
  if (!paths.length) return insert()
  return transaction(async () => {
    const inserted = await insert()
    if (inserted) await holdFiles(db, paths)
    return inserted
  })
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
): Promise<Answer<DataRecord>> {
  const { db } = context
  return withDefinition<Answer<DataRecord>>(context, table, async (definition) => {
    const [cells = new Map()] = await readDrafts(context, definition, { role: table.role, isNew: false }, [{ data, path: ['data'] }])
    if (await withdrawForCells(context, definition, [cells])) return STALE
    const doubles = [...cells.keys()].filter((id) => typeof data[id] === 'number')
    const changed = cells.size ? await updateCells(context, definition, record.id, cells, { ifMatch, doubles }) : undefined
    if (changed) return answerOf(definition, changed)

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
    const deleted = await db.records(table.id).write<{ id: number }>(sql`
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

/** The record as the API answers it. */
function recordOf(table: TableDef, row: StoredRow): DataRecord {
  const { id, created_at, updated_at } = row
  const title = titleField(table)
  return { id, title: title ? (row[title.id] as string | null) : null, data: valuesOf(ownFields(table), row), created_at, updated_at }
}
