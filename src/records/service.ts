/** Single records and batches: reading, creating, updating and deleting them. */
import type { TableDef } from '../fields/definition.ts'
import type { RecordRef, TableRef } from '../platform/access/resources.ts'
import { type Answer, type IfMatch, isStale } from '../platform/answer.ts'
import type { Context } from '../platform/context.ts'
import { notFound, stale } from '../platform/errors.ts'
import { holdFiles } from '../platform/stored-files/held.ts'
import { withdrawForCells } from '../tables/cells/lossy-change.ts'
import { enqueueIndexingAfterGrowth, FEW_RECORDS } from '../tables/indexing.ts'
import { readWithDefinition, STALE, writeWithDefinition } from '../tables/with-definition.ts'
import { readBadges } from './badges.ts'
import { pathsIn, updateCells } from './cells/file-cells.ts'
import { removeRecords } from './deleted/remove.ts'
import { type Cells, doublesIn, type RecordDraft, readDrafts } from './drafts.ts'
import { CHANGE_ID, changeIdOf } from './history/entries.ts'
import { changeBy, insertRow, insertRows, readRow, recordOf } from './rows.ts'
import type {
  ChangedList,
  ChangedOk,
  ChangedRecord,
  DataRecord,
  DeletedRecords,
  NewRecord,
  RecordBatch,
  RecordQuery,
  RecordUpdate,
} from './schema.ts'
import type { BulkChange, StoredRow } from './stored-row.ts'

/**
 * @param shown what the statement that authorised the request has read of it (procedure.ts)
 * @throws AppError 404 if the record has just been deleted
 */
export function get(
  context: Context,
  table: TableRef,
  record: RecordRef,
  { include }: RecordQuery,
  shown?: StoredRow,
): Promise<Answer<DataRecord>> {
  return readWithDefinition(context, table, async (definition) => {
    const read = definition.version === table.version ? shown : undefined
    const row = read ?? (await readRow(context.db, definition, record.id))
    if (!row) throw notFound('Record')
    const answer = answerOf(definition, row)
    if (!include.has('badges')) return answer
    const badges = (await readBadges(context, table.id, [record.id])).get(record.id)
    return { ...answer, value: { ...answer.value, badges } }
  })
}

/**
 * Creates a record, in one statement unless it refers to files.
 * @throws AppError 400 naming each invalid cell; 403 for a field that only admins may write
 */
export async function create(context: Context, table: TableRef, { data }: NewRecord): Promise<Answer<ChangedRecord>> {
  return writeWithDefinition<Answer<ChangedRecord>>(context, table, async (definition) => {
    const [cells = new Map()] = await readDrafts(context, definition, { role: table.role, isNew: true }, [{ data, path: ['data'] }])
    const row = await insertCells(context, definition, [cells], () => insertRow(context.db, definition, cells, changeBy(context)))
    return row ? changedAnswer(definition, row) : STALE
  })
}

/** Creates all records or none, in one statement, and returns them in the order of the request. */
export async function createBatch(context: Context, table: TableRef, { records }: RecordBatch): Promise<ChangedList<DataRecord>> {
  if (!records.length) return { rows: [], change_id: null }
  const drafts = records.map(({ data }, index): RecordDraft => ({ data, path: ['records', index, 'data'] }))
  const answer = await writeWithDefinition<ChangedList<DataRecord>>(context, table, async (definition) => {
    const cells = await readDrafts(context, definition, { role: table.role, isNew: true }, drafts)
    const inserted = await insertCells(context, definition, cells, () => insertRows(context.db, definition, cells, changeBy(context)))
    return inserted ? { rows: inserted.map((row) => recordOf(definition, row)), change_id: changeIdOf(inserted) } : STALE
  })
  const { rows } = answer
  const [first = 0, last = 0] = [rows[0]?.id, rows.at(-1)?.id]
  if (stepOf(last) > stepOf(first - 1)) await enqueueIndexingAfterGrowth(context, table.id)
  return answer
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
): Promise<Answer<ChangedRecord>> {
  const { db } = context
  return writeWithDefinition<Answer<ChangedRecord>>(context, table, async (definition) => {
    const [cells = new Map()] = await readDrafts(context, definition, { role: table.role, isNew: false }, [{ data, path: ['data'] }])
    if (await withdrawForCells(context, definition, [cells])) return STALE
    const changed = cells.size ? await updateCells(context, definition, record.id, cells, { ifMatch, doubles: doublesIn(data) }) : undefined
    if (changed) return changedAnswer(definition, changed)

    const current = await readRow(db, definition, record.id)
    if (!current) throw notFound('Record')
    if (isStale(ifMatch, current)) throw stale('The record has changed since', answerOf(definition, current))
    return cells.size ? STALE : changedAnswer(definition, current)
  })
}

/**
 * Deletes records with their tasks, comments and files, and ignores ids that do not exist.
 * @param table its definition, in a transaction in which it is known
 */
export function removeAll(
  context: Context,
  table: Pick<TableRef, 'id' | 'version'>,
  recordIds: readonly number[],
  change: BulkChange = { kind: 'delete' },
): Promise<DeletedRecords> {
  return writeWithDefinition<DeletedRecords>(context, table, async (definition) => {
    const removed = await removeRecords(context, definition, recordIds, change)
    return removed ? { deleted: removed.ids.length, change_id: removed.changeId } : STALE
  })
}

/** @throws AppError 404 if another request has just deleted it */
export async function remove(context: Context, table: TableRef, record: RecordRef): Promise<ChangedOk> {
  const { deleted, change_id } = await removeAll(context, table, [record.id])
  if (!deleted) throw notFound('Record')
  return { ok: true, change_id }
}

const answerOf = (table: TableDef, row: StoredRow): Answer<DataRecord> => ({ value: recordOf(table, row), version: row.version })

function changedAnswer(table: TableDef, row: StoredRow): Answer<ChangedRecord> {
  const { [CHANGE_ID]: changeId = null, version } = row
  return { value: { ...recordOf(table, row), change_id: changeId }, version }
}
