/** Sums, averages and counts of records by up to two fields, computed by one statement (contract.md §9). */

import { asList, columnOf } from '../../fields/cell-sql.ts'
import { firstDay } from '../../fields/day-sql.ts'
import { type FieldDef, isMultiple, type TableDef } from '../../fields/definition.ts'
import type { DayGrouping, QueryContext, ValueGrouping } from '../../fields/field-type.ts'
import { TYPES } from '../../fields/registry.ts'
import type { TableRef } from '../../platform/access/resources.ts'
import type { Answer } from '../../platform/answer.ts'
import type { Context } from '../../platform/context.ts'
import { empty, ident, join, raw, recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import { badInputs, type Issue, notFound } from '../../platform/errors.ts'
import type { List } from '../../platform/http/answers/written-json.ts'
import { withLinkedTables } from '../../tables/linked-tables.ts'
import { readWithDefinition } from '../../tables/with-definition.ts'
import { type CellTexts, present } from '../cells/present.ts'
import { withSortKeys } from '../found-users.ts'
import { columnName } from '../query/condition-sql.ts'
import { printSelection } from '../query/print.ts'
import { resolveQuery } from '../query/resolve.ts'
import { noticesOf, type ResolvedQuery } from '../query/selection.ts'
import { type GroupedField, groupedField, noUnit } from './grouped-field.ts'
import { type DayEdge, edgesOfDays } from './local-days.ts'
import { type Measure, resolveMeasures } from './measures.ts'
import type { AggregatedGroup, AggregateUnit, GroupValue, RecordsAggregate } from './schema.ts'

/**
 * Computes the measures of each group of the selected records. Only groups with records are answered, in the order of the fields, empty
 * first, or by a measure. Without `by` all records are one group, which there always is.
 * @throws AppError 400 naming each wrong input; 404 for an unknown view
 */
export function aggregate(context: Context, table: TableRef, input: RecordsAggregate): Promise<Answer<List<AggregatedGroup>>> {
  return readWithDefinition(context, table, async (definition) => {
    const { by, measures, order } = resolveAsked(definition, await withLinkedTables(context.db, definition), input)
    const { view_id, append_filters, filters, where, filter, search, table_id } = input
    const narrowing = { table_id, view_id, append_filters, filters, where, filter, search }
    const fields = [...by, ...measures].flatMap(({ field }) => field ?? [])
    const query = await resolveQuery(context, definition, narrowing, () => notFound('View'), fields)
    const resolved = await withSortKeys(
      context.db,
      query,
      by.map(({ field }) => field),
    )
    return { value: await read(context, resolved, { by, measures, order, limit: input.limit }), ...noticesOf(resolved) }
  })
}

// ── what was asked ──────────────────────────────────────────────────────────

interface Asked {
  by: (GroupedField & { unit: AggregateUnit })[]
  measures: Measure[]
  /** The index of a measure; null for the order of the fields. */
  order: { measure: number; isDescending: boolean } | null
}

/** @param linking the definition with the tables whose fields `by` may name */
function resolveAsked(table: TableDef, linking: TableDef, { by, measures, order }: RecordsAggregate): Asked {
  const issues: Issue[] = []
  const groups = (by ?? []).flatMap(({ field: name, unit }, index) => {
    const found = groupedField(linking, name, 'aggregate')
    if (typeof found === 'string') issues.push({ path: ['by', index, 'field'], message: found })
    else if (unit && found.grouping.by !== 'days') issues.push({ path: ['by', index, 'unit'], message: noUnit(found.field) })
    else return { ...found, unit: unit ?? 'day' }
    return []
  })
  const resolved = resolveMeasures(table, measures, issues)
  if (order && order.measure >= measures.length)
    issues.push({ path: ['order', 'measure'], message: `must be the index of a measure, 0 to ${measures.length - 1}` })
  if (issues.length) throw badInputs(issues)
  return {
    by: groups,
    measures: resolved,
    order: order ? { measure: order.measure, isDescending: order.dir?.toUpperCase() === 'D' } : null,
  }
}

// ── the statement ───────────────────────────────────────────────────────────

/** A field that is grouped by, as parts of the statement. */
interface PrintedGroup {
  field: FieldDef
  /** Joins what the value needs to the rows `r`. */
  join: Sql
  /** The value of a row. */
  value: Sql
  /** A further condition for the rows. */
  condition: Sql
  /** The keys by which the groups are sorted. */
  order: Sql
  /** The value of the group as a text from which `present` reads it. */
  text: Sql
}

type GroupRow = { '~total': number } & CellTexts

async function read(context: Context, resolved: ResolvedQuery, { by, measures, order, limit }: Asked & { limit: number }) {
  const { db, signal } = context
  const { selection, queryContext } = resolved
  const { id } = selection.table
  const groups = await printGroups(context, resolved, by)
  const values = [
    ...groups.map(({ value }, index) => sql`${value} as ${groupColumn(index)}`),
    ...measures.map((measure, index) => sql`${measure.sql(queryContext)} as ${measureColumn(index)}`),
  ]
  const keys = [...(order ? [orderByMeasure(order)] : []), ...groups.map((group) => group.order)]
  const texts = [
    ...groups.map(({ text }, index) => sql`(${text})::text as ${groupColumn(index)}`),
    ...measures.map((_, index) => sql`g.${measureColumn(index)}::text as ${measureColumn(index)}`),
  ]
  const rows = await db.records(id).read<GroupRow>(
    sql`with summed as (select ${join(values)} from ${recordsOf(id)} r ${joined(groups.map((group) => group.join))}
        where ${printSelection(selection, queryContext)}${joined(groups.map(({ condition }) => condition))}
        ${groups.length ? sql`group by ${join(groups.map((_, index) => raw(String(index + 1))))}` : empty})
      select count(*) over () as "~total", ${join(texts)} from summed g
      ${keys.length ? sql`order by ${join(keys)}` : empty} limit ${limit}::bigint`,
    { signal },
  )
  const shown: GroupValue[][] = []
  for (const [index, { field }] of groups.entries()) shown.push(await valuesOf(context, queryContext, field, rows, `~group${index}`))
  return {
    rows: rows.map((row, at) => ({
      group: shown.map((of) => of[at] ?? null),
      values: measures.map(({ result }, index) => result(row[`~measure${index}`] as string | null)),
    })),
    total: rows[0]?.['~total'] ?? 0,
  }
}

// No field id can contain a tilde.
export const groupColumn = (index: number): Sql => ident(`~group${index}`)
const measureColumn = (index: number): Sql => ident(`~measure${index}`)
const joined = (parts: readonly Sql[]): Sql => (parts.length ? join(parts, ' ') : empty)

/** An empty result is the smallest, as an empty value is. */
const orderByMeasure = ({ measure, isDescending }: NonNullable<Asked['order']>): Sql =>
  sql`g.${measureColumn(measure)} ${isDescending ? raw('desc nulls last') : raw('asc nulls first')}`

async function printGroups(context: Context, resolved: ResolvedQuery, by: Asked['by']): Promise<PrintedGroup[]> {
  const { queryContext } = resolved
  const local = by.flatMap(({ field, grouping }) => (grouping.by === 'days' && grouping.isInstant ? [field] : []))
  const edges = local.length ? await edgesOfDays(context, resolved, local) : []
  return by.map(({ field, grouping, unit }, index) =>
    grouping.by === 'value'
      ? printValues(field, grouping, index, queryContext)
      : printDays(field, grouping, index, { unit, queryContext, edges: grouping.isInstant ? edges.shift() : undefined }),
  )
}

/**
 * A record is in a group for each of its values, and in the empty one without any.
 * @param index of the column `groupColumn(index)` of the groups `g`
 */
export function printValues(field: FieldDef, grouping: ValueGrouping, index: number, queryContext: QueryContext): PrintedGroup {
  const [group, alias, column] = [sql`g.${groupColumn(index)}`, ident(`~values${index}`), columnOf(field)]
  const isList = isMultiple(field.type)
  const order = sql`${group} is not null, ${grouping.key(field, group, queryContext)} asc nulls first, ${group}`
  const printed = { field, condition: empty, order, text: isList ? asList(group) : group }
  const other = TYPES[field.type].names === 'records' ? linkedTable(field, queryContext) : undefined
  if (other === null) return { ...printed, join: empty, value: sql`null::int` }
  if (!isList) {
    if (!other) return { ...printed, join: empty, value: grouping.value(field, column) }
    return { ...printed, join: sql`left join ${other} ${alias} on ${alias}.id = ${column}`, value: sql`${alias}.id` }
  }
  const isRecord = other ? sql` join ${other} l on l.id = v.one` : empty
  const each = sql`select v.one from (select ${grouping.value(field, sql`e.one`)} as one from unnest(${column}) e (one)) v${isRecord}
    where v.one is not null`
  return { ...printed, join: sql`left join lateral (${each}) ${alias} on true`, value: sql`${alias}.one` }
}

/** The records that a lookup refers to; null if their table is deleted. */
const linkedTable = ({ lookup_table_id: id }: FieldDef, { lookups }: QueryContext): Sql | null =>
  id !== null && lookups.has(id) ? recordsOf(id) : null

function printDays(
  field: FieldDef,
  { isInstant }: DayGrouping,
  index: number,
  { unit, queryContext, edges = [] }: { unit: AggregateUnit; queryContext: QueryContext; edges: DayEdge[] | undefined },
): PrintedGroup {
  const [group, column] = [sql`g.${groupColumn(index)}`, columnOf(field)]
  const days = sql`(${edges.map(({ day }) => day)}::date[])`
  const day = isInstant ? sql`${days}[width_bucket(${column}, ${edges.map(({ at }) => at)}::timestamp[])]` : column
  const value = firstDay(day, unit, queryContext.moment.weekStart)
  // A record that was created after the days were read may be on none of them.
  const condition = isInstant ? sql` and (${column} is null or ${day} is not null)` : empty
  return { field, join: empty, value, condition, order: sql`${group} asc nulls first`, text: group }
}

// ── the answer ──────────────────────────────────────────────────────────────

/** The values of the groups as in a record, of their texts in a column. That of a list is the only value of one. */
export async function valuesOf(
  { db }: Pick<Context, 'db'>,
  { accountId, lookups }: QueryContext,
  field: FieldDef,
  rows: readonly CellTexts[],
  column: string,
): Promise<GroupValue[]> {
  if (TYPES[field.type].groups?.by === 'days') return rows.map((row) => row[column] as string | null)
  const cells = rows.map((row) => ({ [columnName(field)]: row[column] }))
  const shown = await present(db, accountId, [field], cells, lookups)
  return shown.map((values) => {
    const value = values[field.id]
    return (Array.isArray(value) ? (value[0] ?? null) : value) as GroupValue
  })
}
