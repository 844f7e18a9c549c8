/** A task on a page of its own. */
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { taskTexts } from '../../texts/tasks.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { NotHere } from '../../ui/not-here.tsx'
import { useTitle } from '../../ui/title.ts'
import { TaskView } from './task-view.tsx'

export function TaskPage() {
  const { taskId } = useParams({ strict: false })
  const { entry } = useSearch({ strict: false })
  const navigate = useNavigate()
  const id = Number(taskId)
  const [title, setTitle] = useState<string>()
  useTitle(title ?? taskTexts.task)
  if (!Number.isSafeInteger(id) || id < 1) return <NotHere />
  return (
    <main className="task-page">
      <TaskView
        key={id}
        taskId={id}
        heading="h1"
        named={setTitle}
        entry={entry}
        deleted={() => void navigate({ to: '/tasks' })}
        actions={
          <Link to="/tasks" className="button quiet small">
            <Icon name="square-check" /> {taskTexts.allTasks}
          </Link>
        }
      />
    </main>
  )
}
