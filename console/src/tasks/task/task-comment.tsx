/** A comment on a task, with what its author can do with it. */
import { useEffect, useId, useRef, useState } from 'react'
import { Avatar } from '../../cells/shown.tsx'
import { CommentDeletion } from '../../record/comment-deletion.tsx'
import { AttachmentList } from '../../record/comments/attachment-list.tsx'
import { CommentBody } from '../../record/comments/comment-body.tsx'
import type { CommentSubject } from '../../record/comments/comment-subject.ts'
import { CommentText } from '../../record/comments/comment-text.tsx'
import { editLeftMs } from '../../record/comments/rights.ts'
import { type Outputs, useClient } from '../../session/client.ts'
import { useDraft } from '../../session/drafts/use-draft.ts'
import { messageOf } from '../../session/errors.ts'
import { useMe } from '../../session/me.ts'
import { commentTexts } from '../../texts/record/comments.ts'
import { LeftText } from '../../ui/left-text.tsx'
import type { DatePlace } from '../../ui/locale/date-text.ts'
import { When } from '../../ui/locale/when.tsx'

type Row = Outputs['tasks']['comments']['list']['rows'][number]

interface Props {
  row: Row
  place: DatePlace
  subject: CommentSubject
  /** True if the task is not there any more: nothing can be done with its comments. */
  isGone: boolean
  /** True for whoever created the task, and for admins of its space. */
  mayDeleteAll: boolean
  /** True if the address names it: it is scrolled to, and marked. */
  isNamed: boolean
  changed(): void
}

export function TaskComment({ row, place, subject, isGone, mayDeleteAll, isNamed, changed }: Props) {
  const me = useMe().id
  const [isEditing, setEditing] = useState(false)
  const article = useRef<HTMLElement>(null)
  useEffect(() => {
    if (isNamed) article.current?.scrollIntoView({ block: 'center' })
  }, [isNamed])
  const name = row.api_key_id === null ? row.user_name : row.user_name.replace(/^API: /, '')
  return (
    <article ref={article} className="task-comment" data-named={isNamed ? '' : undefined} aria-label={commentTexts.wrote(name)}>
      <Avatar id={row.user_id} name={name} />
      <div>
        <p className="task-comment-head">
          <b dir="auto">{name}</b>
          {row.api_key_id !== null && <span>{commentTexts.byKey}</span>}
          <When instant={row.created_at} place={place} />
          {row.updated_at && <span>{commentTexts.edited}</span>}
          {!isEditing && !isGone && <Actions {...{ row, place, mayDeleteAll, changed }} edit={() => setEditing(true)} />}
        </p>
        {isEditing && isGone ? (
          <LeftEdit row={row} />
        ) : isEditing ? (
          <Editor {...{ row, subject, changed }} done={() => setEditing(false)} />
        ) : (
          <CommentBody content={row.content} me={me} />
        )}
        <AttachmentList files={row.attachments} locale={place.locale} />
      </div>
    </article>
  )
}

function Actions({ row, place, mayDeleteAll, changed, edit }: Omit<Props, 'subject' | 'isGone' | 'isNamed'> & { edit(): void }) {
  const client = useClient()
  const me = useMe().id
  const [isAsking, setAsking] = useState(false)
  return (
    <span className="task-comment-actions">
      {editLeftMs(row, me, true, place.now) > 0 && (
        <button type="button" className="button quiet small" onClick={edit}>
          {commentTexts.edit}
        </button>
      )}
      {(mayDeleteAll || (row.api_key_id === null && row.user_id === me)) && (
        <button type="button" className="button quiet small" onClick={() => setAsking(true)}>
          {commentTexts.delete}
        </button>
      )}
      {isAsking && (
        <CommentDeletion
          hasFiles={row.attachments.length > 0}
          remove={() => client.tasks.comments.delete.mutate({ task_id: row.task_id, comment_id: row.id })}
          removed={changed}
          close={() => setAsking(false)}
        />
      )}
    </span>
  )
}

const editDraftName = ({ task_id, id }: Row) => `draft.comment.task.${task_id}.${id}` as const
const readText = (stored: unknown) => (typeof stored === 'string' ? stored : null)

function LeftEdit({ row }: { row: Row }) {
  const draft = useDraft(editDraftName(row), readText)
  return draft.value === null ? (
    <CommentBody content={row.content} />
  ) : (
    <LeftText label={commentTexts.editField} text={draft.value} discard={draft.clear} />
  )
}

function Editor({ row, subject, changed, done }: Pick<Props, 'row' | 'subject' | 'changed'> & { done(): void }) {
  const client = useClient()
  const id = useId()
  const draft = useDraft(editDraftName(row), readText)
  const content = draft.value ?? row.content
  const [problem, setProblem] = useState<string | null>(null)
  const close = () => {
    draft.clear()
    done()
  }
  const save = async () => {
    if (content === row.content) return close()
    try {
      await client.tasks.comments.update.mutate({ task_id: row.task_id, comment_id: row.id, content })
      changed()
      close()
    } catch (error) {
      setProblem(messageOf(error))
    }
  }
  return (
    <div className="comment-field">
      <CommentText
        label={commentTexts.editField}
        content={content}
        change={draft.set}
        people={subject.people}
        send={() => void save()}
        leave={content === row.content ? close : undefined}
        describedBy={id}
        isFocused
      />
      <div className="comment-bar">
        <span id={id} className="comment-message" role={problem ? 'alert' : undefined}>
          {problem ?? draft.problem}
        </span>
        <button type="button" className="button quiet small" onClick={close}>
          {commentTexts.cancel}
        </button>
        <button type="button" className="button primary small" onClick={() => void save()}>
          {commentTexts.save}
        </button>
      </div>
    </div>
  )
}
