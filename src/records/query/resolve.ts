/** Checks a request against the fields of the table, its saved view and its caller. Every wrong input is refused here. */

import { fieldNamed } from '../../fields/by-id.ts'
import type { FieldDef, TableDef } from '../../fields/definition.ts'
import type { QueryContext } from '../../fields/field-type.ts'
import { BoundedMap } from '../../platform/collections/bounded-map.ts'
import type { Context } from '../../platform/context.ts'
import { AppError, badInput } from '../../platform/errors.ts'
import { decodeCursor } from '../../platform/http/answers/cursor.ts'
import { MAX_ID } from '../../platform/row-ids.ts'
import type { WeekStart } from '../../platform/time/time.ts'
import type { SecretKeys } from '../../settings.ts'
import { withLinkedTables } from '../../tables/linked-tables.ts'
import { resolveOrder, type Sort } from '../../views/filters/order.ts'
import { type FilterTree, isGiven, leavesOf, mapLeaves, parseConditions, type Tree } from '../../views/filters/parse.ts'
import { type ResolvedCondition, resolveTree, unknownOptions } from '../../views/filters/resolve-conditions.ts'
import { type SavedQuery, savedQuery } from '../../views/saved.ts'
import { lookupsOf } from '../cells/present.ts'
import { withFoundUsers } from '../found-users.ts'
import type { Narrowing, RecordsQuery } from '../schema.ts'
import { queryFingerprint } from './fingerprint.ts'
import type { ResolvedPage, ResolvedQuery, Selection, Walk } from './selection.ts'

/**
 * Resolves a request for a page of records.
 * @throws AppError 400 naming each wrong input; 500 `View not found`, which api.md fixes for records/query
 */
export async function resolvePage(context: Context, definition: TableDef, input: RecordsQuery): Promise<ResolvedPage> {
  const table = await withLinkedTables(context.db, definition)
  const fields = chosenFields(table, input.fields)
  const viewNotFound = () => new AppError('INTERNAL_SERVER_ERROR', 'View not found')
  const resolved = await resolveQuery(context, table, input, viewNotFound, fields)
  const walk = walkOf(resolved, input, context.settings.secretKeys)
  if (!input.explain && input.record_id != null) throw badInput('record_id', 'needs explain: true')
  const { include, limit, offset } = input
  return { ...resolved, fields, include, limit, offset, walk, isCounted: input.count ?? false }
}

/** Inputs that are ignored when a view is queried without append_filters. */
const IGNORED_WITH_VIEW = ['filters', 'where', 'filter', 'order_by', 'order_dir', 'order'] as const

/**
 * Resolves conditions, search and order. The filters of the view and of the request are joined by AND; the order of the request
 * replaces the view's.
 * @param fields the fields to read, whose lookups are resolved with those of the conditions and the order
 * @throws AppError 400 naming each wrong input; the error of `viewNotFound` if the table has no such view
 */
export async function resolveQuery(
  context: Context,
  definition: TableDef,
  input: Narrowing & Partial<RecordsQuery>,
  viewNotFound: () => AppError,
  fields: readonly FieldDef[] = [],
): Promise<ResolvedQuery> {
  const table = await withLinkedTables(context.db, definition)
  const saved = await viewOf(context, table, input.view_id, viewNotFound)
  const resolved = narrowedBy(context, table, input, saved, fields)
  return withFoundUsers(context.db, resolved)
}

function narrowedBy(
  context: Context,
  table: TableDef,
  input: Narrowing & Partial<RecordsQuery>,
  saved: SavedQuery | undefined,
  fields: readonly FieldDef[],
): ResolvedQuery {
  const words = searchWords(input.search ?? '')
  if (saved && !input.append_filters) {
    const ignored = IGNORED_WITH_VIEW.filter((name) => isGiven(input[name]))
    return { ...inContext(context, { table, where: saved.where, words }, saved.order, saved, fields), ignored, unknownOptions: [] }
  }
  const requested = resolveTree(parseConditions(input), table)
  const order = resolveOrder(input, table)
  const where = saved ? { all: [saved.where, requested] } : requested
  return {
    ...inContext(context, { table, where, words }, order.length ? order : (saved?.order ?? []), saved, fields),
    ignored: [],
    unknownOptions: unknownOptionsIn(requested),
  }
}

/**
 * Resolves conditions that a job has kept, with the time and the time zone of their request.
 * @throws AppError 400 if the table has no such field any more, or it has another type
 */
export async function resolveKept(context: Context, definition: TableDef, kept: KeptConditions): Promise<ResolvedQuery> {
  const table = await withLinkedTables(context.db, definition)
  const where = resolveTree(
    mapLeaves(kept.where, (condition) => ({ ...condition, path: ['where', condition.column] })),
    table,
  )
  const resolved = inContext(context, { table, where, words: kept.words }, [], kept, [])
  return withFoundUsers(context.db, { ...resolved, ignored: [], unknownOptions: [] })
}

/** Conditions of a request and its view, for a job. */
export interface KeptConditions {
  where: FilterTree
  words: readonly string[]
  weekStart: WeekStart
}

export const keptConditions = ({ selection: { where, words }, queryContext }: ResolvedQuery): KeptConditions => ({
  where: mapLeaves(where, ({ field, compare, value, operand }) => ({
    ...{ column: field.id, compare, ...(value !== undefined && { value }) },
    ...(operand.kind === 'list' && operand.isAll && { all: true as const }),
  })),
  words,
  weekStart: queryContext.moment.weekStart,
})

const unknownOptionsIn = (requested: Tree<ResolvedCondition>): string[] =>
  leavesOf(requested).flatMap((condition) => unknownOptions(condition).map(({ value }) => `${condition.field.id}=${value}`))

function inContext(
  { actor, now }: Context,
  selection: Selection,
  order: readonly Sort[],
  saved: Pick<SavedQuery, 'weekStart'> | undefined,
  fields: readonly FieldDef[],
): Omit<ResolvedQuery, 'ignored' | 'unknownOptions'> {
  const queryContext: QueryContext = {
    moment: { now, timeZone: actor.timeZone, weekStart: saved?.weekStart ?? 'monday' },
    me: { id: actor.userId, email: actor.email },
    accountId: actor.accountId,
    lookups: lookupsOf([...fields, ...[...leavesOf(selection.where), ...order].map(({ field }) => field)]),
  }
  return { selection, order, queryContext }
}

async function viewOf({ db }: Context, table: TableDef, viewId: unknown, viewNotFound: () => AppError): Promise<SavedQuery | undefined> {
  if (!isGiven(viewId) || viewId === 0) return undefined
  const isId = typeof viewId === 'number' && Number.isInteger(viewId) && viewId > 0 && viewId <= MAX_ID
  const saved = isId ? await savedQuery(db, table, viewId) : undefined
  if (!saved) throw viewNotFound()
  return saved
}

/** A statement takes 65,535 values; 100 words in 300 fields use at most 60,000. */
const MAX_WORDS = 100

/** The distinct words of a search. */
function searchWords(search: string): string[] {
  const words = [...new Set(search.split(/\s+/).filter((word) => word !== ''))]
  if (words.length > MAX_WORDS) throw badInput('search', `must have at most ${MAX_WORDS} different words`)
  return words
}

/** A list of 300 fields takes 40 KB with what is derived from it. */
const MAX_LISTS = 500

/** The lists that were chosen lately. The same list is the same object, so that what is derived from it is found with it (memo.ts). */
const lists = new BoundedMap<string, { table: TableDef; fields: readonly FieldDef[] }>(MAX_LISTS)

/** The fields with these ids, or all without ids. @throws AppError 400 naming an id that no field has */
export function chosenFields(table: TableDef, ids: readonly string[] | null | undefined): readonly FieldDef[] {
  if (!ids?.length) return table.fields
  const name = `${table.id} ${JSON.stringify(ids)}`
  const known = lists.get(name)
  if (known?.table === table) return known.fields
  const fields = listed(table, ids)
  lists.set(name, { table, fields })
  return fields
}

function listed(table: TableDef, ids: readonly string[]): FieldDef[] {
  const chosen = ids.map((id, index) => {
    const field = fieldNamed(table, id)
    if (typeof field === 'string') throw badInput(['fields', index], field)
    return field
  })
  return [...new Set(chosen)]
}

function walkOf(
  { selection, order, queryContext }: ResolvedQuery,
  { cursor, offset }: Pick<RecordsQuery, 'cursor' | 'offset'>,
  secretKeys: SecretKeys,
): Walk | undefined {
  if (cursor === undefined || cursor === null) return undefined
  if (offset > 0) throw badInput('offset', 'does not go with a cursor')
  const fingerprint = queryFingerprint(selection, order, queryContext)
  return { fingerprint, after: decodeCursor(cursor, fingerprint, secretKeys) }
}
