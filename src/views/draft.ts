/** What saving a view would store: checked against the table's fields, in the form of every answer. Needs neither time nor caller. */
import { AppError, badInputs, type Issue } from '../errors.ts'
import type { TableDef } from '../tables/fields.ts'
import { readConfig, type ViewConfig, type ViewType } from './config.ts'
import { type Filter, parseFilters, precedence } from './filter.ts'
import { resolveTree } from './resolve.ts'
import { directionOf, resolveSort } from './sort.ts'

/** The part of a view that depends on the fields of its table. */
export interface Draft {
  config: ViewConfig
  filters: Filter[]
  order_by: string | null
  order_dir: 'A' | 'D' | null
}

export interface DraftInput {
  config?: unknown
  filters?: unknown
  order_by?: unknown
  order_dir?: unknown
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
  const keeps = (key: keyof Draft) => present !== undefined && input[key] === undefined
  // A direction is of the sort that it came with: it goes with it.
  const isUnsorted = input.order_by === null && input.order_dir === undefined
  const sent = (key: 'order_by' | 'order_dir') => (key === 'order_dir' && isUnsorted ? null : keeps(key) ? present?.[key] : input[key])

  const read = keeps('config') ? undefined : readConfig(type, input.config, table)
  issues.push(...(read?.issues ?? []))
  const filters = keeps('filters') ? present?.filters : gather(issues, () => checkedFilters(input.filters, table))
  gather(issues, () => resolveSort(sent('order_by'), sent('order_dir'), table))
  if (issues.length) throw badInputs(issues)
  return {
    draft: {
      config: read?.config ?? (present as Draft).config,
      filters: filters ?? [],
      order_by: (sent('order_by') as string | null | undefined) ?? null,
      order_dir: directionOf(sent('order_dir')) ?? null,
    },
    dropped: read?.dropped ?? [],
  }
}

function checkedFilters(sent: unknown, table: TableDef): Filter[] {
  const filters = parseFilters(sent)
  resolveTree(precedence(filters, ['filters']), table)
  return filters
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
