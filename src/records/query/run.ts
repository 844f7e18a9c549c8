/** The record query: parse, resolve against the table's fields, print one statement, present (design.md §3). */

import type { FieldDef, TableDef } from '../../fields/definition.ts'
import { noteUse } from '../../indexes/uses.ts'
import type { TableRef } from '../../platform/access/resources.ts'
import type { Context } from '../../platform/context.ts'
import type { Sql } from '../../platform/database/database.ts'
import { AppError, badInput, notFound } from '../../platform/http/errors.ts'
import { leavesOf } from '../../views/filters/parse.ts'
import { fieldsOf, shortened } from '../../views/filters/resolve.ts'
import { present, type Row } from '../cells/present.ts'
import type { Counted, QueryAnswer, RecordsCount, RecordsQuery } from '../schema.ts'
import { readWithDefinition } from '../with-definition.ts'
import { cursorAt, fingerprint, positionOf } from './cursor.ts'
import { explain } from './explain.ts'
import { isRestricted, KEY, printCount, printNearPage, printPage, printSelectedCount, type Selection } from './print.ts'
import { type Plan, planOf } from './resolve.ts'

/**
 * One page of records, through a view or not; with `explain`, how the query was understood. The number of statements does not
 * depend on the rows.
 * @throws AppError 400 naming what is wrong; 500 `View not found` (api.md, Errors); 404 for a record_id that the table does not have
 */
export function query(context: Context, table: TableRef, input: RecordsQuery): Promise<QueryAnswer> {
  return readWithDefinition(context, table, async (definition): Promise<QueryAnswer> => {
    const { db, actor } = context
    const fields = chosenFields(definition, input.fields)
    const plan = await planOf(context, definition, input, viewGone, fields)
    const { selection, order, queryContext } = plan
    const walk = walkOf(context, plan, input)
    const asked = { ...selection, fields, order, limit: input.limit, offset: input.offset, after: walk?.after }
    const whole = () => printPage(asked, queryContext)
    // The type says why an explanation passes for a page.
    if (input.explain) return explain(context, plan, whole(), input.record_id ?? null) as Promise<QueryAnswer>
    if (input.record_id != null) throw badInput('record_id', 'needs explain: true')
    const near = printNearPage(asked, queryContext)
    const page = near ?? whole()
    const ask = (statement: Sql) => db.query<Row>(statement, seeksText(selection) ? undefined : 'records-page', context)
    const startedAt = performance.now()
    const [found, counted] = await Promise.all([
      ask(page)
        .then((rows) => (near && rows.length <= input.limit ? ask(whole()) : rows))
        .finally(() => noteUse(context, { ...selection, order, page, tookMs: performance.now() - startedAt })),
      input.count ? db.query<{ count: number }>(printSelectedCount(selection, queryContext), undefined, context) : undefined,
    ])
    const { rows, next_cursor } = walk ? walk.pageOf(found) : { rows: found }
    await present(db, actor.accountId, fields, rows, queryContext.lookups)
    return { rows, ...(counted && { total: counted[0]?.count ?? 0 }), ...(next_cursor && { next_cursor }) }
  })
}

const PATTERNS: ReadonlySet<string> = new Set(['contains', 'starts_with', 'ends_with'])

/** Planned for its values each time: a plan that is made for any word is wrong by a factor of a hundred for a rare one. */
const seeksText = ({ where, words }: Selection) => words.length > 0 || leavesOf(where).some(({ compare }) => PATTERNS.has(compare))

/** How a walk by cursor goes on, and what it makes of the rows of a page; undefined for a query that is none. */
function walkOf({ settings }: Context, { selection, order, queryContext }: Plan, { cursor, offset, limit }: RecordsQuery) {
  if (cursor === undefined || cursor === null) return undefined
  if (offset > 0) throw badInput('offset', 'does not go with a cursor')
  if (order.length > 1) throw badInput('order', 'must have one key to go with a cursor')
  const query = fingerprint(selection, order[0], queryContext)
  const after = positionOf(cursor, query, settings.secretKey)
  const pageOf = (found: readonly Row[]) => {
    const rows = found.slice(0, limit)
    const last = found.length > limit ? rows.at(-1) : undefined
    const key = (last?.[KEY] as string | null | undefined) ?? null
    // JSON leaves it out. Copies of the rows without it would cost as much as reading them.
    for (const row of rows) row[KEY] = undefined
    return { rows, ...(last && { next_cursor: cursorAt({ key, id: last.id }, query, settings.secretKey) }) }
  }
  return { after, pageOf }
}

/**
 * How many records match, and how many there are.
 * @throws AppError 400 naming what is wrong; 404 for a view that the table does not have
 */
export function count(context: Context, table: TableRef, input: RecordsCount): Promise<Counted> {
  return readWithDefinition(context, table, async (definition) => {
    const { db } = context
    const { selection, queryContext } = await planOf(context, definition, input, () => notFound('View'))
    const [counted] = await db.query<{ count: number; total: number }>(printCount(selection, queryContext), undefined, context)
    return { ...(counted ?? { count: 0, total: 0 }), total_approx: false, restricted: isRestricted(selection) }
  })
}

/** The 500 that api.md fixes for records/query. */
const viewGone = () => new AppError('INTERNAL_SERVER_ERROR', 'View not found')

function chosenFields(table: TableDef, ids: readonly string[] | null | undefined): readonly FieldDef[] {
  if (!ids?.length) return table.fields
  const fields = fieldsOf(table)
  const chosen = ids.map((id, index) => {
    const field = fields.get(id)
    if (!field) throw badInput(['fields', index], `'${shortened(id)}' is not a field of this table`)
    return field
  })
  return [...new Set(chosen)]
}
