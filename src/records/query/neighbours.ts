/** The records before and after one in the order of a view, and its position there (contract.md §9). */

import type { RecordRef, TableRef } from '../../platform/access/resources.ts'
import type { Answer } from '../../platform/answer.ts'
import type { Context } from '../../platform/context.ts'
import { type Database, empty, join, type Sql, sql } from '../../platform/database/database.ts'
import { labelled } from '../../platform/database/statements/statement.ts'
import { badInput, notFound } from '../../platform/errors.ts'
import { totalOf } from '../../tables/row-counts.ts'
import { readWithDefinition } from '../../tables/with-definition.ts'
import { isEmptyFirst, type Sort, wholeOrder } from '../../views/filters/order.ts'
import type { Neighbours, RecordNeighbours } from '../schema.ts'
import { comparedKeys, partsAfter, printKeys, printOrder, printRecords } from './order-sql.ts'
import { MAX_VALUES, printSelectedCount, printSelection } from './print.ts'
import { matchesText } from './read-page.ts'
import { resolveQuery } from './resolve.ts'
import { noticesOf, type ResolvedQuery } from './selection.ts'

/**
 * Returns the ids of the nearest selected records before and after the record, also for a record that is not selected itself. With
 * `position` it counts those before it, and all.
 * @throws AppError 400 naming each wrong input; 404 for an unknown view, and for a record that has just been deleted
 */
export function neighbours(
  context: Context,
  table: TableRef,
  record: RecordRef,
  { position, record_id: _, ...input }: RecordNeighbours,
): Promise<Answer<Neighbours>> {
  return readWithDefinition(context, table, async (definition) => {
    const { db, signal } = context
    const query = await resolveQuery(context, definition, input, () => notFound('View'))
    const label = matchesText(query.selection) ? undefined : 'record-neighbours'
    const statement = printNeighbours(db, query, record.id, position ?? false)
    // The statement has its conditions several times, and a search has two values for each word and field.
    if (statement.values.length > MAX_VALUES) throw badInput('search', 'has too many words for a table with so many fields')
    const [found] = await db.records(table.id).read<Neighbours>(labelled(label, statement), { signal })
    if (!found) throw notFound('Record')
    return { value: found, ...noticesOf(query) }
  })
}

function printNeighbours(db: Database, query: ResolvedQuery, recordId: number, isCounted: boolean): Sql {
  const { selection, order, queryContext } = query
  const [following, preceding] = [wholeOrder(order), wholeOrder(order).map(reversed)]
  const keys = comparedKeys(following, queryContext)
  const before = partsAfter(comparedKeys(preceding, queryContext))
  const selected = printSelection(selection, queryContext)
  const counts = isCounted
    ? sql`, (select count(*) from ${printRecords(selection.table.id, order)} where ${selected} and ${anyOf(before)}) as position,
        (${printSelectedCount(query, totalOf(db, selection.table.id))}) as total`
    : empty
  return sql`select m."~matches" as matches, ${nearest(query, preceding, before)} as previous,
      ${nearest(query, following, partsAfter(keys))} as next${counts}
    from (select r.id, (${selected}) is true as "~matches"${printKeys(order, queryContext)}
      from ${printRecords(selection.table.id, order)} where r.id = ${recordId}::int offset 0) m`
}

const reversed = (sort: Sort): Sort => ({
  field: sort.field,
  isDescending: !sort.isDescending,
  nulls: isEmptyFirst(sort) ? 'last' : 'first',
})

type Part = ReturnType<typeof partsAfter>[number]

/** The first record of the parts, in their order. A part is read if those before it have none, along an index that has the order. */
function nearest({ selection, queryContext }: ResolvedQuery, order: readonly Sort[], parts: readonly Part[]): Sql {
  const each = parts.map(
    ({ given, where }) => sql`case when ${given} then (select r.id from ${printRecords(selection.table.id, order)}
      where ${printSelection(selection, queryContext)} and ${where} order by ${printOrder(order, queryContext)} limit 1) end`,
  )
  return sql`coalesce(${join(each)})`
}

const anyOf = (parts: readonly Part[]): Sql =>
  sql`(${join(
    parts.map(({ given, where }) => sql`${given} and ${where}`),
    ' or ',
  )})`
