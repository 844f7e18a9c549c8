/** Identifies a query of records, so that a cursor continues only the query that it was issued for. */
import { hash } from 'node:crypto'
import type { QueryContext } from '../../fields/field-type.ts'
import { isEmptyFirst, type Sort } from '../../views/filters/order.ts'
import type { Tree } from '../../views/filters/parse.ts'
import type { ResolvedCondition } from '../../views/filters/resolve-conditions.ts'
import type { Selection } from './selection.ts'

/**
 * Identifies a walk by its table, caller, conditions, search words and order. The fields, the limit and the count may differ from
 * page to page. Date tokens are taken as they were written, so that a walk continues past midnight.
 */
export function queryFingerprint({ table, where, words }: Selection, order: readonly Sort[], { me, moment }: QueryContext): string {
  // An order of one key is named as it was before orders of several had cursors.
  const keys = order.map(nameOf)
  const asked = JSON.stringify([table.id, me.id, moment.timeZone, moment.weekStart, bare(where), words, keys.length > 1 ? keys : keys[0]])
  return hash('sha256', asked, 'buffer').subarray(0, 12).toString('base64url')
}

const nameOf = (sort: Sort): unknown[] => {
  const { field, isDescending } = sort
  const isEmptyElsewhere = isEmptyFirst(sort) === isDescending
  return [field.id, field.type, isDescending, field.options?.map(({ id }) => id), ...(isEmptyElsewhere ? [true] : [])]
}

function bare(tree: Tree<ResolvedCondition>): unknown {
  if ('all' in tree) return { all: tree.all.map(bare) }
  if ('any' in tree) return { any: tree.any.map(bare) }
  if ('not' in tree) return { not: bare(tree.not) }
  return [tree.field.id, tree.compare, tree.operand]
}
