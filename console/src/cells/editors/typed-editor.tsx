/** The editor of everything that is typed: texts, numbers, dates. */
import { type ComponentType, type KeyboardEvent, Suspense, useId, useLayoutEffect, useRef, useState } from 'react'
import { cellTexts } from '../../texts/cells.ts'
import { AnchoredBox } from '../../ui/overlays/anchored-box.tsx'
import type { EditorProps } from '../cell-kind.ts'
import { cellText } from '../cell-text.ts'
import type { Move, Parsed, Surroundings, Value } from '../kind.ts'
import { hasLeft, moveOf, OWN_EVENTS, useEnding } from './editing.ts'

/** What stands under the text field, such as a calendar. */
export interface BelowProps {
  /** The value of the text as it is typed, or the one of the cell. */
  value: Value
  surroundings: Surroundings
  /** Puts a text in the place of the typed one. */
  setText(text: string): void
  end(value: Value): void
}

export interface Typing {
  /** The text of a value, to be edited; by default the one that is copied. */
  textOf?(value: Value, props: EditorProps): string
  /** Reads the text; by default as one that is pasted. */
  parse?(text: string, props: EditorProps): Parsed | null
  /** What the text becomes, in words, while it is typed. */
  noteOn?(text: string, props: EditorProps): string | null
  /** What can be typed, as long as the field is empty. */
  placeholder?(props: EditorProps): string
  isLong?: boolean
  inputMode?: 'decimal' | 'text' | 'email' | 'url' | 'tel'
  align?: 'right'
  Below?: ComponentType<BelowProps>
}

export function typedEditor(typing: Typing): ComponentType<EditorProps> {
  return function TypedEditor(props: EditorProps) {
    return <TypingBox typing={typing} editor={props} />
  }
}

function TypingBox({ typing, editor }: { typing: Typing; editor: EditorProps }) {
  const { text, change, problem, note, keyDown, leave, end } = useTyping(typing, editor)
  const anchor = useRef<HTMLDivElement>(null)
  const field = useRef<HTMLInputElement & HTMLTextAreaElement>(null)
  const noteId = useId()

  // At once: the next key comes within milliseconds.
  useLayoutEffect(() => {
    field.current?.focus({ preventScroll: true })
    field.current?.setSelectionRange(field.current.value.length, field.current.value.length)
  }, [])

  const shared = {
    ref: field,
    className: 'cell-input',
    value: text,
    dir: 'auto',
    'aria-label': editor.label ?? editor.field.name,
    'aria-invalid': problem !== null,
    'aria-describedby': note ? noteId : undefined,
    placeholder: typing.placeholder?.(editor),
    onChange: ({ target }: { target: { value: string } }) => change(target.value),
  } as const
  const { Below, isLong, inputMode, align } = typing
  return (
    <div ref={anchor} className="cell-editor">
      <AnchoredBox anchor={anchor} covers label={editor.label ?? editor.field.name} className="cell-box">
        {/* biome-ignore lint/a11y/noStaticElementInteractions: it only keeps events of its fields away from the grid */}
        <div {...OWN_EVENTS} onKeyDown={keyDown} onBlur={(event) => hasLeft(event) && leave()}>
          {isLong ? (
            <>
              <textarea {...shared} rows={1} data-long="" data-room={editor.hasRoom ? '' : undefined} />
              {!note && <p className="cell-note">{editor.hasRoom ? cellTexts.ctrlEnter : cellTexts.newLine}</p>}
            </>
          ) : (
            <input {...shared} type="text" inputMode={inputMode} data-align={align} autoComplete="off" spellCheck={false} />
          )}
          {note && (
            <p
              id={noteId}
              className="cell-note"
              data-problem={problem === null ? undefined : ''}
              role={problem === null ? 'status' : 'alert'}
            >
              {note}
            </p>
          )}
          {Below && (
            <div className="cell-below">
              <Suspense>
                <Below
                  value={typedValue(parsedBy(typing, text, editor), editor.value)}
                  surroundings={editor.surroundings}
                  setText={(next) => {
                    change(next)
                    field.current?.focus()
                  }}
                  end={(value) => end(value, 'down')}
                />
              </Suspense>
            </div>
          )}
        </div>
      </AnchoredBox>
    </div>
  )
}

/** The text while it is typed, what it means, and how the keys end it. */
function useTyping(typing: Typing, editor: EditorProps) {
  const { value, field, surroundings } = editor
  const before = typing.textOf?.(value, editor) ?? cellText(field).toText(value, field, surroundings)
  const [text, setText] = useState(editor.typed ?? before)
  const [problem, setProblem] = useState<string | null>(null)
  const { end, cancel, leave } = useEnding(editor)

  /** A text that nobody touched is the value that it was, with what its form does not show. */
  const parsed = () => (text === before ? { value } : parsedBy(typing, text, editor))

  const endBy = (move: Move | 'cancel') => {
    if (move === 'cancel') return cancel()
    const read = parsed()
    if (read && 'value' in read) end(read.value, move)
    else setProblem(read?.problem ?? null)
  }

  return {
    text,
    problem,
    note: problem ?? (text === before ? null : (typing.noteOn?.(text, editor) ?? null)),
    end,
    leave: () => leave(text, parsed()),
    change(next: string) {
      setText(next)
      setProblem(null)
      editor.typing?.(next)
    },
    keyDown(event: KeyboardEvent) {
      event.stopPropagation()
      if (isNewLine(event, typing, editor) || isMoveBelow(event, typing)) return
      const move = moveOf(event)
      if (move === null || (move === 'down' && !isField(event.target))) return
      event.preventDefault()
      endBy(move)
    },
  }
}

function parsedBy({ parse }: Typing, text: string, editor: EditorProps): Parsed | null {
  const { field, surroundings } = editor
  return parse ? parse(text, editor) : cellText(field).parse(text, field, surroundings)
}

const typedValue = (parsed: Parsed | null, value: Value): Value => (parsed && 'value' in parsed ? parsed.value : value)

const isField = (target: EventTarget) => target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement

/**
 * In a long text Shift or Alt with Enter begins a line, as in spreadsheets; Enter alone ends the edit. The keyboards of touch screens have
 * only Enter, which begins a line there, as where there is room for many lines.
 */
function isNewLine({ key, shiftKey, altKey, ctrlKey, metaKey }: KeyboardEvent, { isLong }: Typing, { hasRoom }: EditorProps): boolean {
  if (!isLong || key !== 'Enter' || ctrlKey || metaKey) return false
  return shiftKey || altKey || hasRoom === true || matchMedia('(pointer: coarse)').matches
}

/** Moves the focus from the text field into what is below it. In there the arrows have their own meaning. */
function isMoveBelow(event: KeyboardEvent, { Below }: Typing): boolean {
  if (!Below || event.key !== 'ArrowDown') return false
  if (!isField(event.target)) return true
  const first = event.currentTarget.querySelector<HTMLElement>('.cell-below [role=gridcell] [tabindex="0"]')
  if (!first) return false
  event.preventDefault()
  first.focus()
  return true
}
