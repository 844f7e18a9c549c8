/** A task beside the list that it was opened from. */
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { taskTexts } from '../../texts/tasks.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { useKeys } from '../../ui/keys/keys.ts'
import { TaskView } from './task-view.tsx'

export function TaskPanel({ taskId, close }: { taskId: number; close(): void }) {
  const navigate = useNavigate()
  const panel = useRef<HTMLElement>(null)
  const leave = () => {
    close()
    // The focus goes back to the task in the list.
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-task="${taskId}"]`)?.focus())
  }
  useKeys(taskTexts.task, [{ keys: 'Escape', does: taskTexts.close, run: leave }])
  useEffect(() => void panel.current?.focus(), [])
  return (
    <aside
      ref={panel}
      className="task-panel"
      aria-label={taskTexts.task}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.defaultPrevented) return
        event.preventDefault()
        leave()
      }}
    >
      <TaskView
        taskId={taskId}
        heading="h2"
        deleted={close}
        actions={
          <>
            <button
              type="button"
              className="button quiet icon-only small"
              aria-label={taskTexts.openPage}
              onClick={() => void navigate({ to: '/task/$taskId', params: { taskId: String(taskId) } })}
            >
              <Icon name="external-link" />
            </button>
            <button type="button" className="button quiet icon-only small" aria-label={taskTexts.close} onClick={leave}>
              <Icon name="x" />
            </button>
          </>
        }
      />
    </aside>
  )
}
