/** The field of the line, with the people who can follow an @. */
import { type KeyboardEvent, type RefObject, useId, useRef, useState } from 'react'
import { Avatar } from '../../cells/shown.tsx'
import { taskTexts } from '../../texts/tasks.ts'
import '../../ui/field.css'
import '../../ui/lists/choice-list.css'
import { peopleNamed } from '../people.ts'
import type { Person } from './found-people.ts'
import type { QuickAdd } from './use-quick-add.ts'

const MOST_OFFERED = 8

export function LineField({ quickAdd }: { quickAdd: QuickAdd }) {
  const { text, type, problem, enter } = quickAdd
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  const { offered, highlighted, highlight, choose, setCaret, dismiss, reopen, keyDown } = useMentions(quickAdd, field)

  return (
    <div className="field quick-add-line">
      <label htmlFor={id}>{taskTexts.line}</label>
      <input
        ref={field}
        id={id}
        // biome-ignore lint/a11y/noAutofocus: the dialog is for this field
        autoFocus
        role="combobox"
        aria-expanded={offered.length > 0}
        aria-controls={`${id}-people`}
        aria-autocomplete="list"
        aria-activedescendant={offered.length ? `${id}-${highlighted}` : undefined}
        aria-invalid={problem ? true : undefined}
        aria-describedby={problem ? `${id}-problem` : undefined}
        autoComplete="off"
        dir="auto"
        placeholder={taskTexts.lineExample}
        value={text}
        onChange={({ target }) => {
          type(target.value)
          setCaret(target.selectionStart ?? target.value.length)
        }}
        onSelect={({ currentTarget }) => setCaret(currentTarget.selectionStart ?? currentTarget.value.length)}
        onFocus={reopen}
        onBlur={dismiss}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing || keyDown(event) || event.key !== 'Enter') return
          event.preventDefault()
          enter()
        }}
      />
      <div className="choices" id={`${id}-people`} role="listbox" aria-label={taskTexts.assignee} hidden={!offered.length}>
        {offered.map((person, at) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/useFocusableInteractive: keys are taken in the field
          <div
            key={person.id}
            id={`${id}-${at}`}
            className="choice"
            role="option"
            aria-selected={at === highlighted}
            data-highlighted={at === highlighted ? '' : undefined}
            onMouseDown={(event) => event.preventDefault()}
            onMouseMove={() => at !== highlighted && highlight(at)}
            onClick={() => choose(person)}
          >
            <span className="choice-content" dir="auto">
              <Avatar id={person.id} name={person.name} />
              {person.name} <small>{person.email}</small>
            </span>
          </div>
        ))}
      </div>
      {problem && (
        <p className="problem" id={`${id}-problem`} role="alert">
          {problem}
        </p>
      )}
    </div>
  )
}

/** The people who fit the @ before the caret. */
function useMentions({ text, type, people, task }: QuickAdd, field: RefObject<HTMLInputElement | null>) {
  // A line that was typed before has the caret at its end.
  const [caretWanted, setCaret] = useState(Number.MAX_SAFE_INTEGER)
  const caret = Math.min(caretWanted, text.length)
  /** Set once an arrow or the mouse has moved. */
  const [moved, setMoved] = useState<number | null>(null)
  /** Where the @ is that is done with. */
  const [dismissed, setDismissed] = useState<number | null>(null)
  const name = /(?:^|[^\p{L}\p{N}._-])@([^@]{0,60})$/u.exec(text.slice(0, caret))?.[1]
  const start = name === undefined ? null : caret - name.length - 1
  const offered = name === undefined || start === dismissed ? [] : peopleNamed(people, name).slice(0, MOST_OFFERED)
  const highlighted = Math.min(moved ?? 0, Math.max(0, offered.length - 1))
  /** What is typed means one person already: Enter sends. */
  const isMeant = moved === null && task.parts.some((part) => part.kind === 'assignee' && part.start === start)

  const choose = (person: Person | undefined) => {
    if (!person || start === null) return
    // A name that two people have says nothing, their addresses do.
    const isUnique = people.filter((other) => other.name === person.name).length === 1
    const before = `${text.slice(0, start)}@${isUnique || person.email === null ? person.name : person.email} `
    type(before + text.slice(caret).replace(/^\s+/, ''))
    setCaret(before.length)
    setDismissed(start)
    // The caret is moved once the field has the text.
    requestAnimationFrame(() => field.current?.setSelectionRange(before.length, before.length))
  }
  const keys: Record<string, () => void> = {
    ArrowDown: () => setMoved((highlighted + 1) % offered.length),
    ArrowUp: () => setMoved((highlighted + offered.length - 1) % offered.length),
    Tab: () => choose(offered[highlighted]),
    Escape: () => setDismissed(start),
    ...(!isMeant && { Enter: () => choose(offered[highlighted]) }),
  }
  return {
    offered,
    highlighted,
    highlight: setMoved,
    choose,
    setCaret(at: number) {
      if (at === caret) return
      setCaret(at)
      setMoved(null)
    },
    dismiss: () => setDismissed(start),
    reopen: () => setDismissed(null),
    /** @returns whether the key was one of the list */
    keyDown(event: KeyboardEvent): boolean {
      const run = offered.length ? keys[event.key] : undefined
      if (!run) return false
      event.preventDefault()
      event.stopPropagation()
      run()
      return true
    },
  }
}
