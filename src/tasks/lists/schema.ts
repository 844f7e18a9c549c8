/** The shapes of lists of tasks: their rows, and what may be asked of them. */
import { z } from 'zod'
import { int, shapeOf, text } from '../../platform/http/answers/columns.ts'
import { Cursor, Id, Instant, InstantInput, include, limit, Offset, OffsetIfAny, Text } from '../../platform/http/procedures/schemas.ts'
import { absentOr, orDefault } from '../../platform/validation-messages.ts'
import { Status, Task } from '../schema.ts'

export const DeletedTask = z
  .strictObject({
    id: Id.meta({ description: 'The id that the task had.' }),
    deleted_at: Instant.meta({ description: 'When it was deleted: UTC, YYYY-MM-DD HH:MM:SS.' }),
  })
  .meta({ id: 'DeletedTask', description: 'A deleted task, in lists with updated_since.' })
export type DeletedTask = z.infer<typeof DeletedTask>

/** What `include: ["context"]` adds to a task in a list (contract.md §9, Task lists). */
export const contextColumns = {
  assignee_name: text(z.string().meta({ description: 'The name of the assignee today.' })),
  creator_name: text(z.string().meta({ description: 'The name of the creator today.' })),
  table_name: text(z.string().nullable().meta({ description: 'Null on a standalone task, like record_title.' })),
  record_title: text(z.string().nullable().meta({ description: 'Null also for a record without a title.' })),
  comment_count: int(z.int().meta({ description: 'The number of all its comments.' })),
}

export const TaskInContext = Task.extend(shapeOf(contextColumns)).meta({
  id: 'TaskInContext',
  description: 'A task with the names of what it refers to, in lists with `include`.',
})
export type TaskInContext = z.infer<typeof TaskInContext>

/**
 * A row of a list: a task, with `include` one in its context, or with updated_since a deleted one. The typed client tells which
 * (listed-tasks.ts).
 */
export const ListedTask = z.union([Task, TaskInContext, DeletedTask])

const Lists = {
  include: include('context').meta({
    description: 'context: rows also have assignee_name, creator_name, table_name, record_title and comment_count.',
    example: ['context'],
  }),
  updated_since: InstantInput.nullish().meta({
    description:
      'Only tasks that changed in that second or later, oldest change first. Deleted tasks are listed as {id, deleted_at} for 30 days.',
    example: '2026-03-31 09:30:00',
  }),
  cursor: Cursor.meta({ description: 'The X-Next-Cursor of the previous page. With updated_since only.' }),
}

export const RecordTaskQuery = z.strictObject({
  status: absentOr(Status).meta({ description: 'Only tasks with this status.' }),
  order: absentOr(z.enum(['created'])).meta({
    description: 'created: the newest task first. By default open tasks by due date, then done ones. Not with updated_since.',
  }),
  limit: limit(50, 200),
  offset: OffsetIfAny,
  ...Lists,
  cursor: Cursor.meta({ description: 'The X-Next-Cursor of the previous page. With updated_since or order=created only.' }),
})
export type RecordTaskQuery = z.infer<typeof RecordTaskQuery>

export const TaskQuery = z
  .strictObject({
    tab: orDefault(z.enum(['my', 'delegated', 'all']), 'my').meta({
      description: 'my: assigned to me. delegated: created by me for another. all: I am creator, assignee or subscriber.',
    }),
    search: absentOr(Text.max(500, 'must have at most 500 characters')).meta({
      description: 'Tasks that contain all words in title or details, ignoring case.',
    }),
    include_done: absentOr(z.boolean()).meta({ description: 'Default false; with updated_since true, because completion is a change.' }),
    limit: limit(50, 200),
    offset: Offset,
    ...Lists,
  })
  .meta({ id: 'TaskQuery', description: 'Which tasks of the caller to list.' })
export type TaskQuery = z.infer<typeof TaskQuery>
