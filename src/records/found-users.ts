/** Finds the users that a query needs before its statement, where the records are on a server without the table of users. */

import { needsNoValue } from '../fields/compares.ts'
import type { FieldDef } from '../fields/definition.ts'
import type { FoundUsers, QueryContext } from '../fields/field-type.ts'
import { TYPES } from '../fields/registry.ts'
import { selectSortKeys } from '../fields/types/user.ts'
import { type Database, join, sql } from '../platform/database/database.ts'
import { labelled } from '../platform/database/statements/statement.ts'
import { choose } from '../tables/elsewhere/choice.ts'
import { leavesOf } from '../views/filters/parse.ts'
import { conditionOnLinked } from './query/condition-sql.ts'
import type { ResolvedQuery } from './query/selection.ts'

/** The query with the users that its conditions and its order need, if its statement cannot read them. */
export const withFoundUsers = (db: Database, query: ResolvedQuery): Promise<ResolvedQuery> =>
  choose(db, query.selection.table.id, { here: async () => query, elsewhere: () => findUsers(db, query) })()

async function findUsers(db: Database, query: ResolvedQuery): Promise<ResolvedQuery> {
  const ids = await idsMeant(db, query)
  const found: ResolvedQuery = { ...query, queryContext: { ...query.queryContext, users: { ids, sortKeys: undefined } } }
  return withSortKeys(
    db,
    found,
    query.order.map(({ field }) => field),
  )
}

/** The query from `findUsers` with the sort keys of users, if one of the fields is sorted by them. */
export async function withSortKeys<Query extends ResolvedQuery>(db: Database, query: Query, fields: readonly FieldDef[]): Promise<Query> {
  const { users, accountId } = query.queryContext
  if (!users || users.sortKeys !== undefined || !fields.some(({ type }) => TYPES[type].names === 'users')) return query
  const [row] = await db.read<{ keys: string | null }>(labelled('users:sort-keys', selectSortKeys(accountId)))
  return { ...query, queryContext: { ...query.queryContext, users: { ...users, sortKeys: row?.keys ?? '{}' } } }
}

async function idsMeant(db: Database, { selection, queryContext }: ResolvedQuery): Promise<FoundUsers['ids']> {
  const meant = conditionsOf(selection, queryContext)
  if (!meant.length) return new Map()
  const selects = meant.map(({ select }, index) => sql`select ${index}::int as at, m.id from (${select}) m`)
  const found = await db.read<{ at: number; id: number }>(join(selects, ' union all '))
  const byPlace = Map.groupBy(found, ({ at }) => at)
  return new Map(meant.map(({ condition }, index) => [condition, (byPlace.get(index) ?? []).map(({ id }) => id)]))
}

/** The conditions that name users by something other than their id, each with the statement that finds the users. */
function conditionsOf({ where }: ResolvedQuery['selection'], queryContext: QueryContext) {
  return leavesOf(where).flatMap((leaf) => {
    const condition = leaf.field.link ? conditionOnLinked(leaf) : leaf
    const { field, compare } = condition
    const select = needsNoValue(compare) ? null : TYPES[field.type].usersMeant?.(condition, queryContext)
    return select ? [{ condition, select }] : []
  })
}
