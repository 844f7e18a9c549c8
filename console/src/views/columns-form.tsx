/** Which columns a grid shows, chosen from a list. It is loaded when it is opened. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, useSyncExternalStore } from 'react'
import type { Field } from '../cells/kind.ts'
import { showableFields } from '../grid/columns/column.ts'
import type { GridModel } from '../grid/model/grid-model.ts'
import { showColumns } from '../grid/model/layout.ts'
import { addColumn } from '../grid/model/new-column.ts'
import { columnsThrough, defineLinked } from '../grid/table-data.ts'
import { useClient } from '../session/client.ts'
import { messageOf } from '../session/errors.ts'
import { viewTexts } from '../texts/views/views.ts'
import { DialogBox } from '../ui/dialog-box.tsx'
import { CheckField } from '../ui/form-fields.tsx'
import { TextField } from '../ui/text-field.tsx'

interface Props {
  grid: GridModel
  /** True if what is chosen is kept in the view, for everybody. */
  isForAll: boolean
  close(): void
}

export function ColumnsForm({ grid, isForAll, close }: Props) {
  useSyncExternalStore(grid.subscribe, grid.version)
  const [text, setText] = useState('')
  const { fields } = grid.options
  const shown = grid.state.columns.map(({ field }) => field)
  const ids = shown.map(({ id }) => id)
  const all = showableFields(fields)
  // Those that are hidden come last, so that nothing moves below the pointer while one chooses.
  const [order] = useState(() => [...shown, ...all.filter(({ id }) => !ids.includes(id))].map(({ id }) => id))
  const listed = [...shown.filter(({ id, linked }) => !linked || order.includes(id)), ...all]
    .filter(({ id }, index, every) => every.findIndex((other) => other.id === id) === index)
    .toSorted((a, b) => place(order, a.id) - place(order, b.id))
  const isFound = matching(text)
  const found = listed.filter(isFound)
  const [first] = ids
  const toggle = (id: string, isWanted: boolean) => {
    // A grid has one column at least.
    if (isWanted) addColumn(grid, id)
    else if (ids.length > 1)
      showColumns(
        grid,
        ids.filter((other) => other !== id),
      )
  }
  return (
    <DialogBox title={viewTexts.columns} close={close}>
      <div className="view-form">
        <TextField label={viewTexts.searchColumns} value={text} change={setText} autoComplete="off" dir="auto" />
        <div className="view-form-buttons">
          <button
            type="button"
            className="button small"
            onClick={() =>
              showColumns(
                grid,
                listed.map(({ id }) => id),
              )
            }
          >
            {viewTexts.allColumns}
          </button>
          <button type="button" className="button small" onClick={() => first !== undefined && showColumns(grid, [first])}>
            {viewTexts.noColumns}
          </button>
        </div>
        <div className="view-columns">
          <ul aria-label={viewTexts.columns}>
            {found.map((field) => (
              <ColumnCheck key={field.id} field={field} isShown={ids.includes(field.id)} toggle={toggle} />
            ))}
          </ul>
          {found.length === 0 && <p>{viewTexts.nothingFound}</p>}
          {fields
            .filter((field) => field.table !== undefined && !field.always_hidden)
            .map((lookup) => (
              <LinkedColumns key={lookup.id} {...{ grid, lookup, listed, ids, isFound, toggle }} isSearched={text.trim() !== ''} />
            ))}
        </div>
        <p className="view-note">{isForAll ? viewTexts.columnsForAll : viewTexts.columnsForMe}</p>
      </div>
    </DialogBox>
  )
}

/** Finds fields with all words in their names. */
function matching(text: string): (field: Field) => boolean {
  const words = text.toLowerCase().split(/\s+/)
  return ({ name }) => words.every((word) => name.toLowerCase().includes(word))
}

interface CheckProps {
  field: Field
  isShown: boolean
  toggle(id: string, isWanted: boolean): void
}

function ColumnCheck({ field: { id, name }, isShown, toggle }: CheckProps) {
  return (
    <li>
      <CheckField label={name} checked={isShown} change={(isWanted) => toggle(id, isWanted)} />
    </li>
  )
}

interface LinkedProps {
  grid: GridModel
  lookup: Field
  /** The fields that the list above has. */
  listed: readonly Field[]
  ids: readonly string[]
  isFound(field: Field): boolean
  isSearched: boolean
  toggle(id: string, isWanted: boolean): void
}

/** The fields of the table that a link leads to. They are read when they are looked at, or searched. */
function LinkedColumns({ grid, lookup, listed, ids, isFound, isSearched, toggle }: LinkedProps) {
  const client = useClient()
  const queries = useQueryClient()
  const [isOpen, setOpen] = useState(false)
  // A column that was chosen is shown once the grid knows its field.
  const [chosen, setChosen] = useState<string | null>(null)
  if (chosen !== null && ids.includes(chosen)) setChosen(null)
  const { data: linked, error } = useQuery({
    queryKey: ['linked columns', lookup.table],
    queryFn: () => client.tables.get.query({ table_id: lookup.table ?? 0 }),
    enabled: isOpen || isSearched,
  })
  const fields = linked ? columnsThrough(lookup, linked).filter(({ id }) => !listed.some((other) => other.id === id)) : []
  const found = fields.filter(isFound)
  if (isSearched && found.length === 0) return null
  return (
    <details open={isOpen || isSearched} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{viewTexts.columnsThrough(lookup.name)}</summary>
      {error && <p className="problem">{messageOf(error)}</p>}
      <ul aria-label={viewTexts.columnsThrough(lookup.name)}>
        {found.map((field) => (
          <ColumnCheck
            key={field.id}
            field={field}
            isShown={ids.includes(field.id) || field.id === chosen}
            toggle={(id, isWanted) => {
              if (isWanted) {
                setChosen(id)
                defineLinked(queries, grid.options.tableId, field)
              }
              toggle(id, isWanted)
            }}
          />
        ))}
      </ul>
    </details>
  )
}

const place = (order: readonly string[], id: string) => (order.includes(id) ? order.indexOf(id) : order.length)
