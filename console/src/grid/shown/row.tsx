/** A row of the grid: its head, the frozen title, and the cells that are seen. */
import { memo, type ReactNode, Suspense } from 'react'
import type { Field, Value } from '../../cells/kind.ts'
import { cellKind } from '../../cells/registry.ts'
import { gridTexts } from '../../texts/grid.ts'
import type { Column } from '../columns/column.ts'
import type { Refusal } from '../edits/edit.ts'
import { noteTyping } from '../edits/open-edit.ts'
import { CARET } from '../input/caret.ts'
import { markRow } from '../model/deleting.ts'
import { cancelEdit, commitEdit, refuseEdit, savedByEditor, whyNot } from '../model/editing.ts'
import { type Editing, type GridModel, surroundingsOf } from '../model/grid-model.ts'
import type { Row } from '../pages/row.ts'

export interface RowProps {
  grid: GridModel
  index: number
  /** Pixels from the top of the layer that has the rows. */
  top: number
  row: Row | undefined
  columns: readonly Column[]
  firstCol: number
  lastCol: number
  /** The selected columns; -1 if the row is not in the range. */
  selectedFrom: number
  selectedTo: number
  /** The column of the active cell; -1 if it is in another row. */
  activeCol: number
  /** False while a heading has the focus. */
  hasFocus: boolean
  editing: Editing | null
  pending: Readonly<Record<string, unknown>> | undefined
  refusals: Readonly<Record<string, Refusal>> | undefined
  isMarked: boolean
  isGone: boolean
  /** True for the row of the active cell while it is scrolled away: it keeps the focus, and is not seen. */
  isAway: boolean
}

export const GridRow = memo(function GridRow(props: RowProps) {
  const { index, top, row, columns, firstCol, lastCol, activeCol, isAway, isGone } = props
  const cells: ReactNode[] = []
  for (let col = 0; col < columns.length; col++) {
    const column = columns[col]
    const isSeen = (col >= firstCol && col <= lastCol) || column?.isFrozen || col === activeCol
    if (column && isSeen) cells.push(<GridCell key={column.id} {...props} column={column} col={col} />)
    else if (col > lastCol && col > activeCol) break
  }
  const className = `grid-row${isAway ? ' away' : ''}${isGone ? ' gone' : ''}${props.isMarked ? ' marked' : ''}${row ? '' : ' waiting'}`
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      className={className}
      style={{ top }}
      data-row={index}
      title={isGone ? gridTexts.gone : undefined}
    >
      <RowHead {...props} />
      {cells}
    </div>
  )
})

function RowHead({ grid, index, row, isMarked }: RowProps) {
  const { openRecord } = grid.options
  return (
    <div role="gridcell" aria-colindex={1} className="grid-head">
      <span className="grid-number">{index + 1}</span>
      {row && (
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={gridTexts.markRow(index + 1)}
          checked={isMarked}
          onChange={(event) => markRow(grid, row.id, event.target.checked)}
        />
      )}
      {row && row.id > 0 && openRecord && (
        <button type="button" tabIndex={-1} className="grid-open" aria-label={gridTexts.open(index + 1)} onClick={() => openRecord(row.id)}>
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d="M9 3h4v4M13 3 8 8M7 3.5H3.5v9h9V9" fill="none" stroke="currentColor" strokeWidth="1.4" />
          </svg>
        </button>
      )}
    </div>
  )
}

function GridCell({ grid, row, column, col, ...props }: RowProps & { column: Column; col: number }) {
  const { id, field } = column
  const isActive = col === props.activeCol
  const isSelected = col >= props.selectedFrom && col <= props.selectedTo
  const editing = isActive && props.editing?.field === id ? props.editing : null
  const refusal = props.refusals?.[id]
  const isReadOnly = whyNot(grid, column) !== null
  // An input method writes only into what can be edited, so the active cell can. What it writes goes into the editor (typing.ts).
  const takesText = isActive && row !== undefined && !isReadOnly && !editing
  const states = {
    frozen: column.isFrozen,
    active: isActive,
    selected: isSelected,
    edited: editing !== null,
    refused: refusal !== undefined,
  }
  return (
    <div
      role="gridcell"
      aria-colindex={col + 2}
      aria-selected={isSelected}
      aria-readonly={isReadOnly || undefined}
      aria-invalid={refusal ? true : undefined}
      tabIndex={isActive && props.hasFocus ? 0 : -1}
      className={classNames(`grid-cell ${cellKind(field).align}`, { ...states, pending: isPending(props.pending, id) })}
      style={{ left: column.left, width: column.width }}
      data-col={col}
      title={refusal && gridTexts.refusedCell(refusal.message)}
      {...(takesText && TAKES_TEXT)}
    >
      <CellContent grid={grid} row={row} field={field} pending={props.pending} editing={editing} takesText={takesText} />
    </div>
  )
}

const TAKES_TEXT = { contentEditable: true, suppressContentEditableWarning: true, inputMode: 'none', spellCheck: false } as const

const isPending = (pending: RowProps['pending'], id: string) => pending !== undefined && id in pending

const classNames = (base: string, states: Record<string, boolean>) =>
  Object.entries(states).reduce((names, [name, isOn]) => (isOn ? `${names} ${name}` : names), base)

interface ContentProps extends Pick<RowProps, 'grid' | 'row' | 'pending' | 'editing'> {
  field: Field
  takesText: boolean
}

function CellContent({ grid, row, field, pending, editing, takesText }: ContentProps) {
  if (!row) return <span className="grid-placeholder" />
  // The id of a row that is not stored is none of the service's.
  if (row.id < 0 && field.id === 'id') return null
  if (editing) {
    return (
      <Suspense fallback={<span className="grid-typed">{editing.typed}</span>}>
        <CellEditor grid={grid} editing={editing} field={field} />
      </Suspense>
    )
  }
  const value = (isPending(pending, field.id) ? pending?.[field.id] : (row[field.id] ?? null)) as Value
  const shown = cellKind(field).Shown({ value, field, place: grid.options.place })
  if (!takesText) return shown
  return (
    <>
      {CARET}
      <div className="grid-shown" contentEditable={false}>
        {shown}
      </div>
    </>
  )
}

function CellEditor({ grid, editing, field }: { grid: GridModel; editing: Editing; field: Field }) {
  const { Editor } = cellKind(field)
  return (
    <Editor
      value={editing.value}
      field={field}
      surroundings={surroundingsOf(grid, editing.id)}
      typed={editing.typed}
      files={editing.files}
      label={field.name}
      commit={(value, move) => commitEdit(grid, value, move)}
      cancel={() => cancelEdit(grid)}
      refused={(text, problem) => refuseEdit(grid, text, problem)}
      typing={(text) => noteTyping(grid.table, editing, text)}
      saved={(value) => savedByEditor(grid, editing, value)}
    />
  )
}
