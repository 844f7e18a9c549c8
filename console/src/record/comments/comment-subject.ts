/** What comments are written on: a record or a task. */
import type { Person, StoredFile } from '../../cells/kind.ts'

/** A comment that is written and not yet sent. */
export interface NewComment {
  /** As the API takes it, with mentions as `@{<id>:<name>}`. */
  content: string
  attachments: readonly StoredFile[]
}

export interface CommentSubject {
  /** Such as `draft.comment.4.12`. */
  draftName: `draft.${string}`
  /** Writes the comment. A call that is repeated under the same key writes it once. */
  create(comment: NewComment, idempotencyKey: string): Promise<unknown>
  /** Sends a file that a comment is to have. @param onSent gets the part that is sent, from 0 to 1 */
  upload(file: File, onSent: (part: number) => void, signal: AbortSignal): Promise<StoredFile>
  /** People who may be mentioned, whose names or addresses have all words. */
  people(search: string, signal: AbortSignal): Promise<readonly Person[]>
}
