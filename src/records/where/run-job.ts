/**
 * The job of an update, a deletion or an undo of more than 1,000 records. Each batch is a transaction with the progress of the change, so
 * the job may be killed anywhere and run twice.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { TableDef } from '../../fields/definition.ts'
import { requireRequester } from '../../platform/access/requester.ts'
import { type TableRef, tableOf, tableResource } from '../../platform/access/resources.ts'
import type { Context } from '../../platform/context.ts'
import { recordsOf, sql } from '../../platform/database/database.ts'
import { AppError } from '../../platform/errors.ts'
import { defineQueue } from '../../platform/jobs/queue.ts'
import { instantOf } from '../../platform/time/time.ts'
import { FIRST_STEP, nextStep } from '../../tables/cells/id-batches.ts'
import { STALE, writeWithDefinition } from '../../tables/with-definition.ts'
import type { LockedRow } from '../bulk/update-rows.ts'
import { resolveKept } from '../query/resolve.ts'
import { isStillCurrent } from '../rows.ts'
import { readChange, requireUndoable } from '../undo/change.ts'
import { takeBack, withdrawFor } from '../undo/take-back.ts'
import {
  type BatchOutcome,
  type BulkChange,
  type BulkChangeEnd,
  claimBulkChange,
  endBulkChange,
  idleBulkChanges,
  lockBatch,
  type Skip,
  storeBatch,
} from './job-row.ts'
import { lockMatching } from './matching.ts'
import { deleteRecords, type Write, type Written, writeValues } from './writes.ts'

export const runBulkChange = defineQueue({
  name: 'records.bulk-change',
  schema: z.object({ bulk_change_id: z.int() }),
  options: { expireInSeconds: 3_600, retryLimit: 8, retryDelay: 5 },
})
export const resumeBulkChanges = defineQueue({ name: 'records.resume-bulk-changes', schema: z.object({}) })

/** The most attempts without any progress. */
const MOST_ATTEMPTS = 8

/** Runs the job. @throws any error that a retry may avoid */
export async function run(context: Context, { bulk_change_id }: { bulk_change_id: number }): Promise<void> {
  const change = await claimBulkChange(context.db, bulk_change_id)
  if (!change) return
  try {
    await changeAll(context, change)
  } catch (error) {
    const end = endOf(error, change.attempts)
    if (!end) throw error
    if (!(error instanceof AppError)) context.log.error({ err: error, bulk_change_id }, 'change of many records failed')
    await endBulkChange(context.db, change.id, end)
  }
}

/** Large batches delay readers, and small ones cost a commit for few records. */
const MOST_IN_BATCH = 500

async function changeAll(context: Context, change: BulkChange): Promise<void> {
  for (let size = FIRST_STEP, isLeft = true; isLeft; ) {
    const startedAt = performance.now()
    isLeft = await changeBatch(context, change, size)
    const tookMs = performance.now() - startedAt
    size = nextStep(size, tookMs, MOST_IN_BATCH)
    // The database is left to others for half of the time.
    if (isLeft) await sleep(tookMs)
  }
}

/** Changes the next records. @returns false if none are left, or the change was cancelled */
async function changeBatch(context: Context, change: BulkChange, size: number): Promise<boolean> {
  const { acting, table } = await admitted(context, change)
  const { db, transaction } = acting
  return writeWithDefinition<boolean>(acting, table, async (definition) => {
    const write = await (change.kind === 'undo' ? undoing : changingMatches)(acting, definition, table, change)
    if (write === STALE) return STALE
    return transaction(async () => {
      const batch = await lockBatch(db, change.id, size)
      if (!batch) return false
      const written = await write(batch.ids)
      return written === STALE ? STALE : storeBatch(db, change.id, batch, { done: batch.ids.length, ...written })
    })
  })
}

/** Changes the records with the ids. @returns STALE if the definition is outdated; then nothing was changed */
type WriteBatch = (ids: readonly number[]) => Promise<Pick<BatchOutcome, 'changed' | 'skips'> | typeof STALE>

/** Changes those of the records that still match. */
async function changingMatches(
  context: Context,
  definition: TableDef,
  table: TableRef,
  change: BulkChange,
): Promise<WriteBatch | typeof STALE> {
  const { conditions, created_at, change_id } = change
  if (!conditions) throw new Error(`The change ${change.id} has no conditions`)
  const resolved = await resolveKept({ ...context, now: instantOf(created_at) }, definition, conditions)
  const write = await writeOf(context, definition, table, change)
  if (write === STALE) return STALE
  return async (ids) => {
    const records = await lockMatching(context, resolved, ids)
    // While the records are locked, the columns of the table stay as they are.
    if (!(await isStillCurrent(context.db, definition))) return STALE
    const written = records.length ? await write(records, change_id) : NOTHING
    if (!written) throw new Error('The table was changed while its records were locked')
    return { changed: written.changed, skips: await skipsOf(context, table.id, ids, records) }
  }
}

const NOTHING: Written = { changed: 0, changeId: null }

/** Takes the change of the records back. The sender may have lost the right to undo changes of others. */
async function undoing(context: Context, definition: TableDef, table: TableRef, change: BulkChange): Promise<WriteBatch | typeof STALE> {
  const { undoes, change_id: partOf } = change
  if (undoes === null) throw new Error(`The change ${change.id} undoes nothing`)
  if (await withdrawFor(context, definition, 'all')) return STALE
  return async (recordIds) => {
    const entries = await readChange(context, definition, undoes, { recordIds, limit: recordIds.length })
    // Changes that are forgotten meanwhile stay.
    if (!entries.length) return { changed: 0, skips: [] }
    requireUndoable(context.actor, table, entries)
    const reverted = await takeBack(context, definition, table, { changeId: undoes, entries, partOf })
    return reverted ? { changed: reverted.undone, skips: reverted.skips } : STALE
  }
}

/**
 * Checks the rights of the sender, who may have lost them since the batch before.
 * @returns the context of the sender, and the table with the role that they have now. @throws AppError 403; 404 if the table was deleted
 */
async function admitted(context: Context, change: BulkChange): Promise<{ acting: Context; table: TableRef }> {
  const { user_id, api_key_id, ip, time_zone } = change
  const now = context.now
  const wish = { resource: tableResource, ids: { table_id: change.table_id }, right: 'write' as const }
  const granted = await requireRequester(context.db, change, wish, now)
  if (!granted) throw new Error(`The change ${change.id} has no sender`)
  const actor = { ...granted.actor, timeZone: time_zone }
  return {
    acting: { ...context, actor, requester: { userId: user_id, keyId: api_key_id, ip } },
    table: tableOf(granted.row, granted.actor),
  }
}

/** How the job writes a batch. @returns STALE if the definition has just become outdated */
async function writeOf(context: Context, definition: TableDef, table: TableRef, change: BulkChange): Promise<Write | typeof STALE> {
  if (change.kind === 'delete') return deleteRecords(context, definition)
  return writeValues(context, definition, table, change.data ?? {})
}

/** The records of the batch that were left, with the reason. */
async function skipsOf({ db }: Context, tableId: number, ids: readonly number[], locked: readonly LockedRow[]): Promise<Skip[]> {
  const matching = new Set(locked.map(({ id }) => id))
  const left = ids.filter((id) => !matching.has(id))
  if (!left.length) return []
  const found = await db
    .records(tableId)
    .read<{ id: number }>(sql`select r.id from ${recordsOf(tableId)} r where r.id = any(${left}::int[])`)
  const existing = new Set(found.map(({ id }) => id))
  return left.map((id) => ({ record_id: id, field: null, reason: existing.has(id) ? 'changed since' : 'deleted' }))
}

/** How the error ends the change; undefined if another attempt may succeed. */
function endOf(error: unknown, attempts: number): BulkChangeEnd | undefined {
  if (error instanceof AppError) {
    if (error.code === 'NOT_FOUND') return { state: 'cancelled', error: 'The table has been deleted' }
    // The fields were changed or deleted, or the sender has lost the right.
    if (error.code === 'BAD_REQUEST' || error.code === 'FORBIDDEN') return { state: 'failed', error: error.message }
  }
  return attempts < MOST_ATTEMPTS ? undefined : { state: 'failed', error: `The job failed ${attempts} times` }
}

/** Ends the change after the batch that is being written. @returns false if it is over */
export const cancelBulkChange = ({ db }: Context, id: number): Promise<boolean> =>
  endBulkChange(db, id, { state: 'cancelled', error: 'The job was cancelled' })

/** Sends the jobs of changes that may be lost once more. A schedule calls it. */
export async function resumeAll(context: Context): Promise<void> {
  for (const id of await idleBulkChanges(context)) await context.jobs.send(runBulkChange, { bulk_change_id: id })
}
