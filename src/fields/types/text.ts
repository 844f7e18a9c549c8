/** Texts: text, long_text, email, url and phone. They differ in how long they may be, and so in what indexes can hold. */
import { type Sql, sql } from '../../platform/database/database.ts'
import { asItIs, cell, type Parsed, wrong } from '../cell.ts'
import { columnOf, isNull, like, lower, operator, scalar } from '../cell-sql.ts'
import { equality, order, within } from '../compares.ts'
import { SHIELDED } from '../csv-rules.ts'
import type { Condition, FieldTypeDefinition, SortRule } from '../field-type.ts'
import { EMPTINESS, TEXT, textOf } from '../operand.ts'
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

  // Case mapping is right for all scripts, and b-trees serve prefixes (design.md §3).
  column: 'text collate "pg_c_utf8"',
  isMultiple: false,
  names: null,
  maxLength,
  parse: (value) => parse(value, maxLength),
  bind: asItIs,
  value: (_, column) => column,
  isTextInJson: false,
  presenter: () => null,

  compares: { ...equality(TEXT), ...order(TEXT), ...within(TEXT), ...EMPTINESS },
  condition,
  isEmpty: isNull,
  meaningOf: null,
  sort: byText,
  equalityRank: 2,
  groups: null,
  search,

  asText: (value) => sql`${value}::text`,
  fromText: (words) => fitting(words, maxLength),
  // Texts become every type that reads text, without a line here.
  becomes: {},
  csv: SHIELDED,
})

// 500 characters are 1,500 bytes at most, which fit into a row of an index. Longer texts may not.
const unindexed = { equalityRank: null, sort: { ...byText, isIndexable: () => false } }

export const text = ofLength(500)
export const email = ofLength(500)
export const phone = ofLength(500)
export const url: FieldTypeDefinition = { ...ofLength(2_000), ...unindexed }
export const longText: FieldTypeDefinition = {
  ...ofLength(100_000),
  ...unindexed,
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
  const [column, wanted] = [columnOf(field), textOf(operand)]
  if (compare === '=' || compare === '!=') return scalar(column, compare, sql`${wanted}::text`)
  if (compare === 'contains' || compare === 'starts_with' || compare === 'ends_with') return like(column, compare, wanted)
  return sql`lower(${column}) ${operator(compare)} ${lower(wanted)}`
}

function search(_: FieldSettings, column: Sql, word: string): Sql {
  if (!isShortWord(word)) return like(column, 'contains', word)
  return sql`lower(${column}) ~ ${lower(`(^|[^[:alnum:]])${word.replaceAll(/[^\p{L}\p{N}]/gu, '\\$&')}`)}`
}

const fitting = (words: Sql, max: number): Sql =>
  sql`case when octet_length(${words}) <= ${max} or ${unitsOf(words)} <= ${max} then ${words} end`

/** The length as JavaScript counts it, characters beyond the first 65,536 twice. */
const unitsOf = (words: Sql): Sql => sql`case when octet_length(${words}) = char_length(${words}) then octet_length(${words})
  else 2 * char_length(${words}) - char_length(regexp_replace(${words}, '[\\U00010000-\\U0010FFFF]', '', 'g')) end`
