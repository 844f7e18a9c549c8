/** Procedures on a task. A task is found by its id alone, so that a caller who may not read it gets 403, not 404 (api.md, Errors). */

import type { PrincipalSelect } from '../platform/access/access-statement.ts'
import { type Callers, callers, NOT_ON_RECORD, type Resource, type Role } from '../platform/access/authorize.ts'
import { checkSpace, withRule } from '../platform/access/resources.ts'
import type { Actor } from '../platform/actor.ts'
import { empty, type Sql, sql } from '../platform/database/database.ts'
import type { Given } from '../platform/database/prepare.ts'
import { forbidden } from '../platform/errors.ts'
import { resourceProcedure } from '../platform/http/procedures/trpc.ts'
import { canDelete, canEdit } from './policy.ts'

/** A task that was found and checked. On a standalone task, space, table and record are null. */
export interface TaskRow {
  task_id: number
  task_account_id: number
  title: string
  creator_user_id: number
  assignee_user_id: number
  space_id: number | null
  table_id: number | null
  table_version: number | null
  table_name: string | null
  record_id: number | null
  member_role: Role | null
  is_subscriber: boolean
}

const IS_SUBSCRIBER = sql`exists (select 1 from task_subscribers f where f.task_id = k.id and f.user_id = p.p_user_id)`

/**
 * Selects the task `k` with its table `t`. A task in a deleted table or space is not found.
 * @param more further columns, each with its comma, which may use what `join` adds
 */
export const selectTask = (
  taskId: Given<number> | undefined,
  { isSubscriber = IS_SUBSCRIBER, more = empty, join = empty } = {},
): Sql => sql`
    select k.id as task_id, k.account_id as task_account_id, k.title, k.creator_user_id, k.assignee_user_id,
      k.space_id, k.table_id, t.version as table_version, t.name as table_name, k.record_id, m.role as member_role,
      ${isSubscriber} as is_subscriber${more}
    from tasks k
    left join tables t on t.id = k.table_id and t.deleted_at is null
    left join spaces s on s.id = t.space_id and s.deleted_at is null
    left join space_members m on m.space_id = k.space_id and m.user_id = p.p_user_id ${join}
    where k.id = ${taskId} and (k.table_id is null or s.id is not null)`

/** The task `task_id`, of any account. */
export const taskResource: Resource<TaskRow> = {
  ids: [{ name: 'task_id', thing: 'Task', found: 'task_id' }],
  select: ({ task_id }) => selectTask(task_id),
  check: requireReadable,
}

/**
 * Callers learn that another account's task exists, and account keys that it is on no record (contract.md §1, 404), but nothing else.
 * @throws AppError 403
 */
function requireReadable(task: TaskRow, actor: Actor): void {
  if (task.space_id === null && actor.kind === 'account') throw forbidden(NOT_ON_RECORD)
  if (task.task_account_id !== actor.accountId) throw forbidden()
  if (task.space_id !== null) {
    checkSpace({ space_id: task.space_id, member_role: task.member_role }, actor, 'read')
    return
  }
  if (actor.userId !== task.creator_user_id && actor.userId !== task.assignee_user_id && !task.is_subscriber) throw forbidden()
}

const RULES = { read: () => true, edit: canEdit, delete: canDelete }

/** On the task `task_id`, for callers who may read, edit or delete it (policy.ts). */
export const taskProcedure = (right: keyof typeof RULES, allowed: Callers = callers.any) =>
  resourceProcedure(withRule(taskResource, RULES[right]), 'read', allowed, {}, (task) => ({ task }))

/** Standalone tasks, which account keys cannot reach (api.md, Authentication 3). */
const standaloneResource: Resource = {
  ids: [],
  select: () => sql`select true as is_standalone`,
  check: (_, actor) => {
    if (actor.kind === 'account') throw forbidden(NOT_ON_RECORD)
  },
}

/**
 * On standalone tasks. An operator can close these endpoints to all keys (api.md, Authentication 8).
 * @param options `principalRow` selects the row
 */
export const standaloneProcedure = <Row extends object = object>(options: { principalRow?: PrincipalSelect<Row> } = {}) =>
  resourceProcedure<Row, object>(standaloneResource, 'read', callers.any, options).use(({ ctx, next }) => {
    const { actor, settings } = ctx.context
    if (actor.keyId !== null && !settings.personalKeysOnStandaloneTasks) throw forbidden('API endpoint not available to API keys')
    return next()
  })
