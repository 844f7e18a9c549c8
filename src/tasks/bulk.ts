/** Making many tasks with one request (contract.md §7, Bulk tasks). */
import { NO_ATTACHMENTS } from '../access.ts'
import { AppError, badShape, forbidden, within } from '../errors.ts'
import type { Scope } from '../scope.ts'
import type { Place } from './creation.ts'
import { type MadeTask, type NewTask, parseTask } from './schema.ts'
import { create } from './upsert.ts'

/**
 * Makes the tasks in order, each as `create` would: one that is refused changes nothing, and stops none of the others.
 * @param items as they came; each is judged by itself
 * @returns what became of each, in order; all of it is committed together
 */
export async function createMany(scope: Scope, place: Place | null, items: readonly unknown[]): Promise<MadeTask[]> {
  // Versions of rows have no place in the headers of many.
  const each: Scope = { ...scope, tagged: () => {}, expectedVersions: undefined }
  return scope.transaction(async () => {
    const made: MadeTask[] = []
    for (const [index, item] of items.entries()) made.push(await outcome(each, place, item, ['tasks', index]))
    return made
  })
}

async function outcome(scope: Scope, place: Place | null, item: unknown, at: (string | number)[]): Promise<MadeTask> {
  try {
    return { ok: true, task: await create(scope, place, checked(scope, item)) }
  } catch (error) {
    // What is no refusal breaks the transaction, and with that the whole.
    if (!(error instanceof AppError)) throw error
    const { message, code } = within(error, at)
    return { ok: false, message, code }
  }
}

/** @throws AppError 403 for attachments from a key; 400 */
function checked({ actor }: Scope, item: unknown): NewTask {
  if (actor.keyId !== null && item !== null && typeof item === 'object' && 'attachments' in item) throw forbidden(NO_ATTACHMENTS)
  const { data, error } = parseTask(item)
  if (error) throw badShape(error)
  return data
}
