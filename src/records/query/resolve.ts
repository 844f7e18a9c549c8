/** What a request asks for: the part of the view and the request's own, resolved against the fields of the table. */

import type { FieldDef, TableDef } from '../../fields/definition.ts'
import type { Context } from '../../platform/context.ts'
import type { AppError } from '../../platform/http/errors.ts'
import { MAX_ID } from '../../platform/http/schemas.ts'
import { leavesOf, parseConditions } from '../../views/filters/parse.ts'
import { resolveTree } from '../../views/filters/resolve.ts'
import { resolveOrder, type Sort } from '../../views/filters/sort.ts'
import { type SavedQuery, savedQuery } from '../../views/saved.ts'
import { lookupsOf } from '../cells/present.ts'
import type { RecordsCount, RecordsQuery } from '../schema.ts'
import type { QueryContext } from './condition-sql.ts'
import type { Selection } from './print.ts'
import { wordsOf } from './search-sql.ts'

export interface Plan {
  selection: Selection
  order: readonly Sort[]
  queryContext: QueryContext
}

/** What is left unread when a view is queried without append_filters. */
const IGNORED = ['filters', 'where', 'filter', 'order_by', 'order_dir', 'order'] as const

/**
 * Filters of the view and of the request are joined by AND; the request's order wins where it counts at all.
 * @param fields beside those of the conditions and the order: what will be read
 * @throws AppError 400 naming what is wrong; what `viewNotFound` makes when the table has no such view
 */
export async function planOf(
  context: Context,
  table: TableDef,
  input: RecordsCount & Partial<RecordsQuery>,
  viewNotFound: () => AppError,
  fields: readonly FieldDef[] = [],
): Promise<Plan> {
  const saved = await viewOf(context, table, input.view_id, viewNotFound)
  const words = wordsOf(input.search ?? '')
  if (saved && !input.append_filters) {
    context.ignored(...IGNORED.filter((name) => input[name] !== undefined))
    return planned(context, { table, where: saved.where, words }, saved.order, saved, fields)
  }
  const own = resolveTree(parseConditions(input), table)
  const order = resolveOrder(input, table)
  const where = saved ? { all: [saved.where, own] } : own
  return planned(context, { table, where, words }, order.length ? order : (saved?.order ?? []), saved, fields)
}

function planned(
  { actor, now }: Context,
  selection: Selection,
  order: readonly Sort[],
  saved: SavedQuery | undefined,
  fields: readonly FieldDef[],
): Plan {
  const queryContext: QueryContext = {
    moment: { now, timeZone: actor.timeZone, weekStart: saved?.weekStart ?? 'monday' },
    me: { id: actor.userId, email: actor.email },
    accountId: actor.accountId,
    lookups: lookupsOf([...fields, ...[...leavesOf(selection.where), ...order].map(({ field }) => field)]),
  }
  return { selection, order, queryContext }
}

async function viewOf({ db }: Context, table: TableDef, viewId: unknown, viewNotFound: () => AppError): Promise<SavedQuery | undefined> {
  if (viewId === undefined || viewId === 0) return undefined
  const isId = typeof viewId === 'number' && Number.isInteger(viewId) && viewId > 0 && viewId <= MAX_ID
  const saved = isId ? await savedQuery(db, table, viewId) : undefined
  if (!saved) throw viewNotFound()
  return saved
}
