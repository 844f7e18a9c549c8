/** Cells that a change of their field empties or rounds: on a large table most of them beforehand, so that nobody waits for long. */
import type { Actor } from '../access.ts'
import { type Database, ident, recordsOf, type Sql, sql } from '../db.ts'
import { conflict } from '../errors.ts'
import type { Scope } from '../scope.ts'
import { formatInstant } from '../time.ts'
import { holdWriters } from './ddl.ts'
import { type FieldDef, isMultiple, type Option } from './fields.ts'
import { isWorthIndexing } from './indexing.ts'

/** Which cells of a field, what becomes of them, and why a caller has to agree. */
export interface CellChange {
  field: FieldDef
  where: Sql
  to: Sql
  /** The key of the request that leads to it. */
  path: 'options' | 'decimals'
  reason: string
}

/** Options that go are taken out of the cells that hold them. */
export function withoutOptions(field: FieldDef, removed: readonly Option[]): CellChange {
  const reason = `records use ${removed.map(({ title }) => `"${title}"`).join(', ')}`
  return {
    ...takingOut(
      field,
      removed.map(({ id }) => id),
    ),
    path: 'options',
    reason,
  }
}

/** Options, by their ids, taken out of the cells that hold them. */
export function takingOut(field: FieldDef, ids: readonly number[]): Pick<CellChange, 'field' | 'where' | 'to'> {
  const cell = ident(field.id)
  const [where, to] = isMultiple(field.type)
    ? [
        sql`${cell} && ${ids}::int[]`,
        sql`(select nullif(array_agg(o order by at), '{}') from unnest(${cell}) with ordinality u (o, at) where o <> all(${ids}::int[]))`,
      ]
    : [sql`${cell} = any(${ids}::int[])`, sql`null`]
  return { field, where, to }
}

/** Numbers keep fewer digits after the point. */
export function rounded(field: FieldDef, decimals: number): CellChange {
  const to = sql`round(${ident(field.id)}, ${decimals}::int)`
  return { field, where: sql`${ident(field.id)} <> ${to}`, to, path: 'decimals', reason: 'records have more digits' }
}

/**
 * In the transaction that changes the field: with `force` the cells are changed, without none may be in need of it.
 * Writers wait from here on, so that no cell comes after the look.
 * @throws AppError 409
 */
export async function changeCells(scope: Scope, tableId: number, change: CellChange, force: boolean | undefined): Promise<void> {
  await holdWriters(scope.db, tableId)
  if (force) {
    await scope.db.execute(updateOf(scope, tableId, change, change.where))
    return
  }
  const [used] = await scope.db.query(sql`select 1 from ${recordsOf(tableId)} where ${change.where} limit 1`)
  const { path, reason } = change
  if (used) throw conflict(`${path}: ${reason}; send force: true to change them`, { issues: [{ path: [path], message: reason }] })
}

/** Ids in one statement: each record also goes into every index, so 0.2 s or more, for which others may have to wait for one of them. */
const STEP = 1_000

/**
 * Before that transaction, on a large table: changes what is there by now, in short statements. The transaction then finds the few
 * that were written since. Should it fail, these cells have been changed all the same: `force` has been said.
 */
export async function changeAhead(scope: Scope, tableId: number, change: CellChange): Promise<void> {
  if (await isWorthIndexing(scope.db, tableId)) await changeInSteps(scope, tableId, change)
}

/** Cells that are there by now, in short statements. */
export async function changeInSteps(
  scope: Pick<Scope, 'db' | 'actor' | 'now'>,
  tableId: number,
  change: Pick<CellChange, 'field' | 'where' | 'to'>,
): Promise<void> {
  const { db } = scope
  const last = await lastId(db, tableId)
  for (let from = 0; from < last; from += STEP) {
    await db.execute(updateOf(scope, tableId, change, sql`id > ${from} and id <= ${from + STEP} and ${change.where}`))
  }
}

async function lastId(db: Database, tableId: number): Promise<number> {
  const [found] = await db.query<{ id: number | null }>(sql`select max(id) as id from ${recordsOf(tableId)}`)
  return found?.id ?? 0
}

const updateOf = (
  { actor, now }: { actor: Actor; now: Date },
  tableId: number,
  { field, to }: Pick<CellChange, 'field' | 'to'>,
  where: Sql,
) => sql`
  update ${recordsOf(tableId)} set ${ident(field.id)} = ${to}, version = version + 1,
    updated_at = ${formatInstant(now)}::timestamp, updated_by = ${actor.userId || null} where ${where}`
