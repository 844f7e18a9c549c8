/**
 * The local days of instants. Postgres may have another edition of the time zone data, so the days are computed here, as for filters:
 * a group must hold the records that a filter for its day finds.
 */

import { columnOf } from '../../fields/cell-sql.ts'
import { instantsOf } from '../../fields/day-sql.ts'
import type { FieldDef } from '../../fields/definition.ts'
import type { Context } from '../../platform/context.ts'
import { join, recordsOf, sql } from '../../platform/database/database.ts'
import { badInput } from '../../platform/errors.ts'
import { addDays, instant, LAST_DATE } from '../../platform/time/time.ts'
import { localDate } from '../../platform/time/time-zones.ts'
import { printSelection } from '../query/print.ts'
import type { ResolvedQuery } from '../query/selection.ts'

/** The most distinct days in one answer: half a century. The limits of each are computed in the time zone. */
export const MAX_DAYS = 20_000

/** The start of a local day, or with `day: null` the end of a day that no other one follows. */
export interface DayEdge {
  at: string
  day: string | null
}

/**
 * The edges of the local days on which the selected records have an instant, for each of the datetime fields, in ascending order. A record
 * that is created later may be on a day that is not among them.
 * @throws AppError 400 for more than `MAX_DAYS`
 */
export async function edgesOfDays(
  { db, signal }: Context,
  { selection, queryContext }: ResolvedQuery,
  fields: readonly FieldDef[],
): Promise<DayEdge[][]> {
  const dates = fields.map((field, index) => sql`(${index}::int, ${columnOf(field)}::date)`)
  const found = await db.records(selection.table.id).read<{ at: number; date: string }>(
    sql`select distinct d.at, d.date from ${recordsOf(selection.table.id)} r cross join lateral (values ${join(dates)}) d (at, date)
      where ${printSelection(selection, queryContext)} and d.date is not null order by d.at, d.date limit ${MAX_DAYS + 1}::bigint`,
    { signal },
  )
  const byField = Map.groupBy(atMostMaxDays(found, 'by'), ({ at }) => at)
  return fields.map((_, index) =>
    edgesOf(
      (byField.get(index) ?? []).map(({ date }) => date),
      queryContext.moment.timeZone,
    ),
  )
}

/** @throws AppError 400 naming the input for more than `MAX_DAYS` */
export function atMostMaxDays<T>(days: T[], input: string): T[] {
  if (days.length > MAX_DAYS) throw badInput(input, `has more than ${MAX_DAYS} different days here; narrow them by a filter`)
  return days
}

/** The starts of the local days on which an instant of these UTC dates can lie, and the end of each day that no other one follows. */
function edgesOf(dates: readonly string[], timeZone: string): DayEdge[] {
  const days = new Set<string>()
  for (const date of dates) {
    const last = localDate(instant(date, '23:59:59'), timeZone)
    for (let day = localDate(instant(date, '00:00:00'), timeZone); day < last; day = addDays(day, 1)) days.add(day)
    days.add(last)
  }
  const edges: DayEdge[] = []
  for (const day of days) {
    const { from, to } = instantsOf(day, timeZone)
    if (edges.at(-1)?.at === from) edges.pop()
    edges.push({ at: from, day })
    if (day !== LAST_DATE) edges.push({ at: to, day: null })
  }
  return edges
}
