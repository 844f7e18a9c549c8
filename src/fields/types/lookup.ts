/** References to records of another table: lookup and multi_lookup. Cells are read without the ids of deleted records. */
import { ident, recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import { formsOf } from '../../platform/normal-forms.ts'
import { MAX_ID } from '../../platform/row-ids.ts'
import { asArrayText, EMPTY, type LookupValue, type Parsed, property, readList, unchanged, wholeNumber, wrong } from '../cell.ts'
import { writeList, writeOne } from '../cell-json.ts'
import { asList, columnOf, eachOf, hasValue, hasValues, isOneOf, likeAny, onlyValue, scalar, trimmed, unicode } from '../cell-sql.ts'
import { equality, within } from '../compares.ts'
import { ID_PATTERN, type ReadText, SHIELDED, type TitledRecords, writeListCsv, writeOneCsv } from '../csv-rules.ts'
import {
  type Condition,
  type FieldTypeDefinition,
  type ListCondition,
  type QueryContext,
  type SortRule,
  THROUGH_TEXT,
  type ValueGrouping,
} from '../field-type.ts'
import { EMPTINESS, type Operand, readId, TEXT, type ValueKind } from '../operand.ts'
import type { FieldSettings } from '../settings.ts'

const RECORD: ValueKind = { wants: 'the id of a record', read: readId }

const byTitle: SortRule = {
  follows: 'the title',
  keyType: 'text',
  isNeverEmpty: false,
  key: titleKey,
  isIndexable: () => false,
}

const byRecord: ValueGrouping = {
  by: 'value',
  in: ['aggregate', 'board'],
  value: (_, value) => value,
  key: titleKey,
  values: () => null,
}

export const lookup: FieldTypeDefinition = {
  takes: 'table',
  roles: [],

  column: 'int',
  isMultiple: false,
  names: 'records',
  maxLength: null,
  parse: parseOne,
  bind: unchanged,
  value: (_, column) => column,
  json: () => writeOne,

  compares: { ...equality(RECORD), ...within(TEXT), ...EMPTINESS },
  condition: (asked, context) => onTable(asked, context, (id) => scalar(columnOf(asked.field), asked.compare, id)),
  among: (asked, context) => amongRecords(asked, context, (ids) => isOneOf(columnOf(asked.field), ids)),
  isEmpty: (field, column, context) => isGone(field, context, sql`l.id = ${column}`),
  meaningOf: null,
  sort: byTitle,
  equalityRank: 0,
  groups: byRecord,
  measures: [],
  search: null,

  asText: titleOf,
  fromText: (text, field) => recordWith(trimmed(text), field),
  becomes: {
    multi_lookup: asList,
    number: (cell, { text }) => sql`case when ${text} is not null then ${cell}::numeric end`,
    select: THROUGH_TEXT,
    multi_select: THROUGH_TEXT,
  },
  csv: { ...SHIELDED, write: () => writeOneCsv, textOf: printRecord, read: readRecord, titleIn },
}

export const multiLookup: FieldTypeDefinition = {
  ...lookup,

  column: 'int[]',
  isMultiple: true,
  parse: parseSeveral,
  bind: asArrayText,
  json: () => writeList,

  compares: { ...equality(RECORD), contains: RECORD, ...EMPTINESS },
  condition: (asked, context) => onTable(asked, context, (id) => hasValue(columnOf(asked.field), asked.compare, id)),
  among: (asked, context) => amongRecords(asked, context, (ids) => hasValues(columnOf(asked.field), ids, asked.operand.isAll)),
  isEmpty: (field, column, context) => isGone(field, context, sql`l.id = any(${column})`),
  sort: null,
  equalityRank: null,
  groups: { ...byRecord, in: ['aggregate'] },

  fromText: (text, field) => eachOf(text, (one) => recordWith(one, field)),
  becomes: { lookup: (cell) => onlyValue(cell) },
  csv: { ...lookup.csv, write: () => writeListCsv },
}

// ── cells ───────────────────────────────────────────────────────────────────

function parseOne(given: unknown): Parsed {
  const id = recordId(given)
  return id === null ? wrong('must be the id of a record, or {id}') : { kind: 'records', ids: [id] }
}

function parseSeveral(given: unknown): Parsed {
  const ids = readList(given, recordId, 'records (ids or {id})', 'record')
  if (typeof ids === 'string') return wrong(ids)
  return ids.length ? { kind: 'records', ids } : EMPTY
}

const recordId = (given: unknown): number | null => wholeNumber(given) ?? wholeNumber(property(given, 'id'))

// ── queries ─────────────────────────────────────────────────────────────────

function onTable(asked: Condition, { lookups }: QueryContext, onId: (id: Sql) => Sql): Sql {
  const { field, compare, operand } = asked
  const table = field.lookup_table_id === null ? undefined : lookups.get(field.lookup_table_id)
  // If the table is deleted, every cell counts as empty.
  if (!table || field.lookup_table_id === null) return compare === '!=' ? sql`true` : sql`false`
  const records = recordsOf(field.lookup_table_id)
  if (operand.kind !== 'text') return onId(idOf(operand, records))
  if (table.titleField === null) return sql`false`
  const isMeant = likeAny(sql`l.${ident(table.titleField)}`, compare, formsOf(operand.text))
  return sql`${columnOf(field)} in (select l.id from ${records} l where ${isMeant})`
}

/** @param onIds prints the condition on an array of ids, with 0, which no record has, for each record that does not exist */
function amongRecords({ field, operand }: ListCondition, { lookups }: QueryContext, onIds: (ids: Sql) => Sql): Sql {
  const { lookup_table_id: tableId } = field
  if (tableId === null || !lookups.has(tableId)) return sql`false`
  const ids = operand.operands.map((one) => (one.kind === 'id' ? one.id : 0))
  return onIds(sql`array(select coalesce(l.id, 0) from unnest(${ids}::int[]) as a (id) left join ${recordsOf(tableId)} l on l.id = a.id)`)
}

/** The id if the record exists; otherwise 0, which no record has. */
const idOf = (operand: Operand, records: Sql): Sql =>
  sql`coalesce((select l.id from ${records} l where l.id = ${operand.kind === 'id' ? operand.id : 0}::int), 0)`

/** A lookup also counts as empty when all records that it refers to are deleted, because it is read without them. */
function isGone({ lookup_table_id: tableId }: FieldSettings, { lookups }: QueryContext, isNamed: Sql): Sql {
  if (tableId === null || !lookups.has(tableId)) return sql`true`
  return sql`(not exists (select from ${recordsOf(tableId)} l where ${isNamed}))`
}

function titleKey({ lookup_table_id: tableId }: FieldSettings, column: Sql, { lookups }: Pick<QueryContext, 'lookups'>): Sql {
  const title = tableId === null ? null : lookups.get(tableId)?.titleField
  // Without a title field, all records have the same key and are sorted by id. Postgres refuses a bare constant in `order by`.
  if (!title || tableId === null) return sql`null::text`
  return sql`(select lower(l.${ident(title)}) from ${recordsOf(tableId)} l where l.id = ${column})`
}

// ── as text ─────────────────────────────────────────────────────────────────

/** The title of the record, or its id if the table has no title field; null for a deleted record. */
function titleOf(id: Sql, { lookup, lookup_table_id: tableId }: FieldSettings): Sql {
  if (!lookup || tableId === null) return sql`null::text`
  const title = lookup.title_field ? sql`coalesce(l.${ident(lookup.title_field)}, l.id::text)` : sql`l.id::text`
  return sql`(select ${title} from ${recordsOf(tableId)} l where l.id = ${id})`
}

/** The only record that a number names, by its title or by its id; null if it names none or several, and for another text. */
function recordWith(text: Sql, { lookup, lookup_table_id: tableId }: FieldSettings): Sql {
  const records = recordsOf(tableId ?? 0)
  const byId = sql`select l.id from ${records} l where l.id = case when ${text} ~ '^[0-9]{1,9}$' then ${text}::int end`
  if (!lookup?.title_field) return sql`(${byId})`
  const title = sql`l.${ident(lookup.title_field)}`
  // Tables have an index on lower(title).
  const byTitle = sql`select l.id from ${records} l
    where ${text} ~ '^[0-9]+$' and lower(${title}) = lower(${unicode(text)}) and ${title} = ${unicode(text)} limit 2`
  return sql`(select case when count(*) = 1 then min(n.id) end from (${byId} union (${byTitle})) n)`
}

// ── in files ────────────────────────────────────────────────────────────────

/** Prints `Acme (12)`, or ` (12)` without a title: the title is for people, the id lets an import find the record again. */
function printRecord(value: unknown): string {
  const { id, title } = value as LookupValue
  return `${title ?? ''} (${id})`
}

const TITLE_AND_ID = /^(.*) \((\d{1,10})\)$/s

/** Finds the record that a text names by `title (id)`, or by a title that only one record has. A number may be a title or an id. */
function readRecord(given: string, { lookup_table_id: tableId }: FieldSettings, named: TitledRecords | undefined): ReadText {
  const text = given.trim()
  if (ID_PATTERN.test(text)) return readNumber(text, named)
  // The text is not trimmed, because a title may begin with a blank. A table without a title field has no titles.
  const [, title, id] = TITLE_AND_ID.exec(given) ?? []
  if (id !== undefined && (named ? (named.titles.get(Number(id)) ?? '') : '') === title) return { value: Number(id) }
  const [found, another] = named?.ids.get(text) ?? []
  if (another !== undefined) return { reason: `several records of table ${tableId} have this title; use the id of one` }
  return found ? { value: found } : { reason: `there is no such record in table ${tableId}` }
}

/** Reads a number as the title of a record, or as an id if no record has that title. */
function readNumber(text: string, named: TitledRecords | undefined): ReadText {
  const id = Number(text)
  const titled = named?.ids.get(text) ?? []
  const meant = new Set(named?.titles.has(id) ? [id, ...titled] : titled)
  if (meant.size <= 1) return { value: titled[0] ?? id }
  const each = [...meant].map((one) => `"${printRecord({ id: one, title: one === id ? (named?.titles.get(id) ?? null) : text })}"`)
  return { reason: `is ambiguous: it may mean ${each.join(' or ')}` }
}

function titleIn(text: string): { title: string; id: number | null } | null {
  const title = text.trim()
  if (title === '' || title.includes('\0')) return null
  const id = Number(ID_PATTERN.test(title) ? title : (TITLE_AND_ID.exec(text)?.[2] ?? Number.NaN))
  return { title, id: id <= MAX_ID ? id : null }
}
