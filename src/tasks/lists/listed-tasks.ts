/** The types of the typed client's task lists: what their rows have depends on what was asked. */
import type { TRPCProcedureOptions } from '@trpc/client'

/** A deleted task, in lists with `updated_since`. */
export interface DeletedTask {
  id: number
  /** UTC, as `YYYY-MM-DD HH:MM:SS`. The type is that of a text that is not empty, so that `row.deleted_at ? … : row.title` compiles. */
  deleted_at: `${string} ${string}`
}

/** What a task has more in a list with `include: ['context']`. */
export interface TaskContext {
  assignee_name: string
  creator_name: string
  /** Null on a standalone task. */
  table_name: string | null
  /** Null on a standalone task, and for a record without a title. */
  record_title: string | null
  comment_count: number
}

export interface TaskPage<Row> {
  rows: Row[]
  total?: number | undefined
  next_cursor?: string | undefined
}

/** A page of tasks that have changed, some of which are deleted: `deleted_at` tells which. */
export type ChangedTasks<Task> = TaskPage<(Task & { deleted_at?: never }) | DeletedTask>

/** A client whose lists answer the context of tasks, and deleted tasks, only to those who have asked. */
export type ListedTasks<Client extends { tasks: Record<'list' | 'listOnRecord', { query: AnyQuery }> }, Task> = Omit<Client, 'tasks'> & {
  tasks: Omit<Client['tasks'], 'list' | 'listOnRecord'> & {
    list: ListOfTasks<Client['tasks']['list']['query'], Task>
    listOnRecord: ListOfTasks<Client['tasks']['listOnRecord']['query'], Task>
  }
}

type AnyQuery = (input: never, options?: TRPCProcedureOptions) => Promise<unknown>

type Include = readonly 'context'[] | null | undefined
type Since = string | null | undefined

interface ListOfTasks<Query extends AnyQuery, Task> {
  /** What is asked is inferred by itself, so that the rest of the input may have no unknown keys. */
  query<const Included extends Include = undefined, Changed extends Since = undefined>(
    input: Omit<Parameters<Query>[0], 'include' | 'updated_since'> & { include?: Included; updated_since?: Changed },
    options?: TRPCProcedureOptions,
  ): Answer<Query, PageOf<WithContext<Task, Included>, Changed>>
}

/** The promise of a call with another output. tRPC's own promises know the type of their errors, for its function `safe`. */
type Answer<Query extends AnyQuery, Page> = Promise<Page> & Omit<ReturnType<Query>, keyof Promise<unknown>>

/** An `include` that is not known to be empty or not leaves it open whether the context is there. */
type WithContext<Task, Included extends Include> = [Included] extends [null | undefined | readonly []]
  ? Task
  : [Included] extends [readonly ['context', ...unknown[]]]
    ? Task & TaskContext
    : Task & Partial<TaskContext>

type PageOf<Task, Changed extends Since> = [Changed] extends [null | undefined] ? TaskPage<Task> : ChangedTasks<Task>
