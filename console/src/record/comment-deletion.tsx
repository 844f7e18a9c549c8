/** Asks before a comment is deleted, on a record or on a task. */
import { errorData, messageOf } from '../session/errors.ts'
import { commentTexts } from '../texts/record/comments.ts'
import { lazyPart } from '../ui/lazy-part.tsx'
import { toast } from '../ui/toasts/toasts.ts'

const ConfirmDialog = lazyPart(async () => ({ default: (await import('../ui/confirm-dialog.tsx')).ConfirmDialog }))

interface Props {
  hasFiles: boolean
  /** Asks the service. */
  remove: () => Promise<unknown>
  /** The comment is not there any more. */
  removed: () => void
  close: () => void
}

export function CommentDeletion({ hasFiles, remove, removed, close }: Props) {
  const run = async () => {
    try {
      await remove()
    } catch (error) {
      // Somebody else has deleted it meanwhile.
      if (errorData(error)?.code !== 'NOT_FOUND') throw error
    }
    toast(commentTexts.deleted)
    removed()
  }
  return (
    <ConfirmDialog title={commentTexts.deleteTitle} action={commentTexts.delete} run={run} wordsOf={messageOf} close={close}>
      <p>{hasFiles ? commentTexts.deleteTextWithFiles : commentTexts.deleteText}</p>
    </ConfirmDialog>
  )
}
