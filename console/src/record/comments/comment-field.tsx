/** Where a comment is written: its text, people who are mentioned, and files. */
import { type DragEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import type { StoredFile } from '../../cells/kind.ts'
import { commentTexts } from '../../texts/record/comments.ts'
import '../../ui/button.css'
import { Icon } from '../../ui/icons/icon.tsx'
import { useKeys } from '../../ui/keys/keys.ts'
import { AttachmentList } from './attachment-list.tsx'
import { CommentBody } from './comment-body.tsx'
import type { CommentSubject } from './comment-subject.ts'
import { CommentText } from './comment-text.tsx'
import './comments.css'
import { hearReturned } from './returned.ts'
import { useAttachments } from './use-attachments.ts'
import { type CommentDraft, useCommentDraft } from './use-comment-draft.ts'

interface Props {
  subject: CommentSubject
  /** The language of the reader. */
  locale: string
  /** Called when the service has the comment. */
  sent(): void
}

export function CommentField({ subject, locale, sent }: Props) {
  const draft = useCommentDraft(subject, sent)
  const { content, attachments, outgoing } = draft
  const { uploads, isUploading, add, forget } = useAttachments(subject, (file) =>
    draft.change((before) => ({ attachments: [...before.attachments, file] })),
  )
  const { send, waitsForFiles } = useSend(draft, isUploading)
  const chooser = useRef<HTMLInputElement>(null)
  const messageId = useId()
  useKeys(commentTexts.field, commentTexts.keys)
  const isEmpty = content.trim() === '' && attachments.length === 0

  // What could not be saved in a comment that is gone comes back to the field.
  useEffect(
    () =>
      hearReturned(subject.draftName, (text) =>
        draft.change((before) => ({ content: [before.content, text].filter(Boolean).join('\n\n') })),
      ),
    [subject.draftName, draft.change],
  )

  return (
    <DropPlace add={add}>
      <CommentText
        label={commentTexts.field}
        placeholder={commentTexts.placeholder}
        content={content}
        change={(next) => draft.change(() => ({ content: next }))}
        people={subject.people}
        send={send}
        addFiles={add}
        describedBy={messageId}
      />
      <AttachmentList
        files={attachments}
        uploads={uploads}
        locale={locale}
        forget={forget}
        remove={({ path }: StoredFile) =>
          draft.change((before) => ({ attachments: before.attachments.filter((one) => one.path !== path) }))
        }
      />
      <div className="comment-bar">
        <button
          type="button"
          className="button quiet small icon-only"
          aria-label={commentTexts.attach}
          title={commentTexts.attach}
          onClick={() => chooser.current?.click()}
        >
          <Icon name="paperclip" />
        </button>
        <input
          ref={chooser}
          type="file"
          multiple
          hidden
          onChange={({ target }) => {
            add([...(target.files ?? [])])
            // The same file can be chosen again.
            target.value = ''
          }}
        />
        <span id={messageId} className="comment-message" aria-live="polite">
          {waitsForFiles ? commentTexts.waitsForFiles : draft.problem}
        </span>
        <kbd className="comment-hint">{commentTexts.addHint}</kbd>
        <button type="button" className="button primary small" aria-disabled={isEmpty || outgoing !== null} onClick={send}>
          {commentTexts.add}
        </button>
      </div>
      {draft.conflict && <Conflict conflict={draft.conflict} />}
      {outgoing && <Outgoing draft={draft} locale={locale} />}
    </DropPlace>
  )
}

/** A comment whose files are on their way is sent when they are there. */
function useSend(draft: CommentDraft, isUploading: boolean) {
  const [waits, setWaits] = useState(false)
  const { send } = draft
  const isReady = waits && !isUploading
  // biome-ignore lint/correctness/useExhaustiveDependencies: sending is a new function each time
  useEffect(() => {
    if (!isReady) return
    setWaits(false)
    send()
  }, [isReady])
  return { waitsForFiles: waits && isUploading, send: () => (isUploading ? setWaits(true) : send()) }
}

/** Takes files that are dropped. */
function DropPlace({ add, children }: { add(files: readonly File[]): void; children: ReactNode }) {
  const [isOver, setIsOver] = useState(false)
  const over = (event: DragEvent) => {
    if (!event.dataTransfer.types.includes('Files')) return
    event.preventDefault()
    event.stopPropagation()
    setIsOver(true)
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: files are also attached by a button
    <div
      className="comment-field"
      data-over={isOver ? commentTexts.drop : undefined}
      onDragOver={over}
      onDragLeave={({ currentTarget, relatedTarget }) => {
        if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) setIsOver(false)
      }}
      onDrop={(event) => {
        setIsOver(false)
        const files = [...event.dataTransfer.files]
        if (!files.length) return
        event.preventDefault()
        event.stopPropagation()
        add(files)
      }}
    >
      {children}
    </div>
  )
}

function Conflict({ conflict: { theirs, keepMine, takeTheirs } }: { conflict: NonNullable<CommentDraft['conflict']> }) {
  return (
    <div className="comment-note" role="alert">
      <p>{commentTexts.conflict}</p>
      <p className="comment-theirs" dir="auto">
        {commentTexts.theirs((theirs?.content ?? '').slice(0, 300))}
      </p>
      <button type="button" className="button small" onClick={keepMine}>
        {commentTexts.keepMine}
      </button>{' '}
      <button type="button" className="button small" onClick={takeTheirs}>
        {commentTexts.takeTheirs}
      </button>
    </div>
  )
}

/** Most answers come sooner. */
const LATE_MS = 400

/** A comment that the service has not answered yet. */
function Outgoing({ draft: { outgoing, sendNow }, locale }: { draft: CommentDraft; locale: string }) {
  const [isLate, setIsLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setIsLate(true), LATE_MS)
    return () => clearTimeout(timer)
  }, [])
  if (!outgoing || !isLate) return null
  return (
    <div className="comment-outgoing">
      <output>{commentTexts.sending}</output>
      <CommentBody content={outgoing.content} />
      <AttachmentList files={outgoing.attachments} locale={locale} />
      <button type="button" className="button small" onClick={sendNow}>
        {commentTexts.sendNow}
      </button>
    </div>
  )
}
