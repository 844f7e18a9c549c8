/**
 * The conditions of a view as they are stored. The previous release would answer 500 for every list of views with a `not` or a condition
 * that stands alone, and for each change of a field of a table with a view that asks for all values of a list; it has no linked fields.
 * So in place of such conditions it finds a filter that no record matches, and they are in a column that it leaves alone.
 */
import { type Sql, sql } from '../platform/database/database.ts'
import { type Filter, type FilterTree, isAllOf } from './filters/parse.ts'

export interface Conditions {
  filters: Filter[]
  /** A condition or a nested group; `filters` is then empty. */
  filter: FilterTree | null
}

interface StoredConditions extends Conditions {
  /** Those that count; null if they are in the other two. */
  conditions: Conditions | null
}

export const storedConditions = ({ filters, filter }: Conditions): StoredConditions =>
  isKnownBefore({ filters, filter })
    ? { filters, filter, conditions: null }
    : { filters: [], filter: { any: [] }, conditions: { filters, filter } }

/** True if the previous release can read the conditions. */
function isKnownBefore({ filters, filter }: Conditions): boolean {
  const isGroup = filter === null || isAllOf(filter) || 'any' in filter
  return isGroup && filters.every(isPlain) && (filter === null || isPlain(filter))
}

function isPlain(tree: FilterTree): boolean {
  if (isAllOf(tree)) return tree.all.every(isPlain)
  if ('any' in tree) return tree.any.every(isPlain)
  return !('not' in tree) && !Array.isArray(tree.value) && !tree.column.includes('.')
}

/** Whether the column counts. A filter that the previous release has saved since counts in its place. */
const isApart: Sql = sql`(conditions is not null and filter = '{"any": []}'::jsonb)`

/** The conditions that count, as columns of `views`. */
export const conditionColumns: Sql = sql`case when ${isApart} then conditions->'filters' else filters end as filters,
  case when ${isApart} then nullif(conditions->'filter', 'null'::jsonb) else filter end as filter`
