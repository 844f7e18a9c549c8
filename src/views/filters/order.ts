/** The order of records: one field in `order_by` and `order_dir`, or up to three in `order` (contract.md §5, §7). */

import { fieldNamed } from '../../fields/by-id.ts'
import { type FieldDef, isThroughMany, KEY_FIELD, type TableDef, withArticle } from '../../fields/definition.ts'
import { TYPES } from '../../fields/registry.ts'
import { badInputs, type Issue } from '../../platform/errors.ts'
import { isGiven, type Path } from './parse.ts'

export interface Sort {
  field: FieldDef
  isDescending: boolean
  /** Where records without a value come, if the order says so (contract.md §9). */
  nulls?: Nulls
}

export const NULLS = ['first', 'last'] as const
export type Nulls = (typeof NULLS)[number]

/** A key of an order as answers spell it. */
export interface SortKey {
  field: string
  dir: 'A' | 'D'
  /** Present if it was sent. */
  nulls?: Nulls | undefined
}

/** The most keys that an order may have. */
export const MAX_SORTS = 3

export interface WireOrder {
  order_by?: unknown
  order_dir?: unknown
  /** `[{field, dir, nulls}]`, the first key first. */
  order?: unknown
}

/**
 * Resolves the order of a request, in either form; empty if it has none. A view answers both forms, so both may be sent if they agree.
 * @throws AppError 400 naming forms that contradict each other, too many keys, and each key that is unknown, repeated or not sortable
 */
export function resolveOrder({ order, order_by, order_dir }: WireOrder, table: TableDef): readonly Sort[] {
  if (!isGiven(order)) {
    const sort = resolveSort(order_by, order_dir, table)
    return sort ? [sort] : []
  }
  const issues: Issue[] = []
  const sorts = readOrder(order, table, issues)
  if (!issues.length) issues.push(...contradictions(order_by, order_dir, sorts[0]))
  if (issues.length) throw badInputs(issues)
  return sorts
}

/** The issues of an order_by or order_dir that differs from the first key of `order`. */
function contradictions(orderBy: unknown, orderDir: unknown, first: Sort | undefined): Issue[] {
  const issues: Issue[] = []
  const refuse = (key: string, expected: string | undefined) =>
    issues.push({
      path: [key],
      message: `contradicts order, ${expected ? `which begins with '${expected}'` : 'which is empty'}: leave it out`,
    })
  if (isGiven(orderBy) && orderBy !== first?.field.id) refuse('order_by', first?.field.id)
  const direction = directionOf(orderDir)
  if (direction === undefined) issues.push({ path: ['order_dir'], message: NO_DIRECTION })
  else if (direction && (!first || (direction === 'D') !== first.isDescending))
    refuse('order_dir', first && (first.isDescending ? 'D' : 'A'))
  return issues
}

function readOrder(order: unknown, table: TableDef, issues: Issue[]): Sort[] {
  const refuse = (path: Path, message: string): [] => {
    issues.push({ path: ['order', ...path], message })
    return []
  }
  if (!Array.isArray(order)) return refuse([], 'must be an array of {field, dir}')
  if (order.length > MAX_SORTS) return refuse([], `must have at most ${MAX_SORTS} keys`)
  const seen = new Set<unknown>()
  return order.flatMap((key: unknown, index) => {
    if (typeof key !== 'object' || key === null || Array.isArray(key)) return refuse([index], 'must be {field, dir}')
    const { field: name, dir, nulls, ...others } = key as Record<string, unknown>
    for (const other of Object.keys(others)) refuse([index, other], 'is not a known key')
    const direction = directionOf(dir)
    if (direction === undefined) refuse([index, 'dir'], NO_DIRECTION)
    const place = nullsOf(nulls)
    if (place === undefined) refuse([index, 'nulls'], "must be 'first' or 'last'")
    const field = sortable(name, table)
    if (typeof field === 'string') return refuse([index, 'field'], field)
    if (seen.has(name)) return refuse([index, 'field'], 'is already a key of this order')
    seen.add(name)
    return { field, isDescending: direction === 'D', ...(place && { nulls: place }) }
  })
}

/**
 * Resolves order_by and order_dir; null without order_by.
 * @throws AppError 400 for an unknown field, a field that is not sortable, or a direction other than A and D
 */
export function resolveSort(orderBy: unknown, orderDir: unknown, table: TableDef): Sort | null {
  const issues: Issue[] = []
  const direction = directionOf(orderDir)
  if (direction === undefined) issues.push({ path: ['order_dir'], message: NO_DIRECTION })
  const field = isGiven(orderBy) ? sortable(orderBy, table) : null
  if (typeof field === 'string') issues.push({ path: ['order_by'], message: field })
  if (issues.length) throw badInputs(issues)
  return field && typeof field !== 'string' ? { field, isDescending: direction === 'D' } : null
}

/**
 * The keys with the id appended, in the direction of the last key: ties are broken, so that pages never overlap, and one index serves
 * an order and its exact reverse.
 */
export function wholeOrder(order: readonly Sort[]): Sort[] {
  // Ids are unique, so keys after the id have no effect.
  const byId = order.findIndex(({ field }) => field.key)
  if (byId >= 0) return order.slice(0, byId + 1)
  return [...order, { field: KEY_FIELD, isDescending: order.at(-1)?.isDescending ?? false }]
}

/** True if records without a value come first. By default they do in an ascending order (contract.md §5). */
export const isEmptyFirst = ({ field, isDescending, nulls }: Sort): boolean =>
  nulls && !isNeverEmpty(field) ? nulls === 'first' : !isDescending

/** True if each record has a value to sort by. */
export const isNeverEmpty = ({ key, type }: FieldDef): boolean => key || TYPES[type].sort?.isNeverEmpty === true

/** A key as answers spell it. */
export const spellKey = ({ field, isDescending, nulls }: Sort): SortKey => ({
  field: field.id,
  dir: isDescending ? 'D' : 'A',
  ...(nulls && { nulls }),
})

/** The stored form of an order by several keys. order_by and order_dir repeat the first, for clients that know no other. */
export function keptOrder(keys: SortKey[]): { order: SortKey[] | null; order_by: string | null; order_dir: 'A' | 'D' | null } {
  const [first] = keys
  return { order: first ? keys : null, order_by: first?.field ?? null, order_dir: first?.dir ?? null }
}

/** The field of that id, or a message that says why it cannot be a key. */
function sortable(name: unknown, table: TableDef): FieldDef | string {
  if (typeof name !== 'string') return isGiven(name) ? 'must be the id of a field' : 'is required'
  const field = fieldNamed(table, name)
  if (typeof field === 'string') return field
  if (isThroughMany(field)) return 'cannot be sorted by through a multi_lookup, which has several records'
  return TYPES[field.type].sort ? field : `${withArticle(field.type)} cannot be sorted by`
}

/** Reads 'A' or 'D', ignoring case; null if absent, undefined if invalid. */
export function directionOf(orderDir: unknown): 'A' | 'D' | null | undefined {
  if (!isGiven(orderDir)) return null
  const direction = typeof orderDir === 'string' ? orderDir.toUpperCase() : undefined
  return direction === 'A' || direction === 'D' ? direction : undefined
}

/** Reads 'first' or 'last'; null if absent, undefined if invalid. */
const nullsOf = (nulls: unknown): Nulls | null | undefined => (isGiven(nulls) ? NULLS.find((place) => place === nulls) : null)

const NO_DIRECTION = "must be 'A' or 'D'"
