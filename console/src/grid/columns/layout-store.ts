/** Where the layout of a grid is kept: admins keep it in the view, others for themselves. */
import type { ColumnLayout } from './column.ts'

/** What a grid remembers about itself. */
export interface Layout extends ColumnLayout {
  /** True: rows have the height of two lines. */
  isTall: boolean
  /** The ids of the number fields whose sum is shown. */
  sums: readonly string[]
}

export interface LayoutStore {
  /** Keeps what has changed. It may be called often; what is kept last counts. */
  save(changes: Partial<Layout>): void
  /** True while something is not kept yet. */
  isSaving(): boolean
}

const NO_LAYOUT: Layout = { columns: null, widths: {}, isTall: false, sums: [] }

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)
const textsIn = (value: unknown): string[] => (Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [])

/** Reads the `config` of a view, or a preference of the same form. Whatever else it holds is ignored. */
function columnLayoutOf(config: unknown): ColumnLayout {
  if (!isObject(config)) return NO_LAYOUT
  const widths = isObject(config.widths) ? Object.entries(config.widths) : []
  const columns = textsIn(config.columns)
  return {
    columns: columns.length ? columns : null,
    widths: Object.fromEntries(widths.filter((entry): entry is [string, number] => typeof entry[1] === 'number')),
  }
}

/** The layout of a view with what a person has changed for themselves. @param mine a preference, of any form */
export function layoutOf(config: unknown, mine: unknown): Layout {
  const view = columnLayoutOf(config)
  const own = isObject(mine) ? mine : {}
  const changed = columnLayoutOf(own)
  return {
    columns: changed.columns ?? view.columns,
    widths: { ...view.widths, ...changed.widths },
    isTall: own.isTall === true,
    sums: textsIn(own.sums),
  }
}
