/** The headings of the columns: their names, their order, their widths. */
import { type PointerEvent, useContext, useState } from 'react'
import { gridTexts } from '../../texts/grid.ts'
import { lazyPart } from '../../ui/lazy-part.tsx'
import { type Column, clampWidth } from '../columns/column.ts'
import { FieldActionsContext } from '../field-actions.ts'
import { markAll, markedCount } from '../model/deleting.ts'
import { callFocus, type GridModel, rowCount, totalWidth } from '../model/grid-model.ts'
import { moveColumn, setWidth } from '../model/layout.ts'
import { rendered } from '../model/scrolling.ts'

const ColumnMenu = lazyPart(async () => ({ default: (await import('./column-menu.tsx')).ColumnMenu }))

/** The order that the records have, by the ids of fields. */
export type Sorted = ReadonlyMap<string, 'ascending' | 'descending'>

export function Headings({ grid, sorted }: { grid: GridModel; sorted: Sorted }) {
  const { columns, heading, isAllMarked } = grid.state
  const { firstCol, lastCol } = rendered(grid)
  const isSome = markedCount(grid) > 0 && !isAllMarked
  return (
    <div role="row" aria-rowindex={1} className="grid-headings">
      <div role="columnheader" aria-colindex={1} className="grid-head">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={gridTexts.markAll}
          checked={isAllMarked}
          disabled={rowCount(grid) === 0}
          ref={(input) => {
            if (input) input.indeterminate = isSome
          }}
          onChange={(event) => markAll(grid, event.target.checked)}
        />
      </div>
      {columns.map((column, col) => {
        const isSeen = (col >= firstCol && col <= lastCol) || column.isFrozen || col === heading
        return isSeen && <Heading key={column.id} grid={grid} column={column} col={col} sort={sorted.get(column.id)} />
      })}
      <NewField grid={grid} />
    </div>
  )
}

/** Behind the last column. Keys find it in the menu of the table. */
function NewField({ grid }: { grid: GridModel }) {
  const actions = useContext(FieldActionsContext)
  if (!actions || grid.options.role !== 'admin') return null
  return (
    <div role="columnheader" aria-colindex={grid.state.columns.length + 2} className="grid-new-field" style={{ left: totalWidth(grid) }}>
      <button type="button" tabIndex={-1} aria-label={gridTexts.newField} title={gridTexts.newField} onClick={actions.add}>
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M8 3v10M3 8h10" fill="none" stroke="currentColor" strokeWidth="1.5" />
        </svg>
      </button>
    </div>
  )
}

interface HeadingProps {
  grid: GridModel
  column: Column
  col: number
  sort: 'ascending' | 'descending' | undefined
}

function Heading({ grid, column, col, sort }: HeadingProps) {
  const [isOpen, setOpen] = useState(false)
  const [element, setElement] = useState<HTMLElement | null>(null)
  const { field, id, left, width, isFrozen } = column
  const isActive = grid.state.heading === col
  return (
    <div
      role="columnheader"
      ref={setElement}
      aria-colindex={col + 2}
      aria-sort={sort}
      tabIndex={isActive || (col === 0 && rowCount(grid) === 0) ? 0 : -1}
      className={`grid-heading${isFrozen ? ' frozen' : ''}${isActive ? ' active' : ''}`}
      style={{ left, width }}
      data-col={col}
      draggable={!isFrozen}
      onDragStart={(event) => event.dataTransfer.setData(DRAGGED, id)}
      onDragOver={(event) => event.dataTransfer.types.includes(DRAGGED) && event.preventDefault()}
      onDrop={(event) => moveColumn(grid, event.dataTransfer.getData(DRAGGED), col)}
      onKeyDown={(event) => {
        if (event.target === event.currentTarget && (event.key === 'Enter' || event.key === ' ')) {
          event.preventDefault()
          event.stopPropagation()
          setOpen(true)
        }
      }}
    >
      <span className="grid-heading-name" title={field.name}>
        {field.name}
      </span>
      {sort && (
        <span className="grid-sort" aria-hidden="true">
          {sort === 'ascending' ? '↑' : '↓'}
        </span>
      )}
      <button
        type="button"
        tabIndex={-1}
        className="grid-heading-menu"
        aria-label={gridTexts.menuOf(field.name)}
        aria-haspopup="menu"
        onClick={() => {
          grid.update({ heading: col })
          setOpen(true)
        }}
      >
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="m4 6 4 4 4-4" fill="none" stroke="currentColor" strokeWidth="1.5" />
        </svg>
      </button>
      <Resizer grid={grid} column={column} />
      {isOpen && (
        <ColumnMenu
          grid={grid}
          column={column}
          col={col}
          anchor={element}
          close={() => {
            setOpen(false)
            // The menu gives the focus back to its heading in the next frame, which may be gone by then.
            requestAnimationFrame(() => requestAnimationFrame(() => callFocus(grid)))
          }}
        />
      )}
    </div>
  )
}

const DRAGGED = 'application/x-gridpost-column'

function Resizer({ grid, column }: { grid: GridModel; column: Column }) {
  const begin = (event: PointerEvent<HTMLElement>) => {
    event.preventDefault()
    event.stopPropagation()
    const handle = event.currentTarget
    handle.setPointerCapture(event.pointerId)
    const start = event.clientX - column.width
    const drag = (moved: globalThis.PointerEvent) => setWidth(grid, column.id, clampWidth(moved.clientX - start), false)
    const end = (moved: globalThis.PointerEvent) => {
      handle.removeEventListener('pointermove', drag)
      setWidth(grid, column.id, clampWidth(moved.clientX - start), true)
    }
    handle.addEventListener('pointermove', drag)
    handle.addEventListener('pointerup', end, { once: true })
  }
  // Keys change the width in the menu of the column.
  return (
    <span
      className="grid-resizer"
      aria-hidden="true"
      draggable={false}
      onPointerDown={begin}
      onDragStart={(event) => event.preventDefault()}
    />
  )
}
