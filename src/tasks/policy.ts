/** Who may edit or delete a task (contract.md §4). `taskResource` has checked that the actor may read it. */

import type { Role } from '../platform/access/authorize.ts'
import { roleOf } from '../platform/access/resources.ts'
import type { Actor } from '../platform/actor.ts'

/** The columns of a task that the rules look at. */
export interface Ownership {
  creator_user_id: number
  assignee_user_id: number
  /** Null on a standalone task. */
  space_id: number | null
  /** The acting user's own role in the space. */
  member_role: Role | null
}

/** The creator and the assignee may edit. An account key acts for the account, so that an integration can edit the tasks it created. */
export function canEdit(task: Ownership, actor: Actor): boolean {
  if (actor.kind === 'account') return true
  return actor.userId === task.creator_user_id || actor.userId === task.assignee_user_id
}

/** Editors may delete, and on a record an admin of the space. */
export function canDelete(task: Ownership, actor: Actor): boolean {
  return canEdit(task, actor) || isSpaceAdmin(task, actor)
}

/** The task's creator and an admin of the space delete comments of others, too (contract.md §4, Comments). */
export function isCommentModerator(task: Ownership, actor: Actor): boolean {
  return isCreator(task, actor) || isSpaceAdmin(task, actor)
}

const isCreator = (task: Ownership, actor: Actor) => actor.kind !== 'account' && actor.userId === task.creator_user_id

const isSpaceAdmin = (task: Ownership, actor: Actor) => task.space_id !== null && roleOf(actor, task.member_role) === 'admin'
