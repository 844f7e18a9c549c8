/** The measures of records/aggregate (contract.md §9). Numbers are computed as decimals: a binary fraction could change their digits. */

import { fieldNamed } from '../../fields/by-id.ts'
import { type CellJson, cellOfText, numberJson } from '../../fields/cell-json.ts'
import { columnOf } from '../../fields/cell-sql.ts'
import { cellValue, type FieldDef, type TableDef, withArticle } from '../../fields/definition.ts'
import type { QueryContext, ValueMeasure } from '../../fields/field-type.ts'
import { FIELD_TYPES, TYPES } from '../../fields/registry.ts'
import { raw, type Sql, sql } from '../../platform/database/database.ts'
import type { Issue } from '../../platform/errors.ts'
import { parseExact } from '../../platform/exact-json.ts'
import { jsonText } from '../cells/present.ts'
import type { MeasureResult, RecordsAggregate } from './schema.ts'

type Asked = RecordsAggregate['measures'][number]

export interface Measure {
  /** Null for the number of records. */
  field: FieldDef | null
  /** Prints the aggregate over the rows `r` of a group. */
  sql(context: QueryContext): Sql
  /** The result of a text that PostgreSQL printed. */
  result(text: string | null): MeasureResult
}

/** The measures that were asked for. Adds to `issues` what is wrong with them. */
export function resolveMeasures(table: TableDef, asked: readonly Asked[], issues: Issue[]): Measure[] {
  return asked.flatMap(({ fn, field: name }, index) => {
    const refuse = (key: string, message: string): [] => {
      issues.push({ path: ['measures', index, key], message })
      return []
    }
    if (fn === 'count') {
      if (name !== undefined && name !== null) return refuse('field', 'does not go with count')
      return { field: null, sql: () => sql`count(*)`, result: wholeNumber }
    }
    if (name === undefined || name === null) return refuse('field', 'is required')
    const field = fieldNamed(table, name)
    if (typeof field === 'string') return refuse('field', field)
    if (!hasMeasure(field, fn)) return refuse('fn', `${withArticle(field.type)} does not have ${fn}; ${typesWith(fn)} do`)
    return measureOf(fn, field)
  })
}

type FieldMeasure = Exclude<Asked['fn'], 'count'>

const isOfValues = (fn: FieldMeasure): fn is ValueMeasure => fn !== 'filled' && fn !== 'empty' && fn !== 'distinct'

function hasMeasure({ type }: Pick<FieldDef, 'type'>, fn: FieldMeasure): boolean {
  const { isMultiple, measures } = TYPES[type]
  if (isOfValues(fn)) return measures.includes(fn)
  return fn !== 'distinct' || !isMultiple
}

const typesWith = (fn: FieldMeasure): string => FIELD_TYPES.filter((type) => hasMeasure({ type }, fn)).join(', ')

function measureOf(fn: FieldMeasure, field: FieldDef): Measure {
  const value = cellValue(field)
  switch (fn) {
    case 'filled':
      return { field, sql: (context) => sql`count(*) filter (where not ${isEmpty(field, context)})`, result: wholeNumber }
    case 'empty':
      return { field, sql: (context) => sql`count(*) filter (where ${isEmpty(field, context)})`, result: wholeNumber }
    case 'distinct':
      return { field, sql: (context) => distinct(field, context), result: wholeNumber }
    case 'checked':
      return { field, sql: () => sql`count(*) filter (where ${value})`, result: wholeNumber }
    case 'sum':
      return { field, sql: () => sql`trim_scale(sum(${value}::numeric))`, result: decimal }
    case 'avg':
      return { field, sql: () => average(sql`${value}::numeric`), result: decimal }
    case 'median':
      return { field, sql: () => median(sql`${value}::numeric`), result: decimal }
    case 'min':
    case 'max': {
      const write = TYPES[field.type].json(field)
      return { field, sql: () => sql`${raw(fn)}(${value})`, result: (text) => read(text, write) }
    }
  }
}

/** The condition that the cell is empty. It is never true for a type that has no empty values. */
function isEmpty(field: FieldDef, context: QueryContext): Sql {
  const { compares, isEmpty } = TYPES[field.type]
  return compares.is_empty ? isEmpty(field, columnOf(field), context) : sql`false`
}

function distinct(field: FieldDef, context: QueryContext): Sql {
  const { groups } = TYPES[field.type]
  const value = groups?.by === 'value' ? groups.value(field, columnOf(field)) : cellValue(field)
  return sql`count(distinct ${value}) filter (where not ${isEmpty(field, context)})`
}

/** The most decimals of an average. */
const [SCALE, ONE] = [raw('0.00000001'), raw('100000000')]

/**
 * The average rounded once, half away from zero. `/` of Postgres has a limited number of digits and would round before. Null over nothing,
 * because `div` of null is null.
 */
function average(value: Sql): Sql {
  const [total, number] = [sql`sum(${value})`, sql`count(${value})::numeric`]
  return sql`trim_scale(sign(${total}) * div(abs(${total}) * 2 * ${ONE} + ${number}, 2 * ${number}) * ${SCALE})`
}

/** The value in the middle, or the average of the two there: the lower and the upper one, which are the same for an odd number. */
function median(value: Sql): Sql {
  const middle = (direction: 'asc' | 'desc') => sql`percentile_disc(0.5) within group (order by ${value} ${raw(direction)})`
  return sql`trim_scale(round((${middle('asc')} + ${middle('desc')}) * 0.5, 8))`
}

const wholeNumber = (text: string | null): MeasureResult => Number(text)

/** A larger number is a text, because readers of JSON would change its digits. */
const MOST = 10n ** 15n

function decimal(text: string | null): MeasureResult {
  const [whole = '', fraction = ''] = (text ?? '').replace('-', '').split('.')
  const isLarge = BigInt(whole) > MOST || (BigInt(whole) === MOST && fraction !== '')
  return isLarge ? text : read(text, numberJson)
}

const read = (text: string | null, write: CellJson): MeasureResult =>
  parseExact(jsonText((json) => write(cellOfText(text), json, NOTHING_NAMED))) as MeasureResult

const NOTHING_NAMED = new Map()
