/** Identifies a query of records, so that a cursor continues only the query that it was issued for. */
import { hash } from 'node:crypto'
import type { QueryContext } from '../../fields/field-type.ts'
import type { Sort } from '../../views/filters/order.ts'
import type { Tree } from '../../views/filters/parse.ts'
import type { ResolvedCondition } from '../../views/filters/resolve-conditions.ts'
import type { Selection } from './selection.ts'

/**
 * Identifies a walk by its table, caller, conditions, search words and order. The fields, the limit and the count may differ from
 * page to page. Date tokens are taken as they were written, so that a walk continues past midnight.
 */
export function queryFingerprint({ table, where, words }: Selection, sort: Sort | undefined, { me, moment }: QueryContext): string {
  const order = sort && [sort.field.id, sort.field.type, sort.isDescending, sort.field.options?.map(({ id }) => id)]
  const asked = JSON.stringify([table.id, me.id, moment.timeZone, moment.weekStart, bare(where), words, order])
  return hash('sha256', asked, 'buffer').subarray(0, 12).toString('base64url')
}

function bare(tree: Tree<ResolvedCondition>): unknown {
  if ('all' in tree) return { all: tree.all.map(bare) }
  if ('any' in tree) return { any: tree.any.map(bare) }
  return [tree.field.id, tree.compare, tree.operand]
}
