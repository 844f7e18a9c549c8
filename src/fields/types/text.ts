/** Texts: text, long_text, email, url and phone. They differ in their maximum length, and so in whether an index can hold them. */
import { join, type Sql, sql } from '../../platform/database/database.ts'
import { formsOf } from '../../platform/normal-forms.ts'
import { cell, type Parsed, unchanged, wrong } from '../cell.ts'
import { textJson } from '../cell-json.ts'
import { columnOf, inNfc, isNull, isOneOf, likeAny, lower, operator, scalar, startOfWord } from '../cell-sql.ts'
import { equality, order, within } from '../compares.ts'
import { SHIELDED } from '../csv-rules.ts'
import type { Condition, FieldTypeDefinition, ListCondition, SortRule } from '../field-type.ts'
import { EMPTINESS, operandText, TEXT } from '../operand.ts'
import type { FieldSettings } from '../settings.ts'
import { isShortWord } from '../text-match.ts'

const byText: SortRule = {
  follows: 'the lower-cased text',
  keyType: 'text',
  isNeverEmpty: false,
  key: (_, column) => sql`lower(${column})`,
  isIndexable: () => true,
}

const ofLength = (maxLength: number): FieldTypeDefinition => ({
  takes: null,
  roles: [],

  // This collation maps case correctly in all scripts, and lets b-trees find prefixes.
  column: 'text collate "pg_c_utf8"',
  isMultiple: false,
  names: null,
  maxLength,
  parse: (value) => parse(value, maxLength),
  bind: unchanged,
  value: (_, column) => column,
  json: () => textJson,

  compares: { ...equality(TEXT), ...order(TEXT), ...within(TEXT), ...EMPTINESS },
  condition,
  among,
  isEmpty: isNull,
  meaningOf: null,
  sort: byText,
  equalityRank: 2,
  groups: { by: 'value', in: ['aggregate'], value: (_, value) => value, key: byText.key, values: () => null },
  measures: [],
  search,

  asText: (value) => sql`${value}::text`,
  fromText: (value) => sql`(select ${fitting(sql`n.word`, maxLength)} from (select ${inNfc(value)} as word offset '0') n)`,
  // A text converts to every type that has `fromText`, so no type needs to be listed here.
  becomes: {},
  csv: SHIELDED,
})

// 500 characters take at most 1,500 bytes, which fit into an index row. Longer texts may not fit.
const unindexed = { equalityRank: null, sort: { ...byText, isIndexable: () => false } }

export const text = ofLength(500)
export const email = ofLength(500)
export const phone = ofLength(500)
export const url: FieldTypeDefinition = { ...ofLength(2_000), ...unindexed }
export const longText: FieldTypeDefinition = {
  ...ofLength(100_000),
  ...unindexed,
  groups: null,
  sort: {
    ...unindexed.sort,
    follows: 'its first 200 characters, lower-cased',
    key: (_, column) => sql`lower(left(${column}, 200))`,
  },
}

function parse(value: unknown, maxLength: number): Parsed {
  if (typeof value !== 'string') return wrong('must be text')
  if (value.length > maxLength) return wrong(`must have at most ${maxLength} characters`)
  return cell(value === '' ? null : value)
}

function condition({ field, compare, operand }: Condition): Sql {
  const [column, wanted] = [columnOf(field), operandText(operand)]
  const forms = formsIn(field, wanted)
  if (compare === '=' || compare === '!=') return isAnyForm(column, compare, forms)
  if (compare === 'contains' || compare === 'starts_with' || compare === 'ends_with') return likeAny(column, compare, forms)
  return sql`lower(${column}) ${operator(compare)} ${lower(wanted)}`
}

function among({ field, operand: { operands } }: ListCondition): Sql {
  return isOneOf(columnOf(field), sql`${operands.flatMap((operand) => formsIn(field, operandText(operand)))}::text[]`)
}

/** The spellings in which the field may hold the text. */
const formsIn = ({ is_normalized }: FieldSettings, text: string): readonly string[] => (is_normalized ? [text] : formsOf(text))

function isAnyForm(column: Sql, compare: '=' | '!=', forms: readonly string[]): Sql {
  const each = forms.map((form) => scalar(column, compare, sql`${form}::text`))
  return each.length === 1 ? (each[0] as Sql) : sql`(${join(each, compare === '=' ? ' or ' : ' and ')})`
}

function search(field: FieldSettings, column: Sql, word: string): Sql {
  if (!isShortWord(word)) return likeAny(column, 'contains', formsIn(field, word))
  const each = formsIn(field, word).map((form) => sql`lower(${column}) ~ ${startOfWord(form)}`)
  return each.length === 1 ? (each[0] as Sql) : sql`(${join(each, ' or ')})`
}

const fitting = (value: Sql, max: number): Sql =>
  sql`case when octet_length(${value}) <= ${max} or ${utf16Length(value)} <= ${max} then ${value} end`

/** The length in UTF-16 units, as JavaScript counts it: characters above U+FFFF count twice. */
const utf16Length = (value: Sql): Sql => sql`case when octet_length(${value}) = char_length(${value}) then octet_length(${value})
  else 2 * char_length(${value}) - char_length(regexp_replace(${value}, '[\\U00010000-\\U0010FFFF]', '', 'g')) end`
