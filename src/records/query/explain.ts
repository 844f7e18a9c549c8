/** How a query was understood, for whoever asks why a view shows what it shows (contract.md §7). */

import type { Context } from '../../platform/context.ts'
import { join, recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import { notFound } from '../../platform/http/errors.ts'
import { leavesOf, type Tree } from '../../views/filters/parse.ts'
import type { Checked } from '../../views/filters/resolve.ts'
import { wholeOrder } from '../../views/filters/sort.ts'
import { present, type Row } from '../cells/present.ts'
import type { Explanation } from '../schema.ts'
import { printTree } from './condition-sql.ts'
import { spellSelection, spellTokens } from './predicate-text.ts'
import { columnsOf } from './print.ts'
import type { Plan } from './resolve.ts'
import { printSearch } from './search-sql.ts'

/**
 * Explains a query, and for one record what keeps it out.
 * @param page the statement that would have answered the query
 * @throws AppError 404 when the table has no record with the id
 */
export async function explain(context: Context, plan: Plan, page: Sql, recordId: number | null): Promise<Explanation> {
  const { selection, order, queryContext } = plan
  const record = recordId === null ? undefined : await explainRecord(context, plan, recordId)
  return {
    timezone: queryContext.moment.timeZone,
    me: { ...queryContext.me, name: context.actor.name },
    tokens: spellTokens(selection, queryContext),
    predicate: spellSelection(selection, queryContext),
    order: wholeOrder(order).map(({ field, isDescending }) => ({ field: field.id, dir: isDescending ? 'D' : 'A' })),
    indexes: await indexesOf(context, selection.table.id, page),
    ...(record && { record }),
  }
}

interface PlanNode {
  Schema?: string
  'Index Name'?: string
  Plans?: PlanNode[]
}

/** The indexes of the table that the planner takes for that very statement with those values, each once. */
async function indexesOf({ db }: Context, tableId: number, page: Sql): Promise<string[]> {
  const [plan] = await db.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(sql`explain (format json, verbose) ${page}`)
  const names = new Set<string>()
  // The scan of a bitmap does not say whose index it reads; the scan of the heap above it does.
  function walk({ Schema, 'Index Name': name, Plans = [] }: PlanNode, inherited?: string): void {
    const schema = Schema ?? inherited
    if (name !== undefined && schema === `t${tableId}`) names.add(name)
    for (const node of Plans) walk(node, schema)
  }
  if (plan) walk(plan['QUERY PLAN'][0].Plan)
  return [...names]
}

/** The row of the record, with whether it holds for each condition and then for each word. */
type JudgedRow = Row & { '~held': boolean[] }

async function explainRecord(
  { db }: Context,
  { selection, queryContext }: Plan,
  recordId: number,
): Promise<NonNullable<Explanation['record']>> {
  const { table, where, words } = selection
  const leaves = leavesOf(where)
  const fields = [...new Set(leaves.map(({ field }) => field))]
  const facts = [...leaves.map((leaf) => printTree(leaf, queryContext)), ...words.map((word) => printSearch([word], table))]
  const held = facts.length ? sql`array[${join(facts.map((fact) => sql`(${fact}) is true`))}]` : sql`array[]::boolean[]`
  const [row] = await db.query<JudgedRow>(
    sql`select ${columnsOf(fields)}, ${held} as "~held" from ${recordsOf(table.id)} r where r.id = ${recordId}::int`,
  )
  if (!row) throw notFound('Record')
  await present(db, queryContext.accountId, fields, [row], queryContext.lookups)

  const failing = new Set(leaves.filter((_, index) => !row['~held'][index]))
  const { holds, failed } = judge(where, failing)
  if (!holds) return { id: row.id, matches: false, failed: failed && described(failed, row) }
  const missing = words.find((_, index) => !row['~held'][leaves.length + index])
  if (missing === undefined) return { id: row.id, matches: true, failed: null }
  return { id: row.id, matches: false, failed: { column: null, compare: 'search', value: missing, actual: null } }
}

const described = ({ field, compare, value }: Checked, row: Row) => ({
  column: field.id,
  compare,
  ...(value !== undefined && { value }),
  actual: row[field.id],
})

/** Whether the tree holds, and if not the first condition that keeps it from holding; of an `any`, that of its first part. */
function judge(tree: Tree<Checked>, failing: ReadonlySet<Checked>): { holds: boolean; failed: Checked | null } {
  if ('field' in tree) return failing.has(tree) ? { holds: false, failed: tree } : { holds: true, failed: null }
  const parts = ('all' in tree ? tree.all : tree.any).map((part) => judge(part, failing))
  const [ruled, fallback] = 'all' in tree ? [parts.find(({ holds }) => !holds), true] : [parts.find(({ holds }) => holds), false]
  return ruled ?? { holds: fallback, failed: parts[0]?.failed ?? null }
}
