/** The editor of values that are chosen from a list: options, people, records. */
import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react'
import { cellTexts } from '../../texts/cells.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { ChoiceList } from '../../ui/lists/choice-list.tsx'
import type { Searched } from '../../ui/lists/use-search.ts'
import { AnchoredBox } from '../../ui/overlays/anchored-box.tsx'
import type { EditorProps } from '../cell-kind.ts'
import type { Move, Value } from '../kind.ts'
import { hasLeft, moveOf, OWN_EVENTS, useEnding } from './editing.ts'

export interface Choosing<One> {
  idOf(one: One): string
  textOf(one: One): string
  Content(one: One, props: EditorProps): ReactNode
  /** The values in a cell. */
  chosenIn(value: Value): One[]
  valueOf(chosen: One[]): Value
  /** What fits the text. A hook: it may ask the service. */
  useFound(text: string, props: EditorProps): Searched<One>
}

/** Values that a cell holds at most (contract.md §1). */
const MOST = 1_000

export function ChoiceEditor<One>({ editor, choosing, isMultiple }: { editor: EditorProps; choosing: Choosing<One>; isMultiple: boolean }) {
  const { idOf, textOf, Content } = choosing
  const { text, setText, chosen, found, choose, remove, leave, keyDown, boxKeyDown, note, isBusy } = useChoosing(
    editor,
    choosing,
    isMultiple,
  )
  const anchor = useRef<HTMLDivElement>(null)

  return (
    <div ref={anchor} className="cell-editor">
      <AnchoredBox anchor={anchor} covers label={editor.label ?? editor.field.name} className="cell-box choice-box">
        {/* biome-ignore lint/a11y/noStaticElementInteractions: it only keeps events of its fields away from the grid */}
        <div {...OWN_EVENTS} onKeyDown={boxKeyDown} onBlur={(event) => hasLeft(event) && leave('stay')}>
          {chosen.length > 0 && (
            <ul className="chosen" aria-label={cellTexts.chosen}>
              {chosen.map((one) => (
                <li key={idOf(one)}>
                  {Content(one, editor)}
                  {/* Backspace does the same, so that Tab goes on to the next cell. */}
                  <button
                    type="button"
                    tabIndex={-1}
                    className="chosen-remove"
                    aria-label={cellTexts.remove(textOf(one))}
                    onClick={() => remove(one)}
                  >
                    <Icon name="x" />
                  </button>
                </li>
              ))}
            </ul>
          )}
          <ChoiceList
            label={editor.label ?? editor.field.name}
            text={text}
            onText={setText}
            options={found.map((one) => ({ id: idOf(one), text: textOf(one), content: Content(one, editor) }))}
            chosen={new Set(chosen.map(idOf))}
            isMultiple={isMultiple}
            isEntered={editor.isEntered ?? false}
            onChoose={(id) => choose(id, 'down')}
            onKey={keyDown}
            empty={note}
            isBusy={isBusy}
          />
        </div>
      </AnchoredBox>
    </div>
  )
}

function useChoosing<One>(editor: EditorProps, choosing: Choosing<One>, isMultiple: boolean) {
  const { idOf } = choosing
  const [text, setText] = useState(editor.typed ?? '')
  const [chosen, setChosen] = useState(() => choosing.chosenIn(editor.value))
  const { found, isBusy, problem } = choosing.useFound(text, editor)
  const { end, cancel } = useEnding(editor)

  const choose = (id: string, move: Move) => {
    const one = [...found, ...chosen].find((candidate) => idOf(candidate) === id)
    if (!one) return
    if (!isMultiple) return end(choosing.valueOf([one]), move)
    const others = chosen.filter((other) => idOf(other) !== id)
    if (others.length < chosen.length) setChosen(others)
    else if (chosen.length < MOST) setChosen([...chosen, one])
    setText('')
  }
  const remove = (one: One | undefined) => {
    if (!isMultiple) end(choosing.valueOf([]), 'stay')
    else setChosen(chosen.filter((other) => other !== one))
  }
  /** A list stays as it is by now, and a single value as it was. */
  const leave = (move: Move) => {
    if (isMultiple) end(choosing.valueOf(chosen), move)
    else if (move === 'stay') cancel()
    else end(editor.value, move)
  }
  /** Tab takes the option that was searched for. */
  const endBy = (move: Move, highlighted: string | null) => {
    if (highlighted !== null && text !== '' && !isMultiple && !isBusy) choose(highlighted, move)
    else leave(move)
  }

  return {
    ...{ text, setText, chosen, found, choose, remove, leave, isBusy },
    note: problem ?? (isBusy ? cellTexts.searching : cellTexts.nothingFound),
    /** The keys of the text field that the list does not take. */
    keyDown(event: KeyboardEvent, highlighted: string | null) {
      if (event.key === 'Backspace' && text === '' && chosen.length) return remove(chosen.at(-1))
      const move = moveOf(event)
      if (move === null || move === 'cancel') return
      event.preventDefault()
      // Nothing fits what is typed, which stays to be mended.
      if (move === 'down' && text !== '') return
      endBy(move, highlighted)
    },
    /** The keys of the whole editor. Tab from a button goes on to the next control. */
    boxKeyDown(event: KeyboardEvent) {
      event.stopPropagation()
      if (moveOf(event) === 'cancel') cancel()
    },
  }
}
