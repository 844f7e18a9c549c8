/** A table's page with what admins change about the table. Its dialogs are loaded when one is opened. */
import { useNavigate } from '@tanstack/react-router'
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useRef, useState } from 'react'
import { FieldActionsContext } from '../grid/field-actions.ts'
import type { GridModel } from '../grid/model/grid-model.ts'
import { goToNewColumn } from '../grid/model/new-column.ts'
import type { BarProps } from '../grid/table-page.tsx'
import type { Managed } from '../manage/table-managing.tsx'
import { tableTexts } from '../texts/manage/fields.ts'
import { recordTexts } from '../texts/record/record.ts'
import { Icon } from '../ui/icons/icon.tsx'
import { lazyPart } from '../ui/lazy-part.tsx'
import { ViewBar } from '../views/view-bar.tsx'

const TableManaging = lazyPart(async () => ({ default: (await import('../manage/table-managing.tsx')).TableManaging }))
const TableMenu = lazyPart(async () => ({ default: (await import('../manage/tables/table-menu.tsx')).TableMenu }))

interface Managing {
  managed: Managed | null
  manage(managed: Managed | null): void
}

const ManagingContext = createContext<Managing>({ managed: null, manage: () => undefined })

export function ManagedTable({ children }: { children: ReactNode }) {
  const [managed, manage] = useState<Managed | null>(null)
  const managing = useMemo(() => ({ managed, manage }), [managed])
  const fields = useMemo(
    () => ({
      add: () => manage('new field'),
      edit: (id: string) => manage({ edit: id }),
      remove: (id: string) => manage({ remove: id }),
    }),
    [],
  )
  return (
    <ManagingContext value={managing}>
      <FieldActionsContext value={fields}>{children}</FieldActionsContext>
    </ManagingContext>
  )
}

/** The bar above the grid, with a menu of what one may do with the table. */
export function ManagedBar(props: BarProps) {
  const { managed, manage } = useContext(ManagingContext)
  const { table, role } = props.data
  const navigate = useNavigate()
  const newField = useNewField(props.grid, managed === null)
  if (role === 'viewer') return <ViewBar {...props} />
  const deleted = {
    [recordTexts.showDeleted]: () => void navigate({ to: '.', search: { ...props.search, deleted: true } }),
  }
  const actions =
    role !== 'admin'
      ? deleted
      : {
          ...deleted,
          [tableTexts.newField]: () => manage('new field'),
          [tableTexts.rename]: () => manage('rename'),
          [tableTexts.deleteTable]: () => manage('delete'),
        }
  return (
    <>
      <ViewBar {...props} menu={<MenuOfTable name={table.name} actions={actions} />} />
      {managed !== null && <TableManaging table={table} managed={managed} close={() => manage(null)} created={newField} />}
    </>
  )
}

/** Goes to the column of a field that was made in a dialog, once the dialog is closed. */
function useNewField(grid: GridModel, isClosed: boolean): (id: string) => void {
  const made = useRef<string | null>(null)
  useEffect(() => {
    if (!isClosed || made.current === null) return
    goToNewColumn(grid, made.current)
    made.current = null
  }, [grid, isClosed])
  return useCallback((id) => {
    made.current = id
  }, [])
}

/** The menu is loaded when its button is pressed for the first time. */
function MenuOfTable({ name, actions }: { name: string; actions: Readonly<Record<string, () => void>> }) {
  const [isWanted, setWanted] = useState(false)
  const button = (
    <button
      type="button"
      className="button quiet icon-only small"
      aria-label={tableTexts.menu(name)}
      aria-haspopup="menu"
      onClick={() => setWanted(true)}
    >
      <Icon name="ellipsis" />
    </button>
  )
  return isWanted ? <TableMenu name={name} actions={actions} fallback={button} failed={() => setWanted(false)} /> : button
}
