/** A comment on the timeline, with what its author can do with it. */
import { useEffect, useState } from 'react'
import { Avatar } from '../../cells/shown.tsx'
import { useClient } from '../../session/client.ts'
import { commentTexts } from '../../texts/record/comments.ts'
import { exactTime } from '../../ui/locale/time-words.ts'
import { When } from '../../ui/locale/when.tsx'
import { CommentDeletion } from '../comment-deletion.tsx'
import { authorOf } from '../timeline/change-words.ts'
import type { EntryPlace, ShownKind, ShownProps } from '../timeline/entry.ts'
import type { CommentRow } from '../timeline/rows.ts'
import { AttachmentList } from './attachment-list.tsx'
import { CommentBody } from './comment-body.tsx'
import { CommentEditor } from './comment-editor.tsx'
import './comments.css'
import { editLeftMs, mayDelete } from './rights.ts'

export const commentKind: ShownKind<'comment'> = {
  kind: 'comment',
  label: ({ row }) => commentTexts.wrote(authorOf(row).name),
  Shown: CommentEntry,
}

function CommentEntry({ entry, place }: ShownProps<'comment'>) {
  const { row } = entry
  const [isEditing, setIsEditing] = useState(false)
  const { keep } = place
  // What was typed before the page was closed is there again; one that may no longer be changed says so when it is saved.
  const isLeft = place.leftEdits.has(row.id)
  useEffect(() => {
    if (isLeft) setIsEditing(true)
  }, [isLeft])
  useEffect(() => {
    keep(entry, isEditing)
    return () => keep(entry, false)
  }, [keep, entry, isEditing])
  const me = place.definition.me.id
  const done = () => {
    place.leftEdits.delete(row.id)
    setIsEditing(false)
  }
  return (
    <div className="comment">
      <Avatar id={row.user_id} name={authorOf(row).name} />
      <div className="comment-main">
        <p className="entry-head">
          <bdi className="entry-who">{authorOf(row).name}</bdi>
          {row.api_key_id !== null && <span className="comment-badge">{commentTexts.byKey}</span>}
          <When instant={row.created_at} place={place.reader} />
          {row.updated_at && (
            <span className="comment-badge" title={commentTexts.editedAt(exactTime(row.updated_at, place.reader))}>
              {commentTexts.edited}
            </span>
          )}
          {!isEditing && <Actions row={row} place={place} entry={entry} edit={() => setIsEditing(true)} />}
        </p>
        {isEditing ? (
          <CommentEditor row={row} place={place} done={done} saved={() => place.changed(entry)} />
        ) : (
          <CommentBody content={row.content} me={me} />
        )}
        <AttachmentList files={row.attachments} locale={place.reader.locale} />
      </div>
    </div>
  )
}

/** The name of a key stands after `API: ` in a comment. */
function Actions({ row, place, entry, edit }: { row: CommentRow; place: EntryPlace; entry: ShownProps<'comment'>['entry']; edit(): void }) {
  const client = useClient()
  const [isAsking, setIsAsking] = useState(false)
  const { definition, role, reader } = place
  const left = editLeftMs(row, definition.me.id, role !== 'viewer', reader.now)
  return (
    <span className="entry-actions">
      {left > 0 && (
        <>
          <button type="button" className="button quiet small" onClick={edit}>
            {commentTexts.edit}
          </button>
          <span className="comment-left">{commentTexts.left(Math.floor(left / 60_000))}</span>
        </>
      )}
      {mayDelete(row, definition.me.id, role) && (
        <button type="button" className="button quiet small" onClick={() => setIsAsking(true)}>
          {commentTexts.delete}
        </button>
      )}
      {isAsking && (
        <CommentDeletion
          hasFiles={row.attachments.length > 0}
          remove={() => client.comments.delete.mutate({ table_id: row.table_id, record_id: row.record_id, comment_id: row.id })}
          removed={() => place.removed(entry)}
          close={() => setIsAsking(false)}
        />
      )}
    </span>
  )
}
