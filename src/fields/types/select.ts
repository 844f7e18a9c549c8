/** Selects: select and multi_select. Cells store the ids of options; callers read and write their titles. */
import { raw, type Sql, sql } from '../../platform/database/database.ts'
import { memo } from '../../platform/memo.ts'
import { formsOf, nfc } from '../../platform/normal-forms.ts'
import { CsvValue } from '../../platform/writers/csv-writer.ts'
import { asArrayText, cell, type Parsed, readList, unchanged, wrong } from '../cell.ts'
import { type JsonById, jsonPiece, writeList, writeOne } from '../cell-json.ts'
import { asList, columnOf, eachOf, hasValue, hasValues, isNull, isOneOf, jsonOf, onlyValue, scalar, trimmed } from '../cell-sql.ts'
import { equality, within } from '../compares.ts'
import { type CsvById, SHIELDED, writeListCsv, writeOneCsv } from '../csv-rules.ts'
import type { CellConversion, Condition, FieldTypeDefinition, ListCondition, ValueGrouping } from '../field-type.ts'
import { EMPTINESS, type Operand, type ValueKind } from '../operand.ts'
import type { FieldSettings } from '../settings.ts'
import { hasPart, hasWord, lowerCased } from '../text-match.ts'

const OPTION: ValueKind = {
  wants: 'the title of an option',
  read: (value, field) => (typeof value === 'string' ? optionTitled(field, value) : null),
  isOptionTitle: true,
}
const OPTION_PART: ValueKind = {
  wants: 'a part of the title of an option',
  read: (value, field, compare) => (typeof value === 'string' ? optionsThat(field, (title) => hasPart(title, compare, value)) : null),
}

const byOption: ValueGrouping = {
  by: 'value',
  in: ['aggregate', 'groups', 'board'],
  value,
  key: position,
  values: ({ options }) => (options ?? []).map(({ title }) => title),
}

export const select: FieldTypeDefinition = {
  takes: 'options',
  roles: ['color', 'category'],

  column: 'int',
  isMultiple: false,
  names: null,
  maxLength: null,
  parse: parseOne,
  bind: unchanged,
  value,
  json: (field) => {
    const titles = titleJsonOf(field)
    return (cell, json) => writeOne(cell, json, titles)
  },

  compares: { ...equality(OPTION), ...within(OPTION_PART), ...EMPTINESS },
  condition: onOne,
  among: oneAmong,
  isEmpty: (field, column) =>
    field.removed_options.length ? sql`(${column} is null or ${column} = any(${removedOf(field)}))` : isNull(field, column),
  meaningOf: null,
  sort: { follows: 'the position of the option', keyType: 'int', isNeverEmpty: false, key: position, isIndexable: isInOrderOfIds },
  equalityRank: 6,
  groups: byOption,
  measures: [],
  search,

  asText: (id, { options }) => sql`(${jsonOf((options ?? []).map((option) => [option.id, option.title]))} ->> (${id})::text)`,
  fromText: (text, field) => optionOf(trimmed(text), field),
  becomes: { multi_select: (cell, change) => asList(sameOption(cell, change)) },
  csv: {
    ...SHIELDED,
    write: (field) => {
      const titles = titleCsvOf(field)
      return (cell, csv) => writeOneCsv(cell, csv, titles)
    },
    read: (text) => ({ value: text.trim() || null }),
  },
}

export const multiSelect: FieldTypeDefinition = {
  ...select,
  roles: ['color'],

  column: 'int[]',
  isMultiple: true,
  parse: parseSeveral,
  bind: asArrayText,
  value: (_, column) => column,
  json: (field) => {
    const titles = titleJsonOf(field)
    return (cell, json) => writeList(cell, json, titles)
  },

  compares: { ...equality(OPTION), contains: OPTION, ...EMPTINESS },
  condition: onSeveral,
  among: severalAmong,
  isEmpty: (field, column) =>
    field.removed_options.length ? sql`(${column} is null or ${column} <@ ${removedOf(field)})` : isNull(field, column),
  sort: null,
  equalityRank: null,
  groups: { ...byOption, in: ['aggregate'] },
  search: null,

  // A text that is no list of options, but the whole title of one, is that option.
  fromText: (text, field) => sql`coalesce(${eachOf(text, (one) => optionOf(one, field))}, ${asList(optionOf(trimmed(text), field))})`,
  becomes: { select: (cell, change) => onlyValue(cell, (one) => sameOption(one, change)) },
  csv: {
    ...SHIELDED,
    write: (field) => {
      const titles = titleCsvOf(field)
      return (cell, csv) => writeListCsv(cell, csv, titles)
    },
  },
}

// ── options ─────────────────────────────────────────────────────────────────

/** The titles as JSON. */
const titleJsonOf = memo(({ options }: FieldSettings): JsonById => new Map((options ?? []).map(({ id, title }) => [id, jsonPiece(title)])))

/** The titles as CSV. */
const titleCsvOf = memo(({ options }: FieldSettings): CsvById => new Map((options ?? []).map(({ id, title }) => [id, new CsvValue(title)])))

/**
 * The ids of the options by title: a batch may name a million titles, and a field may have 500 options. A title that is not in NFC yet is
 * found by that form, unless another option has it.
 */
const idsOf = memo(({ options }: FieldSettings): ReadonlyMap<unknown, number> => {
  const titled = (options ?? []).map(({ id, title }) => [title, id] as const)
  return new Map([...titled.map(([title, id]) => [nfc(title), id] as const), ...titled])
})

function optionTitled(field: FieldSettings, title: string): Operand {
  const id = idsOf(field).get(title)
  return { kind: 'options', ids: id === undefined ? [] : [id] }
}

function optionsThat(field: FieldSettings, holds: (title: string) => boolean): Operand {
  return { kind: 'options', ids: (field.options ?? []).filter(({ title }) => holds(nfc(title))).map(({ id }) => id) }
}

/** The ids are printed, not bound, because Postgres matches grouped expressions by their text. */
const removedOf = ({ removed_options }: FieldSettings): Sql => raw(`'{${removed_options.map(Number).join()}}'::int[]`)

// ── cells ───────────────────────────────────────────────────────────────────

function parseOne(title: unknown, field: FieldSettings): Parsed {
  const id = idsOf(field).get(title)
  if (id !== undefined) return cell(id)
  return wrong(typeof title === 'string' ? noOption(title) : 'must be the title of an option')
}

function parseSeveral(given: unknown, field: FieldSettings): Parsed {
  const known = idsOf(field)
  const unknown = Array.isArray(given) ? given.find((title) => !known.has(title)) : undefined
  if (typeof unknown === 'string') return wrong(noOption(unknown))
  const found = readList(given, (title) => known.get(title) ?? null, 'titles of options', 'option')
  return typeof found === 'string' ? wrong(found) : cell(found.length ? found : null)
}

/** The message for a title that no option has. */
export function noOption(title: unknown): string {
  const text = String(title)
  return `unknown option "${text.length > 100 ? `${text.slice(0, 100)}…` : text}"`
}

/** Leaves out removed options while a job has yet to remove them from the cells. */
function value(field: FieldSettings, column: Sql): Sql {
  return field.removed_options.length ? sql`(case when ${column} <> all(${removedOf(field)}) then ${column} end)` : column
}

// ── queries ─────────────────────────────────────────────────────────────────

function onOne({ field, compare, operand }: Condition): Sql {
  const [wanted, column] = [idsIn(operand), columnOf(field)]
  if (!wanted.length) return withoutOption(compare)
  return compare === '=' || compare === '!=' ? scalar(column, compare, sql`${wanted[0]}::int`) : sql`${column} = any(${wanted}::int[])`
}

function onSeveral({ field, compare, operand }: Condition): Sql {
  const [wanted] = idsIn(operand)
  return wanted === undefined ? withoutOption(compare) : hasValue(columnOf(field), compare, sql`${wanted}::int`)
}

function oneAmong({ field, operand: { operands } }: ListCondition): Sql {
  return isOneOf(columnOf(field), sql`${operands.flatMap(idsIn)}::int[]`)
}

function severalAmong({ field, operand: { operands, isAll } }: ListCondition): Sql {
  if (isAll && operands.some((operand) => !idsIn(operand).length)) return sql`false`
  return hasValues(columnOf(field), sql`${operands.flatMap(idsIn)}::int[]`, isAll)
}

const idsIn = (operand: Operand): number[] => (operand.kind === 'options' ? operand.ids : [])

/** The condition for a title that no option has: `!=` matches every record, all other compares match none. */
const withoutOption = (compare: Condition['compare']): Sql => (compare === '!=' ? sql`true` : sql`false`)

/** The position of the option. While the options are in the order of their ids, the id itself is the key, so that an index can serve it. */
function position(field: FieldSettings, column: Sql): Sql {
  if (isInOrderOfIds(field)) return value(field, column)
  return sql`array_position(${(field.options ?? []).map(({ id }) => id)}::int[], ${value(field, column)})`
}

function isInOrderOfIds({ options }: FieldSettings): boolean {
  return (options ?? []).every(({ id }, index, all) => index === 0 || id > (all[index - 1]?.id ?? 0))
}

/** The options with their titles in lower case: a search compares each of its words with up to 500 titles a field. */
const lowerCasedOf = memo(({ options }: FieldSettings) => (options ?? []).map(({ id, title }) => ({ id, title: lowerCased(nfc(title)) })))

function search(field: FieldSettings, column: Sql, word: string): Sql | null {
  const wanted = lowerCased(word)
  const found = lowerCasedOf(field).flatMap(({ id, title }) => (hasWord(title, wanted) ? [id] : []))
  return found.length ? sql`${column} = any(${found}::int[])` : null
}

// ── as text ─────────────────────────────────────────────────────────────────

function optionOf(title: Sql, { options }: FieldSettings): Sql {
  const titled = (options ?? []).flatMap(({ id, title: own }) => formsOf(own).map((form) => [form, id] as const))
  return sql`(${jsonOf([...titled, ...(options ?? []).map((option) => [option.title, option.id] as const)])} -> ${title})::int`
}

/** Maps an option to the option of the new field with the same title. */
function sameOption(id: Sql, { from, to }: CellConversion): Sql {
  const ids = (from.options ?? []).flatMap((option): [number, number][] => {
    const same = to.options?.find(({ title }) => title === option.title || title === nfc(option.title))
    return same ? [[option.id, same.id]] : []
  })
  return sql`(${jsonOf(ids)} -> (${id})::text)::int`
}
