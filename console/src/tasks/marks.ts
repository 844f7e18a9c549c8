/**
 * Tasks that were just marked done or open here. They are shown so at once, and stay where they were for a moment, so that a slip is seen
 * and nothing jumps under the hand; then they go where they belong.
 */
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useMemo, useSyncExternalStore } from 'react'
import { type Client, useClient } from '../session/client.ts'
import { messageOf } from '../session/errors.ts'
import { taskTexts } from '../texts/tasks.ts'
import { announce } from '../ui/announcer.ts'
import { toast } from '../ui/toasts/toasts.ts'

type Status = 'open' | 'done'

/** What is needed of a task to mark it. */
export interface Markable {
  id: number
  title: string
  status: Status
}

export interface Mark<Task extends Markable = Markable> {
  /** As it was before. */
  task: Task
  status: Status
}

const STAYS_MS = 4000

let marks: ReadonlyMap<number, Mark> = new Map()
const listeners = new Set<() => void>()
const timers = new Map<number, ReturnType<typeof setTimeout>>()
const calls = new Map<number, Promise<void>>()
/** The last things that were marked, for Ctrl+Z. */
const done: (() => void)[] = []

function put(id: number, mark: Mark | null): void {
  const next = new Map(marks)
  if (mark) next.set(id, mark)
  else next.delete(id)
  marks = next
  clearTimeout(timers.get(id))
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Whether the task was marked here a moment ago. */
export const wasMarkedHere = (taskId: number): boolean => marks.has(taskId)

export const useMarks = (): ReadonlyMap<number, Mark> => useSyncExternalStore(subscribe, () => marks)

/** @returns how to mark a task, and how to take back what was marked last */
export function useMarking() {
  const client = useClient()
  const queries = useQueryClient()
  return useMemo(
    () => ({
      mark: (task: Markable, status: Status) => void markTask(client, queries, task, status, true),
      undo: () => done.pop()?.(),
    }),
    [client, queries],
  )
}

async function markTask(client: Client, queries: QueryClient, task: Markable, status: Status, canUndo: boolean): Promise<void> {
  const before = marks.get(task.id)
  put(task.id, { task: before?.task ?? task, status })
  const input = { task_id: task.id }
  // Marks of one task are sent one after the other, so that the last one stays.
  const sent = (calls.get(task.id) ?? Promise.resolve()).then(() =>
    status === 'done' ? client.tasks.markDone.mutate(input) : client.tasks.markUndone.mutate(input),
  )
  calls.set(
    task.id,
    sent.then(
      () => undefined,
      () => undefined,
    ),
  )
  try {
    await sent
  } catch (error) {
    put(task.id, null)
    toast(`${taskTexts.notMarked(task.title)} ${messageOf(error)}`, {
      action: { label: taskTexts.retry, run: () => void markTask(client, queries, task, status, canUndo) },
    })
    return
  }
  timers.set(
    task.id,
    setTimeout(() => put(task.id, null), STAYS_MS),
  )
  if (canUndo) offerUndo(client, queries, task, status)
  else announce(status === 'done' ? taskTexts.isDone(task.title) : taskTexts.isOpen(task.title))
  changedTask(queries, task.id)
}

function offerUndo(client: Client, queries: QueryClient, task: Markable, status: Status): void {
  const back = () => {
    const at = done.indexOf(back)
    if (at >= 0) done.splice(at, 1)
    close()
    void markTask(client, queries, { ...task, status }, status === 'done' ? 'open' : 'done', false)
  }
  done.push(back)
  const close = toast(status === 'done' ? taskTexts.isDone(task.title) : taskTexts.isOpen(task.title), {
    action: { label: taskTexts.undo, run: back },
  })
}

/** Reads again whatever shows the task. Pages that are far away are read when they are seen. */
export function changedTask(queries: QueryClient, taskId?: number): void {
  void queries.invalidateQueries({ queryKey: ['tasks'] })
  void queries.invalidateQueries({ queryKey: ['notifications'] })
  if (taskId !== undefined) void queries.invalidateQueries({ queryKey: ['task', taskId] })
}
