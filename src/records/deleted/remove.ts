/** Deletes records. They and what belongs to them are kept apart from all that is read (contract.md §10, Deleted records). */
import { audit } from '../../audit/log.ts'
import { tellTables } from '../../events/table-events.ts'
import { type TableDef, titleField } from '../../fields/definition.ts'
import type { Context } from '../../platform/context.ts'
import { type Database, ident, recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import { formatInstant } from '../../platform/time/time.ts'
import { lockBeforeRecords, recordsDeleted } from '../../tables/cascade.ts'
import { choose } from '../../tables/elsewhere/choice.ts'
import { changeEvent } from '../history/change-events.ts'
import { drawChangeId, insertEntries, newChangeId, writeEntries } from '../history/entries.ts'
import { changeBy, isCurrent, isStillCurrent } from '../rows.ts'
import type { BulkChange, Change } from '../stored-row.ts'
import { hasFiles, keptCells } from './kept-cells.ts'

/** The records that were deleted, and the id of the change; null if there were none. */
export interface Removed {
  ids: number[]
  changeId: number | null
}

interface Removal {
  recordIds: readonly number[]
  change: Change & BulkChange
  /** What is kept of a row `r`. */
  kept: Sql
}

/**
 * Deletes records with their tasks, comments and mails, in one transaction. Ids that do not exist are ignored.
 * @returns undefined if the table has a newer version than the definition
 */
export function removeRecords(
  context: Context,
  table: TableDef,
  recordIds: readonly number[],
  change: BulkChange,
): Promise<Removed | undefined> {
  const { db, transaction } = context
  return transaction(async () => {
    await lockBeforeRecords(context, table.id, recordIds)
    const removal = { recordIds, change: { ...changeBy(context), ...change }, kept: keptColumns(table) }
    const removed = await choose(db, table.id, { here: removeHere, elsewhere: removeElsewhere })(db, table, removal)
    const { ids, changeId } = removed
    if (changeId === null) return (await isStillCurrent(db, table)) ? removed : undefined
    await recordsDeleted(context, table.id, ids)
    const [only, ...others] = ids
    const { id: tableId, space_id: spaceId, account_id: accountId } = table
    const detail = { count: ids.length, record_ids: ids }
    await audit(context, 'records.deleted', { ...(!others.length && { id: only }), spaceId, tableId, accountId, detail })
    await tellTables(context, [changeEvent(table, 'record.deleted', { ...removal.change, recordIds: ids, changeId })])
    return removed
  })
}

/** The columns that a record and the row of its deletion have in common. */
const COLUMNS = sql`record_id, version, created_at, created_by, title, cells, has_files`

function keptColumns(table: TableDef): Sql {
  const title = titleField(table)
  return sql`r.id as record_id, r.version, r.created_at, r.created_by, ${title ? sql`r.${ident(title.id)}` : sql`null`}::text as title,
    ${keptCells(table)} as cells, ${hasFiles(table)} as has_files`
}

/** Rows are locked in the order of their ids, so that two calls for the same records wait for each other without a deadlock. */
const locked = (table: TableDef, { kept, recordIds }: Removal, only: Sql): Sql => sql`
  select ${kept} from ${recordsOf(table.id)} r where r.id = any(${recordIds}::int[]) and ${only} order by r.id for update`

/** The statement that keeps the records `k`. */
const keeping = ({ id, account_id }: TableDef, { now, userId, keyId }: Change, changeId: Sql, from: Sql): Sql => sql`
  insert into deleted_records (table_id, account_id, deleted_at, change_id, user_id, api_key_id, ${COLUMNS})
  select ${id}, ${account_id}, ${formatInstant(now)}::timestamp, ${changeId}, ${userId}::int, ${keyId}::int,
    k.record_id, k.version, k.created_at, k.created_by, k.title, k.cells, k.has_files from ${from} k`

async function removeHere(db: Database, table: TableDef, removal: Removal): Promise<Removed> {
  const { change } = removal
  const { kind, undoes, partOf } = change
  const drawn = partOf === undefined ? newChangeId : sql`${partOf}::bigint`
  const id = sql`(select d.id from drawn d)`
  const entries = writeEntries(table.id, {
    ...{ kind, changeId: id, id: sql`k.record_id`, version: sql`k.version + 1`, from: sql`named k` },
    ...{ at: sql`${formatInstant(change.now)}::timestamp`, userId: sql`${change.userId}::int`, keyId: sql`${change.keyId}::int` },
    records: partOf === undefined ? sql`(select count(*)::int from named)` : null,
    ...(undoes !== undefined && { undoes: sql`${undoes}::bigint` }),
  })
  const rows = await db.write<{ id: number; change_id: number }>(sql`
    with named as materialized (${locked(table, removal, isCurrent(table))}),
    drawn as materialized (select ${drawn} as id from named limit 1),
    kept as (${keeping(table, change, id, sql`named`)}),
    entered as (${entries})
    delete from ${recordsOf(table.id)} r where r.id in (select k.record_id from named k) returning r.id, ${id} as change_id`)
  return { ids: rows.map((row) => row.id), changeId: rows[0]?.change_id ?? null }
}

/** A record as its server has read it for the main one. */
type KeptRow = { record_id: number; version: number; created_at: string; created_by: number | null; title: string | null } & {
  cells: object
  has_files: boolean
}

async function removeElsewhere(db: Database, table: TableDef, removal: Removal): Promise<Removed> {
  const records = await db.records(table.id).read<KeptRow>(locked(table, removal, sql`true`))
  if (!records.length || !(await isStillCurrent(db, table))) return { ids: [], changeId: null }
  const { change } = removal
  const { kind, undoes, partOf } = change
  const changeId = partOf ?? (await drawChangeId(db))
  const from = sql`jsonb_to_recordset(${JSON.stringify(records)}::jsonb) as k (record_id int, version int, created_at timestamp,
    created_by int, title text, cells jsonb, has_files boolean)`
  await db.write(keeping(table, change, sql`${changeId}::bigint`, sql`(select k.* from ${from})`))
  const ids = records.map(({ record_id }) => record_id)
  const of = { kind, undoes, changeId, change, records: partOf === undefined ? ids.length : null }
  const entries = records.map(({ record_id, version }) => ({ ...of, recordId: record_id, version: version + 1 }))
  await insertEntries(db, table.id, entries)
  await db.records(table.id).write(sql`delete from ${recordsOf(table.id)} where id = any(${ids}::int[])`)
  return { ids, changeId }
}
