/** Counts the records of each value of a field: the columns of a kanban, the days of a calendar (contract.md §7). */

import { columnOf } from '../../fields/cell-sql.ts'
import type { Moment } from '../../fields/date-tokens.ts'
import type { FieldDef, TableDef } from '../../fields/definition.ts'
import type { Grouping, ValueGrouping } from '../../fields/field-type.ts'
import type { TableRef } from '../../platform/access/resources.ts'
import type { Answer } from '../../platform/answer.ts'
import type { Context } from '../../platform/context.ts'
import { recordsOf, sql } from '../../platform/database/database.ts'
import { badInput, notFound } from '../../platform/errors.ts'
import { startOfMonths, startOfWeek } from '../../platform/time/time.ts'
import { withLinkedTables } from '../../tables/linked-tables.ts'
import { readWithDefinition } from '../../tables/with-definition.ts'
import { type CellTexts, present, textOf } from '../cells/present.ts'
import { withSortKeys } from '../found-users.ts'
import { printSelection } from '../query/print.ts'
import { resolveQuery } from '../query/resolve.ts'
import { noticesOf, type ResolvedQuery } from '../query/selection.ts'
import { type GroupedField, groupedField, noUnit } from './grouped-field.ts'
import { atMostMaxDays, edgesOfDays, MAX_DAYS } from './local-days.ts'
import type { GroupUnit, RecordGroup, RecordsGroups } from './schema.ts'

/**
 * Counts the records of each value of a field. Returns the groups in the order of the field, empty first. Every option of a select and both
 * values of a checkbox are listed, with or without records; other values only if a record has them.
 * @throws AppError 400 naming each wrong input; 404 for an unknown view
 */
export function countGroups(context: Context, table: TableRef, input: RecordsGroups): Promise<Answer<{ rows: RecordGroup[] }>> {
  return readWithDefinition(context, table, async (definition) => {
    const { field, grouping } = groupedBy(await withLinkedTables(context.db, definition), input)
    const query = await resolveQuery(context, definition, input, () => notFound('View'), [field])
    const resolved = await withSortKeys(context.db, query, [field])
    return { value: { rows: await countedGroups(context, resolved, field, grouping, input.unit ?? 'day') }, ...noticesOf(resolved) }
  })
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

function groupedBy(table: TableDef, { by, unit }: RecordsGroups): GroupedField {
  const found = groupedField(table, by, 'groups')
  if (typeof found === 'string') throw badInput('by', found)
  if (unit && found.grouping.by !== 'days') throw badInput('unit', noUnit(found.field))
  return found
}

// ── by value ────────────────────────────────────────────────────────────────

async function countValues(
  { db, signal }: Context,
  { selection, queryContext }: ResolvedQuery,
  field: FieldDef,
  grouping: ValueGrouping,
): Promise<RecordGroup[]> {
  const value = sql`g."~value"`
  const rows = await db.records(selection.table.id).read<CellTexts & { '~count': number }>(
    sql`select ${textOf(field, value)}, count(*) as "~count" from (
        select ${grouping.value(field, columnOf(field))} as "~value" from ${recordsOf(selection.table.id)} r
        where ${printSelection(selection, queryContext)}) g
      group by ${value} order by ${grouping.key(field, value, queryContext)} asc nulls first, ${value}`,
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
  return atMostMaxDays(days, 'by')
}

/** Counts instants by local day. */
async function countLocalDays(context: Context, resolved: ResolvedQuery, field: FieldDef): Promise<DayCount[]> {
  const [edges = []] = await edgesOfDays(context, resolved, [field])
  const { selection, queryContext } = resolved
  const spans = await context.db.records(selection.table.id).read<{ span: number | null; count: number }>(
    sql`select width_bucket(${columnOf(field)}, ${edges.map(({ at }) => at)}::timestamp[]) as span, count(*) as count
      from ${recordsOf(selection.table.id)} r where ${printSelection(selection, queryContext)} group by 1 order by 1 nulls first`,
    { signal: context.signal },
  )
  return spans.flatMap(({ span, count }) => {
    if (span === null) return { day: null, count }
    // A record that was created between the two statements may be on a day that the first did not find.
    const day = edges[span - 1]?.day
    return day ? { day, count } : []
  })
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
