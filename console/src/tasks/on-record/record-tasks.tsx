/** The tasks of a record: the open ones, those that are done on asking, and a way to add one. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { TaskInContext } from 'gridpost-client'
import { useId, useState } from 'react'
import type { RecordPlace } from '../../record/record-parts.ts'
import { useClient } from '../../session/client.ts'
import { messageOf } from '../../session/errors.ts'
import { taskTexts } from '../../texts/tasks.ts'
import '../../ui/button.css'
import { Icon } from '../../ui/icons/icon.tsx'
import { grouped } from '../groups.ts'
import { type Mark, useMarks } from '../marks.ts'
import { openQuickAdd } from '../quick-add/opened.ts'
import { useReader } from '../reader.ts'
import { useTasksLive } from '../use-tasks-live.ts'
import { TaskLine } from './task-line.tsx'

const PAGE = 50
/** Open tasks that are shown at first: the timeline is below them. */
const MOST_AT_FIRST = 5

export function RecordTasks({ tableId, spaceId, recordId, record, definition, headings: Heading }: RecordPlace) {
  const client = useClient()
  const place = useReader()
  const id = useId()
  const [isDoneShown, setDoneShown] = useState(false)
  const [areAllShown, setAllShown] = useState(false)
  const path = { table_id: tableId, record_id: recordId }
  const key = ['tasks', 'record', tableId, recordId]
  const count = useQuery({ queryKey: [...key, 'count'], queryFn: ({ signal }) => client.tasks.countOnRecord.query(path, { signal }) })
  const open = useTasksOf(tableId, recordId, 'open', true)
  const done = useTasksOf(tableId, recordId, 'done', isDoneShown)
  useTasksLive(key, (event) => event.table_id === tableId && event.record_id === recordId && event.type.startsWith('task'))
  const doneCount = count.data ? count.data.total - count.data.open : 0
  const tasks = grouped(open.tasks, place).flatMap((group) => group.tasks)
  const isFolded = !areAllShown && tasks.length > MOST_AT_FIRST + 1
  const add = () =>
    openQuickAdd({ tableId, recordId, spaceId, title: record.title ?? taskTexts.untitled(recordId), table: definition.table.name })
  return (
    <section className="record-tasks" aria-labelledby={id}>
      <header>
        <Heading id={id}>{taskTexts.tasks}</Heading>
        {count.data && count.data.open > 0 && <span className="count">{count.data.open}</span>}
        <button type="button" className="button quiet small" onClick={add}>
          <Icon name="plus" /> {taskTexts.addOne}
        </button>
      </header>
      {open.error !== null && <p className="problem">{messageOf(open.error)}</p>}
      {!open.isPending && !open.error && tasks.length === 0 && <p className="record-tasks-none">{taskTexts.noneOpen}</p>}
      {(isFolded ? tasks.slice(0, MOST_AT_FIRST) : tasks).map((task) => (
        <TaskLine key={task.id} {...{ task, place }} assignee={task.assignee_name} />
      ))}
      {(isFolded || open.more) && (
        <button
          type="button"
          className="button quiet small"
          onClick={() => {
            if (isFolded) setAllShown(true)
            else open.more?.()
          }}
        >
          {isFolded ? taskTexts.showAll(open.total) : taskTexts.showMore}
        </button>
      )}
      {doneCount > 0 && (
        <button type="button" className="button quiet small" aria-expanded={isDoneShown} onClick={() => setDoneShown(!isDoneShown)}>
          {isDoneShown ? taskTexts.hideDoneOnes : taskTexts.showDoneOnes(doneCount)}
        </button>
      )}
      {isDoneShown && done.tasks.map((task) => <TaskLine key={task.id} {...{ task, place }} assignee={task.assignee_name} />)}
      {isDoneShown && done.more && (
        <button type="button" className="button quiet small" onClick={done.more}>
          {taskTexts.showMore}
        </button>
      )}
    </section>
  )
}

/** The tasks with a status. One that was just marked stays where it was for a moment. */
function useTasksOf(tableId: number, recordId: number, status: 'open' | 'done', enabled: boolean) {
  const client = useClient()
  const marks = useMarks()
  const found = useInfiniteQuery({
    queryKey: ['tasks', 'record', tableId, recordId, status],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) => {
      const asked = { table_id: tableId, record_id: recordId, status, include: ['context'] as const, limit: PAGE, offset: pageParam }
      return client.tasks.listOnRecord.query(asked, { signal })
    },
    getNextPageParam: ({ rows }, pages) => (rows.length < PAGE ? undefined : pages.length * PAGE),
    enabled,
  })
  const tasks = new Map((found.data?.pages ?? []).flatMap(({ rows }) => rows).map((task) => [task.id, task]))
  for (const { task, status: now } of marks.values()) {
    if (!isOnRecord(task, tableId, recordId)) continue
    if (task.status === status) tasks.set(task.id, task)
    else if (now === status) tasks.delete(task.id)
  }
  return {
    tasks: [...tasks.values()],
    total: found.data?.pages[0]?.total ?? 0,
    isPending: found.isPending,
    error: found.error,
    more: found.hasNextPage ? () => void found.fetchNextPage() : undefined,
  }
}

const isOnRecord = (task: Mark['task'], tableId: number, recordId: number): task is TaskInContext =>
  'assignee_name' in task && (task as TaskInContext).table_id === tableId && (task as TaskInContext).record_id === recordId
