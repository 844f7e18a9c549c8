/** A text field in which `@` names people. It grows with its text. */
import { type ClipboardEvent, type KeyboardEvent, useId, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { Person } from '../../cells/kind.ts'
import type { CommentSubject } from './comment-subject.ts'
import { MentionPicker } from './mention-picker.tsx'
import { edited, fromContent, type MentionText, searchAt, toContent, withMention } from './mention-text.ts'

interface Props {
  label: string
  placeholder?: string
  /** As the API has it, with mentions as `@{<id>:<name>}`. */
  content: string
  change(content: string): void
  people: CommentSubject['people']
  /** Ctrl+Enter. */
  send(): void
  /** Escape, when no person is being picked. */
  leave?: (() => void) | undefined
  addFiles?(files: readonly File[]): void
  isFocused?: boolean
  /** Describes the field, such as a message below it. */
  describedBy?: string | undefined
}

export function CommentText({ label, placeholder, content, change, people, send, leave, addFiles, isFocused = false, describedBy }: Props) {
  const written = useMemo(() => fromContent(content), [content])
  const field = useRef<HTMLTextAreaElement>(null)
  const mark = useRef<HTMLSpanElement>(null)
  const put = (next: MentionText) => change(toContent(next))
  const picking = usePicking(written, field, put)
  useLayoutEffect(() => {
    if (!isFocused || !field.current) return
    field.current.focus()
    field.current.setSelectionRange(field.current.value.length, field.current.value.length)
  }, [isFocused])

  const keyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || picking.keyDown(event)) return
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault()
      send()
    } else if (event.key === 'Escape' && leave) {
      event.preventDefault()
      event.stopPropagation()
      leave()
    }
  }
  const paste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files]
    // Programs of tables put a picture beside their text.
    if (!addFiles || !files.length || event.clipboardData.types.includes('text/plain')) return
    event.preventDefault()
    addFiles(files)
  }

  return (
    <div className="comment-text">
      <textarea
        ref={field}
        aria-label={label}
        placeholder={placeholder}
        dir="auto"
        rows={1}
        value={written.text}
        aria-describedby={describedBy}
        {...picking.attributes}
        onChange={({ target }) => {
          put(edited(written, target.value))
          picking.look(target.value, target.selectionEnd)
        }}
        onSelect={({ currentTarget }) => picking.look(currentTarget.value, currentTarget.selectionEnd)}
        onBlur={picking.close}
        onKeyDown={keyDown}
        onPaste={paste}
      />
      <Mirror written={written} at={picking.from} mark={mark} />
      {picking.from !== null && <MentionPicker {...picking.picker} anchor={mark} people={people} />}
    </div>
  )
}

/** Lies below the field with the same text: it makes the field as tall as its text, marks the people, and knows where `@` is. */
function Mirror({
  written: { text, mentions },
  at,
  mark,
}: {
  written: MentionText
  at: number | null
  mark: React.RefObject<HTMLSpanElement | null>
}) {
  const ends = [
    ...mentions.flatMap(({ at: from, name }) => [
      { at: from, isNamed: true },
      { at: from + 1 + name.length, isNamed: false },
    ]),
    ...(at === null ? [] : [{ at, isNamed: false }]),
  ].sort((one, other) => one.at - other.at)
  return (
    <div className="comment-mirror" aria-hidden="true" dir="auto">
      {text.slice(0, ends[0]?.at ?? text.length)}
      {ends.map(({ at: from, isNamed }, index) => {
        const part = text.slice(from, ends[index + 1]?.at ?? text.length)
        const key = `${from} ${isNamed}`
        if (isNamed) return <mark key={key}>{part}</mark>
        return (
          <span key={key} ref={from === at ? mark : undefined}>
            {part}
          </span>
        )
      })}
      {'\u200b'}
    </div>
  )
}

/** Picks people while a name is typed after `@`. */
function usePicking(written: MentionText, field: React.RefObject<HTMLTextAreaElement | null>, put: (next: MentionText) => void) {
  const id = useId()
  const [typed, setTyped] = useState<{ from: number; search: string } | null>(null)
  /** Where the person did not want to pick anybody. */
  const [closedAt, setClosedAt] = useState<number | null>(null)
  const [people, setPeople] = useState<readonly Person[]>([])
  const [highlighted, setHighlighted] = useState(0)
  const caret = useRef<number | null>(null)
  const from = typed && typed.from !== closedAt ? typed.from : null

  // A person that was picked stands before the caret.
  useLayoutEffect(() => {
    if (caret.current === null) return
    field.current?.setSelectionRange(caret.current, caret.current)
    caret.current = null
  })

  const look = (text: string, position: number) => {
    const next = searchAt(edited(written, text), position)
    if (next?.search !== typed?.search || next?.from !== typed?.from) setHighlighted(0)
    setTyped((before) => (before?.from === next?.from && before?.search === next?.search ? before : next))
    if (!next) setClosedAt(null)
  }
  const choose = (person: Person) => {
    if (!typed) return
    const put_ = withMention(written, { from: typed.from, to: typed.from + 1 + typed.search.length }, person)
    caret.current = put_.caret
    put(put_.written)
    setTyped(null)
    field.current?.focus()
  }
  const close = () => setTyped(null)

  const keyDown = (event: KeyboardEvent): boolean => {
    if (from === null || event.ctrlKey || event.metaKey || event.altKey) return false
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const person = people[highlighted]
    if (event.key === 'Escape') setClosedAt(from)
    else if (step !== undefined && people.length) setHighlighted((highlighted + step + people.length) % people.length)
    else if ((event.key === 'Enter' || event.key === 'Tab') && person && !event.shiftKey) choose(person)
    else return false
    event.preventDefault()
    event.stopPropagation()
    return true
  }

  const isShown = from !== null && people.length > 0
  return {
    from,
    look,
    close,
    keyDown,
    attributes: {
      'aria-autocomplete': 'list' as const,
      'aria-haspopup': 'listbox' as const,
      ...(isShown && { 'aria-controls': id, 'aria-activedescendant': `${id}-${highlighted}` }),
    },
    picker: { id, search: typed?.search ?? '', highlighted, found: setPeople, highlight: setHighlighted, choose },
  }
}
