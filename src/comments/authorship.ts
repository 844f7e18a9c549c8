/** Who wrote a comment, on a record or on a task, and for how long it is theirs to change. */
import type { Actor } from '../platform/access/authorize.ts'
import { formatInstant, instantOf } from '../platform/time.ts'

/** What the rules need of a comment. */
export interface Authorship {
  comment_user_id: number
  comment_api_key_id: number | null
  /** `YYYY-MM-DD HH:MM:SS`, UTC. */
  comment_created_at: string
}

/** What a comment says of its author. */
export interface Author {
  user_id: number
  user_name: string
  api_key_id: number | null
}

/** A key signs with its own name, and so does a personal one (api.md, Task comment). */
export const authorOf = ({ keyId, keyName, userId, name }: Actor): Author =>
  keyId === null ? { user_id: userId, user_name: name, api_key_id: null } : { user_id: 0, user_name: `API: ${keyName}`, api_key_id: keyId }

/** The one who wrote it; what a key wrote is that key's alone. */
export function isAuthor({ comment_user_id, comment_api_key_id }: Authorship, actor: Actor): boolean {
  if (comment_api_key_id !== null) return comment_api_key_id === actor.keyId
  return actor.kind !== 'account' && comment_user_id === actor.userId
}

/** For 15 minutes after it was written (api.md, Task comments 2), counted in whole seconds, as the row tells when that was. */
export function isStillEditable({ comment_created_at }: Authorship, now: Date): boolean {
  const age = instantOf(formatInstant(now)).getTime() - instantOf(comment_created_at).getTime()
  return age <= EDIT_WINDOW_MINUTES * 60_000
}

const EDIT_WINDOW_MINUTES = 15
