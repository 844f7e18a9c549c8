/** Counts the records of each value of a field: the columns of a kanban, the days of a calendar (contract.md §7). */

import { fieldsById, notAField } from '../../fields/by-id.ts'
import { columnOf } from '../../fields/cell-sql.ts'
import type { Moment } from '../../fields/date-tokens.ts'
import { instantsOf } from '../../fields/day-sql.ts'
import { type FieldDef, type TableDef, withArticle } from '../../fields/definition.ts'
import type { Grouping } from '../../fields/field-type.ts'
import { FIELD_TYPES, TYPES } from '../../fields/registry.ts'
import type { Answer } from '../../platform/answer.ts'
import type { Context } from '../../platform/context.ts'
import { recordsOf, sql } from '../../platform/database/database.ts'
import { badInput, notFound } from '../../platform/errors.ts'
import { addDays, instant, LAST_DATE, startOfMonths, startOfWeek } from '../../platform/time/time.ts'
import { localDate } from '../../platform/time/time-zones.ts'
import { type CellTexts, present, textOf } from '../cells/present.ts'
import { withSortKeys } from '../found-users.ts'
import type { GroupUnit, RecordGroup, RecordsGroups } from '../schema.ts'
import { sortKey } from './order-sql.ts'
import { printSelection } from './print.ts'
import { resolveQuery } from './resolve.ts'
import { noticesOf, type ResolvedQuery } from './selection.ts'

/** The most distinct days in one answer: half a century. The limits of each are computed in the time zone. */
const MAX_DAYS = 20_000

/**
 * Returns the groups in the order of the field, empty first. Every option of a select and both values of a checkbox are listed, with
 * or without records; other values only if a record has them.
 * @throws AppError 400 naming each wrong input; 404 for an unknown view
 */
export async function countGroups(context: Context, table: TableDef, input: RecordsGroups): Promise<Answer<{ rows: RecordGroup[] }>> {
  const { field, grouping } = groupedField(table, input)
  const query = await resolveQuery(context, table, input, () => notFound('View'), [field])
  const resolved = await withSortKeys(context.db, query, [field])
  return { value: { rows: await countedGroups(context, resolved, field, grouping, input.unit ?? 'day') }, ...noticesOf(resolved) }
}

async function countedGroups(
  context: Context,
  resolved: ResolvedQuery,
  field: FieldDef,
  grouping: Grouping,
  unit: GroupUnit,
): Promise<RecordGroup[]> {
  if (grouping.by === 'value') return completed(grouping.values(field), await countValues(context, resolved, field, grouping))
  const days = await (grouping.isInstant ? countLocalDays : countDates)(context, resolved, field)
  return folded(days, unit, resolved.queryContext.moment)
}

/** The types that records can be grouped by. */
const GROUPABLE = FIELD_TYPES.filter((type) => TYPES[type].groups)

function groupedField(table: TableDef, { by, unit }: RecordsGroups): { field: FieldDef; grouping: Grouping } {
  const field = fieldsById(table).get(by)
  if (!field) throw badInput('by', notAField(by))
  const { groups: grouping } = TYPES[field.type]
  if (!grouping) throw badInput('by', `${withArticle(field.type)} cannot be grouped by; ${GROUPABLE.join(', ')} can`)
  if (unit && grouping.by !== 'days') throw badInput('unit', `does not go with ${withArticle(field.type)}`)
  return { field, grouping }
}

// ── by value ────────────────────────────────────────────────────────────────

async function countValues(
  { db, signal }: Context,
  { selection, queryContext }: ResolvedQuery,
  field: FieldDef,
  grouping: Extract<Grouping, { by: 'value' }>,
): Promise<RecordGroup[]> {
  const [order, value] = [sortKey(field, queryContext), grouping.value(field, columnOf(field))]
  const rows = await db.records(selection.table.id).read<CellTexts & { '~count': number }>(
    sql`select ${textOf(field, value)}, count(*) as "~count" from ${recordsOf(selection.table.id)} r
      where ${printSelection(selection, queryContext)} group by ${value} order by ${order} asc nulls first, ${value}`,
    { signal },
  )
  const shown = await present(db, queryContext.accountId, [field], rows, queryContext.lookups)
  return rows.map((row, index) => ({ value: shown[index]?.[field.id] as RecordGroup['value'], count: row['~count'] }))
}

/** Adds the listed values that no record has. */
function completed(values: readonly unknown[] | null, counted: RecordGroup[]): RecordGroup[] {
  if (!values) return counted
  const counts = new Map<unknown, number>(counted.map(({ value, count }) => [value, count]))
  const listed = values.map((value) => ({ value: value as RecordGroup['value'], count: counts.get(value) ?? 0 }))
  return [...counted.filter(({ value }) => value === null), ...listed]
}

// ── by day ──────────────────────────────────────────────────────────────────

interface DayCount {
  day: string | null
  count: number
}

async function countDates({ db, signal }: Context, { selection, queryContext }: ResolvedQuery, field: FieldDef): Promise<DayCount[]> {
  const days = await db.records(selection.table.id).read<DayCount>(
    sql`select ${columnOf(field)} as day, count(*) as count from ${recordsOf(selection.table.id)} r
      where ${printSelection(selection, queryContext)} group by 1 order by 1 nulls first limit ${MAX_DAYS + 1}::bigint`,
    { signal },
  )
  return atMostMaxDays(days)
}

/**
 * Counts instants by local day. Postgres may have another edition of the time zone data, so the days are computed here, as for filters:
 * a group must hold the records that a filter for its day finds.
 */
async function countLocalDays({ db, signal }: Context, { selection, queryContext }: ResolvedQuery, field: FieldDef): Promise<DayCount[]> {
  const [column, records, selected] = [columnOf(field), recordsOf(selection.table.id), printSelection(selection, queryContext)]
  const onRecords = db.records(selection.table.id)
  const dates = await onRecords.read<{ date: string }>(
    sql`select distinct ${column}::date as date from ${records} r
      where ${selected} and ${column} is not null order by 1 limit ${MAX_DAYS + 1}::bigint`,
    { signal },
  )
  const edges = edgesOf(
    atMostMaxDays(dates).map(({ date }) => date),
    queryContext.moment.timeZone,
  )
  const spans = await onRecords.read<{ span: number | null; count: number }>(
    sql`select width_bucket(${column}, ${edges.map(({ at }) => at)}::timestamp[]) as span, count(*) as count
      from ${records} r where ${selected} group by 1 order by 1 nulls first`,
    { signal },
  )
  return spans.flatMap(({ span, count }) => {
    if (span === null) return { day: null, count }
    // A record that was created between the two statements may be on a day that the first did not find.
    const day = edges[span - 1]?.day
    return day ? { day, count } : []
  })
}

function atMostMaxDays<T>(days: T[]): T[] {
  if (days.length > MAX_DAYS) throw badInput('by', `has more than ${MAX_DAYS} different days here; narrow them by a filter`)
  return days
}

/** The starts of the local days on which an instant of these UTC dates can lie, and the end of each day that no other one follows. */
function edgesOf(dates: readonly string[], timeZone: string): { at: string; day: string | null }[] {
  const days = new Set<string>()
  for (const date of dates) {
    const last = localDate(instant(date, '23:59:59'), timeZone)
    for (let day = localDate(instant(date, '00:00:00'), timeZone); day < last; day = addDays(day, 1)) days.add(day)
    days.add(last)
  }
  const edges: { at: string; day: string | null }[] = []
  for (const day of days) {
    const { from, to } = instantsOf(day, timeZone)
    if (edges.at(-1)?.at === from) edges.pop()
    edges.push({ at: from, day })
    if (day !== LAST_DATE) edges.push({ at: to, day: null })
  }
  return edges
}

/** Sums up the days of each week or month under its first day. */
function folded(days: readonly DayCount[], unit: GroupUnit, { weekStart }: Moment): RecordGroup[] {
  const counts = new Map<string | null, number>()
  for (const { day, count } of days) {
    const value = day === null || unit === 'day' ? day : unit === 'week' ? startOfWeek(day, weekStart) : startOfMonths(day, 1)
    counts.set(value, (counts.get(value) ?? 0) + count)
  }
  return [...counts].map(([value, count]) => ({ value, count }))
}
