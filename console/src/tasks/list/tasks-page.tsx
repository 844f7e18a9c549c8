/** The tasks of a person: their own, those they gave to others, and all they have to do with. */
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import type { TaskInContext } from 'gridpost-client'
import { useEffect, useMemo, useRef, useState } from 'react'
import { messageOf } from '../../session/errors.ts'
import { useMe } from '../../session/me.ts'
import { taskTexts } from '../../texts/tasks.ts'
import '../../ui/button.css'
import '../../ui/field.css'
import { Icon } from '../../ui/icons/icon.tsx'
import { useKeys } from '../../ui/keys/keys.ts'
import { useTitle } from '../../ui/title.ts'
import { type Grouped, grouped } from '../groups.ts'
import { type Mark, useMarks } from '../marks.ts'
import { openQuickAdd } from '../quick-add/opened.ts'
import { useReader } from '../reader.ts'
import { TaskPanel } from '../task/task-panel.tsx'
import { useTasksLive } from '../use-tasks-live.ts'
import { LISTS, type ListName, type ListSearch, type TasksAddress, tasksSearch } from './list-search.ts'
import type { ShownGroup } from './shown.ts'
import { TaskList } from './task-list.tsx'
import { useTaskPages } from './task-pages.ts'
import './tasks.css'

export function TasksPage() {
  const address: TasksAddress = useSearch({ strict: false })
  const navigate = useNavigate()
  const me = useMe()
  const place = useReader()
  const search: ListSearch = { list: address.list ?? 'my', search: address.search ?? '', done: address.done ?? false }
  const { tasks, total, isPending, isWhole, error, refetch, see } = useTaskPages(search)
  const groups = useGroups(tasks, search, place)
  useTitle(taskTexts.tasks)
  useTasksLive(['tasks'], () => true)

  const go = (to: TasksAddress, replace = false) => void navigate({ to: '/tasks', search: to, replace })
  const show = (task: TaskInContext | undefined) => {
    const { task: _, ...rest } = address
    go(task ? { ...rest, task: task.id } : rest)
  }
  const isEmpty = !isPending && !error && groups.length === 0
  return (
    <main className="tasks-page" data-open={address.task === undefined ? undefined : ''}>
      <div className="tasks-main">
        <Head address={address} list={search.list} go={go} />
        {error !== null && (
          <p className="problem tasks-problem" role="alert">
            {messageOf(error)}{' '}
            <button type="button" className="button small" onClick={refetch}>
              {taskTexts.retry}
            </button>
          </p>
        )}
        {isEmpty && <Empty search={search} />}
        {isPending && !tasks.length && <output className="tasks-empty loading">{taskTexts.loading}</output>}
        <TaskList
          key={`${search.list} ${search.search}`}
          {...{ groups, total, isWhole, place, see }}
          me={me.id}
          openTask={address.task}
          open={show}
        />
      </div>
      {address.task !== undefined && <TaskPanel key={address.task} taskId={address.task} close={() => show(undefined)} />}
    </main>
  )
}

function Head({ address, list, go }: { address: TasksAddress; list: ListName; go(to: TasksAddress, replace?: boolean): void }) {
  const field = useRef<HTMLInputElement>(null)
  useKeys(taskTexts.tasks, [{ keys: '/', does: taskTexts.search, run: () => field.current?.focus() }])
  const { task: _, list: __, ...kept } = address
  return (
    <header className="tasks-head">
      <h1>{taskTexts.tasks}</h1>
      <nav aria-label={taskTexts.lists}>
        {LISTS.map((name) => (
          <Link
            key={name}
            to="/tasks"
            search={{ ...kept, ...(name !== 'my' && { list: name }) }}
            activeOptions={{ exact: true, includeSearch: false }}
            aria-current={name === list ? 'page' : undefined}
            data-shown={name === list ? '' : undefined}
          >
            {taskTexts.listNames[name]}
          </Link>
        ))}
      </nav>
      <SearchField field={field} text={address.search ?? ''} find={(search) => go(tasksSearch({ ...address, search }), true)} />
      <label className="tasks-done">
        <input
          type="checkbox"
          checked={address.done ?? false}
          onChange={({ target }) => {
            const { done: _, ...rest } = address
            go(target.checked ? { ...rest, done: true } : rest, true)
          }}
        />
        {taskTexts.showDone}
      </label>
      <button type="button" className="button primary" onClick={() => openQuickAdd()}>
        <Icon name="plus" /> {taskTexts.add} <kbd>Q</kbd>
      </button>
    </header>
  )
}

const REST_MS = 200

/** The search follows the typing with a little rest, and is in the address. */
function SearchField({ field, text, find }: { field: React.RefObject<HTMLInputElement | null>; text: string; find(text: string): void }) {
  const [typed, setTyped] = useState(text)
  const latest = useRef(find)
  latest.current = find
  useEffect(() => {
    if (typed === text) return
    const timer = setTimeout(() => latest.current(typed), REST_MS)
    return () => clearTimeout(timer)
  }, [typed, text])
  // Going back in the history brings the text of then.
  const given = useRef(text)
  useEffect(() => {
    if (given.current === text) return
    given.current = text
    setTyped((now) => (now.trim() === text ? now : text))
  }, [text])
  return (
    <span className="tasks-search">
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        aria-label={taskTexts.search}
        placeholder={taskTexts.search}
        maxLength={500}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
        onKeyDown={({ key }) => {
          if (key === 'ArrowDown') document.querySelector<HTMLElement>('.task-check[tabindex="0"]')?.focus()
        }}
      />
    </span>
  )
}

function Empty({ search: { list, search } }: { search: ListSearch }) {
  return (
    <output className="tasks-empty">
      <b>{search ? taskTexts.nothingFound(search) : taskTexts.empty[list]}</b>
      {!search && (
        <>
          <span className="by-key">{taskTexts.emptyHint}</span>
          <button type="button" className="button" onClick={() => openQuickAdd()}>
            <Icon name="plus" /> {taskTexts.addFirst}
          </button>
        </>
      )}
    </output>
  )
}

/** The tasks in their groups. One that was just marked stays in its place for a moment. */
function useGroups(tasks: readonly TaskInContext[], search: ListSearch, place: ReturnType<typeof useReader>): ShownGroup[] {
  const marks = useMarks()
  const me = useMe().id
  const { zone, now } = place
  const { list, search: text } = search
  return useMemo(() => {
    const shown = new Map(tasks.map((task) => [task.id, task]))
    for (const { task } of marks.values())
      if (isListed(task) && isIn(task, { list, search: text, done: true }, me)) shown.set(task.id, task)
    const marked = [...shown.values()].map((task): Shown => {
      const mark = marks.get(task.id)
      return mark ? { ...task, status: mark.task.status, shownStatus: mark.status } : { ...task, shownStatus: task.status }
    })
    return grouped<Shown>(marked, { zone, now }).map(({ group, tasks: members }) => ({
      group,
      tasks: members.map(({ shownStatus, ...task }) => ({ task, status: shownStatus })),
    }))
  }, [tasks, marks, list, text, me, zone, now])
}

type Shown = TaskInContext & Grouped & { shownStatus: 'open' | 'done' }

const isListed = (task: Mark['task']): task is TaskInContext => 'assignee_name' in task

/** Whether the list shows the task, as the service decides (contract.md §4, tabs). */
function isIn({ assignee_user_id, creator_user_id, title, details }: TaskInContext, { list, search }: ListSearch, me: number): boolean {
  const words = search.toLowerCase().split(/\s+/)
  const text = `${title} ${details ?? ''}`.toLowerCase()
  if (!words.every((word) => text.includes(word))) return false
  if (list === 'my') return assignee_user_id === me
  return list === 'all' || (creator_user_id === me && assignee_user_id !== me)
}
