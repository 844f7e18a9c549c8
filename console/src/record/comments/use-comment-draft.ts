/**
 * A comment from its first letter to the answer of the service. What was typed is a draft, and so is a comment that is on its way, with the
 * key under which it is sent: whatever ends the page, the network or the session, it is there once in the end, or still in the field.
 */
import { useEffect, useRef, useState } from 'react'
import type { StoredFile } from '../../cells/kind.ts'
import { type Draft, useDraft } from '../../session/drafts/use-draft.ts'
import { useSessionState } from '../../session/use-session-state.ts'
import { commentTexts } from '../../texts/record/comments.ts'
import { announce } from '../../ui/announcer.ts'
import type { CommentSubject, NewComment } from './comment-subject.ts'
import { beginSending, type Result, type Sending } from './sending.ts'

/** A comment that was sent, until the service has answered. */
interface Outgoing extends NewComment {
  /** When it was sent first, in milliseconds. */
  since: number
}

interface Kept extends NewComment {
  outgoing: Outgoing | null
}

const EMPTY: Kept = { content: '', attachments: [], outgoing: null }
const isBlank = ({ content, attachments }: NewComment) => content.trim() === '' && attachments.length === 0

export interface CommentDraft extends NewComment {
  isPending: boolean
  /** The comment that is on its way. */
  outgoing: NewComment | null
  /** What the service said of the comment that was sent last, or why the draft is kept in this browser only. */
  problem: string | null
  conflict: Draft<Kept>['conflict']
  change(next: (before: NewComment) => Partial<NewComment>): void
  send(): void
  /** Sends now what waits for a connection. */
  sendNow(): void
}

/** Less than the day for which the service knows a key, whatever a clock says. */
const KEY_LASTS_MS = 20 * 3_600_000

export function useCommentDraft(subject: CommentSubject, sent: () => void): CommentDraft {
  const draft = useDraft(subject.draftName, readKept)
  const [problem, setProblem] = useState<string | null>(null)
  const kept = draft.value ?? EMPTY
  const latest = useRef({ draft, kept, subject, sent })
  latest.current = { draft, kept, subject, sent }
  const sending = useRef<Sending | null>(null)

  const put = (next: Kept) => {
    latest.current.kept = next
    if (next.content === '' && !next.attachments.length && !next.outgoing) latest.current.draft.clear()
    else latest.current.draft.set(next)
  }

  const settle = (outgoing: Outgoing, result: Result) => {
    const { content, attachments } = latest.current.kept
    if (result.kind === 'created') put({ content, attachments, outgoing: null })
    else {
      // What was refused is in the field again, before what was written since.
      const text = [outgoing.content, content].filter((part) => part !== '').join('\n\n')
      put({ content: text, attachments: [...outgoing.attachments, ...attachments], outgoing: null })
    }
    setProblem(result.kind === 'created' ? null : result.problem)
    // What is in the field now is another comment.
    latest.current.draft.renew()
    if (result.kind !== 'created') return
    announce(commentTexts.sent)
    latest.current.sent()
  }

  const { outgoing } = kept
  const { key, isPending, conflict } = draft
  // The cookie is somebody else's then, and the comment would be theirs.
  const isOther = useSessionState() === 'other'
  const isReady = !isPending && conflict === null && !isOther
  // What was sent before the page was closed is sent here, too, under the same key.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the functions use what is latest
  useEffect(() => {
    if (!outgoing || !isReady || key === '') return
    if (Date.now() - outgoing.since > KEY_LASTS_MS) return settle(outgoing, { kind: 'refused', problem: commentTexts.perhapsSent })
    const { content, attachments } = outgoing
    const begun = beginSending(() => latest.current.subject.create({ content, attachments }, key), {
      waits: () => setProblem(commentTexts.waits),
      done: (result) => settle(outgoing, result),
    })
    sending.current = begun
    return begun.stop
  }, [outgoing?.since, key, isReady])

  return {
    content: kept.content,
    attachments: kept.attachments,
    isPending,
    outgoing,
    // A comment that is sent before the draft could be read waits for both.
    problem: problem ?? (outgoing && isPending && draft.problem ? commentTexts.waits : draft.problem),
    conflict,
    change(next) {
      const before = latest.current.kept
      if (!before.outgoing) setProblem(null)
      put({ ...before, ...next(before) })
    },
    send() {
      const { content, attachments, outgoing } = latest.current.kept
      if (isBlank({ content, attachments }) || outgoing) return
      setProblem(null)
      put({ content: '', attachments: [], outgoing: { content, attachments, since: Date.now() } })
    },
    sendNow: () => sending.current?.now(),
  }
}

function readKept(stored: unknown): Kept | null {
  const comment = readComment(stored)
  if (!comment) return null
  const { outgoing } = stored as { outgoing?: unknown }
  const left = readComment(outgoing)
  const since = (outgoing as { since?: unknown } | null | undefined)?.since
  return { ...comment, outgoing: left && typeof since === 'number' ? { ...left, since } : null }
}

function readComment(stored: unknown): NewComment | null {
  if (typeof stored !== 'object' || stored === null) return null
  const { content, attachments } = stored as { content?: unknown; attachments?: unknown }
  if (typeof content !== 'string') return null
  return { content, attachments: Array.isArray(attachments) ? attachments.filter(isStoredFile) : [] }
}

const isStoredFile = (file: unknown): file is StoredFile =>
  typeof file === 'object' && file !== null && 'path' in file && typeof file.path === 'string' && 'name' in file
