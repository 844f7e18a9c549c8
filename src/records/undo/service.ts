/** Takes changes of records back (contract.md §10, Undo): up to 1,000 records at once, more by a job. */

import { requesterOf } from '../../audit/log.ts'
import type { TableDef } from '../../fields/definition.ts'
import type { TableRef } from '../../platform/access/resources.ts'
import type { Context } from '../../platform/context.ts'
import type { Database } from '../../platform/database/database.ts'
import { conflict } from '../../platform/errors.ts'
import { STALE, writeWithDefinition } from '../../tables/with-definition.ts'
import { drawChangeId } from '../history/entries.ts'
import { insertBulkChange, isChanging } from '../where/job-row.ts'
import { runBulkChange } from '../where/run-job.ts'
import { isUndone, readChange, recordsOfChange, requireUndoable } from './change.ts'
import type { Undone } from './schema.ts'
import { takeBack, withdrawFor } from './take-back.ts'

/** The most records that one request takes back. */
const MOST_AT_ONCE = 1_000
/** The most skips that an answer names. */
const MOST_SHOWN = 100

/**
 * Sets back each field that still has the value that the change gave it, and deletes the records that the change has created, unless they
 * were changed since.
 * @throws AppError 404 for a change that the history of the table does not have; 403 for another's change, unless the caller is an admin;
 * 400 for an import; 409 while a job makes the change
 */
export async function undo(context: Context, table: TableRef, changeId: number): Promise<Undone> {
  return writeWithDefinition<Undone>(context, table, async (definition) => {
    const entries = await readChange(context, definition, changeId, { limit: MOST_AT_ONCE + 1 })
    requireUndoable(context.actor, table, entries)
    await requireFinished(context.db, table, changeId)
    if (entries.length > MOST_AT_ONCE) return startJob(context, definition, table, changeId)
    if (await withdrawFor(context, definition, entries)) return STALE
    const reverted = await takeBack(context, definition, table, { changeId, entries })
    if (!reverted) return STALE
    const { undone, skips, changeId: change_id } = reverted
    return { undone, skipped: skips.length, skips: skips.slice(0, MOST_SHOWN), change_id }
  })
}

/** What a job has not changed yet would stay. */
async function requireFinished(db: Database, { account_id }: TableRef, changeId: number): Promise<void> {
  if (await isChanging(db, account_id, changeId)) throw conflict('The change is still being made; wait for its job, or cancel it')
}

const NOTHING: Undone = { undone: 0, skipped: 0, skips: [], change_id: null }

async function startJob(context: Context, definition: TableDef, table: TableRef, undoes: number): Promise<Undone> {
  const { db, actor, jobs, transaction } = context
  if (await isUndone(db, definition, undoes)) return NOTHING
  const record_ids = await recordsOfChange(db, definition, undoes)
  const { keyId, ip } = requesterOf(context)
  return transaction(async () => {
    const change_id = await drawChangeId(db)
    const { account_id, space_id, id: table_id } = table
    const inserted = await insertBulkChange(context, {
      ...{ account_id, space_id, table_id, kind: 'undo', change_id, undoes, conditions: null, data: null, record_ids },
      ...{ user_id: actor.userId || null, api_key_id: keyId, ip, time_zone: actor.timeZone },
    })
    // Another undo of the change is running, and wins.
    if (!inserted) return NOTHING
    await jobs.send(runBulkChange, { bulk_change_id: inserted.id }, { priority: inserted.others ? -inserted.others : 0 })
    return { job_id: inserted.id, change_id }
  })
}
