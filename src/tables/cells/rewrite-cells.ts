/** Rewrites cells when their field loses options or digits. */

import { type FieldDef, isMultiple, type Loss } from '../../fields/definition.ts'
import type { Option } from '../../fields/settings.ts'
import { roundedTo } from '../../fields/types/number.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Context } from '../../platform/context.ts'
import { type Database, ident, recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import { type AppError, conflict } from '../../platform/errors.ts'
import { formatInstant } from '../../platform/time/time.ts'
import { holdWriters } from '../ddl.ts'
import { FIRST_STEP, nextStep } from './id-batches.ts'

/** The cells of a field to change, and the SQL of their new values. */
export interface CellUpdate {
  field: FieldDef
  where: Sql
  to: Sql
}

/** A change that the caller has to confirm with `force`, and the reason. */
export interface CellChange extends CellUpdate {
  loss: Loss
  reason: string
}

/** Removes options that are deleted from the cells that hold them. */
export function withoutOptions(field: FieldDef, removed: readonly Option[]): CellChange {
  const options = removed.map(({ id }) => id)
  return {
    ...withoutOptionIds(field, options),
    loss: { options },
    reason: `records use ${removed.map(({ title }) => `"${title}"`).join(', ')}`,
  }
}

/** Removes options, by their ids, from the cells that hold them. */
export function withoutOptionIds(field: FieldDef, ids: readonly number[]): CellUpdate {
  const cell = ident(field.id)
  const [where, to] = isMultiple(field.type)
    ? [
        sql`${cell} && ${ids}::int[]`,
        sql`(select nullif(array_agg(u.id order by u.at), '{}')
          from unnest(${cell}) with ordinality u (id, at) where u.id <> all(${ids}::int[]))`,
      ]
    : [sql`${cell} = any(${ids}::int[])`, sql`null`]
  return { field, where, to }
}

/** Rounds numbers to fewer digits after the point. */
export const rounded = (field: FieldDef, decimals: number): CellChange => ({
  ...rounding(field, decimals),
  loss: { decimals },
  reason: 'records have more digits',
})

export function rounding(field: FieldDef, decimals: number): CellUpdate {
  const cell = ident(field.id)
  // The scale alone rules out most cells, at half the cost of rounding them.
  return {
    field,
    where: sql`scale(${cell}) > ${decimals}::int and ${cell} <> round(${cell}, ${decimals}::int)`,
    to: roundedTo(cell, decimals),
  }
}

/**
 * Changes the cells if `force` is true, and otherwise requires that no cell needs a change. It runs in the transaction that changes the
 * field, and blocks writers, so that no cell is written after the check.
 * @throws AppError 409 without `force` when a cell needs a change
 */
export async function changeCells(context: Context, tableId: number, change: CellChange, force: boolean | undefined): Promise<void> {
  await holdWriters(context.db, tableId)
  if (force) {
    await context.db.write(updateOf(context, tableId, change, change.where))
    return
  }
  const [used] = await context.db.records(tableId).read(sql`select 1 from ${recordsOf(tableId)} where ${change.where} limit 1`)
  if (used) throw needsForce(change)
}

/** Returns a 409 that names the key of the request that caused it. */
export function needsForce({ loss, reason }: CellChange): AppError {
  const [path = ''] = Object.keys(loss)
  return conflict(`${path}: ${reason}; send force: true to change them`, { issues: [{ path: [path], message: reason }] })
}

/** Changes all cells that exist now, in short statements. */
export async function rewriteCells(context: Pick<Context, 'db' | 'actor' | 'now'>, tableId: number, change: CellUpdate): Promise<void> {
  const { db } = context
  const last = await lastId(db, tableId)
  for (let from = 0, step = FIRST_STEP; from < last; ) {
    const startedAt = performance.now()
    await db.write(updateOf(context, tableId, change, sql`id > ${from} and id <= ${from + step} and ${change.where}`))
    from += step
    step = nextStep(step, performance.now() - startedAt)
  }
}

export async function lastId(db: Database, tableId: number): Promise<number> {
  const [found] = await db.records(tableId).read<{ id: number | null }>(sql`select max(id) as id from ${recordsOf(tableId)}`)
  return found?.id ?? 0
}

const updateOf = ({ actor, now }: { actor: Actor; now: Date }, tableId: number, { field, to }: CellUpdate, where: Sql) => sql`
  update ${recordsOf(tableId)} set ${ident(field.id)} = ${to}, version = version + 1,
    updated_at = ${formatInstant(now)}::timestamp, updated_by = ${actor.userId || null} where ${where}`
