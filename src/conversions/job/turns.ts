/**
 * Accounts take turns. The first conversion of each account comes before the second of any: the priority of a job is lower by one for each
 * conversion of the account that was there before, and for each turn that the conversion has had.
 */
import type { Context } from '../../platform/context.ts'
import { type Database, sql } from '../../platform/database/database.ts'
import { conflict } from '../../platform/errors.ts'
import { IS_CHECKING } from './conversion-row.ts'

/** A conversion of a large table lets another account's go first after this time. */
export const TURN_MS = 10_000

/** The most dry runs of a field that have not ended. Each reads all records of its table. */
const MOST_DRY_RUNS = 20

export const priorityOf = (turn: number) => ({ priority: turn ? -turn : 0 })

/** @returns how many conversions of the account are to be counted, or to be done, before this one */
export async function firstTurn(db: Database, stage: 'check' | 'convert', { id }: { id: number }): Promise<number> {
  const isInStage = stage === 'check' ? IS_CHECKING : IS_CONVERTING
  const [found] = await db.read<{ n: number }>(sql`
    select count(*) as n from field_conversions
    where account_id = (select account_id from field_conversions where id = ${id}) and id <> ${id} and ${isInStage}`)
  return found?.n ?? 0
}

const IS_CONVERTING = sql`state in ('queued', 'running') and exact_state is null`

/** True if a conversion of another account could begin or go on, but no worker has it. */
export async function isOtherWaiting(db: Database, { id }: { id: number }): Promise<boolean> {
  const waiting = await db.read(sql`
    select from field_conversions where ${IS_CONVERTING} and attempts = 0
      and account_id <> (select account_id from field_conversions where id = ${id}) limit 1`)
  return waiting.length > 0
}

/** A turn that ends is no attempt that has failed. */
export async function endTurn({ db }: Pick<Context, 'db'>, { id }: { id: number }): Promise<void> {
  await db.write(sql`update field_conversions set attempts = attempts - 1, updated_at = now() where id = ${id} and state = 'running'`)
}

/** The first half of an advisory lock; the second is the id of the table. */
const DRY_RUNS = 0x647279

/** Requires that the field may have one more dry run. @throws AppError 409 */
export async function requireFewDryRuns(db: Database, tableId: number, fieldId: string): Promise<void> {
  // Requests at the same time count one after the other. A lock of the table would also wait for its changes.
  await db.write(sql`select pg_advisory_xact_lock(${DRY_RUNS}::int, ${tableId}::int)`)
  const [found] = await db.read<{ n: number }>(sql`
    select count(*) as n from field_conversions where table_id = ${tableId} and field_id = ${fieldId} and dry_run and ${IS_CHECKING}`)
  if ((found?.n ?? 0) >= MOST_DRY_RUNS) throw conflict(`The field has ${MOST_DRY_RUNS} unfinished dry runs; wait for one of them`)
}
