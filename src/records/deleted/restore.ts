/** Restores deleted records (contract.md §10, Deleted records). */
import { audit } from '../../audit/log.ts'
import { tellTables } from '../../events/table-events.ts'
import { fieldsById } from '../../fields/by-id.ts'
import { ownFields, type TableDef } from '../../fields/definition.ts'
import { TYPES } from '../../fields/registry.ts'
import type { TableRef } from '../../platform/access/resources.ts'
import type { Answer } from '../../platform/answer.ts'
import type { Context } from '../../platform/context.ts'
import { type Database, empty, ident, join, recordsOf, sql } from '../../platform/database/database.ts'
import { outdated } from '../../platform/database/outdated-definition.ts'
import { labelled } from '../../platform/database/statements/statement.ts'
import { conflict, notFound } from '../../platform/errors.ts'
import { type FileEntry, pathsOf } from '../../platform/stored-files/rows.ts'
import { formatInstant } from '../../platform/time/time.ts'
import { recordsRestored } from '../../tables/cascade.ts'
import { withdrawForCells } from '../../tables/cells/lossy-change.ts'
import { releaseFiles } from '../../tables/file-references.ts'
import { STALE, writeWithDefinition } from '../../tables/with-definition.ts'
import { cellArray, unnestedCell } from '../cell-values.ts'
import { changeEvent } from '../history/change-events.ts'
import { drawChangeId, insertEntries } from '../history/entries.ts'
import { changeBy, isStillCurrent, readRow, recordOf } from '../rows.ts'
import type { ChangedRecord } from '../schema.ts'
import { type FittedCell, fittedCell, type KeptCells } from './kept-cells.ts'
import { keptSince } from './purge.ts'

/** A record that has come back, and the fields whose cells have lost something. */
interface Restored {
  id: number
  lost: { field: string; reason: NonNullable<FittedCell['lost']> }[]
}

/** What a restore is a part of, or takes back. */
interface Cause {
  /** The deletion that it takes back. Records that another one has deleted since stay deleted. */
  undoes?: number
  /** The change that it belongs to, if that takes several transactions. By default it is one of its own. */
  partOf?: number | undefined
}

/** The records that have come back, and the id of the change; null if there are none. */
interface RestoredRecords {
  restored: Restored[]
  changeId: number | null
}

interface KeptRecord {
  record_id: number
  version: number
  change_id: number
  created_at: string
  created_by: number | null
  cells: KeptCells
}

/** The versions of the deletion and of the restore follow the last one. */
const VERSIONS = 2

/**
 * Restores a record.
 * @returns the record, and in `ignored` the fields that could not have their cells any more
 * @throws AppError 409 if it is not deleted; 404 if it was purged
 */
export function restore(context: Context, table: TableRef, recordId: number): Promise<Answer<ChangedRecord>> {
  return writeWithDefinition<Answer<ChangedRecord>>(context, table, (definition) =>
    context.transaction(async () => {
      const done = await restoreRecords(context, definition, [recordId])
      if (!done) return STALE
      const row = await readRow(context.db, definition, recordId)
      if (!row) throw notFound('Record')
      const [only] = done.restored
      if (!only) throw conflict('Record is not deleted')
      const ignored = only.lost.map(({ field }) => field)
      return { value: { ...recordOf(definition, row), change_id: done.changeId }, version: row.version, ignored }
    }),
  )
}

/**
 * Restores those of the records that are deleted, at most a thousand, in one transaction: of two calls for the same record, one finds it.
 * @returns undefined if the table has a newer version than the definition
 */
export function restoreRecords(
  context: Context,
  table: TableDef,
  recordIds: readonly number[],
  { undoes, partOf }: Cause = {},
): Promise<RestoredRecords | undefined> {
  const { db, transaction } = context
  return transaction(async () => {
    const records = await lockDeleted(context, table, recordIds, undoes)
    if (!records.length) return { restored: [], changeId: null }
    const fitted = await fittedCells(db, table, records)
    const values = fitted.map((cells) => new Map([...cells].map(([id, { value }]) => [id, value])))
    if (await withdrawForCells(context, table, values)) return undefined
    await insertRecords(context, table, records, fitted)
    // The rows lock the columns of the table from here to the end.
    if (!(await isStillCurrent(db, table))) throw outdated
    const changeId = partOf ?? (await drawChangeId(db))
    const of = {
      kind: 'restore' as const,
      changeId,
      undoes,
      change: changeBy(context),
      records: partOf === undefined ? records.length : null,
    }
    const entries = records.map(({ record_id, version }) => ({ ...of, recordId: record_id, version: version + VERSIONS }))
    await insertEntries(db, table.id, entries)
    const ids = records.map(({ record_id }) => record_id)
    await db.write(sql`delete from deleted_records where table_id = ${table.id} and record_id = any(${ids}::int[])`)
    await recordsRestored(context, table.id, ids)
    await releaseLost(context, records, fitted)
    const { id: tableId, space_id: spaceId, account_id: accountId } = table
    const single = ids.length === 1 && { id: ids[0] }
    await audit(context, 'records.restored', { ...single, spaceId, tableId, accountId, detail: { count: ids.length, record_ids: ids } })
    const { userId } = of.change
    await tellTables(context, [changeEvent(table, 'record.restored', { recordIds: ids, changeId, userId, partOf })])
    const restored = ids.map((id, index) => ({
      id,
      lost: [...(fitted[index] ?? [])].flatMap(([field, { lost }]) => (lost ? { field, reason: lost } : [])),
    }))
    return { restored, changeId }
  })
}

/** Locks deleted records in the order of their ids. @param deletion the change that has deleted them; any by default */
export const lockDeleted = (context: Context, table: TableDef, recordIds: readonly number[], deletion?: number): Promise<KeptRecord[]> =>
  context.db.read<KeptRecord>(sql`
    select d.record_id, d.version, d.change_id, d.created_at, d.created_by, d.cells from deleted_records d
    where d.table_id = ${table.id} and d.record_id = any(${recordIds}::int[])
      and (${deletion ?? null}::bigint is null or d.change_id = ${deletion ?? null}::bigint)
      and d.deleted_at > ${formatInstant(keptSince(context))}::timestamp
    order by d.record_id for update`)

/** The cells of each record as the fields of the table can have them. */
async function fittedCells(db: Database, table: TableDef, records: readonly KeptRecord[]): Promise<FittedCells[]> {
  const rows = await db.read<{ id: string; since_change: number }>(
    labelled('fields-since', sql`select id, since_change from fields where table_id = ${table.id}`),
  )
  const since = new Map(rows.map(({ id, since_change }) => [id, since_change]))
  const fields = fieldsById(table)
  return records.map(({ cells, change_id }) => {
    const isOlder = (id: string) => (since.get(id) ?? change_id) < change_id
    return new Map(Object.entries(cells).map(([id, cell]) => [id, fittedCell(fields.get(id), cell, isOlder(id))]))
  })
}

type FittedCells = ReadonlyMap<string, FittedCell>

/** Inserts the records with their ids, and with the cells that they can have. */
async function insertRecords(
  context: Context,
  table: TableDef,
  records: readonly KeptRecord[],
  fitted: readonly FittedCells[],
): Promise<void> {
  const { db } = context
  const { now, userId } = changeBy(context)
  const own = ownFields(table)
  const cells = own.map((field) =>
    cellArray(
      field,
      fitted.map((record) => record.get(field.id)?.text ?? null),
    ),
  )
  const known = sql`${records.map(({ record_id }) => record_id)}::int[], ${records.map(({ version }) => version + VERSIONS)}::int[],
    ${records.map(({ created_at }) => created_at)}::timestamp[], ${records.map(({ created_by }) => created_by)}::int[]`
  const names = join(own.map(({ id }) => ident(id)))
  await db.records(table.id).write(sql`
    insert into ${recordsOf(table.id)} (id, version, created_at, created_by, updated_at, updated_by${own.length ? sql`, ${names}` : empty})
    select x."#id", x."#version", x."#at", x."#by", ${formatInstant(now)}::timestamp, ${userId}::int
      ${own.length ? sql`, ${join(own.map(unnestedCell))}` : empty}
    from unnest(${join([known, ...cells])}) as x ("#id", "#version", "#at", "#by"${own.length ? sql`, ${names}` : empty})`)
}

/** The files of cells that the records could not have back are in use no longer. */
async function releaseLost(context: Context, records: readonly KeptRecord[], fitted: readonly FittedCells[]): Promise<void> {
  for (const [index, { record_id, cells }] of records.entries()) {
    for (const [field_id, { type, value }] of Object.entries(cells)) {
      if (TYPES[type].names !== 'files' || !fitted[index]?.get(field_id)?.lost) continue
      await releaseFiles(context, pathsOf(JSON.parse(value) as FileEntry[]), { record_id, field_id })
    }
  }
}
