/** What comes from the keyboard, an input method or the clipboard while the active cell has the focus. */
import { type RefObject, useEffect } from 'react'
import { cellKind } from '../../cells/registry.ts'
import { gridTexts } from '../../texts/grid.ts'
import { copy, cut } from '../clipboard/copying.ts'
import { paste } from '../clipboard/pasting.ts'
import { undo } from '../edits/undoing.ts'
import { activeRecord, markRange } from '../model/deleting.ts'
import { beginEdit, clearCells } from '../model/editing.ts'
import { boundsOf, canWrite, cellValue, type GridModel, say, storedRow } from '../model/grid-model.ts'
import { refreshRows } from '../model/leaving.ts'
import { move, selectAll } from '../model/navigation.ts'
import { reveal } from '../model/scrolling.ts'
import { type Command, commandOf } from '../selection/keys.ts'
import { oneCell } from '../selection/selection.ts'
import { emptyCaret } from './caret.ts'

const isMac = /Mac|iPhone|iPad/.test(navigator.platform)

/** Runs the command of a key. @returns false if the key is left to the browser */
export function runKey(grid: GridModel, event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'altKey'>): boolean {
  const { key, shiftKey: shift, altKey: alt } = event
  const command = commandOf({ key, shift, alt, ctrl: isMac ? event.metaKey : event.ctrlKey })
  if (!command) return false
  if (grid.state.editing) return typeAhead(grid, command)
  if (grid.state.heading !== null && ['edit', 'open', 'clear', 'type'].includes(command.do)) return false
  return run(grid, command)
}

/** The editor is being loaded: what is typed meanwhile is its text. */
function typeAhead(grid: GridModel, command: Command): boolean {
  const { editing } = grid.state
  const text = command.do === 'type' ? command.text : command.do === 'open' ? ' ' : ''
  if (!editing || !text) return false
  grid.update({ editing: { ...editing, typed: (editing.typed ?? '') + text } })
  return true
}

function run(grid: GridModel, command: Command): boolean {
  switch (command.do) {
    case 'edit':
      beginEdit(grid)
      return true
    case 'type':
      beginEdit(grid, { typed: command.text })
      return true
    case 'clear':
      if (canWrite(grid)) void clearCells(grid)
      return true
    case 'open':
      openActive(grid)
      return true
    case 'mark-rows':
      if (canWrite(grid)) markRange(grid)
      return true
    case 'undo':
    case 'redo':
      if (canWrite(grid)) void undoLast(grid, command.do === 'redo')
      return true
    case 'select-all':
      selectAll(grid)
      return true
    case 'leave':
      return leave(grid)
    case 'tab':
      return leaveByTab(grid, command.back) ? false : moved(grid, command)
    default:
      return moved(grid, command)
  }
}

function moved(grid: GridModel, command: Parameters<typeof move>[1]): true {
  move(grid, command)
  return true
}

/** Tab leaves the grid behind its last cell and before its first one. */
function leaveByTab(grid: GridModel, back: boolean): boolean {
  const { active } = grid.state.selection
  const rows = grid.pages.length().rows + grid.state.newRows.length
  const isFirst = active.row === 0 && active.col === 0
  const isLast = active.row >= rows - 1 && active.col >= grid.state.columns.length - 1
  return back ? isFirst : isLast
}

/** Escape gives up the range, then the heading; otherwise it is left to what is around the grid. */
function leave(grid: GridModel): boolean {
  const { selection, heading } = grid.state
  const isRange = selection.active.row !== selection.extent.row || selection.active.col !== selection.extent.col
  if (!isRange && heading === null) return false
  grid.update({ selection: oneCell(selection.active), heading: null })
  return true
}

function openActive(grid: GridModel): void {
  const { active } = grid.state.selection
  const row = storedRow(grid, active.row)
  const column = grid.state.columns[active.col]
  if (row && column && cellKind(column.field).toggled?.(cellValue(grid, row, column.id)) !== undefined) {
    beginEdit(grid)
    return
  }
  const id = activeRecord(grid)
  if (id !== undefined) grid.options.openRecord?.(id)
}

async function undoLast(grid: GridModel, again: boolean): Promise<void> {
  const { client, tableId, fields } = grid.options
  const nameOf = (id: string) => fields.find((field) => field.id === id)?.name ?? id
  const { text, isError, isDone } = await undo(client, tableId, grid.table, again, nameOf)
  say(grid, text, isError)
  if (isDone) refreshRows(grid)
}

/** Takes what an input method writes, and what is copied and pasted, from the active cell. */
export function useTyping(grid: GridModel, frame: RefObject<HTMLElement | null>) {
  useEffect(() => {
    const element = frame.current
    if (!element) return
    /** The cell that has the focus, for an event that may come to the page instead, because nothing is selected. */
    const focusedCell = () => (grid.state.heading === null && !grid.state.editing ? cellOf(document.activeElement, element) : null)
    /** A grid without records has no cell for the focus, and takes what is pasted into the page. */
    const isEmptyAndAlone = () => boundsOf(grid).rows === 0 && grid.pages.length().isFinal && document.activeElement === document.body
    const onBeforeInput = (event: InputEvent) => {
      if (!focusedCell() || event.isComposing) return
      event.preventDefault()
      if (event.inputType === 'insertText' && event.data) beginEdit(grid, { typed: event.data })
    }
    const onCompositionStart = () => {
      reveal(grid, grid.state.selection.active)
      focusedCell()?.classList.add('composing')
    }
    const onCompositionEnd = (event: CompositionEvent) => {
      const cell = focusedCell()
      if (!cell) return
      cell.classList.remove('composing')
      emptyCaret(cell)
      if (event.data) beginEdit(grid, { typed: event.data })
    }
    const onCopy = (event: ClipboardEvent) => focusedCell() && copy(grid, event)
    const onCut = (event: ClipboardEvent) => focusedCell() && (canWrite(grid) ? cut : copy)(grid, event)
    const onPaste = (event: ClipboardEvent) => {
      if (!focusedCell() && !isEmptyAndAlone()) return
      if (canWrite(grid)) paste(grid, event)
      else say(grid, gridTexts.mayOnlyRead)
    }
    const stop = new AbortController()
    const { signal } = stop
    element.addEventListener('beforeinput', onBeforeInput, { signal })
    element.addEventListener('compositionstart', onCompositionStart, { signal })
    element.addEventListener('compositionend', onCompositionEnd, { signal })
    document.addEventListener('copy', onCopy, { signal })
    document.addEventListener('cut', onCut, { signal })
    document.addEventListener('paste', onPaste, { signal })
    return () => stop.abort()
  }, [grid, frame])
}

const cellOf = (target: Element | null, frame: HTMLElement): HTMLElement | null =>
  target && frame.contains(target) ? target.closest<HTMLElement>('.grid-cell') : null
