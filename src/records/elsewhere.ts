/** Reads and writes records on another server, by statements that name no system table. */

import { AsyncLocalStorage } from 'node:async_hooks'
import { tellTables } from '../events/table-events.ts'
import { type FieldDef, ownFields, type TableDef } from '../fields/definition.ts'
import { Batches } from '../platform/concurrency/batches.ts'
import { type Database, ident, join, raw, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { sqlState } from '../platform/database/database-errors.ts'
import { isOutdated } from '../platform/database/outdated-definition.ts'
import { constant, type Parameters, prepare } from '../platform/database/prepare.ts'
import { labelled, type Statement, shortRead } from '../platform/database/statements/statement.ts'
import { unavailable } from '../platform/errors.ts'
import { memo } from '../platform/memo.ts'
import { formatInstant } from '../platform/time/time.ts'
import { arrayOf, boundValue, cellArrays, cellName, insertedNames, typeOf, unnestedCell, unnestedRows } from './cell-values.ts'
import { cellTexts, lookupsOf, nameReferences } from './cells/present.ts'
import type { Cells } from './drafts.ts'
import { changeEvent } from './history/change-events.ts'
import { CHANGE_ID, changesBetween, drawChangeId, drawChangeIds, insertEntries } from './history/entries.ts'
import { type Change, STORED, type StoredRow, type UpdateWay } from './stored-row.ts'

/** The columns to read of a row `r`, before its users and records are named. */
const storedColumns = memo((table: TableDef): Sql => join([STORED, ...cellTexts(ownFields(table))]))

/** @returns undefined if the record does not exist */
export async function readElsewhere(db: Database, table: TableDef, recordId: number): Promise<StoredRow | undefined> {
  const statement = sql`select ${storedColumns(table)} from ${recordsOf(table.id)} r where r.id = ${recordId}`
  const rows = await db.records(table.id).read<StoredRow>(shortRead(`stored-record:${table.id}:${table.version}`, statement))
  return (await withNames(db, table, rows))[0]
}

export async function readManyElsewhere(db: Database, table: TableDef, recordIds: readonly number[]): Promise<StoredRow[]> {
  const statement = sql`select ${storedColumns(table)} from ${recordsOf(table.id)} r where r.id = any(${recordIds}::int[]) order by r.id`
  return withNames(db, table, await db.records(table.id).read<StoredRow>(statement))
}

/** The rows with the users and records that they refer to, of which their server has only the ids. */
async function withNames(db: Database, table: TableDef, rows: StoredRow[]): Promise<StoredRow[]> {
  const fields = ownFields(table)
  await nameReferences(db, table.account_id, fields, rows, lookupsOf(fields))
  return rows
}

/**
 * The same for rows that were written. The write must not be repeated once it is committed, as it would be after an error of the class
 * `isOutdated`.
 */
async function withNamesOfWritten(db: Database, table: TableDef, rows: StoredRow[]): Promise<StoredRow[]> {
  try {
    return await withNames(db, table, rows)
  } catch (error) {
    if (db.inTransaction() || !isOutdated(error)) throw error
    throw unavailable('The record was written, but a table that it refers to was changed at the same moment; read the record again')
  }
}

/**
 * True, or an error of the class `isOutdated` if the table has another version. The main server evaluates this before it sends the
 * statement to the node. By then the statement has locked the table, after any change before it; a later change waits for it.
 */
const requiringVersion = ({ id, version }: TableDef): Sql => sql`public.require_table_version(${constant(id)}, ${constant(version)})`

/** Runs a statement that contains `requiringVersion`. */
const write = (db: Database, table: TableDef, statement: Statement, name: string): Promise<StoredRow[]> =>
  db.records(table.id).write<StoredRow>(labelled(`${name}-stored:${table.id}:${table.version}`, statement))

/** An update. After an error of the class `isOutdated` a transaction that was open can only be rolled back. */
export const updateElsewhere: UpdateWay = {
  compose: (table, { update, given, isMeant, isGiven }) => sql`${update} from ${given}
    where ${isMeant} and ${isGiven} and ${requiringVersion(table)} returning ${storedColumns(table)}`,
  async run(db, table, update, { ids, own, change }) {
    const written = await db.transaction(async () => {
      const before = await lockCells(db, table, ids, own)
      const rows = await write(db, table, update, 'update')
      const changed = rows.filter(({ id, version }) => version !== before.get(id)?.['~version'])
      if (!changed.length) return rows
      const changes = await changesSince(
        db,
        table,
        own,
        changed.flatMap(({ id }) => before.get(id) ?? []),
      )
      const { kind, undoes, partOf } = change
      const changeId = partOf ?? (await drawChangeId(db))
      const of = { changeId, change, kind, undoes, records: partOf === undefined ? changed.length : null }
      const entries = changed.map(({ id, version }) => ({ ...of, recordId: id, version, changes: changes.get(id) ?? null }))
      await insertEntries(db, table.id, entries)
      const recordIds = changed.map(({ id }) => id)
      const [first = '{}'] = changes.values()
      const fields = own.flatMap(({ id }) => (id in JSON.parse(first) ? id : []))
      await tellTables({ db, now: change.now }, [changeEvent(table, 'record.updated', { ...change, recordIds, changeId, fields })])
      return rows.map((row) => ({ ...row, [CHANGE_ID]: changeId }))
    })
    return withNamesOfWritten(db, table, written)
  },
}

/** A record as it was before, its cells as PostgreSQL prints them. */
type CellsBefore = { '~id': number; '~version': number } & Record<string, unknown>

/** Locks records, and reads their versions and some of their cells. */
async function lockCells(
  db: Database,
  table: TableDef,
  ids: readonly number[],
  own: readonly FieldDef[],
): Promise<Map<number, CellsBefore>> {
  const cells = own.map(({ id }) => sql`r.${ident(id)}::text as ${ident(id)}`)
  const rows = await db.records(table.id).read<CellsBefore>(sql`
    select ${join([sql`r.id as "~id", r.version as "~version"`, ...cells])} from ${recordsOf(table.id)} r
    where r.id = any(${ids}::int[]) order by r.id for no key update`)
  return new Map(rows.map((row) => [row['~id'], row]))
}

/** What has become different in the cells of records that this transaction has locked: JSON of `CellChanges` for each. */
async function changesSince(
  db: Database,
  table: TableDef,
  own: readonly FieldDef[],
  before: readonly CellsBefore[],
): Promise<Map<number, string>> {
  const names = ['~id', ...own.map(({ id }) => id)]
  const arrays = names.map((name) =>
    arrayOf(
      before.map((row) => row[name]),
      raw(name === '~id' ? 'int' : 'text'),
    ),
  )
  const cells = own.map((field) => sql`x.${ident(field.id)}::${typeOf(field)} as ${ident(field.id)}`)
  const rows = await db.records(table.id).read<{ id: number; changes: string }>(sql`
    select r.id, (${changesBetween(own, sql`o`, sql`r`)})::text as changes
    from (select ${join([sql`x."~id"`, ...cells])} from unnest(${join(arrays)}) as x (${join(names.map(ident))})) o
    join ${recordsOf(table.id)} r on r.id = o."~id"`)
  return new Map(rows.map(({ id, changes }) => [id, changes]))
}

/** @throws as `insertManyElsewhere` */
export const insertElsewhere = async (db: Database, table: TableDef, cells: Cells, change: Change): Promise<StoredRow | undefined> =>
  (await insertManyElsewhere(db, table, [cells], change))[0]

/**
 * Inserts the records in their order.
 * @throws an error of the class `isOutdated`; a transaction that was open can then only be rolled back
 */
export async function insertManyElsewhere(db: Database, table: TableDef, records: readonly Cells[], change: Change): Promise<StoredRow[]> {
  const [cells, ...others] = records
  if (cells && !others.length && !db.inTransaction()) return [await insertJoined(db, table, { cells, change })]
  const isFew = records.length <= MOST_JOINED
  const statement = isFew ? ofValues(table, withChange(records, change)) : ofArrays(table, records, change)
  const rows = await db.transaction(async () => {
    const inserted = inOrder(await write(db, table, statement, 'insert'))
    const changeId = await drawChangeId(db)
    const { now, userId } = change
    await tellTables({ db, now }, [changeEvent(table, 'record.created', { recordIds: inserted.map(({ id }) => id), changeId, userId })])
    return enter(
      db,
      table,
      inserted.map((row) => ({ row, changeId, change, records: records.length })),
    )
  })
  return withNamesOfWritten(db, table, rows)
}

interface Created {
  row: StoredRow
  changeId: number
  change: Change
  /** Of the change. */
  records: number
}

/** Writes the entries of new records. @returns the records with the ids of their changes */
async function enter(db: Database, table: TableDef, created: readonly Created[]): Promise<StoredRow[]> {
  const entries = created.map(({ row, ...of }) => ({ ...of, kind: 'create' as const, recordId: row.id, version: row.version }))
  await insertEntries(db, table.id, entries)
  return created.map(({ row, changeId }) => ({ ...row, [CHANGE_ID]: changeId }))
}

/** Ids are given in the order of the statement. */
const inOrder = (rows: StoredRow[]) => rows.sort((a, b) => a.id - b.id)

interface Insert {
  cells: Cells
  change: Change
}

interface WaitingInsert extends Insert {
  table: TableDef
  /** Runs a function in the caller's context: the connection of a batch is charged to the caller of its first record. */
  asCaller: ReturnType<typeof AsyncLocalStorage.snapshot>
}

/** The most records that one statement inserts with separate parameters. A statement is prepared for each number of records. */
const MOST_JOINED = 8
/** A statement that takes longer no longer holds up the next one of its table. */
const LATE_MS = 20

/** Records of several requests are inserted by one statement: a statement costs the coordinator of a cluster as much as ten records. */
const joinedInserts = memo(
  (db: Database) =>
    new Batches((inserts: readonly WaitingInsert[]) => insertTogether(db, inserts), {
      most: MOST_JOINED,
      isForAll: (error) => !REFUSED.test(sqlState(error) ?? ''),
      lateMs: LATE_MS,
    }),
)

/** A value, a constraint or a limit of PostgreSQL: one record has kept all from being inserted. After other errors they may have been. */
const REFUSED = /^(2[23]|54)/

const insertJoined = (db: Database, table: TableDef, insert: Insert): Promise<StoredRow> =>
  joinedInserts(db).add({ ...insert, table, asCaller: AsyncLocalStorage.snapshot() }, `${table.id}:${table.version}`)

async function insertTogether(db: Database, inserts: readonly WaitingInsert[]): Promise<Promise<StoredRow>[]> {
  const { table, asCaller } = inserts[0] as WaitingInsert
  const rows = await asCaller(() => insertOfEach(db, table, inserts))
  // They are inserted, so the next records need not wait until they are named.
  const named = asCaller(() => withNamesOfWritten(db, table, rows))
  return inserts.map(async (_, index) => (await named)[index] as StoredRow)
}

/** Inserts a record for each caller, whose change is its own. */
const insertOfEach = (db: Database, table: TableDef, inserts: readonly Insert[]): Promise<StoredRow[]> =>
  db.transaction(async () => {
    const inserted = inOrder(await write(db, table, ofValues(table, inserts), 'insert'))
    const ids = await drawChangeIds(db, inserts.length)
    const created = inserts.map(({ change }, index) => ({
      ...{ row: inserted[index] as StoredRow, changeId: ids[index] as number, change, records: 1 },
    }))
    const events = created.map(({ row: { id }, changeId, change: { userId } }) =>
      changeEvent(table, 'record.created', { recordIds: [id], changeId, userId }),
    )
    // They came within a moment.
    const { now } = (inserts[0] as Insert).change
    await tellTables({ db, now }, events)
    return enter(db, table, created)
  })

const withChange = (records: readonly Cells[], change: Change): Insert[] => records.map((cells) => ({ cells, change }))

const firstVersion = (table: TableDef): Sql => sql`case when ${requiringVersion(table)} then 1 end`

function ofValues(table: TableDef, inserts: readonly Insert[]): Statement {
  const values: InsertValues = {}
  for (const [row, { cells, change }] of inserts.entries()) {
    Object.assign(values, { [`${row} at`]: formatInstant(change.now), [`${row} userId`]: change.userId })
    for (const field of ownFields(table)) values[`${row} ${cellName(field)}`] = boundValue(field, cells)
  }
  return insertingValues({ table, count: inserts.length }, values)
}

/** For each record, by its number: when and by whom it is inserted, and a cell for each field. */
type InsertValues = Record<string, unknown>

const MOST_PREPARED = 500
const insertingValues = prepare<{ table: TableDef; count: number }, InsertValues>(MOST_PREPARED, (p, { table, count }) => {
  const rows = Array.from({ length: count }, (_, row) => sql`(${row ? sql`1` : firstVersion(table)}, ${rowOf(p, table, row)})`)
  return insertion(table, sql`values ${join(rows)}`)
})

function rowOf(p: Parameters<InsertValues>, table: TableDef, row: number): Sql {
  const by = sql`${p[`${row} at`]}::timestamp, ${p[`${row} userId`]}::int`
  return join([by, by, ...ownFields(table).map((field) => sql`${p[`${row} ${cellName(field)}`]}::${typeOf(field)}`)])
}

function ofArrays(table: TableDef, records: readonly Cells[], { now, userId }: Change): Sql {
  const own = ownFields(table)
  const by = sql`${formatInstant(now)}::timestamp, ${userId}::int`
  return insertion(
    table,
    sql`select ${join([sql`once.version`, by, by, ...own.map(unnestedCell)])}
    from (select ${firstVersion(table)} as version offset 0) once, ${unnestedRows(own, cellArrays(own, records))} order by x."#"`,
  )
}

function insertion(table: TableDef, rows: Sql): Sql {
  const names = insertedNames(ownFields(table))
  return sql`insert into ${recordsOf(table.id)} as r (version, ${names}) ${rows} returning ${storedColumns(table)}`
}
