/**
 * A text field with the options that fit what is typed. The focus stays in the field; arrows move over the options. It is ours: React
 * Aria's Autocomplete (1.22) tells half a second late which option is highlighted, so that Enter takes another one than the screen shows.
 */
import { type KeyboardEvent, type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import { Icon } from '../icons/icon.tsx'
import './choice-list.css'

export interface Choice {
  id: string
  /** What a person can search for. Without it the option cannot be taken while the options are those of an earlier text. */
  text?: string
  content: ReactNode
}

const HEIGHT = 32
/** The options in the page beside those in sight. */
const SPARE = 8
const PAGE = 8

interface ChoiceListProps {
  label: string
  text: string
  onText(text: string): void
  /** Those that fit the text, in their order. */
  options: readonly Choice[]
  chosen: ReadonlySet<string>
  isMultiple: boolean
  /** True if Enter was pressed before the list was there. */
  isEntered?: boolean
  /** True while the options are those of an earlier text. */
  isBusy: boolean
  /** What stands in the place of the options if there are none. */
  empty: string
  onChoose(id: string): void
  /** A key that the list does not take, with the highlighted option. */
  onKey(event: KeyboardEvent, highlighted: string | null): void
}

export function ChoiceList(props: ChoiceListProps) {
  const { label, text, onText, options, chosen, isMultiple, isBusy, empty, onChoose } = props
  const { highlighted, highlight, keyDown } = useHighlight(props)
  const listId = useId()
  const field = useRef<HTMLInputElement>(null)
  // At once: the next key comes within milliseconds.
  useLayoutEffect(() => void field.current?.focus({ preventScroll: true }), [])

  const optionId = (index: number) => `${listId}-${index}`
  return (
    <>
      <div className="choice-search">
        <Icon name="search" />
        <input
          ref={field}
          className="choice-input"
          role="combobox"
          aria-label={label}
          aria-expanded={options.length > 0}
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={highlighted < 0 ? undefined : optionId(highlighted)}
          aria-busy={isBusy}
          autoComplete="off"
          spellCheck={false}
          dir="auto"
          value={text}
          onChange={({ target }) => onText(target.value)}
          onKeyDown={keyDown}
        />
      </div>
      {options.length === 0 && <output className="choices-empty">{empty}</output>}
      <Options
        {...{ listId, optionId, label, options, chosen, isMultiple, highlighted, highlight }}
        onChoose={(id) => {
          onChoose(id)
          field.current?.focus()
        }}
      />
    </>
  )
}

/** Which option Enter takes: the first that fits what is typed, or the one that arrows and the mouse have moved to. */
function useHighlight({ text, options, chosen, isEntered = false, isBusy, onChoose, onKey }: ChoiceListProps) {
  const [moved, setMoved] = useState<{ text: string; id: string } | null>(null)
  const isWaiting = useRef(isEntered && text !== '')
  const indexOf = (wanted: string | undefined) => (wanted === undefined ? -1 : options.findIndex(({ id }) => id === wanted))
  const own = indexOf(moved?.text === text ? moved.id : undefined)
  // Until the answer comes, only what fits the text by itself can be taken.
  const fitting = isBusy ? options.findIndex((option) => fits(option.text ?? '', text)) : Math.min(0, options.length - 1)
  const first = text === '' ? indexOf([...chosen][0]) : fitting
  const highlighted = own < 0 ? first : own

  const highlight = (index: number) => {
    const id = options[Math.max(0, Math.min(index, options.length - 1))]?.id
    if (id !== undefined) setMoved({ text, id })
  }
  const choose = (id: string) => {
    // The next search begins where this one ended.
    setMoved({ text: '', id })
    onChoose(id)
  }

  // Enter that came before the answer takes what the answer has first.
  useEffect(() => {
    const option = options[highlighted]
    if (isBusy || !isWaiting.current) return
    isWaiting.current = false
    if (option) choose(option.id)
  })

  const keyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key]
    const id = options[highlighted]?.id ?? null
    if (step !== undefined && !event.nativeEvent.isComposing) {
      event.preventDefault()
      highlight(highlighted + step)
    } else if (!isPlainEnter(event)) onKey(event, id)
    else {
      event.preventDefault()
      if (id !== null) choose(id)
      else if (isBusy && text !== '') isWaiting.current = true
      else onKey(event, null)
    }
  }
  return { highlighted, highlight, keyDown }
}

const fits = (option: string, typed: string): boolean => {
  const known = option.toLowerCase()
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => known.includes(word))
}

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: PAGE, PageUp: -PAGE }

const isPlainEnter = ({ key, ctrlKey, metaKey, shiftKey, altKey, nativeEvent }: KeyboardEvent) =>
  key === 'Enter' && !ctrlKey && !metaKey && !shiftKey && !altKey && !nativeEvent.isComposing

type OptionsProps = Pick<ChoiceListProps, 'label' | 'options' | 'chosen' | 'isMultiple' | 'onChoose'> & {
  listId: string
  optionId(index: number): string
  highlighted: number
  highlight(index: number): void
}

/** The options in sight: of hundreds only these are in the page. */
function Options({ listId, optionId, label, options, chosen, isMultiple, highlighted, highlight, onChoose }: OptionsProps) {
  const box = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)

  useLayoutEffect(() => {
    const { current } = box
    if (!current || highlighted < 0) return
    const start = highlighted * HEIGHT
    const [above, below] = [current.scrollTop - start, start + HEIGHT - current.scrollTop - current.clientHeight]
    // An option beside what is in sight is shown at the edge, one far away in the middle.
    if (Math.max(above, below) > HEIGHT * PAGE) current.scrollTop = start - (current.clientHeight - HEIGHT) / 2
    else if (above > 0) current.scrollTop = start
    else if (below > 0) current.scrollTop += below
  }, [highlighted])

  const from = Math.max(0, Math.floor(top / HEIGHT) - SPARE)
  const shown = options.slice(from, from + Math.ceil(HEIGHT_IN_SIGHT / HEIGHT) + 2 * SPARE)
  return (
    <div
      ref={box}
      id={listId}
      className="choices"
      role="listbox"
      aria-label={label}
      aria-multiselectable={isMultiple}
      hidden={options.length === 0}
      onScroll={({ currentTarget }) => setTop(currentTarget.scrollTop)}
    >
      <div role="presentation" style={{ height: options.length * HEIGHT, paddingTop: from * HEIGHT }}>
        {shown.map(({ id, content }, offset) => {
          const index = from + offset
          return (
            // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/useFocusableInteractive: keys are taken in the field
            <div
              key={id}
              id={optionId(index)}
              className="choice"
              role="option"
              aria-selected={chosen.has(id)}
              aria-posinset={index + 1}
              aria-setsize={options.length}
              data-highlighted={index === highlighted ? '' : undefined}
              onMouseDown={(event) => event.preventDefault()}
              onMouseMove={() => index !== highlighted && highlight(index)}
              onClick={() => onChoose(id)}
            >
              <span className="choice-content">{content}</span>
              {chosen.has(id) && <Icon name="check" />}
            </div>
          )
        })}
      </div>
    </div>
  )
}

/** The height of the list in choice-list.css, in pixels. */
const HEIGHT_IN_SIGHT = 272
