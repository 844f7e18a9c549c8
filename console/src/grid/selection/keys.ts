/** What a key means in the grid. */
import type { Direction } from './selection.ts'

export interface Key {
  key: string
  ctrl: boolean
  shift: boolean
  alt: boolean
}

export type Command =
  | { do: 'move'; direction: Direction; extend: boolean }
  | { do: 'page'; direction: 'up' | 'down'; extend: boolean }
  | { do: 'edge'; direction: Direction; extend: boolean }
  | { do: 'row-end'; isFirst: boolean; extend: boolean }
  | { do: 'grid-end'; isFirst: boolean; extend: boolean }
  | { do: 'tab'; back: boolean }
  | { do: 'edit' }
  | { do: 'type'; text: string }
  | { do: 'clear' | 'open' | 'select-all' | 'mark-rows' | 'undo' | 'redo' | 'leave' }

const ARROWS: Record<string, Direction> = { ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right' }

/** The command of a key; null if the grid leaves it to the browser. */
export function commandOf({ key, ctrl, shift, alt }: Key): Command | null {
  if (alt) return null
  const direction = ARROWS[key]
  if (direction) return { do: ctrl ? 'edge' : 'move', direction, extend: shift }
  if (ctrl) return commandWithCtrl(key, shift)
  return NAMED[key]?.(shift) ?? ([...key].length === 1 ? { do: 'type', text: key } : null)
}

const NAMED: Record<string, (shift: boolean) => Command> = {
  PageUp: (extend) => ({ do: 'page', direction: 'up', extend }),
  PageDown: (extend) => ({ do: 'page', direction: 'down', extend }),
  Home: (extend) => ({ do: 'row-end', isFirst: true, extend }),
  End: (extend) => ({ do: 'row-end', isFirst: false, extend }),
  ' ': (shift) => ({ do: shift ? 'mark-rows' : 'open' }),
  Tab: (back) => ({ do: 'tab', back }),
  Enter: (back) => (back ? { do: 'move', direction: 'up', extend: false } : { do: 'edit' }),
  F2: () => ({ do: 'edit' }),
  Delete: () => ({ do: 'clear' }),
  Backspace: () => ({ do: 'clear' }),
  Escape: () => ({ do: 'leave' }),
}

function commandWithCtrl(key: string, shift: boolean): Command | null {
  if (key === 'Home' || key === 'End') return { do: 'grid-end', isFirst: key === 'Home', extend: shift }
  const letter = key.toLowerCase()
  if (letter === 'a') return { do: 'select-all' }
  if (letter === 'z') return { do: shift ? 'redo' : 'undo' }
  if (letter === 'y') return { do: 'redo' }
  return null
}
