/** Who may do what with a task and its comments (contract.md §4). All of them may read it: `taskResource` has checked that. */

import { type Authorship, isAuthor } from '../comments/authorship.ts'
import type { Actor, Role } from '../platform/access/authorize.ts'
import { roleOf } from '../platform/access/resources.ts'

/** What the rules need of a task. */
export interface Ownership {
  creator_user_id: number
  assignee_user_id: number
  /** Null on a standalone task. */
  space_id: number | null
  /** The acting user's own role in the space. */
  member_role: Role | null
}

/** Creator and assignee; an account key in context acts for the account, or an integration could not touch what it made. */
export function canEdit(task: Ownership, actor: Actor): boolean {
  if (actor.kind === 'account') return true
  return actor.userId === task.creator_user_id || actor.userId === task.assignee_user_id
}

/** Who may edit it, and on a record task an admin of its space. */
export function canDelete(task: Ownership, actor: Actor): boolean {
  return canEdit(task, actor) || isSpaceAdmin(task, actor)
}

/** Its author; `isStillEditable` says until when. */
export const canEditComment = (comment: Authorship, actor: Actor): boolean => isAuthor(comment, actor)

/** Its author, the task's creator, an admin of the space. */
export function canDeleteComment(task: Ownership & Authorship, actor: Actor): boolean {
  return isAuthor(task, actor) || isCreator(task, actor) || isSpaceAdmin(task, actor)
}

const isCreator = (task: Ownership, actor: Actor) => actor.kind !== 'account' && actor.userId === task.creator_user_id

const isSpaceAdmin = (task: Ownership, actor: Actor) => task.space_id !== null && roleOf(actor, task.member_role) === 'admin'
