/**
 * Which type of field becomes which, and how a cell does, as SQL: docs/field-types.md is the same in words. A text converts when it
 * could be written to a field of the new type as it stands; what has no value converts to no value.
 */

import { COLUMN_TYPES, type FieldDef, type FieldType, isLookup, isMultiple, isSelect, isText, type Option } from '../fields/definition.ts'
import { ident, raw, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { isMember } from '../spaces/membership.ts'
import { jsonOf, SEPARATOR, wordsOf } from './cell-text-sql.ts'
import { type Marks, markOf, marksOfList, type Question, withMarks } from './lookup-marks.ts'
import { dateOf, dayStart, fitting, instantOf, numberOf, timeOf, unitsOf } from './parse-sql.ts'

/** Where the cells are, and in whose zone a date and an instant become each other. */
export interface Place {
  account_id: number
  space_id: number
  timeZone: string
  /** What was asked of the records that lookups name (`question`). Without it each is looked for by its id. */
  marks?: Marks | undefined
}

export interface Conversion {
  /**
   * Of the records `r` their `id` and `version`, the cell in `words`, and as the new type has it, `converted`. A cell with words that
   * is not `converted` cannot be a value of the new type.
   */
  select(where: Sql): Sql
  /** Of the same records the `id`, the `cell`, whether it `converts` and whether it `is_value`: for a look at all, cheap tests first. */
  look(where: Sql): Sql
  /** A cell as the wire has it, lists joined by commas; null when it is no value. */
  words(cell: Sql): Sql
  /** What a look at all records should know beforehand of the records that lookups name, if there are any. */
  question?: Question | undefined
}

/** Types that each type becomes beside text, email, url, phone and long_text, which all but files do; text becomes all but files. */
const BECOMES: Readonly<Partial<Record<FieldType, readonly FieldType[]>>> = {
  number: ['checkbox', 'select', 'multi_select', 'lookup', 'multi_lookup'],
  checkbox: ['number', 'select', 'multi_select'],
  date: ['datetime', 'select', 'multi_select'],
  datetime: ['date', 'select', 'multi_select'],
  time: ['select', 'multi_select'],
  select: ['multi_select'],
  multi_select: ['select'],
  user: ['multi_user', 'select', 'multi_select'],
  multi_user: ['user'],
  lookup: ['multi_lookup', 'number', 'select', 'multi_select'],
  multi_lookup: ['lookup'],
}

export function isConvertible(from: FieldType, to: FieldType): boolean {
  if (from === to || from === 'file' || to === 'file') return false
  return isText(from) || isText(to) || (BECOMES[from]?.includes(to) ?? false)
}

/** UTF-16 units that a text of the type may have (contract.md §1). */
const MAX_LENGTH: Readonly<Partial<Record<FieldType, number>>> = { text: 500, email: 500, phone: 500, url: 2_000, long_text: 100_000 }

/** Whether every cell stays as it is, so that nothing has to be written. */
export const isRelabelling = (from: FieldType, to: FieldType): boolean => (MAX_LENGTH[from] ?? Infinity) <= (MAX_LENGTH[to] ?? -1)

/** @param to a type that `from` becomes (isConvertible) */
export function conversionOf(from: FieldDef, to: FieldDef, tableId: number, place: Place): Conversion {
  const words = (cell: Sql) => wordsOf(from, cell, place)
  const column = sql`r.${ident(from.id)}`
  const { marks, ...unmarked } = place
  const converted = direct(from, to, sql`w.cell`, sql`w.words`, unmarked) ?? fromWords(to, sql`w.words`, unmarked)
  const { made, converts, isValue } = judgement(from, to, column, place)
  // With an offset what is looked at more than once is made once a record; written as text, it lets workers in.
  const records = (columns: Sql, where: Sql) =>
    sql`(select r.id, ${column} as cell, ${columns} from ${recordsOf(tableId)} r where ${where} offset '0') w`
  return {
    select: (where) => sql`
      select w.id, w.version, w.words, (${converted})::${castOf(to.type)} as converted
      from ${records(sql`r.version, ${words(column)} as words`, where)}`,
    look: (where) => sql`${withMarks(marks)}
      select w.id, w.cell, ${converts} as converts, ${isValue} as is_value from ${records(sql`${made} as made`, where)}`,
    words,
    question: questionOf(from, to, place),
  }
}

/** Whether a cell converts and whether it is a value, told by what is `made` of it once, `w.made`. */
function judgement(from: FieldDef, to: FieldDef, cell: Sql, place: Place): Record<'made' | 'converts' | 'isValue', Sql> {
  const { marks } = place
  const isMarked = marks && isLookup(from.type)
  const made = sql`w.made`
  if (isMarked && !isLookup(to.type)) {
    const converts = isMultiple(from.type)
      ? sql`${made} between 1 and ${(MAX_LENGTH[to.type] ?? 0) + SEPARATOR.length}`
      : sql`${made} = ${CONVERTS}`
    return { made: isMultiple(from.type) ? marksOfList(marks, cell) : markOf(marks, cell), converts, isValue: sql`${made} > 0` }
  }
  const unworded = direct(from, to, cell, wordsOf(from, cell, place), place)
  if (unworded) {
    const has = isMarked ? sql`${marksOfList(marks, sql`w.cell`)} > 0` : sql`${wordsOf(from, sql`w.cell`, place)} is not null`
    // What converts is a value, or is taken for one: most cells need no further look.
    return { made: sql`(${unworded}) is not null`, converts: made, isValue: sql`case when ${made} then true else ${has} end` }
  }
  const converts = convertsToList(to, made, place) ?? sql`(${fromWords(to, made, place)}) is not null`
  return { made: wordsOf(from, cell, place), converts, isValue: sql`${made} is not null` }
}

/** The mark of a record whose title converts; that of all others is 1. */
const CONVERTS = 2

function questionOf(from: FieldDef, to: FieldDef, place: Place): Question | undefined {
  const isThere = () => sql`1`
  if (!isLookup(from.type)) return isLookup(to.type) ? { field: to, mark: isThere, bytes: 1 } : undefined
  // What is gone becomes a list as it is.
  if (!from.lookup || (from.type === 'lookup' && isLookup(to.type))) return undefined
  if (isLookup(to.type)) return { field: from, mark: isThere, bytes: 1 }
  // The lengths add up to that of the list, if each has a separator, and the list one too many. A title is 500 units long at most.
  if (isMultiple(from.type))
    return { field: from, mark: (title) => sql`least(${unitsOf(title)} + ${SEPARATOR.length}::int, 32767)`, bytes: 2 }
  const converts = (title: Sql) =>
    to.type === 'number' ? sql`true` : (convertsToList(to, title, place) ?? sql`(${fromWords(to, title, place)}) is not null`)
  return { field: from, mark: (title) => sql`case when ${converts(title)} then ${CONVERTS}::int else 1 end`, bytes: 1 }
}

/** The column type as a cast has it. */
const castOf = (type: FieldType): Sql => raw(COLUMN_TYPES[type].replace(/ collate .*/, ''))

// ── from words ──────────────────────────────────────────────────────────────

function fromWords(to: FieldDef, words: Sql, place: Place): Sql {
  switch (to.type) {
    case 'number':
      return numberOf(sql`btrim(${words})`, to.decimals ?? 8)
    case 'checkbox':
      return sql`case lower(btrim(${words})) when 'true' then true when 'yes' then true when '1' then true
        when 'false' then false when 'no' then false when '0' then false end`
    case 'date':
      return dateOf(sql`btrim(${words})`)
    case 'datetime':
      return instantOf(sql`btrim(${words})`, place)
    case 'time':
      return timeOf(sql`btrim(${words})`)
    case 'select':
      return optionOf(to, sql`btrim(${words})`)
    case 'user':
      return memberOf(sql`lower(btrim(${words}))`, place)
    case 'lookup':
      return recordOf(to, sql`btrim(${words})`, place)
    case 'multi_select':
      return sql`coalesce(${asList(optionOf(to, sql`btrim(${words})`))}, ${each(words, (one) => optionOf(to, one))})`
    case 'multi_user':
      return each(words, (one) => memberOf(sql`lower(${one})`, place))
    case 'multi_lookup':
      return each(words, (one) => recordOf(to, one, place))
    default:
      return fitting(words, MAX_LENGTH[to.type] ?? 0)
  }
}

const optionOf = ({ options }: FieldDef, title: Sql): Sql => sql`(${idsByTitle(options ?? [])} -> ${title})::int`

const idsByTitle = (options: readonly Option[]): Sql => jsonOf(options.map(({ id, title }) => [title, id]))

const memberOf = (email: Sql, place: Place): Sql => sql`(${members(place)} -> ${email})::int`

/** Ids by email address; it depends on no cell, so it is read once a statement. */
const members = ({ account_id, space_id }: Place): Sql => sql`(select jsonb_object_agg(u.email, u.id) from public.users u
  where u.account_id = ${account_id} and u.status <> 'deleted' and ${isMember(sql`u`, sql`${space_id}::int`)})`

function recordOf({ lookup_table_id }: FieldDef, word: Sql, { marks }: Place): Sql {
  const isId = sql`${word} ~ '^[0-9]{1,9}$'`
  const id = sql`${word}::int`
  return marks
    ? sql`case when ${isId} then case when ${markOf(marks, id)} > 0 then ${id} end end`
    : sql`(select l.id from ${recordsOf(lookup_table_id ?? 0)} l where l.id = case when ${isId} then ${id} end)`
}

/** Words between commas, each read for itself and kept once; null when one of them cannot be read, or there are more than 1,000. */
function each(words: Sql, read: (one: Sql) => Sql): Sql {
  return sql`(select case when bool_and(p.id is not null) and count(*) <= 1000 then array_agg(p.id order by p.at) end
    from (select o.id, min(o.at) as at from (
      select ${read(sql`s.word`)} as id, s.at
      from (select btrim(t.word) as word, t.at from unnest(string_to_array(${words}, ',')) with ordinality t (word, at)) s
      where s.word <> '') o group by o.id) p)`
}

/** So few bytes are 1,000 words at most, even if each is a letter and a comma. */
const FEW_BYTES = 2_000

/** Whether the words are a list of the type, without making it. Undefined for types that hold one value. */
function convertsToList(to: FieldDef, words: Sql, place: Place): Sql | undefined {
  const orLong = (few: Sql) =>
    sql`case when octet_length(${words}) <= ${FEW_BYTES} then ${few} else (${fromWords(to, words, place)}) is not null end`
  const options = to.options ?? []
  switch (to.type) {
    case 'multi_select': {
      // Of these no part is mistaken for another word.
      const plain = options.filter(({ title }) => !title.includes(',') && title.trim() === title)
      return orLong(sql`${idsByTitle(options)} ? btrim(${words}) or ${areKeys(words, idsByTitle(options), idsByTitle(plain))}`)
    }
    case 'multi_user':
      return orLong(areKeys(sql`lower(${words})`, members(place), members(place)))
    case 'multi_lookup':
      return orLong(areRecords(to, words, place))
    default:
      return undefined
  }
}

/** Whether all words between commas are keys. Most lists are told by the way in which they are usually written, most others by their first word. */
const areKeys = (words: Sql, keys: Sql, plain: Sql): Sql => sql`case
  when ${words} <> '' and ${plain} ?& string_to_array(${words}, ', ') then true
  when btrim(split_part(${words}, ',', 1)) <> '' and not ${keys} ? btrim(split_part(${words}, ',', 1)) then false
  else ${isEach(words, (word) => sql`${keys} ? ${word}`)} end`

/**
 * Whether all words between commas are ids of records. A list that Postgres writes as it has read it is taken apart as numbers; with a
 * brace it could be a list of lists. Numbers of ten digits have no mark.
 */
function areRecords(to: FieldDef, words: Sql, place: Place): Sql {
  const { marks } = place
  const each = isEach(words, (word) => sql`${recordOf(to, word, place)} is not null`)
  if (!marks) return each
  const list = sql`('{' || ${words} || '}')`
  return sql`case when strpos(${words}, '{') = 0 and pg_input_is_valid(${list}, 'int[]') and ${list}::int[]::text = replace(${list}, ', ', ',')
    then coalesce((select bool_and(${markOf(marks, sql`e.id`)} > 0) from unnest(${list}::int[]) e (id)), false) else ${each} end`
}

/** Whether there are words between the commas, and each is one of those that are meant. */
const isEach = (words: Sql, isMeant: (word: Sql) => Sql): Sql => sql`coalesce((select bool_and(${isMeant(sql`s.word`)})
  from (select btrim(t.word) as word from unnest(string_to_array(${words}, ',')) t (word)) s where s.word <> ''), false)`

// ── without words ───────────────────────────────────────────────────────────

/** Undefined for what goes through words. */
function direct(from: FieldDef, to: FieldDef, cell: Sql, words: Sql, place: Place): Sql | undefined {
  switch (`${from.type}>${to.type}`) {
    case 'date>datetime':
      return dayStart(cell, place)
    case 'datetime>date':
      return sql`(${cell} at time zone 'UTC' at time zone ${place.timeZone}::text)::date`
    case 'checkbox>number':
      return sql`${cell}::int::numeric`
    case 'number>checkbox':
      return sql`case ${cell} when 0 then false when 1 then true end`
    case 'lookup>number':
      return sql`case when ${words} is not null then ${cell}::numeric end`
    case 'select>multi_select':
      return asList(sameOption(from, to, cell))
    case 'multi_select>select':
      return sql`case when cardinality(${cell}) = 1 then ${sameOption(from, to, sql`${cell}[1]`)} end`
    case 'user>multi_user':
    case 'lookup>multi_lookup':
      return asList(cell)
    case 'multi_user>user':
    case 'multi_lookup>lookup':
      return sql`case when cardinality(${cell}) = 1 then ${cell}[1] end`
    default:
      return undefined
  }
}

const asList = (one: Sql): Sql => sql`case when ${one} is not null then array[${one}] end`

/** The option of the new field that has the same title. */
function sameOption(from: FieldDef, to: FieldDef, id: Sql): Sql {
  const ids = (from.options ?? []).flatMap((option): [number, number][] => {
    const same = to.options?.find(({ title }) => title === option.title)
    return same ? [[option.id, same.id]] : []
  })
  return sql`(${jsonOf(ids)} -> (${id})::text)::int`
}

/** Whether options can be made of what the cells hold. */
export const hasOwnOptions = (from: FieldType, to: FieldType): boolean => isSelect(to) && !isSelect(from)
