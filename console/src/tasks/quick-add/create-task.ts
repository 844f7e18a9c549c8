/** Sends a new task. */
import type { Client, Outputs } from '../../session/client.ts'
import { errorData, messageOf } from '../../session/errors.ts'
import type { RecordOfTask } from './opened.ts'
import type { QuickTask } from './quick-add.ts'

export type CreatedTask = Outputs['tasks']['create']

const AGAIN_MS = 500
/** A try whose answer was lost may still be running for so long. */
const MOST_TRIES = 20

/** Waits for an earlier try that is still running. It ends with the task of that try. */
export async function createTaskOnce(...task: Parameters<typeof createTask>): Promise<CreatedTask> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await createTask(...task)
    } catch (error) {
      if (tries >= MOST_TRIES || !isStillRunning(error)) throw error
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
    }
  }
}

/** The other conflict is that the key came with another task. */
export const isStillRunning = (error: unknown): boolean =>
  errorData(error)?.code === 'CONFLICT' && messageOf(error).includes('still running')

/** @param idempotencyKey the same for every try, so that the task is there once */
function createTask(
  client: Client,
  { title, due, reminder, assignee }: QuickTask,
  onRecord: RecordOfTask | undefined,
  idempotencyKey: string,
): Promise<CreatedTask> {
  const task = {
    title,
    ...(due && { due_date: due.due_date, ...(due.due_time !== null && { due_time: due.due_time }) }),
    ...(reminder?.reminder_time !== undefined && { reminder_time: reminder.reminder_time }),
    ...(reminder?.reminder_offset_mins !== undefined && { reminder_offset_mins: reminder.reminder_offset_mins }),
    ...(assignee && { assignee_user_id: assignee.id }),
  }
  const context = { idempotencyKey }
  if (!onRecord) return client.tasks.create.mutate(task, { context })
  return client.tasks.createOnRecord.mutate({ ...task, table_id: onRecord.tableId, record_id: onRecord.recordId }, { context })
}
