/** The bar above a grid: the table, its views, the conditions and the order of the view in words, and what is tried beside them. */
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import type { Field } from '../cells/kind.ts'
import { type ColumnAction, offerColumnActions } from '../grid/model/column-actions.ts'
import type { GridModel } from '../grid/model/grid-model.ts'
import type { Conditions } from '../grid/pages/record-source.ts'
import { keepsInView } from '../grid/table-data.ts'
import type { BarProps } from '../grid/table-page.tsx'
import { conditionsOf } from '../grid/table-search.ts'
import { viewTexts } from '../texts/views/views.ts'
import { whyTexts } from '../texts/views/why.ts'
import { lazyPart } from '../ui/lazy-part.tsx'
import '../ui/button.css'
import { Icon } from '../ui/icons/icon.tsx'
import { useKeys } from '../ui/keys/keys.ts'
import { membersOf, type Wording } from './condition-words.ts'
import { isSortable } from './filtering/filter-values.ts'
import { isSortKey, orderOfView, partsOfTried, partsOfView } from './parts.ts'
import { useManaging } from './saving/managing.tsx'
import { isFull, type ShownPart, triedParts, viewParts, withCondition, withSort } from './tried.ts'
import { type TryConditions, useTrying } from './trying.ts'
import { ViewMenu } from './view-menu.tsx'
import './views.css'
import { useWording } from './wording.ts'

const FilterForm = lazyPart(async () => ({ default: (await import('./filtering/filter-form.tsx')).FilterForm }))
const ColumnsForm = lazyPart(async () => ({ default: (await import('./columns-form.tsx')).ColumnsForm }))
const WhyDialog = lazyPart(async () => ({ default: (await import('./explain/why-dialog.tsx')).WhyDialog }))
const SortForm = lazyPart(async () => ({ default: (await import('./filtering/sort-form.tsx')).SortForm }))

/** @param menu stands beside the name of the table */
export function ViewBar({ data, view, search, grid, menu }: BarProps & { menu?: ReactNode }) {
  const { table, views } = data
  const tried = useMemo(() => conditionsOf(search), [search])
  const tryConditions = useTrying(table.id, search)
  const { place } = grid.options
  const trees = [partsOfView(view), partsOfTried(tried)]
  const orders = [...orderOfView(view), ...membersOf(tried.order).filter(isSortKey)].map(({ field }) => field)
  const wording = useWording(data, place, trees, orders)
  const parts = triedParts(tried, wording)
  const managing = useManaging({ data, view, grid, tried, tryConditions, wording })
  const [open, setOpen] = useState<Opened>(null)
  const edit = (part: ShownPart) => setOpen({ form: 'change', part })
  const [isAsking, setAsking] = useState(false)
  const ask = { does: whyTexts.title, run: () => setAsking(true) }
  useKeys(viewTexts.keysPage, [
    { keys: viewTexts.filterKeys, does: viewTexts.filter, run: () => setOpen({ form: 'filter' }) },
    { keys: whyTexts.keys, ...ask },
  ])
  useColumnActions(grid, (field) => [
    ...(isSortable(field)
      ? SORTS.map(([dir, does]) => ({
          does,
          run: () => void tryConditions({ ...tried, order: [{ field: field.id, dir }] }, viewTexts.added),
        }))
      : []),
    { does: viewTexts.filterBy, run: () => setOpen({ form: 'filter', column: field.id }) },
  ])
  const isTried = Object.keys(tried).length > 0
  return (
    <header className="view-bar">
      <div className="view-head">
        <h1 dir="auto">{table.name}</h1>
        {menu}
        <ViewMenu
          table={table}
          views={views.filter(({ id, type }) => type === 'grid' || id === view.id)}
          view={view}
          actions={[...managing.actions, ask]}
        />
        <button type="button" className="button quiet small view-tool" aria-haspopup="dialog" onClick={() => setOpen({ form: 'filter' })}>
          <Icon name="list-filter" />
          <span>{viewTexts.filter}</span>
        </button>
        <button type="button" className="button quiet small view-tool" aria-haspopup="dialog" onClick={() => setOpen({ form: 'sort' })}>
          <Icon name="arrow-up-down" />
          <span>{viewTexts.sort}</span>
        </button>
        <button type="button" className="button quiet small view-tool" aria-haspopup="dialog" onClick={() => setOpen({ form: 'columns' })}>
          <Icon name="columns-3" />
          <span>{viewTexts.columns}</span>
        </button>
        {isTried && (
          <button type="button" className="button small" onClick={() => tryConditions({}, viewTexts.resetDone)}>
            {viewTexts.reset}
          </button>
        )}
        {managing.saving.map(({ does, run }) => (
          <button key={does} type="button" className="button small" onClick={run}>
            {does}
          </button>
        ))}
      </div>
      {view.type !== 'grid' && <p className="view-note">{viewTexts.asGrid(view.type)}</p>}
      {search.cut && (
        <p className="view-note" role="alert">
          {viewTexts.cut}
        </p>
      )}
      <Chips
        name={viewTexts.viewConditions}
        parts={viewParts(view, tried, wording)}
        remove={viewTexts.tryWithout}
        {...{ tryConditions, edit }}
      />
      <Chips name={viewTexts.triedConditions} parts={parts} remove={viewTexts.remove} isTried {...{ tryConditions, edit }} />
      {managing.dialog}
      <Forms {...{ open, data, view, grid, wording, tried, tryConditions }} close={() => setOpen(null)} />
      {isAsking && <WhyDialog {...{ data, view, grid, tried }} close={() => setAsking(false)} />}
    </header>
  )
}

const SORTS = [
  ['A', viewTexts.sortAscending],
  ['D', viewTexts.sortDescending],
] as const

/** Offers what can be tried with a column in its menu. */
function useColumnActions(grid: GridModel, actionsOf: (field: Field) => readonly ColumnAction[]): void {
  const latest = useRef(actionsOf)
  latest.current = actionsOf
  useEffect(() => offerColumnActions(grid, (field) => latest.current(field)), [grid])
}

interface ChipsProps {
  name: string
  parts: readonly ShownPart[]
  remove(text: string): string
  isTried?: boolean
  tryConditions: TryConditions
  edit(part: ShownPart): void
}

function Chips({ name, parts, remove, isTried, tryConditions, edit }: ChipsProps) {
  if (parts.length === 0) return null
  return (
    <ul className="view-chips" aria-label={name}>
      {parts.map((part) => (
        <li key={`${parts.indexOf(part)} ${part.text}`} className={isTried ? 'view-chip tried' : 'view-chip'}>
          {part.changed ? (
            <button type="button" className="view-chip-text" dir="auto" aria-label={viewTexts.change(part.text)} onClick={() => edit(part)}>
              {part.text}
            </button>
          ) : (
            <span dir="auto">{part.text}</span>
          )}
          <button type="button" aria-label={remove(part.text)} onClick={() => tryConditions(part.rest, viewTexts.removed)}>
            <Icon name="x" />
          </button>
        </li>
      ))}
    </ul>
  )
}

type Opened = { form: 'sort' | 'columns' } | { form: 'filter'; column?: string } | { form: 'change'; part: ShownPart } | null

interface FormsProps extends Pick<BarProps, 'data' | 'grid' | 'view'> {
  open: Opened
  wording: Wording
  tried: Conditions
  tryConditions: TryConditions
  close(): void
}

/** The form that is open. What it says is tried at once, and is in the address. */
function Forms({ open, data: { table, role }, view, grid, wording, tried, tryConditions, close }: FormsProps) {
  const visible = table.fields.filter(({ always_hidden }) => !always_hidden)
  // What people have entered comes first, as in the grid.
  const isOwn = ({ key, calc }: Field) => !key && !calc
  const fields = [...visible.filter(isOwn), ...visible.filter((field) => !isOwn(field))]
  const form = { fields, close, wording, place: grid.options.place, spaceId: table.space_id }
  const closeAfter = (conditions: Conditions, said: string) => {
    const isRoom = tryConditions(conditions, said)
    if (isRoom) close()
    return isRoom
  }
  switch (open?.form) {
    case 'filter':
      return (
        <FilterForm {...form} column={open.column} submit={(trees) => closeAfter(trees.reduce(withCondition, tried), viewTexts.added)} />
      )
    case 'sort':
      return <SortForm {...form} isFull={isFull(tried)} add={(key) => closeAfter(withSort(tried, key), viewTexts.added)} />
    case 'columns':
      return <ColumnsForm {...{ grid, close }} isForAll={keepsInView(role, view)} />
    case 'change': {
      const { tree, changed } = open.part
      const whole = (trees: unknown[]) => (trees.length === 1 ? trees[0] : { all: trees })
      return <FilterForm {...form} tree={tree} submit={(trees) => closeAfter(changed?.(whole(trees)) ?? tried, viewTexts.changed)} />
    }
    default:
      return null
  }
}
