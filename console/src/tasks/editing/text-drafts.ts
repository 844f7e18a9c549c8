/** What is typed into the texts of a task and not saved yet. It is kept, whatever ends the page. */
import { useDraft } from '../../session/drafts/use-draft.ts'
import type { TaskDetail } from '../task/use-task.ts'

interface Typed {
  text: string
  /** The version of the task that it goes on from, and what the text was then. */
  version: number
  before: string | null
}

interface Drafts {
  title?: Typed
  details?: Typed
}

export interface TextDraft {
  /** Null: nothing is typed. */
  text: string | null
  /** The task as it was when the typing began, as far as its texts go. */
  base: TaskDetail | null
  type(text: string, task: TaskDetail): void
  /** The service has the text. What was typed since goes on from there. */
  saved(text: string, task: { version: number }): void
  clear(): void
}

export interface TextDrafts {
  title: TextDraft
  details: TextDraft
  /** Another page of this person has typed something else into the same task. */
  conflict: { theirs: string; keepMine(): void; takeTheirs(): void } | null
}

const draftName = (taskId: number) => `draft.task.${taskId}` as const

/** What is typed into the texts of a task that cannot be read any more. */
export function useLeftTexts(taskId: number) {
  const draft = useDraft(draftName(taskId), readDrafts)
  const { title, details } = draft.value ?? {}
  return { title: title?.text, details: details?.text, discard: draft.clear }
}

export function useTextDrafts(task: TaskDetail): TextDrafts {
  const draft = useDraft(draftName(task.id), readDrafts)
  const present = () => draft.now().value ?? {}
  const put = (name: keyof Drafts, typed: Typed | null) => {
    const { [name]: _, ...rest } = present()
    const next = typed ? { ...rest, [name]: typed } : rest
    if (Object.keys(next).length) draft.set(next)
    else draft.clear()
  }
  const of = (name: keyof Drafts): TextDraft => {
    const typed = draft.value?.[name]
    return {
      text: typed?.text ?? null,
      base: typed ? { ...task, version: typed.version, [name]: typed.before } : null,
      type(text, { version, [name]: before }) {
        const earlier = present()[name]
        put(name, { text, version: earlier?.version ?? version, before: earlier ? earlier.before : before })
      },
      saved(text, { version }) {
        const now = present()[name]
        put(name, now && now.text !== text ? { text: now.text, version, before: text === '' ? null : text } : null)
      },
      clear: () => put(name, null),
    }
  }
  const { conflict } = draft
  return {
    ...{ title: of('title'), details: of('details') },
    conflict: conflict && {
      theirs: [conflict.theirs?.title?.text, conflict.theirs?.details?.text].filter(Boolean).join('\n'),
      keepMine: conflict.keepMine,
      takeTheirs: conflict.takeTheirs,
    },
  }
}

function readDrafts(stored: unknown): Drafts | null {
  if (typeof stored !== 'object' || stored === null) return null
  const { title, details } = stored as Record<string, unknown>
  return { ...(isTyped(title) && { title }), ...(isTyped(details) && { details }) }
}

function isTyped(stored: unknown): stored is Typed {
  if (typeof stored !== 'object' || stored === null) return false
  const { text, version, before } = stored as Record<string, unknown>
  return typeof text === 'string' && typeof version === 'number' && (before === null || typeof before === 'string')
}
