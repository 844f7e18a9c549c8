/** Creating a task, or updating the task that has its external_id (contract.md §7). */

import type { Answer } from '../../platform/answer.ts'
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { forbidden } from '../../platform/errors.ts'
import { update } from '../changes.ts'
import { type CreatedTask, createNew, type TaskPlace } from '../creation.ts'
import { ignoredEmails } from '../people.ts'
import { canEdit } from '../policy.ts'
import type { TaskRow } from '../procedure.ts'
import type { NewTask, Task, TaskUpdate } from '../schema.ts'
import { externalIdTaken, isInDeletedTable, releaseFromDeleted } from './external-ids.ts'

/** Each retry follows a concurrent request that created or deleted the task between the search and the insert. */
const MAX_ATTEMPTS = 5

type TaskAnswer = Answer<CreatedTask['value']>

/**
 * Creates a task, or with `upsert` updates the one that has the external_id.
 * @throws AppError as `createNew` and `update`; 409 for an external_id that is taken, with `upsert` when the task is on another record, or
 * is a standalone task that the caller may not edit; 403 for a task on the same record that the caller may not edit
 */
export async function create(context: Context, place: TaskPlace | null, input: NewTask): Promise<TaskAnswer> {
  if (input.upsert && input.external_id != null) return createOrUpdate(context, place, input, input.external_id)
  const created = (await createNew(context, place, input)) ?? (await createInPlaceOfDeleted(context, place, input))
  if (!created) throw externalIdTaken()
  return answerOf(created, input)
}

const answerOf = ({ value, version }: CreatedTask, input: NewTask): TaskAnswer => ({ value, version, ignored: ignoredEmails(input) })

async function createInPlaceOfDeleted(context: Context, place: TaskPlace | null, input: NewTask): Promise<CreatedTask | null> {
  return input.external_id != null && (await releaseFromDeleted(context, input.external_id)) ? createNew(context, place, input) : null
}

/**
 * The search is a transaction of its own, without the insert. When Citus looks for deadlocks, it takes all transactions that have not come
 * to a node yet for one: if one that has locked the record waited for the task, those before and behind it would seem to wait for each
 * other.
 */
async function createOrUpdate(context: Context, place: TaskPlace | null, input: NewTask, externalId: string): Promise<TaskAnswer> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const updated = await context.transaction(async () => {
      const found = await lockByExternalId(context, externalId)
      return found && updateFound(context, place, found, input)
    })
    if (updated) return updated
    const created = await createNew(context, place, input)
    if (created) return answerOf(created, input)
    await releaseFromDeleted(context, externalId)
  }
  throw externalIdTaken()
}

type FoundTask = Pick<TaskRow, 'task_id' | 'creator_user_id' | 'assignee_user_id' | 'space_id' | 'table_id' | 'record_id'>

async function lockByExternalId({ db, actor }: Context, externalId: string): Promise<FoundTask | undefined> {
  const [found] = await db.read<FoundTask>(sql`
    select id as task_id, creator_user_id, assignee_user_id, space_id, table_id, record_id from tasks k
    where account_id = ${actor.accountId} and external_id = ${externalId} and not ${isInDeletedTable} for update`)
  return found
}

/** The caller may read the place that the request names; the task's own place may be another one. */
async function updateFound(context: Context, place: TaskPlace | null, found: FoundTask, input: NewTask): Promise<Answer<Task>> {
  if (found.table_id !== (place?.table_id ?? null) || found.record_id !== (place?.record_id ?? null)) throw externalIdTaken()
  // A standalone task of other people is not revealed by 403.
  if (!canEdit({ ...found, member_role: null }, context.actor)) throw place ? forbidden() : externalIdTaken()
  const { ignored = [], ...updated } = await update(context, found, updateOf(input))
  return { ...updated, ignored: [...ONLY_FOR_NEW.filter((key) => input[key] != null), ...ignored] }
}

const ONLY_FOR_NEW = ['assigner_user_id', 'assigner_email', 'notify_assigner'] as const

/** The update that a create with `upsert` stands for. In a create, null means an absent key (contract.md §1). */
function updateOf({ external_id: _has, upsert: _upsert, attachments: _files, ...input }: NewTask): TaskUpdate {
  const { assigner_user_id: _id, assigner_email: _email, notify_assigner: _notify, ...rest } = input
  return Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null)) as TaskUpdate
}
