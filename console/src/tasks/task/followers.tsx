/** Who follows the task, and whether oneself does. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Avatar } from '../../cells/shown.tsx'
import { useClient } from '../../session/client.ts'
import { messageOf } from '../../session/errors.ts'
import { useMe } from '../../session/me.ts'
import { taskTexts } from '../../texts/tasks.ts'
import { toast } from '../../ui/toasts/toasts.ts'
import { changedTask } from '../marks.ts'
import type { Person } from '../quick-add/found-people.ts'
import { type TaskDetail, taskQuery } from './use-task.ts'

const MOST_SHOWN = 12

export function Followers({ task, isGone, personOf }: { task: TaskDetail; isGone: boolean; personOf(id: number): Person }) {
  const client = useClient()
  const queries = useQueryClient()
  const me = useMe().id
  const [isBusy, setBusy] = useState(false)
  const toggle = async () => {
    setBusy(true)
    const input = { task_id: task.id, force: true }
    try {
      const { subscribed } = await (task.subscribed ? client.tasks.unsubscribe.mutate(input) : client.tasks.subscribe.mutate(input))
      const others = task.subscribers.filter((id) => id !== me)
      queries.setQueryData(
        taskQuery(client, task.id).queryKey,
        (before) =>
          before && { ...before, subscribed, subscribers: subscribed ? [...others, me].toSorted((one, other) => one - other) : others },
      )
      changedTask(queries, task.id)
    } catch (error) {
      toast(messageOf(error))
    } finally {
      setBusy(false)
    }
  }
  return (
    <div className="task-followers">
      {task.subscribers.length > 0 && (
        <ul aria-label={taskTexts.followers}>
          {task.subscribers.slice(0, MOST_SHOWN).map((id) => (
            <li key={id} dir="auto">
              <Avatar id={id} name={personOf(id).name} /> {id === me ? taskTexts.me : personOf(id).name}
            </li>
          ))}
          {task.subscribers.length > MOST_SHOWN && <li>{taskTexts.more(task.subscribers.length - MOST_SHOWN)}</li>}
        </ul>
      )}
      {!isGone && (
        <button type="button" className="button small" disabled={isBusy} onClick={toggle}>
          {task.subscribed ? taskTexts.unfollow : taskTexts.follow}
        </button>
      )}
    </div>
  )
}
