/** Who may do what with a comment on a record. All of them may write to the table: `commentResource` has checked that. */
import type { Actor, Role } from '../platform/access/authorize.ts'
import { roleOf } from '../platform/access/resources.ts'
import { type Authorship, isAuthor } from './authorship.ts'

export interface Subject extends Authorship {
  comment_type: string
  /** The acting user's own role in the space. */
  member_role: Role | null
}

/** Its author; a mail stays what was sent or received (contract.md §6). `isStillEditable` says until when. */
export const canEdit = (comment: Subject, actor: Actor): boolean => comment.comment_type === 'comment' && isAuthor(comment, actor)

/** Its author, and an admin of the space. A mail that came in has no author here. */
export const canDelete = (comment: Subject, actor: Actor): boolean =>
  (comment.comment_type !== 'email_in' && isAuthor(comment, actor)) || roleOf(actor, comment.member_role) === 'admin'
