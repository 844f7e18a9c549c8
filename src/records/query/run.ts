/**
 * The record query, as its callers see it. A request passes each file of this room once: resolve.ts checks it against the table, print.ts
 * writes the statement, read-page.ts runs it, and write-rows.ts writes the rows. Only this file retries when the table changes during a
 * request.
 */

import type { TableRef } from '../../platform/access/resources.ts'
import type { Answer } from '../../platform/answer.ts'
import type { Context } from '../../platform/context.ts'
import { notFound } from '../../platform/errors.ts'
import type { WrittenList } from '../../platform/http/answers/written-json.ts'
import { totalOf } from '../../tables/row-counts.ts'
import { readWithDefinition } from '../../tables/with-definition.ts'
import type { Row } from '../cells/present.ts'
import type { Counted, Explanation, RecordsQuery } from '../schema.ts'
import { explainPage } from './explain.ts'
import { printCount } from './print.ts'
import { readPage } from './read-page.ts'
import { resolvePage, resolveQuery } from './resolve.ts'
import { isRestricted, noticesOf } from './selection.ts'

/**
 * Returns one page of records, or with `explain: true` what `explain` returns. The number of statements does not depend on the number
 * of rows.
 * @throws AppError 400 naming each wrong input; 500 `View not found` (api.md, Errors); 404 if the table has no record `record_id`
 */
export function query(context: Context, table: TableRef, input: RecordsQuery): Promise<Answer<WrittenList<Row> | Explanation>> {
  if (input.explain) return explain(context, table, input)
  return readWithDefinition(context, table, async (definition) => {
    const page = await resolvePage(context, definition, input)
    return { value: await readPage(context, page), ...noticesOf(page) }
  })
}

/**
 * Returns how the query was understood, and for `record_id` the condition that excludes that record.
 * @throws AppError as `query` does
 */
export function explain(context: Context, table: TableRef, input: RecordsQuery): Promise<Answer<Explanation>> {
  return readWithDefinition(context, table, async (definition) => {
    const page = await resolvePage(context, definition, { ...input, explain: true })
    return { value: await explainPage(context, page, input.record_id ?? null), ...noticesOf(page) }
  })
}

/**
 * Counts the records that match, and all records of the table. Takes the input of a query, of which the order, the page and the fields
 * make no difference to the count.
 * @throws AppError 400 naming each wrong input; 404 for an unknown view
 */
export function count(context: Context, table: TableRef, asked: RecordsQuery): Promise<Answer<Counted>> {
  const { table_id, view_id, append_filters, filters, where, filter, search } = asked
  const input = { table_id, view_id, append_filters, filters, where, filter, search }
  return readWithDefinition(context, table, async (definition) => {
    const resolved = await resolveQuery(context, definition, input, () => notFound('View'))
    const { db, signal } = context
    const statement = printCount(resolved, totalOf(db, table.id))
    const [counted] = await db.records(table.id).read<{ count: number; total: number }>(statement, { signal })
    const value = { ...(counted ?? { count: 0, total: 0 }), total_approx: false as const, restricted: isRestricted(resolved.selection) }
    return { value, ...noticesOf(resolved) }
  })
}
