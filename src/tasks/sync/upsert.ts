/** Creating a task, or changing the one that has its external_id already (contract.md §7). */

import type { Answer } from '../../platform/answer.ts'
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { forbidden } from '../../platform/http/errors.ts'
import { update } from '../changes.ts'
import { make, type Place } from '../creation.ts'
import { losers } from '../people.ts'
import { canEdit } from '../policy.ts'
import type { TaskRow } from '../procedure.ts'
import type { StoredTask } from '../queries.ts'
import type { NewTask, Task, TaskUpdate } from '../schema.ts'
import { answerOf } from '../service.ts'
import { isGone, takeFromGone, taken } from './external-ids.ts'

/** Between looking for a task and making it another may come and go; each round follows such a change. */
const MOST_ROUNDS = 5

/**
 * Makes a task; with `upsert`, changes the one that has the external_id.
 * @throws AppError as `make` and `update`; 409 for an external_id that is taken, with `upsert` by a task of another place or
 * somebody else's standalone one; 403 for one on the record that the caller may not edit
 */
export async function create(context: Context, place: Place | null, input: NewTask): Promise<Answer<Task>> {
  if (input.upsert && input.external_id != null) return createOrChange(context, place, input, input.external_id)
  const made = (await make(context, place, input)) ?? (await makeInsteadOfGone(context, place, input))
  if (!made) throw taken()
  return answerOf(made, losers(input))
}

async function makeInsteadOfGone(context: Context, place: Place | null, input: NewTask): Promise<StoredTask | null> {
  return input.external_id != null && (await takeFromGone(context, input.external_id)) ? make(context, place, input) : null
}

async function createOrChange(context: Context, place: Place | null, input: NewTask, externalId: string): Promise<Answer<Task>> {
  return context.transaction(async () => {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const found = await lockByExternalId(context, externalId)
      if (found) return change(context, place, found, input)
      const made = await make(context, place, input)
      if (made) return answerOf(made, losers(input))
      await takeFromGone(context, externalId)
    }
    throw taken()
  })
}

type FoundTask = Pick<TaskRow, 'task_id' | 'creator_user_id' | 'assignee_user_id' | 'space_id' | 'table_id' | 'record_id'>

async function lockByExternalId({ db, actor }: Context, externalId: string): Promise<FoundTask | undefined> {
  const [found] = await db.query<FoundTask>(sql`
    select id as task_id, creator_user_id, assignee_user_id, space_id, table_id, record_id from tasks k
    where account_id = ${actor.accountId} and external_id = ${externalId} and not ${isGone} for update`)
  return found
}

/** In the place that the request names the caller may read it: that has been checked. */
async function change(context: Context, place: Place | null, found: FoundTask, input: NewTask): Promise<Answer<Task>> {
  if (found.table_id !== (place?.table_id ?? null) || found.record_id !== (place?.record_id ?? null)) throw taken()
  // A task that is nowhere is hidden from whom it does not concern.
  if (!canEdit({ ...found, member_role: null }, context.actor)) throw place ? forbidden() : taken()
  const { ignored = [], ...changed } = await update(context, found, changeOf(input))
  return { ...changed, ignored: [...ONLY_FOR_NEW.filter((key) => input[key] != null), ...ignored] }
}

const ONLY_FOR_NEW = ['assigner_user_id', 'assigner_email', 'notify_assigner'] as const

/** What a create says of the task that has its external_id, as a change: null is absence there (contract.md §1). */
function changeOf({ external_id: _has, upsert: _upsert, attachments: _files, ...input }: NewTask): TaskUpdate {
  const { assigner_user_id: _id, assigner_email: _email, notify_assigner: _notify, ...rest } = input
  return Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null)) as TaskUpdate
}
