/** What a grid knows: its records, its columns, what is seen of them, the selection and the edit that is open. */
import type { Place as CellPlace, Field, Person, Surroundings, Value } from '../../cells/kind.ts'
import type { Client } from '../../session/client.ts'
import { type Column, placeColumns, shownFields, widthOf } from '../columns/column.ts'
import type { Layout, LayoutStore } from '../columns/layout-store.ts'
import { type OpenEdit, shownValue } from '../edits/open-edit.ts'
import type { TableEdits } from '../edits/table-edits.ts'
import type { Pages } from '../pages/pages.ts'
import type { RecordSource } from '../pages/record-source.ts'
import type { Row } from '../pages/row.ts'
import { type Place, placeAt } from '../pages/scaled-scroll.ts'
import { type Bounds, oneCell, type Selection } from '../selection/selection.ts'
import type { Dialog } from './dialogs.ts'

export type Role = 'viewer' | 'member' | 'admin'

export interface GridOptions {
  client: Client
  spaceId: number
  tableId: number
  fields: readonly Field[]
  /** A field of another table by its name, such as `company.city`. */
  linkedField(name: string): Field | undefined
  role: Role
  me: Person
  place: CellPlace
  layout: Layout
  layoutStore: LayoutStore
  /** Opens a record beside the grid; without it Space does nothing. */
  openRecord?: ((id: number) => void) | undefined
}

/** The cell whose editor is open. */
export interface Editing extends OpenEdit {
  row: number
}

export interface Notice {
  text: string
  isError: boolean
}

export interface GridState {
  layout: Layout
  columns: readonly Column[]
  viewport: { width: number; height: number }
  /** Where the rows are scrolled to, and how far to the right. */
  at: Place
  left: number
  selection: Selection
  /** The column whose heading has the focus in place of the active cell. */
  heading: number | null
  editing: Editing | null
  /** The records that are marked, or all of the view. */
  marked: ReadonlySet<number>
  isAllMarked: boolean
  /** New rows, which stand after the last one until the records are read anew. A negative id: not stored yet. */
  newRows: readonly Row[]
  /** Records that the view no longer shows; they stay, greyed, until one moves on. */
  gone: ReadonlySet<number>
  sums: ReadonlyMap<string, string | number | null>
  dialog: Dialog | null
  notice: Notice | null
  /** Counts how often the focus was sent to the active cell from elsewhere. */
  focusCalls: number
}

export interface GridModel {
  readonly options: GridOptions
  readonly pages: Pages
  readonly source: RecordSource
  readonly table: TableEdits
  readonly state: Readonly<GridState>
  update(change: Partial<GridState>): void
  /** Takes other options, and another source of the same records. */
  become(options: GridOptions, source: RecordSource): void
  subscribe(listener: () => void): () => void
  version(): number
}

const ROW_HEIGHT = 32
const TALL_ROW_HEIGHT = 52

export const rowHeight = ({ state }: GridModel): number => (state.layout.isTall ? TALL_ROW_HEIGHT : ROW_HEIGHT)

export const rowCount = ({ pages, state }: GridModel): number => pages.length().rows + state.newRows.length

export const boundsOf = (grid: GridModel): Bounds => ({ rows: rowCount(grid), cols: grid.state.columns.length })

export const extentOf = (grid: GridModel) => ({ total: rowCount(grid) * rowHeight(grid), viewport: grid.state.viewport.height })

/** The record of a row, as the service knows it. */
export function storedRow({ pages, state }: GridModel, index: number): Row | undefined {
  const stored = pages.length().rows
  return index < stored ? pages.rowAt(index) : state.newRows[index - stored]
}

export function rowOfRecord(grid: GridModel, id: number): number | undefined {
  const added = grid.state.newRows.findIndex((row) => row.id === id)
  return added === -1 ? grid.pages.indexOf(id) : grid.pages.length().rows + added
}

export const cellValue = (grid: GridModel, row: Row, field: string): Value => shownValue(grid.table.edits, row, field)

export const surroundingsOf = ({ options }: GridModel, recordId: number | null): Surroundings => ({
  ...options.place,
  now: new Date(),
  client: options.client,
  spaceId: options.spaceId,
  tableId: options.tableId,
  recordId: recordId !== null && recordId > 0 ? recordId : null,
  me: options.me,
})

export function columnsFor({ fields, linkedField }: Pick<GridOptions, 'fields' | 'linkedField'>, layout: Layout, width: number): Column[] {
  return placeColumns(shownFields(fields, layout, linkedField), layout, width)
}

export const totalWidth = ({ state }: GridModel): number => widthOf(state.columns)

export const canWrite = ({ options }: GridModel): boolean => options.role !== 'viewer'

/** Sends the focus to the active cell, or to the heading that one is in. */
export const callFocus = (grid: GridModel): void => grid.update({ focusCalls: grid.state.focusCalls + 1 })

/** How long a notice stays that needs no answer. */
const NOTICE_MS = 10_000

/** Shows a sentence below the grid, which screen readers say. */
export function say(grid: GridModel, text: string, isError = false): void {
  const notice = { text, isError }
  grid.update({ notice })
  if (!isError) setTimeout(() => grid.state.notice === notice && grid.update({ notice: null }), NOTICE_MS)
}

export function createGridModel(
  options: GridOptions,
  parts: Pick<GridModel, 'source' | 'table'> & { pages(grid: GridModel): Pages },
): GridModel {
  const listeners = new Set<() => void>()
  let version = 0
  const state: GridState = {
    layout: options.layout,
    columns: columnsFor(options, options.layout, 1_280),
    viewport: { width: 1_280, height: 0 },
    at: placeAt({ total: 0, viewport: 0 }, 0),
    left: 0,
    selection: oneCell({ row: 0, col: 0 }),
    heading: null,
    editing: null,
    marked: new Set(),
    isAllMarked: false,
    newRows: parts.table.drafts,
    gone: new Set(),
    sums: new Map(),
    dialog: null,
    notice: null,
    focusCalls: 0,
  }
  const grid = {
    options,
    source: parts.source,
    table: parts.table,
    state,
    update(change: Partial<GridState>) {
      Object.assign(state, change)
      if (change.newRows) parts.table.keepDrafts(change.newRows.filter(({ id }) => id < 0))
      version++
      for (const listener of listeners) listener()
    },
    become(options: GridOptions, source: RecordSource) {
      grid.options = options
      grid.source = source
    },
    subscribe(listener: () => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    version: () => version,
  } as unknown as { -readonly [Key in keyof GridModel]: GridModel[Key] }
  grid.pages = parts.pages(grid)
  return grid
}
