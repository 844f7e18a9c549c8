/** Creating many tasks with one request (contract.md §7, Bulk tasks). */
import { NO_ATTACHMENTS } from '../../platform/access/authorize.ts'
import type { Answer } from '../../platform/answer.ts'
import type { Context } from '../../platform/context.ts'
import { AppError, badShape, errorWithin, forbidden } from '../../platform/errors.ts'
import { lockedPlace, type TaskPlace } from '../creation.ts'
import { lockEntries } from '../files/attachments.ts'
import { type MadeTask, type NewTask, parseTask } from '../schema.ts'
import { lockExternalIds, lockTasks } from './external-ids.ts'
import { create } from './upsert.ts'

/**
 * Creates the tasks in order, each as `create` does. A refused task changes nothing and does not stop the others.
 * @param items not validated yet
 * @returns the created task or the refusal of each item, in order, all committed together; `ignored` names the ignored inputs of all items
 */
export async function createMany(
  context: Context,
  place: TaskPlace | null,
  items: readonly unknown[],
): Promise<Answer<{ rows: MadeTask[] }>> {
  const checked = items.map((item) => check(context, item))
  return context.transaction(async () => {
    // Everything that another request may lock comes before the first task, so that two requests cannot deadlock.
    if (place) await context.db.records(place.table_id).read(lockedPlace(place))
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
  place: TaskPlace | null,
  input: NewTask | AppError,
  at: (string | number)[],
): Promise<Answer<MadeTask>> {
  try {
    if (input instanceof AppError) throw input
    const { value, ignored = [] } = await create(context, place, input)
    return { value: { ok: true, task: value }, ignored }
  } catch (error) {
    // Any other error ends the transaction and the request.
    if (!(error instanceof AppError)) throw error
    const { message, code } = errorWithin(error, at)
    return { value: { ok: false, message, code } }
  }
}

/** The valid task, or its refusal: 403 for attachments from a key, whatever their value, 400 for an invalid task. */
function check({ actor }: Context, item: unknown): NewTask | AppError {
  if (actor.keyId !== null && item !== null && typeof item === 'object' && Object.hasOwn(item, 'attachments'))
    return forbidden(NO_ATTACHMENTS)
  const { data, error } = parseTask(item)
  return error ? badShape(error) : data
}
