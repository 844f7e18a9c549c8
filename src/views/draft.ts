/** Checks the part of a view that depends on the table's fields, and normalises it as it is stored. Depends on neither time nor caller. */

import type { TableDef } from '../fields/definition.ts'
import { AppError, badInput, badInputs, type Issue } from '../platform/errors.ts'
import { readConfig, type ViewConfig, type ViewType } from './config.ts'
import { directionOf, keptOrder, resolveOrder, resolveSort, spellKey } from './filters/order.ts'
import { type Filter, type FilterTree, isGiven, mapLeaves, parseFilters, parseTree, precedence } from './filters/parse.ts'
import { resolveTree } from './filters/resolve-conditions.ts'
import type { Conditions } from './stored-conditions.ts'
import type { ViewOrder } from './stored-order.ts'

/** The part of a view that depends on the fields of its table. */
export interface ViewDraft extends Conditions, ViewOrder {
  config: ViewConfig
}

export interface DraftInput {
  config?: unknown
  filters?: unknown
  filter?: unknown
  order_by?: unknown
  order_dir?: unknown
  order?: unknown
}

/**
 * Checks the input for a new view, or for a change of `current`: an absent key keeps its value, and null clears it.
 * @throws AppError 400 naming each wrong input
 * @returns the paths of ignored inputs as `dropped`
 */
export function draftOf(
  type: ViewType,
  input: DraftInput,
  current: ViewDraft | undefined,
  table: TableDef,
): { draft: ViewDraft; dropped: string[] } {
  const issues: Issue[] = []
  const read = current && input.config === undefined ? undefined : readConfig(type, input.config, table)
  issues.push(...(read?.issues ?? []))
  const conditions = conditionsOf(input, current ?? { filters: [], filter: null }, table, issues)
  const order = orderOf(input, current ?? keptOrder([]), table, issues)
  if (issues.length || !order) throw badInputs(issues)
  return {
    draft: { config: read?.config ?? (current as ViewDraft).config, ...conditions, ...order },
    dropped: read?.dropped ?? [],
  }
}

/** A view has a list of filters or a group: one replaces the other. */
function conditionsOf(input: DraftInput, current: Conditions, table: TableDef, issues: Issue[]): Conditions {
  const { filters: sent, filter: group } = input
  if (isGiven(group) && isGiven(sent) && !(Array.isArray(sent) && !sent.length)) issues.push(BOTH_SENT)
  const filters = sent === undefined ? undefined : gather(issues, () => checkedFilters(sent, table))
  const filter = gather(issues, () => checkedTree(group, table)) ?? null
  if (filter) return { filters: [], filter }
  if (filters) return { filters, filter: null }
  return { filters: current.filters, filter: group === null ? null : current.filter }
}

const BOTH_SENT: Issue = { path: ['filters'], message: 'send either filters or filter, not both' }

function checkedFilters(sent: unknown, table: TableDef): Filter[] {
  const filters = parseFilters(sent)
  requireSmall(filters, 'filters')
  resolveTree(precedence(filters, ['filters']), table, true)
  return filters
}

function checkedTree(sent: unknown, table: TableDef): FilterTree | null {
  const tree = parseTree(sent)
  if (!tree) return null
  const stored = mapLeaves(tree, ({ path: _, ...condition }) => condition)
  requireSmall(stored, 'filter')
  resolveTree(tree, table, true)
  return stored
}

/** The list of views has the filters of all of them. */
const MOST_FILTER_KB = 64

function requireSmall(filters: object, name: string): void {
  if (Buffer.byteLength(JSON.stringify(filters)) > MOST_FILTER_KB * 1_024)
    throw badInput(name, `must have at most ${MOST_FILTER_KB} KB as JSON`)
}

/** `order` replaces order_by and order_dir, and the reverse. Returns undefined after adding to `issues`. */
function orderOf(input: DraftInput, current: ViewOrder, table: TableDef, issues: Issue[]): ViewOrder | undefined {
  if (isGiven(input.order)) return gather(issues, () => keptOrder(resolveOrder(input, table).map(spellKey)))
  // A client that knows only order_by and order_dir sees the first key of an order, and may reverse it.
  const kept = input.order === null && current.order ? keptOrder([]) : current
  if (input.order_by === undefined && input.order_dir === undefined)
    return { order_by: kept.order_by, order_dir: kept.order_dir, order: kept.order }
  const order_by = input.order_by === undefined ? kept.order_by : input.order_by
  // Clearing order_by clears the direction that was saved with it.
  const order_dir = input.order_dir !== undefined ? input.order_dir : input.order_by === null ? null : kept.order_dir
  return gather(issues, () => {
    const sort = resolveSort(order_by, order_dir, table)
    return { order_by: sort?.field.id ?? null, order_dir: directionOf(order_dir) ?? null, order: null }
  })
}

/** Runs a check and collects its issues, so that the answer names all of them at once. */
function gather<T>(issues: Issue[], check: () => T): T | undefined {
  try {
    return check()
  } catch (error) {
    if (!(error instanceof AppError) || !error.issues) throw error
    issues.push(...error.issues)
    return undefined
  }
}
