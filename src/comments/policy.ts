/** Who may edit and delete a comment, among the readers of its subject (api.md, Task comments; contract.md §4, Comments; §6, Comments). */
import type { Actor } from '../platform/actor.ts'
import { formatInstant, instantOf } from '../platform/time/time.ts'
import { type Authorship, isAuthor } from './authorship.ts'

const EDIT_WINDOW_MINUTES = 15

/** A comment as the rules see it. */
export interface JudgedComment extends Authorship {
  comment_type: 'comment' | 'email_out' | 'email_in'
  /** `YYYY-MM-DD HH:MM:SS`, UTC */
  comment_created_at: string
}

/** The author may edit a comment while `isInEditWindow` is true. Nobody edits an email. */
export const canEdit = (comment: JudgedComment, actor: Actor): boolean => comment.comment_type === 'comment' && isAuthor(comment, actor)

/** The author and a moderator of the subject may delete a comment. Nobody is the author of a received email. */
export const canDelete = (comment: JudgedComment, actor: Actor, isModerator: boolean): boolean =>
  (comment.comment_type !== 'email_in' && isAuthor(comment, actor)) || isModerator

/** True for 15 minutes after the comment was created, in whole seconds because rows store whole seconds. */
export function isInEditWindow({ comment_created_at }: JudgedComment, now: Date): boolean {
  const age = instantOf(formatInstant(now)).getTime() - instantOf(comment_created_at).getTime()
  return age <= EDIT_WINDOW_MINUTES * 60_000
}
