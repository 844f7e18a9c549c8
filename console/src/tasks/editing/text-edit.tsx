/** A text of a task that is edited in place. What is typed is a draft until the service has it; two who change it at once see both. */
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { taskTexts } from '../../texts/tasks.ts'
import { LeftBar } from '../../ui/left-text.tsx'
import type { OpenTask, Saved, TaskDetail } from '../task/use-task.ts'
import { BothShown } from './both-shown.tsx'
import type { TextDraft } from './text-drafts.ts'

interface Props {
  name: 'title' | 'details'
  label: string
  placeholder?: string
  task: TaskDetail
  save: OpenTask['save']
  mayEdit: boolean
  draft: TextDraft
  /** Several lines: Enter begins one, and leaving the field or Ctrl+Enter saves. */
  isLong?: boolean
  most: number
}

type Base = Parameters<OpenTask['save']>[1]

function problemWith(text: string, isLong: boolean, most: number): string | null {
  if (!isLong && text === '') return taskTexts.noTitle
  return text.length > most ? taskTexts.tooLongText(most, text.length) : null
}

export function TextEdit({ name, label, placeholder, task, save, mayEdit, draft, isLong = false, most }: Props) {
  const id = useId()
  const field = useRef<HTMLTextAreaElement>(null)
  const stored = task[name] ?? ''
  const [problem, setProblem] = useState<string | null>(null)
  const [theirs, setTheirs] = useState<{ text: string; base: Base } | null>(null)
  const isSaving = useRef(false)
  /** Saving was asked for while what was typed before was being saved. */
  const isAskedAgain = useRef(false)
  const [isWaiting, setWaiting] = useState(false)
  const [hasFocus, setFocus] = useState(false)
  const text = draft.text ?? stored

  const send = async (value: string, base?: Base) => {
    const next = isLong ? value : value.replaceAll(/\s+/g, ' ').trim()
    const wrong = problemWith(next, isLong, most)
    setProblem(wrong)
    isAskedAgain.current = isSaving.current
    if (wrong || isSaving.current) return
    if (next === stored && !base) return draft.clear()
    isSaving.current = true
    setWaiting(true)
    const saved = await save({ [name]: next === '' ? null : next }, base ?? draft.base ?? undefined)
    isSaving.current = false
    setWaiting(false)
    if (saved.ok) draft.saved(value, saved.row)
    show(saved)
  }
  const show = (saved: Saved) => {
    setTheirs(!saved.ok && saved.stale ? { text: saved.theirs[name] ?? '', base: saved.theirs } : null)
    setProblem(!saved.ok && !saved.stale ? saved.problem : null)
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: the end of saving is the occasion
  useEffect(() => {
    if (isWaiting || !isAskedAgain.current) return
    isAskedAgain.current = false
    if (mayEdit && draft.text !== null && !problem && !theirs) void send(draft.text)
  }, [isWaiting])

  const keyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing || !mayEdit) return
    if (event.key === 'Enter' && (!isLong || event.ctrlKey || event.metaKey)) {
      event.preventDefault()
      void send(text)
    } else if (event.key === 'Escape' && draft.text !== null) {
      event.preventDefault()
      event.stopPropagation()
      draft.clear()
      setProblem(null)
      setTheirs(null)
    }
  }

  const isUnsaved = draft.text !== null && draft.text !== stored && !(hasFocus || isWaiting || problem || theirs)

  return (
    <div className={`task-text task-${name}`}>
      <label htmlFor={id} className="visually-hidden">
        {label}
      </label>
      <textarea
        ref={field}
        id={id}
        rows={1}
        dir="auto"
        placeholder={mayEdit ? placeholder : undefined}
        readOnly={!mayEdit}
        value={text}
        aria-invalid={problem ? true : undefined}
        aria-describedby={problem ? `${id}-problem` : undefined}
        onChange={({ target }) => draft.type(isLong ? target.value : target.value.replaceAll(/\r?\n/g, ' '), task)}
        onKeyDown={keyDown}
        onFocus={() => setFocus(true)}
        onBlur={() => {
          setFocus(false)
          // While both texts are shown, the person decides by a button.
          if (mayEdit && draft.text !== null && !theirs) void send(text)
        }}
      />
      {mayEdit && problem && (
        <p className="problem" id={`${id}-problem`} role="alert">
          {problem}{' '}
          <button type="button" className="button small" onClick={() => void send(text)}>
            {taskTexts.retry}
          </button>
        </p>
      )}
      {mayEdit && isUnsaved && <Unsaved save={() => void send(text)} discard={draft.clear} />}
      {!mayEdit && draft.text !== null && <LeftBar text={text} discard={draft.clear} select={() => field.current?.select()} />}
      {mayEdit && theirs && (
        <BothShown
          mine={text}
          theirs={theirs.text}
          keepMine={() => void send(text, theirs.base)}
          takeTheirs={() => {
            setTheirs(null)
            draft.clear()
          }}
        />
      )}
    </div>
  )
}

function Unsaved({ save, discard }: { save(): void; discard(): void }) {
  return (
    <p className="task-unsaved">
      {taskTexts.unsaved}{' '}
      <button type="button" className="button small" onClick={save}>
        {taskTexts.save}
      </button>{' '}
      <button type="button" className="button quiet small" onClick={discard}>
        {taskTexts.discard}
      </button>
    </p>
  )
}
