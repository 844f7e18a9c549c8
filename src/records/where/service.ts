/** Changes or deletes the records that meet conditions (contract.md §10, where): up to 1,000 at once, more by a job. */

import { requesterOf } from '../../audit/log.ts'
import type { TableDef } from '../../fields/definition.ts'
import type { TableRef } from '../../platform/access/resources.ts'
import type { Answer } from '../../platform/answer.ts'
import type { Context } from '../../platform/context.ts'
import { badInput } from '../../platform/errors.ts'
import { STALE, writeWithDefinition } from '../../tables/with-definition.ts'
import { isGiven } from '../../views/filters/parse.ts'
import { drawChangeId } from '../history/entries.ts'
import { keptConditions } from '../query/resolve.ts'
import { noticesOf, type ResolvedQuery } from '../query/selection.ts'
import { isStillCurrent } from '../rows.ts'
import { insertBulkChange } from './job-row.ts'
import { countMatching, lockMatching, MOST_AT_ONCE, matchingIds, requireExpected, requireFew, resolveWhere } from './matching.ts'
import { runBulkChange } from './run-job.ts'
import type { AskedWhere, ChangedWhere, RecordsDeleteWhere, RecordsUpdateWhere } from './schema.ts'
import { deleteRecords, type Write, type Written, writeValues } from './writes.ts'

/**
 * Writes the same values into every record that matches, or with `dry_run` only counts these.
 * @throws AppError 400 for conditions that records/count refuses, for invalid values, and for too many records; 403 for a field that only
 * admins may write; 409 if another number of records matches than is expected
 */
export function updateWhere(context: Context, table: TableRef, input: RecordsUpdateWhere): Promise<Answer<ChangedWhere>> {
  const { data } = input
  requireOneMode(input)
  if (!Object.keys(data).length) throw badInput('data', 'must have a value for at least one field')
  return writeWithDefinition(context, table, async (definition) => {
    const write = await writeValues(context, definition, table, data, { isDryRun: input.dry_run === true })
    return write === STALE ? STALE : changeWhere(context, { definition, table, kind: 'update', data, write }, input)
  })
}

/** Deletes every record that matches, with its tasks, comments and files. @throws AppError as `updateWhere` */
export function deleteWhere(context: Context, table: TableRef, input: RecordsDeleteWhere): Promise<Answer<ChangedWhere>> {
  requireOneMode(input)
  return writeWithDefinition(context, table, (definition) =>
    changeWhere(context, { definition, table, kind: 'delete', data: null, write: deleteRecords(context, definition) }, input),
  )
}

/** @throws AppError 400 unless the request either is a dry run or has the number that one has answered */
function requireOneMode({ dry_run, expect }: AskedWhere): void {
  if (dry_run && isGiven(expect)) throw badInput('expect', 'does not go with dry_run: true')
  if (!dry_run && !isGiven(expect)) throw badInput('expect', 'is required: the number that the request with dry_run: true has answered')
}

/** What is done to the records. */
interface Change {
  definition: TableDef
  table: TableRef
  kind: 'update' | 'delete'
  /** The values of an update. */
  data: Record<string, unknown> | null
  write: Write
}

/** Counts the records that match and, unless it is a dry run, changes all of them or none, or starts the job that does. */
async function changeWhere(context: Context, change: Change, input: AskedWhere): Promise<Answer<ChangedWhere> | typeof STALE> {
  const resolved = await resolveWhere(context, change.definition, input)
  const notices = noticesOf(resolved)
  const matched = await countMatching(context, resolved)
  const expected = input.expect ?? matched
  requireExpected(matched, expected)
  requireFew(matched)
  if (input.dry_run) return { value: { matched }, ...notices }
  if (matched > MOST_AT_ONCE) return { value: await startJob(context, change, resolved, expected), ...notices }
  const written = await changeAtOnce(context, change, resolved, expected)
  if (!written) return STALE
  const { changed, changeId } = written
  return { value: { matched, changed, change_id: changeId }, ...notices }
}

/** @returns undefined if the definition is outdated */
function changeAtOnce(
  context: Context,
  { definition, write }: Change,
  resolved: ResolvedQuery,
  expected: number,
): Promise<Written | undefined> {
  return context.transaction(async () => {
    const records = await lockMatching(context, resolved)
    requireExpected(records.length > MOST_AT_ONCE ? await countMatching(context, resolved) : records.length, expected)
    // While the records are locked, the columns of the table stay as they are.
    if (!(await isStillCurrent(context.db, definition))) return undefined
    return records.length ? write(records) : { changed: 0, changeId: null }
  })
}

/** Keeps the ids of the records that match now, so that the job ends although it makes others match. */
async function startJob(context: Context, { table, kind, data }: Change, resolved: ResolvedQuery, expected: number): Promise<ChangedWhere> {
  const ids = await matchingIds(context, resolved, expected + 1)
  requireExpected(ids.length > expected ? await countMatching(context, resolved) : ids.length, expected)
  const { db, actor, jobs, transaction } = context
  const { keyId, ip } = requesterOf(context)
  return transaction(async () => {
    const changeId = await drawChangeId(db)
    const { account_id, space_id, id: table_id } = table
    const inserted = await insertBulkChange(context, {
      ...{ account_id, space_id, table_id, kind, data, change_id: changeId, undoes: null },
      ...{ conditions: keptConditions(resolved), record_ids: ids },
      ...{ user_id: actor.userId || null, api_key_id: keyId, ip, time_zone: actor.timeZone },
    })
    // Only undos of one change exclude each other.
    const { id, others } = inserted as NonNullable<typeof inserted>
    // Accounts take turns: the first change of one comes before the second of another.
    await jobs.send(runBulkChange, { bulk_change_id: id }, { priority: others ? -others : 0 })
    return { matched: ids.length, job_id: id, change_id: changeId }
  })
}
