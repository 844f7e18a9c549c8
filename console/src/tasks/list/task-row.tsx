/** A task in a list: done or not, its title, when it is due, who has it, its record, and how many comments there are. */
import { Link } from '@tanstack/react-router'
import type { TaskInContext } from 'gridpost-client'
import { Avatar } from '../../cells/shown.tsx'
import { taskTexts } from '../../texts/tasks.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import type { DatePlace } from '../../ui/locale/date-text.ts'
import { dueWords } from '../due-words.ts'
import { exactDue } from '../exact-due.ts'
import { isOverdue } from '../groups.ts'
import '../task-check.css'
import type { ShownTask } from './shown.ts'

interface Props {
  shown: ShownTask
  place: DatePlace
  me: number
  top: number
  /** Its place in its group, and how many there are. */
  position: [number, number]
  isActive: boolean
  openTask: number | undefined
  open(task: TaskInContext): void
  focused(): void
  toggle(): void
}

export function TaskRow({ shown: { task, status }, place, me, top, position, isActive, openTask, open, focused, toggle }: Props) {
  const { id, title, table_id, record_id, record_title, table_name, assignee_user_id, assignee_name, comment_count } = task
  const mayMark = me === assignee_user_id || me === task.creator_user_id
  return (
    <li
      className="task-row"
      style={{ top }}
      aria-posinset={position[0]}
      aria-setsize={position[1]}
      data-status={status}
      data-open={openTask === id ? '' : undefined}
      onFocus={focused}
    >
      <input
        type="checkbox"
        className="task-check"
        data-task={id}
        aria-label={title}
        title={mayMark ? undefined : taskTexts.mayNotMark}
        disabled={!mayMark}
        checked={status === 'done'}
        tabIndex={isActive ? 0 : -1}
        onChange={toggle}
      />
      <Link
        to="/task/$taskId"
        params={{ taskId: String(id) }}
        className="task-title"
        title={title}
        tabIndex={isActive ? 0 : -1}
        onClick={(event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.button !== 0) return
          event.preventDefault()
          open(task)
        }}
      >
        <span dir="auto">{title}</span>
      </Link>
      <span className="task-facts">
        {table_id !== null && record_id !== null && (
          <Link
            to="/table/$tableId/record/$recordId"
            params={{ tableId: String(table_id), recordId: String(record_id) }}
            className="task-record"
            title={table_name ?? undefined}
            tabIndex={isActive ? 0 : -1}
          >
            <Icon name="link" />
            <span dir="auto">{record_title ?? taskTexts.untitled(record_id)}</span>
          </Link>
        )}
        {comment_count > 0 && (
          <span className="task-comments" title={taskTexts.comments(comment_count)}>
            <Icon name="message-square" />
            <span aria-hidden="true">{comment_count}</span>
            <span className="visually-hidden">{taskTexts.comments(comment_count)}</span>
          </span>
        )}
        {task.due_date !== null && (
          <time
            className="task-due"
            data-overdue={status === 'open' && isOverdue(task, place) ? '' : undefined}
            title={exactDue(task, place)}
          >
            {dueWords(task, place)}
          </time>
        )}
        <span className="task-assignee" title={assignee_name}>
          <Avatar id={assignee_user_id} name={assignee_name} />
          <span className="name" dir="auto">
            {assignee_user_id === me ? taskTexts.me : assignee_name}
          </span>
        </span>
      </span>
    </li>
  )
}
