/** What all editors of cells share: how they end, and which keys are theirs. */
import { type FocusEvent, type KeyboardEvent, type MouseEvent, type SyntheticEvent, useRef } from 'react'
import type { EditorProps } from '../cell-kind.ts'
import type { Move, Parsed } from '../kind.ts'
import './editors.css'

/** The way that a key leaves an editor; null for a key that stays in it. */
export function moveOf({ key, shiftKey, altKey, ctrlKey, metaKey, nativeEvent }: KeyboardEvent): Move | 'cancel' | null {
  // The keys of an input method choose its characters.
  if (nativeEvent.isComposing || altKey) return null
  if (key === 'Escape') return 'cancel'
  if (key === 'Tab') return shiftKey ? 'left' : 'right'
  if (key !== 'Enter') return null
  if (ctrlKey || metaKey) return 'stay'
  return shiftKey ? 'up' : 'down'
}

/** Ends an editor once, whatever happens while it goes. */
export function useEnding({ commit, cancel, refused }: Pick<EditorProps, 'commit' | 'cancel' | 'refused'>) {
  const hasEnded = useRef(false)
  const once = (end: () => void) => {
    if (hasEnded.current) return
    hasEnded.current = true
    end()
  }
  return {
    end: (value: Parameters<typeof commit>[0], move: Move) => once(() => commit(value, move)),
    cancel: () => once(cancel),
    /** Leaves a text that does not fit: the cell is as before, and the grid says why and keeps the text. */
    leave: (text: string, parsed: Parsed | null) =>
      once(() => {
        if (parsed && 'value' in parsed) commit(parsed.value, 'stay')
        else if (parsed && refused) refused(text, parsed.problem)
        else cancel()
      }),
  }
}

const stop = (event: SyntheticEvent) => event.stopPropagation()

/** A click beside the text fields leaves the focus where it is. (Safari would take it away at a click on a button.) */
function keepFocus(event: MouseEvent): void {
  event.stopPropagation()
  if (event.target instanceof Element && !event.target.closest('input, textarea')) event.preventDefault()
}

/** Events inside of an editor are not the grid's. */
export const OWN_EVENTS = {
  onCopy: stop,
  onCut: stop,
  onPaste: stop,
  onPointerDown: stop,
  onMouseDown: keepFocus,
  onDoubleClick: stop,
  onDragOver: stop,
  onDrop: stop,
  onContextMenu: stop,
} as const

/** True if the focus left the editor for another element of the page, and not for another window. */
export const hasLeft = ({ currentTarget, relatedTarget }: FocusEvent): boolean =>
  !currentTarget.contains(relatedTarget) && document.hasFocus()
