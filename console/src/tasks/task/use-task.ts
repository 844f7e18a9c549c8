/** A task that is open: as the service has it, how it is changed, and what others change of it meanwhile. */
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'
import { type Client, type Outputs, useClient } from '../../session/client.ts'
import { errorData, isNotHere, messageOf } from '../../session/errors.ts'
import { useMe } from '../../session/me.ts'
import { changedTask, wasMarkedHere } from '../marks.ts'
import { useTasksLive } from '../use-tasks-live.ts'

export type TaskDetail = Outputs['tasks']['get']
type Task = Outputs['tasks']['update']

/** What of a task is edited in place. */
export type Change = Partial<
  Pick<Task, 'title' | 'details' | 'due_date' | 'due_time' | 'reminder_offset_mins' | 'reminder_time' | 'assignee_user_id' | 'attachments'>
>

/** `stale`: somebody else has changed the same meanwhile, and the person decides. */
export type Saved = { ok: true; row: Task } | { ok: false; stale: true; theirs: Task } | { ok: false; stale: false; problem: string }

export const taskQuery = (client: Client, taskId: number) =>
  queryOptions({
    queryKey: ['task', taskId, 'detail'],
    queryFn: ({ signal }) => client.tasks.get.query({ task_id: taskId }, { signal }),
    retry: (failures, error) => failures < 2 && !isNotHere(error),
  })

export interface OpenTask {
  task: TaskDetail | undefined
  /** True if it was there, and is not there any more, or one may not see it any more. */
  isGone: boolean
  error: unknown
  refetch(): void
  /** What others have changed since it was opened, the latest last. */
  changes: readonly Changed[]
  forgetChanges(): void
  /** @param base the task that the change goes on from */
  save(change: Change, base?: Task): Promise<Saved>
}

export type Changed =
  | { kind: 'assignee'; userId: number }
  | { kind: 'done'; userId: number | null }
  | { kind: 'open' }
  | { kind: 'text'; keys: string[] }

export function useTask(taskId: number): OpenTask {
  const client = useClient()
  const queries = useQueryClient()
  const options = taskQuery(client, taskId)
  const { data, error, refetch } = useQuery(options)
  const { changes, forgetChanges, own, look } = useChanges(data)
  useTasksLive(['task', taskId], (event) => event.task_id === taskId)

  const save = useCallback(
    async (change: Change, base?: Task): Promise<Saved> => {
      const from = base ?? queries.getQueryData(options.queryKey)
      const saved = await own(() => send(client, taskId, change, from))
      if (!saved.ok) return saved
      // What was read meanwhile may be later.
      queries.setQueryData(options.queryKey, (before) =>
        before && before.version < saved.row.version ? { ...before, ...saved.row } : before,
      )
      look(queries.getQueryData(options.queryKey))
      changedTask(queries, taskId)
      return saved
    },
    [client, queries, taskId, options.queryKey, own, look],
  )
  return {
    task: data,
    isGone: data !== undefined && isNotHere(error),
    ...{ error, changes, forgetChanges, save },
    refetch: () => void refetch(),
  }
}

/** How often the same change is sent on top of others' changes of other things. */
const MOST_TRIES = 3

async function send(client: Client, taskId: number, change: Change, from: Task | undefined, tries = 1): Promise<Saved> {
  try {
    const context = from ? { ifMatch: from.version } : {}
    return { ok: true, row: await client.tasks.update.mutate({ task_id: taskId, ...change }, { context }) }
  } catch (failure) {
    const theirs = errorData(failure)?.current as Task | undefined
    if (!theirs || !from) return { ok: false, stale: false, problem: messageOf(failure) }
    // A try before has arrived, and its answer was lost; or somebody else has changed it to the same.
    if (isSameIn(change, theirs, { ...theirs, ...change })) return { ok: true, row: theirs }
    // What others have changed beside it is no conflict.
    if (tries >= MOST_TRIES || !isSameIn(change, from, theirs)) return { ok: false, stale: true, theirs }
    return send(client, taskId, change, theirs, tries + 1)
  }
}

const isSameIn = (change: Change, one: Task, other: Task): boolean =>
  Object.keys(change).every((key) => JSON.stringify(one[key as keyof Change]) === JSON.stringify(other[key as keyof Change]))

const TEXTS = ['title', 'details', 'due_date', 'due_time', 'reminder_at', 'attachments'] as const

/** What becomes of the task that this person has not done here. */
function useChanges(task: TaskDetail | undefined) {
  const me = useMe().id
  const [changes, setChanges] = useState<readonly Changed[]>([])
  const last = useRef<TaskDetail | Task | undefined>(undefined)
  /** While a change of one's own is on its way, what is read may have it already. */
  const saving = useRef(0)
  const look = useCallback(
    (now: TaskDetail | undefined) => {
      const before = last.current
      if (!now || saving.current > 0) return
      last.current = now
      if (!before || before.version >= now.version || before.id !== now.id) return
      const found = changesBetween(before, now).filter((change) => !isOwn(change, now.id, me))
      if (found.length) setChanges((all) => [...all.filter(({ kind }) => !found.some((one) => one.kind === kind)), ...found])
    },
    [me],
  )
  useEffect(() => look(task), [look, task])
  const own = useCallback(async (save: () => Promise<Saved>): Promise<Saved> => {
    saving.current += 1
    const sent = await save()
    saving.current -= 1
    if (sent.ok) last.current = sent.row
    return sent
  }, [])
  return { changes, own, look, forgetChanges: () => setChanges([]) }
}

/** Who marks a task sees it by the box. */
function isOwn(change: Changed, taskId: number, me: number): boolean {
  if (change.kind === 'done') return change.userId === me
  return change.kind === 'open' && wasMarkedHere(taskId)
}

function changesBetween(before: Task, now: Task): Changed[] {
  const keys = TEXTS.filter((key) => JSON.stringify(before[key]) !== JSON.stringify(now[key]))
  return [
    ...(before.assignee_user_id === now.assignee_user_id ? [] : [{ kind: 'assignee' as const, userId: now.assignee_user_id }]),
    ...(before.status === now.status
      ? []
      : [now.status === 'done' ? { kind: 'done' as const, userId: now.completed_by_user_id } : { kind: 'open' as const }]),
    ...(keys.length ? [{ kind: 'text' as const, keys: [...keys] }] : []),
  ]
}
