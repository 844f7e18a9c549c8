/** The statements that lock and update several records. Their callers open the transaction. */

import { tellTables } from '../../events/table-events.ts'
import { type FieldDef, ownFields, type TableDef } from '../../fields/definition.ts'
import { TYPES } from '../../fields/registry.ts'
import { type Database, historyOf, ident, join, raw, recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import { labelled } from '../../platform/database/statements/statement.ts'
import { formatInstant } from '../../platform/time/time.ts'
import { choose } from '../../tables/elsewhere/choice.ts'
import { arrayOf, boundValue, cellArray, nextCell, unnestedCell } from '../cell-values.ts'
import type { Cells } from '../drafts.ts'
import { updateElsewhere } from '../elsewhere.ts'
import { changeEvent } from '../history/change-events.ts'
import { CHANGE_ID, changeIdOf } from '../history/entries.ts'
import { isStillCurrent, readRows } from '../rows.ts'
import type { BulkChange, Change, StoredRow, UpdateWay } from '../stored-row.ts'
import { updatingHere } from '../update-row.ts'

/** A record, and the cells that it is to have; its other cells stay. */
export interface RowUpdate {
  id: number
  cells: Cells
  /** The fields whose new values came as numbers of JSON: the double that is nearest to the stored number leaves it as it is. */
  doubles?: readonly string[]
}

/** A record that the transaction has locked. */
export interface LockedRow {
  id: number
  version: number
}

/** Locks the records in the order of their ids, so that two batches wait for each other without a deadlock. Unknown ids are left out. */
export async function lockRows(db: Database, table: TableDef, ids: readonly number[]): Promise<Map<number, LockedRow>> {
  const rows = await db
    .records(table.id)
    .read<LockedRow>(
      labelled(
        `lock:${table.id}:${table.version}`,
        sql`select r.id, r.version from ${recordsOf(table.id)} r where r.id = any(${ids}::int[]) order by r.id for no key update`,
      ),
    )
  return new Map(rows.map((row) => [row.id, row]))
}

/**
 * Updates the cells of records that the transaction has locked. A record whose cells are already so is not written and keeps its version.
 * @param updates of different records; their sets of fields may differ
 * @returns the records in the order of `updates`; undefined if the table has a newer version than the definition
 * @throws an error of the class `isOutdated` in place of the last if the records are elsewhere
 */
export async function updateRows(
  db: Database,
  table: TableDef,
  updates: readonly RowUpdate[],
  change: Change & BulkChange,
): Promise<StoredRow[] | undefined> {
  const way = choose(db, table.id, { here: updateHere, elsewhere: updateElsewhere })
  const fields = ownFields(table).filter(({ id }) => updates.some(({ cells }) => cells.has(id)))
  const of = { ids: updates.map(({ id }) => id), own: fields, change }
  const written = fields.length ? await way.run(db, table, updating(table, fields, updates, change, way), of) : []
  const rows = new Map(written.map((row) => [row.id, row]))
  const unchanged = updates.flatMap(({ id }) => (rows.has(id) ? [] : id))
  if (unchanged.length) {
    if (!(await isStillCurrent(db, table))) return undefined
    for (const row of await readRows(db, table, unchanged)) rows.set(row.id, row)
  }
  return updates.flatMap(({ id }) => rows.get(id) ?? [])
}

const updateHere: UpdateWay = {
  compose: (table, parts) => updatingHere(table, parts),
  async run(db, table, update, { own, change }) {
    const rows = await db.write<StoredRow>(labelled(`update:${table.id}:${table.version}`, update))
    const changed = rows.filter((row) => row[CHANGE_ID])
    const changeId = changeIdOf(changed)
    if (changeId === null) return rows
    const [only, ...others] = changed as [StoredRow, ...StoredRow[]]
    const fields = others.length ? undefined : await changedFields(db, table, own, only)
    const recordIds = changed.map(({ id }) => id)
    await tellTables({ db, now: change.now }, [changeEvent(table, 'record.updated', { ...change, recordIds, changeId, fields })])
    return rows
  },
}

/** The fields that a change of the record has entered, in the order of the table. */
async function changedFields(db: Database, { id }: TableDef, own: readonly FieldDef[], row: LockedRow): Promise<string[]> {
  const found = await db.read<{ id: string }>(sql`
    select jsonb_object_keys(h.changes) as id from ${historyOf(id)} h where h.record_id = ${row.id} and h.version = ${row.version}`)
  const ids = new Set(found.map((field) => field.id))
  return own.flatMap((field) => (ids.has(field.id) ? field.id : []))
}

function updating(
  table: TableDef,
  fields: readonly FieldDef[],
  updates: readonly RowUpdate[],
  change: Change & BulkChange,
  way: UpdateWay,
): Sql {
  const { undoes, partOf } = change
  const ids = updates.map(({ id }) => id)
  const given = fields.map((field, index) => givenCells(field, index, updates))
  const columns = [{ name: ID, array: arrayOf(ids, raw('int')) }, ...given.flatMap(({ columns }) => columns)]
  const present = fields.map(({ id }) => sql`r.${ident(id)}`)
  const next = given.map((each) => each.next)
  const update = sql`
    update ${recordsOf(table.id)} r set ${join([
      ...fields.map(({ id }, index) => sql`${ident(id)} = ${next[index] as Sql}`),
      sql`version = r.version + 1`,
      sql`updated_at = ${formatInstant(change.now)}::timestamp`,
      sql`updated_by = ${change.userId}::int`,
    ])}`
  return way.compose(table, {
    ...{ own: fields, update, at: sql`${formatInstant(change.now)}`, userId: sql`${change.userId}`, keyId: sql`${change.keyId}` },
    given: sql`unnest(${join(columns.map(({ array }) => array))}) as x (${join(columns.map(({ name }) => ident(name)))})`,
    isMeant: sql`r.id = any(${ids}::int[])`,
    isGiven: sql`r.id = x.${ident(ID)} and row(${join(present)}) is distinct from row(${join(next)})`,
    ...{ kind: change.kind, records: partOf === undefined ? sql`(select count(*)::int from changed)` : null },
    ...{ undoes: bigint(undoes), changeId: bigint(partOf) },
  })
}

const bigint = (id: number | undefined): Sql | undefined => (id === undefined ? undefined : sql`${id}::bigint`)

/** The names of columns of `x` that are no cells begin with a sign that no id of a field has. */
const ID = '#id'

interface GivenCells {
  /** What is unnested of the field, as columns of the rows `x`. */
  columns: { name: string; array: Sql }[]
  /** The next cell of a row `r`. */
  next: Sql
}

function givenCells(field: FieldDef, index: number, updates: readonly RowUpdate[]): GivenCells {
  const { id, type } = field
  const present = sql`r.${ident(id)}`
  const given = nextCell(field, present, unnestedCell(field))
  const cells = updates.map((update) => boundValue(field, update.cells))
  const columns = [{ name: id, array: cellArray(field, cells) }]
  const keeps: Sql[] = []
  function keepWhere(name: string, values: readonly boolean[], condition: (flag: Sql) => Sql): void {
    if (!values.includes(true)) return
    columns.push({ name: `#${name} ${index}`, array: arrayOf(values, raw('boolean')) })
    keeps.push(condition(sql`x.${ident(`#${name} ${index}`)}`))
  }
  // Records that do not name the field keep its cell.
  const absent = updates.map((update) => !update.cells.has(id))
  keepWhere('absent', absent, (isAbsent) => isAbsent)
  const near = updates.map(({ doubles }) => TYPES[type].takes === 'decimals' && doubles?.includes(id) === true)
  keepWhere('near', near, (isNear) => sql`(${isNear} and ${present}::float8 = ${given}::float8)`)
  return { columns, next: keeps.length ? sql`case when ${join(keeps, ' or ')} then ${present} else ${given} end` : given }
}
