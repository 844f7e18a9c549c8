/** What saving a view would store: checked against the table's fields, in the form of every answer. Needs neither time nor caller. */

import type { TableDef } from '../fields/definition.ts'
import { AppError, badInputs, type Issue } from '../platform/http/errors.ts'
import { readConfig, type ViewConfig, type ViewType } from './config.ts'
import { type Filter, type FilterGroup, isGiven, mapLeaves, parseFilters, parseGroup, precedence } from './filters/parse.ts'
import { resolveTree } from './filters/resolve.ts'
import { directionOf, keptOrder, resolveOrder, resolveSort, type SortKey } from './filters/sort.ts'

/** The part of a view that depends on the fields of its table. */
export interface Draft {
  config: ViewConfig
  filters: Filter[]
  /** A nested group in place of `filters`, which then is empty. */
  filter: FilterGroup | null
  order_by: string | null
  order_dir: 'A' | 'D' | null
  /** Where it was given, what the view is sorted by; its first key is `order_by` and `order_dir`, too. */
  order: SortKey[] | null
}
type Narrowing = Pick<Draft, 'filters' | 'filter'>
type Order = Pick<Draft, 'order_by' | 'order_dir' | 'order'>

export interface DraftInput {
  config?: unknown
  filters?: unknown
  filter?: unknown
  order_by?: unknown
  order_dir?: unknown
  order?: unknown
}

/**
 * Checks what was sent; a key that is absent keeps what `present` has, and null clears it.
 * @param present the view as it is; undefined for a new one
 * @throws AppError 400 naming everything that is wrong
 */
export function draftOf(
  type: ViewType,
  input: DraftInput,
  present: Draft | undefined,
  table: TableDef,
): { draft: Draft; dropped: string[] } {
  const issues: Issue[] = []
  const read = present && input.config === undefined ? undefined : readConfig(type, input.config, table)
  issues.push(...(read?.issues ?? []))
  const narrowing = narrowingOf(input, present ?? { filters: [], filter: null }, table, issues)
  const order = orderOf(input, present ?? keptOrder([]), table, issues)
  if (issues.length || !order) throw badInputs(issues)
  return {
    draft: { config: read?.config ?? (present as Draft).config, ...narrowing, ...order },
    dropped: read?.dropped ?? [],
  }
}

/** A list of filters, or a group: whichever is sent takes the place of the other. */
function narrowingOf(input: DraftInput, present: Narrowing, table: TableDef, issues: Issue[]): Narrowing {
  const { filters: sent, filter: group } = input
  if (isGiven(group) && isGiven(sent) && !(Array.isArray(sent) && !sent.length)) issues.push(SAID_TWICE)
  const filters = sent === undefined ? undefined : gather(issues, () => checkedFilters(sent, table))
  const filter = gather(issues, () => checkedGroup(group, table)) ?? null
  if (filter) return { filters: [], filter }
  if (filters) return { filters, filter: null }
  return { filters: present.filters, filter: group === null ? null : present.filter }
}

const SAID_TWICE: Issue = { path: ['filters'], message: 'says in another way what filter says: send one of them' }

function checkedFilters(sent: unknown, table: TableDef): Filter[] {
  const filters = parseFilters(sent)
  resolveTree(precedence(filters, ['filters']), table)
  return filters
}

function checkedGroup(sent: unknown, table: TableDef): FilterGroup | null {
  const group = parseGroup(sent)
  if (!group) return null
  resolveTree(group, table)
  return mapLeaves(group, ({ path: _, ...condition }) => condition)
}

/** One key, or several: likewise. Undefined when something is wrong. */
function orderOf(input: DraftInput, present: Order, table: TableDef, issues: Issue[]): Order | undefined {
  if (isGiven(input.order))
    return gather(issues, () =>
      keptOrder(resolveOrder(input, table).map(({ field, isDescending }) => ({ field: field.id, dir: isDescending ? 'D' : 'A' }))),
    )
  // Of several keys the first is the one that an older client sees, and turns round.
  const kept = input.order === null && present.order ? keptOrder([]) : present
  if (input.order_by === undefined && input.order_dir === undefined)
    return { order_by: kept.order_by, order_dir: kept.order_dir, order: kept.order }
  const order_by = input.order_by === undefined ? kept.order_by : input.order_by
  // A direction is of the sort that it came with: it goes with it.
  const order_dir = input.order_dir !== undefined ? input.order_dir : input.order_by === null ? null : kept.order_dir
  return gather(issues, () => {
    const sort = resolveSort(order_by, order_dir, table)
    return { order_by: sort?.field.id ?? null, order_dir: directionOf(order_dir) ?? null, order: null }
  })
}

/** Runs a check, and notes what it refuses, so that a caller hears of everything at once. */
function gather<T>(issues: Issue[], check: () => T): T | undefined {
  try {
    return check()
  } catch (error) {
    if (!(error instanceof AppError) || !error.issues) throw error
    issues.push(...error.issues)
    return undefined
  }
}
