/** The columns of a grid: which fields it shows, in which order, how wide, and where. */
import type { Field } from '../../cells/kind.ts'

export interface Column {
  id: string
  field: Field
  width: number
  /** Pixels from the left edge of the rows; a frozen column stays there. */
  left: number
  isFrozen: boolean
}

/** How a person or a view wants the columns. */
export interface ColumnLayout {
  /** The ids of the fields that are shown, in order; null shows all. */
  columns: readonly string[] | null
  widths: Readonly<Record<string, number>>
}

const NARROWEST = 60
const WIDEST = 1_200
/** The column with the numbers and the marks of the rows. */
const HEAD_WIDTH = 64

const WIDTHS: Partial<Record<Field['type'], number>> = {
  long_text: 260,
  checkbox: 90,
  number: 120,
  date: 130,
  datetime: 170,
  time: 100,
  multi_select: 200,
  multi_lookup: 200,
  multi_user: 200,
}
const DEFAULT_WIDTH = 160
const TITLE_WIDTH = 240

/** The first text field, which is the title of a record (contract.md §3). */
const titleOf = (fields: readonly Field[]): Field | undefined => fields.find(({ type, key }) => type === 'text' && !key)

/** What a layout can show of the table itself: the key and the calculated fields last. */
export function showableFields(fields: readonly Field[]): Field[] {
  const visible = fields.filter((field) => !field.always_hidden)
  return [...visible.filter(isFilled), ...visible.filter((field) => !isFilled(field))]
}

/** Whether people fill the field: not the key, nor what the service calculates. */
const isFilled = ({ key, calc }: Field): boolean => !key && !calc

/**
 * The fields that are shown: those of the layout that exist, the title first. Without a layout all that people fill, if there are any.
 * @param linked finds a field of another table by its name, such as `company.city`
 */
export function shownFields(fields: readonly Field[], layout: ColumnLayout, linked: (name: string) => Field | undefined): Field[] {
  const own = new Map(fields.map((field) => [field.id, field]))
  const showable = showableFields(fields)
  const filled = showable.filter(isFilled)
  const all = filled.length ? filled : showable
  const chosen = layout.columns?.length ? layout.columns.flatMap((id) => own.get(id) ?? linked(id) ?? []) : all
  const title = titleOf(fields)
  return title && chosen.includes(title) ? [title, ...chosen.filter((field) => field !== title)] : chosen
}

/** Places the fields beside each other. The title is frozen unless it would take too much of a narrow window. */
export function placeColumns(fields: readonly Field[], { widths }: ColumnLayout, viewportWidth: number): Column[] {
  const title = titleOf(fields)
  let left = HEAD_WIDTH
  return fields.map((field, index) => {
    const width = clampWidth(widths[field.id] ?? (field === title ? TITLE_WIDTH : (WIDTHS[field.type] ?? DEFAULT_WIDTH)))
    const isFrozen = index === 0 && field === title && HEAD_WIDTH + width < viewportWidth * 0.6
    const column = { id: field.id, field, width, left, isFrozen }
    left += width
    return column
  })
}

export const clampWidth = (width: number): number => Math.round(Math.max(NARROWEST, Math.min(width, WIDEST)))

export const widthOf = (columns: readonly Column[]): number => {
  const last = columns.at(-1)
  return last ? last.left + last.width : HEAD_WIDTH
}

export const frozenWidth = (columns: readonly Column[]): number => {
  const frozen = columns.filter(({ isFrozen }) => isFrozen).at(-1)
  return frozen ? frozen.left + frozen.width : HEAD_WIDTH
}

/** Pixels beside what is seen in which columns are rendered, too. */
const BESIDE = 160

/** The first and the last column that are seen from `left` on. */
export function columnsBetween(columns: readonly Column[], left: number, width: number): { first: number; last: number } {
  const start = left + frozenWidth(columns) - BESIDE
  const end = left + width + BESIDE
  let first = columns.findIndex((column) => column.left + column.width > start)
  if (first === -1) first = columns.length
  let last = first
  while (last + 1 < columns.length && (columns[last + 1]?.left ?? end) < end) last++
  return { first, last }
}

/** The ids in their order after a column was moved in front of another place. */
export function movedColumn(ids: readonly string[], from: number, to: number): string[] {
  const moved = [...ids]
  const [id] = moved.splice(from, 1)
  if (id !== undefined) moved.splice(to, 0, id)
  return moved
}
