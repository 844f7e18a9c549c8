/** One checked condition as SQL, for every type of field and every compare that `views/compares.ts` gives it. Values are bound. */

import { type FieldDef, isMultiple } from '../../fields/definition.ts'
import { empty, ident, join, raw, recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import { dayRange, formatInstant, isInRange, LAST_DATE } from '../../platform/time.ts'
import { roundedTo } from '../../tables/cells/rewrite-cells.ts'
import type { Compare } from '../../views/filters/compares.ts'
import { dateMeant, type Meaning, type Moment, meaningOf } from '../../views/filters/date-tokens.ts'
import type { Tree } from '../../views/filters/parse.ts'
import type { Checked, Operand } from '../../views/filters/resolve.ts'

/** What a query is printed for. */
export interface QueryContext {
  moment: Moment
  /** The acting user. */
  me: { id: number; email: string }
  accountId: number
  /** The tables that lookups point to, with the id of the field that is their title (null: none). Deleted tables are missing. */
  lookups: ReadonlyMap<number, { titleField: string | null }>
}

export const NEVER = sql`false`
export const ALWAYS = sql`true`

/** The column of a field. Always with its alias: in a subselect a bare name could mean a column of the inner table. */
export const columnOf = (field: { id: string }): Sql => sql`r.${ident(field.id)}`

/**
 * The value of a field that holds one. An option that was removed is none, and digits that are too many count as rounded, though cells
 * hold them for a while. The ids stand in the text, so that Postgres knows the same expression again where it groups.
 */
export function cellValue(field: FieldDef): Sql {
  const column = columnOf(field)
  if (field.is_rounding && field.decimals !== null) return roundedTo(column, field.decimals)
  return field.removed_options.length ? sql`(case when ${column} <> all(${idsOf(field)}) then ${column} end)` : column
}

/** A column to read, named like its field. Removed options are left to present.ts, which knows no title of them. */
export const columnRead = (field: FieldDef): Sql => (field.is_rounding ? sql`${cellValue(field)} as ${ident(field.id)}` : columnOf(field))

const idsOf = ({ removed_options }: FieldDef): Sql => raw(`'{${removed_options.map(Number).join()}}'::int[]`)

/** The whole tree; an empty `all` is true, an empty `any` false. */
export function printTree(tree: Tree<Checked>, queryContext: QueryContext): Sql {
  if ('all' in tree) return group(tree.all, queryContext, ' and ', ALWAYS)
  if ('any' in tree) return group(tree.any, queryContext, ' or ', NEVER)
  return printCondition(tree, queryContext)
}

function group(parts: Tree<Checked>[], queryContext: QueryContext, connector: string, whenEmpty: Sql): Sql {
  if (parts.length === 0) return whenEmpty
  const printed = parts.map((part) => printTree(part, queryContext))
  return printed.length === 1 ? (printed[0] as Sql) : sql`(${join(printed, connector)})`
}

function printCondition(condition: Checked, queryContext: QueryContext): Sql {
  const { field, compare } = condition
  if (compare === 'is_empty') return isEmpty(condition, queryContext)
  if (compare === 'is_not_empty') return sql`not ${isEmpty(condition, queryContext)}`
  switch (field.type) {
    case 'text':
    case 'long_text':
    case 'email':
    case 'url':
    case 'phone':
      return onText(condition)
    case 'number':
      return onNumber(condition)
    case 'checkbox':
      return onCheckbox(condition)
    case 'date':
      return scalar(columnOf(field), compare, sql`${dateOf(condition.operand, queryContext.moment)}::date`)
    case 'datetime':
      return onDatetime(condition, queryContext.moment)
    case 'time':
      return scalar(columnOf(field), compare, sql`${condition.operand.kind === 'time' ? condition.operand.time : null}::time`)
    case 'select':
    case 'multi_select':
      return onOptions(condition)
    case 'user':
    case 'multi_user':
      return onUser(condition, queryContext)
    case 'lookup':
    case 'multi_lookup':
      return onLookup(condition, queryContext)
    case 'file':
      return sql`exists (select from jsonb_array_elements(${columnOf(field)}) e where ${like(unicode(sql`e->>'name'`), compare, textOf(condition.operand))})`
  }
}

/** A lookup is empty, too, when the records that it names have been deleted since: that is how it is read. */
function isEmpty({ field }: Checked, { lookups }: QueryContext): Sql {
  const column = columnOf(field)
  if (field.type !== 'lookup' && field.type !== 'multi_lookup') return isBlank(field)
  if (field.lookup_table_id === null || !lookups.has(field.lookup_table_id)) return ALWAYS
  const named = field.type === 'lookup' ? sql`l.id = ${column}` : sql`l.id = any(${column})`
  return sql`(not exists (select from ${recordsOf(field.lookup_table_id)} l where ${named}))`
}

/** Without a value, or with none but options that were removed. */
function isBlank(field: FieldDef): Sql {
  const column = columnOf(field)
  if (!field.removed_options.length) return sql`(${column} is null)`
  return isMultiple(field.type)
    ? sql`(${column} is null or ${column} <@ ${idsOf(field)})`
    : sql`(${column} is null or ${column} = any(${idsOf(field)}))`
}

// ── one value ───────────────────────────────────────────────────────────────

/** `!=` includes empty values, everything else leaves them out. */
function scalar(column: Sql, compare: Compare, value: Sql): Sql {
  if (compare === '!=') return sql`${column} is distinct from ${value}`
  return sql`${column} ${operator(compare)} ${value}`
}

const OPERATORS: Partial<Record<Compare, Sql>> = { '=': raw('='), '>': raw('>'), '<': raw('<'), '>=': raw('>='), '<=': raw('<=') }

function operator(compare: Compare): Sql {
  const printed = OPERATORS[compare]
  if (!printed) throw new Error(`No SQL operator for ${compare}`)
  return printed
}

function onText({ field, compare, operand }: Checked): Sql {
  const text = textOf(operand)
  if (compare === '=' || compare === '!=') return scalar(columnOf(field), compare, sql`${text}::text`)
  if (compare === 'contains' || compare === 'starts_with' || compare === 'ends_with') return like(columnOf(field), compare, text)
  return sql`lower(${columnOf(field)}) ${operator(compare)} ${lower(text)}`
}

function onNumber({ field, compare, operand }: Checked): Sql {
  if (operand.kind === 'text') return like(unicode(sql`trim_scale(${cellValue(field)}::numeric)::text`), compare, operand.text)
  const decimal = operand.kind === 'number' ? operand.decimal : null
  // The key is an int: as a number of its own type the value can use the primary key.
  const isInt = field.key && decimal !== null && /^\d{1,9}$/.test(decimal)
  const holds = scalar(cellValue(field), compare, isInt ? sql`${decimal}::int` : sql`${decimal}::numeric`)
  return field.is_rounding ? sql`(${holds}${near(field, compare, sql`${decimal}::numeric`)})` : holds
}

/** What is rounded lies within 1 of its cell: an index on the column narrows it down to those. */
function near(field: FieldDef, compare: Compare, value: Sql): Sql {
  const column = columnOf(field)
  const above = sql` and ${column} >= ${value} - 1`
  const below = sql` and ${column} <= ${value} + 1`
  if (compare === '!=') return empty
  return compare === '=' ? sql`${above}${below}` : compare.startsWith('>') ? above : below
}

function onCheckbox({ field, compare, operand }: Checked): Sql {
  const wanted = operand.kind === 'boolean' && operand.value === (compare === '=')
  return wanted ? sql`${columnOf(field)} is true` : sql`${columnOf(field)} is not true`
}

function dateOf(operand: Operand, moment: Moment): string {
  if (operand.kind === 'date') return operand.date
  if (operand.kind === 'token') return dateMeant(operand.token, moment)
  throw new Error(`No date in ${operand.kind}`)
}

/** A date means the whole local day: `=` within it, `>` after its end, `<` before its start. */
function onDatetime({ field, compare, operand }: Checked, moment: Moment): Sql {
  const column = columnOf(field)
  const meaning = momentOf(operand, moment)
  if ('instant' in meaning) return scalar(column, compare, timestamp(meaning.instant))
  const day = dayRange(meaning.day, moment.timeZone)
  // In zones east of UTC hours follow the last date that have none of their own: they are its, as in groups.
  const [from, to] = [timestamp(day.from), meaning.day === LAST_DATE ? raw("'infinity'::timestamp") : timestamp(day.to)]
  switch (compare) {
    case '=':
      return sql`(${column} >= ${from} and ${column} < ${to})`
    case '!=':
      return sql`(${column} is null or ${column} < ${from} or ${column} >= ${to})`
    case '>':
      return sql`${column} >= ${to}`
    case '>=':
      return sql`${column} >= ${from}`
    case '<':
      return sql`${column} < ${from}`
    default:
      return sql`${column} < ${to}`
  }
}

function momentOf(operand: Operand, moment: Moment): Meaning {
  if (operand.kind === 'date') return { day: operand.date }
  if (operand.kind === 'instant') return { instant: operand.instant }
  if (operand.kind === 'token') return meaningOf(operand.token, moment)
  throw new Error(`No moment in ${operand.kind}`)
}

const timestamp = (instant: Date): Sql => sql`${stampOf(instant)}::timestamp`

/** The instant as Postgres reads it. The first and the last of all days can end where no record lies, and there is no text for that. */
export function stampOf(instant: Date): string {
  if (isInRange(instant)) return formatInstant(instant)
  return instant.getTime() < 0 ? '-infinity' : 'infinity'
}

// ── values that name something ──────────────────────────────────────────────

function onOptions({ field, compare, operand }: Checked): Sql {
  const ids = operand.kind === 'options' ? operand.ids : []
  const column = columnOf(field)
  // A title that no option has: no record has it, and all have something else.
  if (ids.length === 0) return compare === '!=' ? ALWAYS : NEVER
  if (isMultiple(field.type)) return holds(column, compare, sql`${ids[0]}::int`)
  if (compare === '=' || compare === '!=') return scalar(column, compare, sql`${ids[0]}::int`)
  return sql`${column} = any(${ids}::int[])`
}

/** A list has the value, or with `!=` has it not. */
function holds(column: Sql, compare: Compare, value: Sql): Sql {
  const has = sql`${column} @> array[${value}]`
  return compare === '!=' ? sql`(${column} is null or not ${has})` : has
}

function onUser({ field, compare, operand }: Checked, { me, accountId }: QueryContext): Sql {
  const column = columnOf(field)
  if (!isMultiple(field.type) && compare !== '=' && compare !== '!=') {
    const part = operand.kind === 'me' ? me.email : textOf(operand)
    return sql`${column} in (select u.id from users u where u.account_id = ${accountId}
      and (${like(unicode(sql`u.name`), compare, part)} or ${like(unicode(sql`u.email`), compare, part)}))`
  }
  const id = operand.kind === 'me' ? sql`${me.id}::int` : operand.kind === 'id' ? sql`${operand.id}::int` : userId(operand, accountId)
  return isMultiple(field.type) ? holds(column, compare, id) : scalar(column, compare, id)
}

/** The user with that address; 0, which nobody has, for an unknown one. */
const userId = (operand: Operand, accountId: number): Sql =>
  sql`coalesce((select u.id from users u where u.account_id = ${accountId} and u.email = ${operand.kind === 'email' ? operand.email : null}), 0)`

function onLookup({ field, compare, operand }: Checked, { lookups }: QueryContext): Sql {
  const column = columnOf(field)
  const table = field.lookup_table_id === null ? undefined : lookups.get(field.lookup_table_id)
  // A deleted table leaves nothing to look up: every cell reads as empty.
  if (!table || field.lookup_table_id === null) return compare === '!=' ? ALWAYS : NEVER
  const records = recordsOf(field.lookup_table_id)
  if (operand.kind === 'text') {
    if (table.titleField === null) return NEVER
    return sql`${column} in (select l.id from ${records} l where ${like(sql`l.${ident(table.titleField)}`, compare, operand.text)})`
  }
  // A record that has been deleted since is left out of every cell, so it matches none.
  const id = sql`coalesce((select l.id from ${records} l where l.id = ${operand.kind === 'id' ? operand.id : 0}::int), 0)`
  return isMultiple(field.type) ? holds(column, compare, id) : scalar(column, compare, id)
}

// ── text ────────────────────────────────────────────────────────────────────

const textOf = (operand: Operand): string => (operand.kind === 'text' ? operand.text : '')

/** Gives text the collation that columns of records have: case by the rules of Unicode, whatever the database's own is. */
export const unicode = (text: Sql): Sql => sql`(${text}) collate "pg_c_utf8"`
export const lower = (text: string): Sql => sql`lower(${unicode(sql`${text}::text`)})`

/** contains, starts_with and ends_with: ignoring case, with % _ \ as they stand. The text has the collation of `unicode`. */
export function like(text: Sql, compare: Compare, part: string): Sql {
  const escaped = part.replaceAll(/[\\%_]/g, '\\$&')
  const pattern = `${compare === 'starts_with' ? '' : '%'}${escaped}${compare === 'ends_with' ? '' : '%'}`
  return sql`lower(${text}) like ${lower(pattern)}`
}
