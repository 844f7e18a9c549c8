/** Making many tasks with one request (contract.md §7, Bulk tasks). */
import { NO_ATTACHMENTS } from '../../platform/access/authorize.ts'
import type { Answer } from '../../platform/answer.ts'
import type { Context } from '../../platform/context.ts'
import { AppError, badShape, forbidden, within } from '../../platform/http/errors.ts'
import { living, type Place } from '../creation.ts'
import { lockEntries } from '../files/attachments.ts'
import { type MadeTask, type NewTask, parseTask } from '../schema.ts'
import { lockExternalIds, lockTasks } from './external-ids.ts'
import { create } from './upsert.ts'

/**
 * Makes the tasks in order, each as `create` would: one that is refused changes nothing, and stops none of the others.
 * @param items as they came; each is judged by itself
 * @returns the outcome of each, in order; all of it is committed together. `ignored` names the inputs of any of them
 */
export async function createMany(context: Context, place: Place | null, items: readonly unknown[]): Promise<Answer<{ rows: MadeTask[] }>> {
  const checked = items.map((item) => check(context, item))
  return context.transaction(async () => {
    // All that another call could hold, before the first task is locked: else two could wait for each other.
    if (place) await context.db.query(living(place))
    const inputs = checked.flatMap((input) => (input instanceof AppError ? [] : [input]))
    const named = (wanted: readonly NewTask[]) => wanted.flatMap(({ external_id }) => external_id ?? [])
    await lockExternalIds(context, named(inputs))
    await lockTasks(context, named(inputs.filter(({ upsert }) => upsert)))
    await lockEntries(
      context,
      inputs.flatMap(({ attachments }) => attachments ?? []),
    )
    const outcomes: Answer<MadeTask>[] = []
    for (const [index, input] of checked.entries()) outcomes.push(await outcome(context, place, input, ['tasks', index]))
    return { value: { rows: outcomes.map(({ value }) => value) }, ignored: outcomes.flatMap(({ ignored = [] }) => ignored) }
  })
}

async function outcome(
  context: Context,
  place: Place | null,
  input: NewTask | AppError,
  at: (string | number)[],
): Promise<Answer<MadeTask>> {
  try {
    if (input instanceof AppError) throw input
    const { value: task, ignored = [] } = await create(context, place, input)
    return { value: { ok: true, task }, ignored }
  } catch (error) {
    // What is no refusal breaks the transaction, and with that the whole.
    if (!(error instanceof AppError)) throw error
    const { message, code } = within(error, at)
    return { value: { ok: false, message, code } }
  }
}

/** The task as it can be made, or the refusal: 403 for attachments from a key, 400. */
function check({ actor }: Context, item: unknown): NewTask | AppError {
  if (actor.keyId !== null && item !== null && typeof item === 'object' && 'attachments' in item) return forbidden(NO_ATTACHMENTS)
  const { data, error } = parseTask(item)
  return error ? badShape(error) : data
}
