/** Changes the text of a comment. What was typed is a draft until it is saved, and is kept if the comment cannot be changed any more. */
import { useEffect, useId, useRef, useState } from 'react'
import { useClient } from '../../session/client.ts'
import { useDraft } from '../../session/drafts/use-draft.ts'
import { errorData, messageOf } from '../../session/errors.ts'
import { commentTexts } from '../../texts/record/comments.ts'
import { announce } from '../../ui/announcer.ts'
import type { EntryPlace } from '../timeline/entry.ts'
import type { CommentRow } from '../timeline/rows.ts'
import { CommentText } from './comment-text.tsx'
import { draftNameOf, peopleOf } from './record-comments.ts'
import { returnText } from './returned.ts'

interface Props {
  row: CommentRow
  place: EntryPlace
  done(): void
  saved(): void
}

const readText = (stored: unknown) => (typeof stored === 'string' ? stored : null)

export function CommentEditor({ row, place, done, saved }: Props) {
  const client = useClient()
  const draft = useDraft(`${draftNameOf(row)}.${row.id}`, readText)
  const content = draft.value ?? row.content
  const [first] = useState(row.content)
  const [problem, setProblem] = useState<string | null>(null)
  const [isSaving, setIsSaving] = useState(false)
  const messageId = useId()
  useReturned(row, place, draft)

  const close = () => {
    draft.clear()
    done()
  }
  const save = async () => {
    if (isSaving) return
    if (content === row.content) return close()
    setIsSaving(true)
    setProblem(null)
    try {
      const { table_id, record_id, id: comment_id } = row
      await client.comments.update.mutate({ table_id, record_id, comment_id, content })
      saved()
      close()
    } catch (error) {
      setProblem(messageOf(error))
      setIsSaving(false)
      if (errorData(error)?.code === 'NOT_FOUND') place.removed({ kind: 'comment', key: `comment-${row.id}`, at: row.created_at, row })
    }
  }
  const asNew = () => {
    returnText(draftNameOf(row), content)
    close()
  }

  return (
    <div className="comment-field">
      <CommentText
        label={commentTexts.editField}
        content={content}
        change={draft.set}
        people={peopleOf(client, place.spaceId)}
        send={() => void save()}
        leave={content === row.content ? close : undefined}
        describedBy={messageId}
        isFocused
      />
      {row.content !== first && (
        <p className="comment-note" dir="auto">
          {commentTexts.changedElsewhere} {row.content.slice(0, 300)}
        </p>
      )}
      <div className="comment-bar">
        <span id={messageId} className="comment-message" role={problem ? 'alert' : undefined}>
          {problem ?? draft.problem}
        </span>
        {problem !== null && (
          <button type="button" className="button small" onClick={asNew}>
            {commentTexts.asNew}
          </button>
        )}
        <button type="button" className="button quiet small" onClick={close}>
          {commentTexts.cancel}
        </button>
        <button type="button" className="button primary small" aria-disabled={isSaving} onClick={() => void save()}>
          {commentTexts.save}
        </button>
      </div>
    </div>
  )
}

/** The text of a comment that was deleted while it was edited goes to the field for a new one. */
function useReturned(row: CommentRow, { rowOf }: EntryPlace, draft: { value: string | null; clear(): void }) {
  const latest = useRef({ row, rowOf, draft })
  latest.current = { row, rowOf, draft }
  useEffect(
    () => () => {
      const { row, rowOf, draft } = latest.current
      if (draft.value === null || draft.value === row.content || rowOf(row.id)) return
      returnText(draftNameOf(row), draft.value)
      draft.clear()
      announce(commentTexts.gone)
    },
    [],
  )
}
