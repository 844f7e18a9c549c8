/** Explains how a query was understood, and why a view shows or hides a record (contract.md §7). */

import type { Context } from '../../platform/context.ts'
import { join, recordsOf, sql } from '../../platform/database/database.ts'
import { type PlanNode, planOf } from '../../platform/database/query-plan.ts'
import { notFound } from '../../platform/errors.ts'
import { spellKey, wholeOrder } from '../../views/filters/order.ts'
import { leavesOf, type Tree } from '../../views/filters/parse.ts'
import type { ResolvedCondition } from '../../views/filters/resolve-conditions.ts'
import { type CellTexts, present, selectTexts, type Values } from '../cells/present.ts'
import type { Explanation } from '../schema.ts'
import { printTree } from './condition-sql.ts'
import { spellSelection, spellTokens } from './predicate-text.ts'
import { printWholePage } from './print.ts'
import { printSearch } from './search-sql.ts'
import type { ResolvedPage, ResolvedQuery } from './selection.ts'

/**
 * Explains a query, and for one record which condition excludes it.
 * @throws AppError 404 if the table has no record with the id
 */
export async function explainPage(context: Context, page: ResolvedPage, recordId: number | null): Promise<Explanation> {
  const { selection, order, queryContext } = page
  const record = recordId === null ? undefined : await explainRecord(context, page, recordId)
  return {
    timezone: queryContext.moment.timeZone,
    me: { ...queryContext.me, name: context.actor.name },
    tokens: spellTokens(selection, queryContext),
    predicate: spellSelection(selection, queryContext),
    order: wholeOrder(order).map(spellKey),
    indexes: await indexesOf(context, page),
    ...(record && { record }),
  }
}

/** The table's indexes that Postgres's planner chooses for the statement of the page with these values, each once. */
async function indexesOf({ db }: Context, page: ResolvedPage): Promise<string[]> {
  const tableSchema = `t${page.selection.table.id}`
  const plan = await planOf(db.records(page.selection.table.id), printWholePage(page))
  const names = new Set<string>()
  // A bitmap index scan does not name the schema of its index; the bitmap heap scan above it does.
  function walk({ Schema, 'Index Name': name, Plans = [] }: PlanNode, inherited?: string): void {
    const schema = Schema ?? inherited
    if (name !== undefined && schema === tableSchema) names.add(name)
    for (const node of Plans) walk(node, schema)
  }
  if (plan) walk(plan)
  return [...names]
}

/** The texts of a record. `~held` says for each condition, and then for each word, whether the record meets it. */
type JudgedRow = { id: number; '~held': boolean[] } & CellTexts

async function explainRecord(
  { db }: Context,
  { selection, queryContext }: ResolvedQuery,
  recordId: number,
): Promise<NonNullable<Explanation['record']>> {
  const { table, where, words } = selection
  const leaves = leavesOf(where)
  const fields = [...new Set(leaves.map(({ field }) => field))]
  const facts = [...leaves.map((leaf) => printTree(leaf, queryContext)), ...words.map((word) => printSearch([word], table))]
  const held = facts.length ? sql`array[${join(facts.map((fact) => sql`(${fact}) is true`))}]` : sql`array[]::boolean[]`
  const [row] = await db
    .records(table.id)
    .read<JudgedRow>(sql`select ${selectTexts(fields)}, ${held} as "~held" from ${recordsOf(table.id)} r where r.id = ${recordId}::int`)
  if (!row) throw notFound('Record')
  const [values] = await present(db, queryContext.accountId, fields, [row], queryContext.lookups)

  const failing = new Set(leaves.filter((_, index) => !row['~held'][index]))
  const { holds, reason } = judge(where, failing, false)
  if (!holds) return { id: row.id, matches: false, failed: reason && described(reason, { ...values, id: row.id }) }
  const missing = words.find((_, index) => !row['~held'][leaves.length + index])
  if (missing === undefined) return { id: row.id, matches: true, failed: null }
  return { id: row.id, matches: false, failed: { column: null, compare: 'search', value: missing, actual: null } }
}

/** A condition that decides, and whether it does so because it holds: an odd number of `not` stands around it. */
interface Reason {
  condition: ResolvedCondition
  isNegated: boolean
}

const described = ({ condition: { field, compare, operand, value }, isNegated }: Reason, values: Values) => ({
  column: field.id,
  compare,
  ...(value !== undefined && { value }),
  ...(operand.kind === 'list' && operand.isAll && { all: true as const }),
  actual: values[field.id],
  ...(isNegated && { not: true as const }),
})

/**
 * Whether the record meets the tree, or with `isNegated` its opposite, and if not the first condition that decides so; of alternatives,
 * that of the first.
 */
function judge(
  tree: Tree<ResolvedCondition>,
  failing: ReadonlySet<ResolvedCondition>,
  isNegated: boolean,
): { holds: boolean; reason: Reason | null } {
  if ('not' in tree) return judge(tree.not, failing, !isNegated)
  if ('field' in tree) {
    const holds = failing.has(tree) === isNegated
    return { holds, reason: holds ? null : { condition: tree, isNegated } }
  }
  const parts = ('all' in tree ? tree.all : tree.any).map((part) => judge(part, failing, isNegated))
  // The opposite of an `all` is an `any` of the opposites.
  const mustAll = 'all' in tree !== isNegated
  const [ruled, fallback] = mustAll ? [parts.find(({ holds }) => !holds), true] : [parts.find(({ holds }) => holds), false]
  return ruled ?? { holds: fallback, reason: parts[0]?.reason ?? null }
}
