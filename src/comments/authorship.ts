/** Who wrote a comment: a user, an API key, or the sender of an email. */
import type { Actor } from '../platform/actor.ts'

/** The author as the columns of a comment name them. */
export interface Author {
  /** 0 for an API key and for the sender of an email. */
  user_id: number
  user_name: string
  api_key_id: number | null
}

/** The author's columns of a comment that was found through its subject. */
export interface Authorship {
  comment_user_id: number
  comment_api_key_id: number | null
}

/** An API key signs with its own name, even a personal one (api.md, Task comment). */
export const authorOf = ({ keyId, keyName, userId, name }: Actor): Author =>
  keyId === null ? { user_id: userId, user_name: name, api_key_id: null } : { user_id: 0, user_name: `API: ${keyName}`, api_key_id: keyId }

/** The author of an email that was received. */
export const senderAsAuthor = (name: string): Author => ({ user_id: 0, user_name: name, api_key_id: null })

/** A comment that was written with an API key belongs to that key, not to the key's user (contract.md §4, Comments). */
export function isAuthor({ comment_user_id, comment_api_key_id }: Authorship, actor: Actor): boolean {
  if (comment_api_key_id !== null) return comment_api_key_id === actor.keyId
  return actor.kind !== 'account' && comment_user_id === actor.userId
}
