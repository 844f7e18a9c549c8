/** What the mouse and fingers do in the grid. */
import { type DragEvent, type MouseEvent, type PointerEvent, useEffect, useRef } from 'react'
import { cellKind } from '../../cells/registry.ts'
import { beginEdit, isEditable, leaveEdit } from '../model/editing.ts'
import { boundsOf, callFocus, type GridModel } from '../model/grid-model.ts'
import { select } from '../model/navigation.ts'
import { type Cell, isSame, moved, oneCell } from '../selection/selection.ts'
import { type Dragging, dragFrom } from './dragging.ts'

/** The cell of an event; null outside of cells. */
function cellAt(target: EventTarget | null): Cell | null {
  const cell = target instanceof Element ? target.closest<HTMLElement>('.grid-cell') : null
  const row = cell?.parentElement
  return cell && row ? { row: Number(row.dataset.row), col: Number(cell.dataset.col) } : null
}

/** The handlers of the grid for pointers. */
export function usePointing(grid: GridModel) {
  const dragging = useRef<Dragging | null>(null)
  useEffect(() => () => dragging.current?.end(), [])
  const wasActive = useRef(false)

  return {
    onPointerDown(event: PointerEvent<HTMLElement>) {
      if (isInEditor(event.target)) return
      endEditor(grid)
      const cell = cellAt(event.target)
      if (!cell || event.button !== 0) return
      const { activeElement } = event.currentTarget.ownerDocument
      wasActive.current = isSame(cell, grid.state.selection.active) && isSame(cell, cellAt(activeElement) ?? { row: -1, col: -1 })
      dragging.current?.end()
      const frame = event.currentTarget.parentElement
      dragging.current = event.pointerType === 'mouse' && frame ? dragFrom(grid, frame, event.pointerId) : null
      select(grid, event.shiftKey ? moved(grid.state.selection, cell, boundsOf(grid), true) : oneCell(cell), { reveals: false })
      callFocus(grid)
    },
    /** The focus is set above, and no text is selected. */
    onMouseDown(event: MouseEvent) {
      if (cellAt(event.target) && !isInEditor(event.target)) event.preventDefault()
    },
    onClick(event: MouseEvent) {
      const cell = cellAt(event.target)
      const column = cell && grid.state.columns[cell.col]
      if (!cell || !column || event.shiftKey || isInEditor(event.target) || !isSame(cell, grid.state.selection.active)) return
      const isToggled = cellKind(column.field).toggled !== undefined
      const isTouch = (event.nativeEvent as { pointerType?: string }).pointerType === 'touch'
      // A click selects the cell first. Screen readers click without a pointer.
      const isMeant = wasActive.current || event.detail === 0
      if (isEditable(grid, cell) && isMeant && (isToggled || isTouch)) beginEdit(grid)
    },
    onDoubleClick(event: MouseEvent) {
      const cell = cellAt(event.target)
      const column = cell && grid.state.columns[cell.col]
      if (column && !isInEditor(event.target) && !cellKind(column.field).toggled) beginEdit(grid)
    },
    onDragOver(event: DragEvent) {
      const column = columnAt(grid, event.target)
      if (column && cellKind(column.field).takesFiles && event.dataTransfer.types.includes('Files')) event.preventDefault()
    },
    onDrop(event: DragEvent) {
      const cell = cellAt(event.target)
      const column = columnAt(grid, event.target)
      const files = [...event.dataTransfer.files]
      if (!cell || !column || !files.length || !cellKind(column.field).takesFiles) return
      event.preventDefault()
      select(grid, oneCell(cell))
      beginEdit(grid, { files })
    },
  }
}

/** An editor ends when the focus leaves it, which is before its cell is another one's: with the cell it would go without an end. */
function endEditor(grid: GridModel): void {
  if (!grid.state.editing) return
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
  leaveEdit(grid)
}

const columnAt = (grid: GridModel, target: EventTarget | null) => grid.state.columns[cellAt(target)?.col ?? -1]

export const isInEditor = (target: EventTarget | null): boolean => target instanceof Element && target.closest('.grid-cell.edited') !== null
