/** What can be done with a column. */
import { useContext } from 'react'
import { Menu, MenuItem } from 'react-aria-components/Menu'
import { Popover } from 'react-aria-components/Popover'
import '../../ui/menu.css'
import { gridTexts } from '../../texts/grid.ts'
import type { Column } from '../columns/column.ts'
import { FieldActionsContext } from '../field-actions.ts'
import { columnActions } from '../model/column-actions.ts'
import type { GridModel } from '../model/grid-model.ts'
import { hideColumn, moveColumn, setWidth, showAllColumns } from '../model/layout.ts'

const STEP = 40

interface Props {
  grid: GridModel
  column: Column
  col: number
  anchor: HTMLElement | null
  close(): void
}

export function ColumnMenu({ grid, column, col, anchor, close }: Props) {
  const fieldActions = useContext(FieldActionsContext)
  const { field } = column
  const isManaged = fieldActions && grid.options.role === 'admin' && !field.key && !field.calc && !field.linked
  const managed: Record<string, () => void> = isManaged
    ? { [gridTexts.editField]: () => fieldActions.edit(field.id), [gridTexts.deleteField]: () => fieldActions.remove(field.id) }
    : {}
  const offered = columnActions(grid, field)
  const actions: Record<string, () => void> = {
    ...Object.fromEntries(offered.map(({ does, run }) => [does, run])),
    [gridTexts.moveLeft]: () => moveColumn(grid, column.id, col - 1),
    [gridTexts.moveRight]: () => moveColumn(grid, column.id, col + 1),
    [gridTexts.wider]: () => setWidth(grid, column.id, column.width + STEP, true),
    [gridTexts.narrower]: () => setWidth(grid, column.id, column.width - STEP, true),
    [gridTexts.hide]: () => hideColumn(grid, column.id),
    [gridTexts.showAll]: () => showAllColumns(grid),
    ...managed,
  }
  const isMovable = !column.isFrozen
  const names = Object.keys(actions).filter(
    (name) => isMovable || (name !== gridTexts.moveLeft && name !== gridTexts.moveRight && name !== gridTexts.hide),
  )
  return (
    <Popover
      triggerRef={{ current: anchor }}
      isOpen
      onOpenChange={(isOpen) => !isOpen && close()}
      placement="bottom start"
      className="menu"
    >
      <Menu
        aria-label={gridTexts.menuOf(column.field.name)}
        autoFocus="first"
        onAction={(name) => actions[String(name)]?.()}
        onClose={close}
      >
        {names.map((name) => (
          <MenuItem key={name} id={name} className="menu-item">
            {name}
          </MenuItem>
        ))}
      </Menu>
    </Popover>
  )
}
