/** Deletes a task, after a question: nothing brings it back. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useClient } from '../../session/client.ts'
import { isNotHere, messageOf } from '../../session/errors.ts'
import { taskTexts } from '../../texts/tasks.ts'
import { lazyPart } from '../../ui/lazy-part.tsx'
import { toast } from '../../ui/toasts/toasts.ts'
import { changedTask } from '../marks.ts'
import type { TaskDetail } from './use-task.ts'

const ConfirmDialog = lazyPart(async () => ({ default: (await import('../../ui/confirm-dialog.tsx')).ConfirmDialog }))

export function DeleteButton({ task, deleted }: { task: TaskDetail; deleted(): void }) {
  const client = useClient()
  const queries = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const remove = async () => {
    try {
      await client.tasks.delete.mutate({ task_id: task.id })
    } catch (error) {
      // Somebody else was first.
      if (!isNotHere(error)) throw error
    }
    toast(taskTexts.deleted(task.title))
    changedTask(queries)
    deleted()
  }
  return (
    <>
      <button type="button" className="button quiet small" onClick={() => setAsking(true)}>
        {taskTexts.delete}
      </button>
      {isAsking && (
        <ConfirmDialog
          title={taskTexts.deleteQuestion}
          action={taskTexts.deleteTask}
          run={remove}
          wordsOf={messageOf}
          close={() => setAsking(false)}
        >
          <p dir="auto">{task.title}</p>
        </ConfirmDialog>
      )}
    </>
  )
}
