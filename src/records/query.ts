/** The record query: parse, resolve against the table's fields, print one statement, present (design.md §3). */
import { AppError, badInput, notFound } from '../errors.ts'
import { MAX_ID } from '../schemas.ts'
import type { Scope } from '../scope.ts'
import type { FieldDef, TableDef } from '../tables/fields.ts'
import type { TableRef } from '../targets.ts'
import { leavesOf, parseConditions } from '../views/filter.ts'
import { fieldsOf, resolveTree } from '../views/resolve.ts'
import { savedQuery } from '../views/saved.ts'
import { resolveOrder, type Sort } from '../views/sort.ts'
import type { Context } from './condition.ts'
import { cursorAt, fingerprint, positionOf } from './cursor.ts'
import { type Lookups, lookupsOf, present, type Row } from './present.ts'
import { isRestricted, KEY, printCount, printPage, printSelectedCount, type Selection } from './print.ts'
import type { Counted, RecordPage, RecordsCount, RecordsQuery } from './schema.ts'
import { wordsOf } from './search.ts'
import { withDefinition } from './with-definition.ts'

/**
 * One page of records, through a view or not. The number of statements does not depend on the rows.
 * @throws AppError 400 naming what is wrong; 500 `View not found` (api.md, Errors)
 */
export function query(scope: Scope, table: TableRef, input: RecordsQuery): Promise<RecordPage> {
  return withDefinition(scope, table, async (definition) => {
    const { db, actor } = scope
    const fields = chosenFields(definition, input.fields)
    const { selection, order, weekStart } = await planOf(scope, definition, input, viewGone)
    const lookups = lookupsOf([...fields, ...namedFields(selection, order)])
    const context = contextOf(scope, weekStart, lookups)
    const walk = walkOf(scope, selection, order, context, input)
    const page = printPage({ ...selection, fields, order, limit: input.limit, offset: input.offset, after: walk?.after }, context)
    const [found, counted] = await Promise.all([
      db.query<Row>(page, 'records-page'),
      input.count ? db.query<{ count: number }>(printSelectedCount(selection, context)) : undefined,
    ])
    const { rows, next_cursor } = walk ? walk.pageOf(found) : { rows: found }
    await present(db, actor.accountId, fields, rows, lookups)
    return { rows, ...(counted && { total: counted[0]?.count ?? 0 }), ...(next_cursor && { next_cursor }) }
  })
}

/** How a walk by cursor goes on, and what it makes of the rows of a page; undefined for a query that is none. */
function walkOf({ settings }: Scope, selection: Selection, order: readonly Sort[], context: Context, input: RecordsQuery) {
  const { cursor, offset, limit } = input
  if (cursor === undefined || cursor === null) return undefined
  if (offset > 0) throw badInput('offset', 'does not go with a cursor')
  if (order.length > 1) throw badInput('order', 'must have one key to go with a cursor')
  const query = fingerprint(selection, order[0], context)
  const after = positionOf(cursor, query, settings.secretKey)
  const pageOf = (found: readonly Row[]) => {
    const rows = found.slice(0, limit).map(({ [KEY]: _, ...row }) => row as Row)
    const last = found[limit - 1]
    if (!last || found.length <= limit) return { rows }
    return {
      rows,
      next_cursor: cursorAt({ key: (last[KEY] as string | null | undefined) ?? null, id: last.id }, query, settings.secretKey),
    }
  }
  return { after, pageOf }
}

/**
 * How many records match, and how many there are.
 * @throws AppError 400 naming what is wrong; 404 for a view that the table does not have
 */
export function count(scope: Scope, table: TableRef, input: RecordsCount): Promise<Counted> {
  return withDefinition(scope, table, async (definition) => {
    const { db } = scope
    const { selection, weekStart } = await planOf(scope, definition, input, () => notFound('View'))
    const lookups = lookupsOf(namedFields(selection, []))
    const [counted] = await db.query<{ count: number; total: number }>(printCount(selection, contextOf(scope, weekStart, lookups)))
    return { ...(counted ?? { count: 0, total: 0 }), total_approx: false, restricted: isRestricted(selection) }
  })
}

/** The 500 that api.md fixes for records/query. */
const viewGone = () => new AppError('INTERNAL_SERVER_ERROR', 'View not found')

/** What is left unread when a view is queried without append_filters. */
const IGNORED = ['filters', 'where', 'filter', 'order_by', 'order_dir', 'order'] as const

/** The view's part and the request's own: filters are joined by AND, the request's order wins where it counts at all. */
async function planOf(scope: Scope, table: TableDef, input: RecordsCount & Partial<RecordsQuery>, viewNotFound: () => AppError) {
  const saved = await viewOf(scope, table, input.view_id, viewNotFound)
  const words = wordsOf(input.search ?? '')
  if (saved && !input.append_filters) {
    scope.ignored(...IGNORED.filter((name) => input[name] !== undefined))
    return { selection: { table, where: saved.where, words }, order: orderOf(saved.sort), weekStart: saved.weekStart }
  }
  const own = resolveTree(parseConditions(input), table)
  const order = resolveOrder(input, table)
  return {
    selection: { table, where: saved ? { all: [saved.where, own] } : own, words },
    order: order.length ? order : orderOf(saved?.sort ?? null),
    weekStart: saved?.weekStart ?? 'monday',
  } as const
}

const orderOf = (sort: Sort | null): readonly Sort[] => (sort ? [sort] : [])

async function viewOf({ db }: Scope, table: TableDef, viewId: unknown, viewNotFound: () => AppError) {
  if (viewId === undefined || viewId === 0) return undefined
  const isId = typeof viewId === 'number' && Number.isInteger(viewId) && viewId > 0 && viewId <= MAX_ID
  const saved = isId ? await savedQuery(db, table, viewId) : undefined
  if (!saved) throw viewNotFound()
  return saved
}

function chosenFields(table: TableDef, ids: readonly string[] | null | undefined): readonly FieldDef[] {
  if (!ids?.length) return table.fields
  const fields = fieldsOf(table)
  return [...new Set(ids)].map((id, index) => {
    const field = fields.get(id)
    if (!field) throw badInput(['fields', index], `'${id.slice(0, 60)}' is not a field of this table`)
    return field
  })
}

const namedFields = ({ where }: Selection, order: readonly Sort[]): FieldDef[] => [...leavesOf(where), ...order].map(({ field }) => field)

const contextOf = ({ actor, now }: Scope, weekStart: Context['moment']['weekStart'], lookups: Lookups): Context => ({
  moment: { now, timeZone: actor.timeZone, weekStart },
  me: { id: actor.userId, email: actor.email },
  accountId: actor.accountId,
  lookups,
})
