/** A task in a line: done or not, its title, when it is due and who has it. */
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { Avatar } from '../../cells/shown.tsx'
import type { Outputs } from '../../session/client.ts'
import { useMe } from '../../session/me.ts'
import { taskTexts } from '../../texts/tasks.ts'
import { lazyPart } from '../../ui/lazy-part.tsx'
import type { DatePlace } from '../../ui/locale/date-text.ts'
import { dueWords } from '../due-words.ts'
import { exactDue } from '../exact-due.ts'
import { isOverdue } from '../groups.ts'
import { useMarking, useMarks } from '../marks.ts'
import '../task-check.css'
import './on-record.css'

const TaskDialog = lazyPart(async () => ({ default: (await import('./task-dialog.tsx')).TaskDialog }))

interface Props {
  task: Outputs['tasks']['create']
  /** The name of the assignee, if it is known. */
  assignee?: string | undefined
  place: DatePlace
  children?: ReactNode
}

export function TaskLine({ task, assignee, place, children }: Props) {
  const { id, title, assignee_user_id, creator_user_id } = task
  const me = useMe().id
  const { mark } = useMarking()
  const status = useMarks().get(id)?.status ?? task.status
  const [isOpen, setOpen] = useState(false)
  const mayMark = me === assignee_user_id || me === creator_user_id
  return (
    <div className="task-line" data-status={status}>
      <input
        type="checkbox"
        className="task-check"
        aria-label={title}
        title={mayMark ? undefined : taskTexts.mayNotMark}
        disabled={!mayMark}
        checked={status === 'done'}
        onChange={({ target }) => mark({ ...task, status }, target.checked ? 'done' : 'open')}
      />
      <Link
        to="/task/$taskId"
        params={{ taskId: String(id) }}
        className="task-line-title"
        onClick={(event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.button !== 0) return
          event.preventDefault()
          setOpen(true)
        }}
      >
        <span dir="auto">{title}</span>
      </Link>
      {children}
      {task.due_date !== null && (
        <time
          className="task-due"
          data-overdue={status === 'open' && isOverdue(task, place) ? '' : undefined}
          title={exactDue(task, place)}
        >
          {dueWords(task, place)}
        </time>
      )}
      {assignee !== undefined && (
        <span className="task-line-assignee" title={assignee}>
          <Avatar id={assignee_user_id} name={assignee} />
          <span className="visually-hidden">{assignee}</span>
        </span>
      )}
      {isOpen && <TaskDialog taskId={id} close={() => setOpen(false)} />}
    </div>
  )
}
