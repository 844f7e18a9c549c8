/** Which records meet the conditions of a request that changes or deletes them, and whether it may (contract.md §10, where). */

import type { TableDef } from '../../fields/definition.ts'
import type { Context } from '../../platform/context.ts'
import { empty, recordsOf, sql } from '../../platform/database/database.ts'
import { AppError, badInput, conflict, notFound } from '../../platform/errors.ts'
import { totalOf } from '../../tables/row-counts.ts'
import { isGiven, leavesOf } from '../../views/filters/parse.ts'
import type { LockedRow } from '../bulk/update-rows.ts'
import { printSelectedCount, printSelection } from '../query/print.ts'
import { resolveQuery } from '../query/resolve.ts'
import type { ResolvedQuery, Selection } from '../query/selection.ts'
import type { AskedWhere } from './schema.ts'

/** The most records that one request may change or delete. */
const MAX_MATCHED = 100_000
/** A request changes so many records itself, in one transaction. More are left to a job. */
export const MOST_AT_ONCE = 1_000

/** Resolves the conditions, which are those of records/count. @throws AppError as `count` does; 400 without any condition */
export async function resolveWhere(context: Context, definition: TableDef, input: AskedWhere): Promise<ResolvedQuery> {
  const resolved = await resolveQuery(context, definition, input, () => notFound('View'))
  if (isUnconditional(resolved.selection) && !isEveryRecord(input.filter)) {
    const reason = 'is needed: a filter, a search, or a view that has filters; filter: {all: []} stands for every record'
    throw badInput('filter', reason)
  }
  return resolved
}

const isUnconditional = ({ where, words }: Selection): boolean => !words.length && !leavesOf(where).length

/** Only the filter that is written down for it stands for every record, so that conditions that were left out change none. */
function isEveryRecord(filter: unknown): boolean {
  if (typeof filter !== 'object' || filter === null) return false
  const groups = Object.entries(filter).filter(([, parts]) => isGiven(parts))
  const [[name, parts] = []] = groups
  return groups.length === 1 && name === 'all' && Array.isArray(parts) && !parts.length
}

/** Counts the records that match. @throws AppError 400 for more than one request may change */
export async function countMatching({ db, signal }: Context, resolved: ResolvedQuery): Promise<number> {
  const { id } = resolved.selection.table
  const [counted] = await db.records(id).read<{ count: number }>(printSelectedCount(resolved, totalOf(db, id)), { signal })
  return counted?.count ?? 0
}

/** @throws AppError 400 */
export function requireFew(matched: number): void {
  if (matched <= MAX_MATCHED) return
  throw new AppError('BAD_REQUEST', `${matched} records match; one request may change at most ${MAX_MATCHED}`)
}

/** @throws AppError 409 with the number of records that match now */
export function requireExpected(matched: number, expected: number): void {
  if (matched !== expected)
    throw conflict(`${matched} ${matched === 1 ? 'record matches' : 'records match'} now, not ${expected}`, { matched })
}

/** The ids of the records that match, in their order. @param most how many are read */
export async function matchingIds({ db, signal }: Context, { selection, queryContext }: ResolvedQuery, most: number): Promise<number[]> {
  const { id } = selection.table
  const matching = sql`
    select r.id from ${recordsOf(id)} r where ${printSelection(selection, queryContext)} order by r.id limit ${most}`
  return (await db.records(id).read<{ id: number }>(matching, { signal })).map((row) => row.id)
}

/**
 * Locks the records that match, in the order of their ids, as everybody who locks several does. A record that another transaction has just
 * changed is looked at again, so that all of them match until the transaction ends.
 * @param among the ids of the records to look at; by default all, of which at most one more is locked than a request changes itself
 */
export function lockMatching(
  { db, signal }: Context,
  { selection, queryContext }: ResolvedQuery,
  among?: readonly number[],
): Promise<LockedRow[]> {
  const { id } = selection.table
  const matching = sql`
    select r.id, r.version from ${recordsOf(id)} r
    where ${among ? sql`r.id = any(${among}::int[]) and ` : empty}${printSelection(selection, queryContext)}
    order by r.id limit ${among?.length ?? MOST_AT_ONCE + 1} for update of r`
  return db.records(id).read<LockedRow>(matching, { signal })
}
