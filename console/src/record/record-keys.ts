/** The keys of a record. A letter is one only outside of fields. */
import { useEffect, useRef } from 'react'
import type { TableEdits } from '../grid/edits/table-edits.ts'
import { undo } from '../grid/edits/undoing.ts'
import type { TableData } from '../grid/table-data.ts'
import { useClient } from '../session/client.ts'
import { recordTexts } from '../texts/record/record.ts'
import { type Key, useKeys } from '../ui/keys/keys.ts'
import { keysOf } from '../ui/keys/pressed.ts'
import { toast } from '../ui/toasts/toasts.ts'
import { isTypedInto } from './fields/dropping.ts'
import type { Neighbours } from './neighbours.ts'

const isDialogOpen = () => document.querySelector('dialog[open], [aria-modal=true]') !== null

interface Steps {
  recordId: number
  neighbours: Neighbours
  show(id: number): void
}

export function useRecordKeys(steps: Steps, close: (() => void) | undefined): void {
  const step = useSteps(steps)
  const keys: Key[] = [
    { keys: 'J', does: recordTexts.next, run: () => step(1) },
    { keys: 'K', does: recordTexts.previous, run: () => step(-1) },
  ]
  if (close) keys.push({ keys: 'Escape', does: recordTexts.close, run: () => !isDialogOpen() && close() })
  useKeys(recordTexts.panel, keys)
}

/** So many steps may be pressed ahead. A key that is held down must not go on for long once it is released. */
const MOST_AHEAD = 3

/** Steps may be pressed faster than records are shown: each begins where the one before leads. */
function useSteps({ recordId, neighbours: { previous, next, isKnown }, show }: Steps): (by: 1 | -1) => void {
  const left = useRef(0)
  const goingTo = useRef<number | null>(null)
  const walk = () => {
    if (left.current === 0 || goingTo.current !== null) return
    const to = left.current > 0 ? next : previous
    if (to !== null) {
      left.current -= Math.sign(left.current)
      goingTo.current = to
      show(to)
    } else if (isKnown) left.current = 0
  }
  useEffect(() => {
    // Whoever has gone elsewhere stays there.
    if (goingTo.current !== recordId) left.current = 0
    goingTo.current = null
  }, [recordId])
  useEffect(walk)
  return (by) => {
    left.current = Math.max(-MOST_AHEAD, Math.min(left.current + by, MOST_AHEAD))
    walk()
  }
}

const UNDO = new Map([
  ['Ctrl+Z', false],
  ['Ctrl+Shift+Z', true],
  ['Ctrl+Y', true],
])

/** Ctrl+Z takes back the last change of the table, as in its grid; in a text it is the text's. */
export function useUndoKeys(definition: TableData, table: TableEdits, done: () => void): void {
  const client = useClient()
  const latest = useRef(done)
  latest.current = done
  useKeys(recordTexts.panel, recordTexts.undoKeys)
  useEffect(() => {
    const { id, fields } = definition.table
    const nameOf = (field: string) => fields.find((one) => one.id === field)?.name ?? field
    const run = async (again: boolean) => {
      const { text, isDone } = await undo(client, id, table, again, nameOf)
      toast(text)
      if (isDone) latest.current()
    }
    const hear = (event: KeyboardEvent) => {
      const again = UNDO.get(keysOf(event))
      if (again === undefined || event.defaultPrevented || isTypedInto(event.target) || isDialogOpen()) return
      event.preventDefault()
      if (definition.role !== 'viewer') void run(again)
    }
    addEventListener('keydown', hear)
    return () => removeEventListener('keydown', hear)
  }, [client, definition, table])
}
