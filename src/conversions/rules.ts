/**
 * Which type of field becomes which, and how a cell does, as SQL: docs/field-types.md is the same in words. A text converts when it
 * could be written to a field of the new type as it stands; what has no value converts to no value.
 */

import { castType, type FieldDef, isSelect, isText } from '../fields/definition.ts'
import { type FieldType, TYPES } from '../fields/registry.ts'
import type { Option } from '../fields/settings.ts'
import { ident, raw, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { isMember } from '../spaces/membership.ts'
import { jsonOf, wordsOf } from './cell-text-sql.ts'
import { dateOf, dayStart, fitting, instantOf, numberOf, timeOf } from './parse-sql.ts'

/** Whose users, members and records a text can name, and the zone in which a date and an instant become each other. */
export interface Place {
  account_id: number
  space_id: number
  timeZone: string
}

export interface Conversion {
  /**
   * Selects `id`, `version`, `words` and `converted` of the records `r` that meet the condition: the cell as a text (null when it holds no
   * value) and as a value of the new type. A cell with `words` but without `converted` cannot be converted.
   */
  select(where: Sql): Sql
  /** The cell as a text, lists joined by commas; null when it holds no value. */
  words(cell: Sql): Sql
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

/** Whether every cell stays as it is, so that nothing has to be written. */
export const isRelabelling = (from: FieldType, to: FieldType): boolean => (TYPES[from].maxLength ?? Infinity) <= (TYPES[to].maxLength ?? -1)

/** @param to a type that `from` becomes (isConvertible) */
export function conversionOf(from: FieldDef, to: FieldDef, tableId: number, place: Place): Conversion {
  const words = (cell: Sql) => wordsOf(from, cell, place)
  const column = sql`r.${ident(from.id)}`
  const converted = direct(from, to, sql`w.cell`, sql`w.words`, place) ?? fromWords(to, sql`w.words`, place)
  return {
    // Without `offset` Postgres would inline the text into each place that reads it, and make it several times a record.
    select: (where) => sql`
      select w.id, w.version, w.words, (${converted})::${raw(castType(to.type))} as converted from (
        select r.id, r.version, ${column} as cell, ${words(column)} as words from ${recordsOf(tableId)} r where ${where} offset '0') w`,
    words,
  }
}

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
      return recordOf(to, sql`btrim(${words})`)
    case 'multi_select':
      return sql`coalesce(${asList(optionOf(to, sql`btrim(${words})`))}, ${each(words, (one) => optionOf(to, one))})`
    case 'multi_user':
      return each(words, (one) => memberOf(sql`lower(${one})`, place))
    case 'multi_lookup':
      return each(words, (one) => recordOf(to, one))
    default:
      return fitting(words, TYPES[to.type].maxLength ?? 0)
  }
}

const optionOf = ({ options }: FieldDef, title: Sql): Sql => sql`(${idsByTitle(options ?? [])} -> ${title})::int`

const idsByTitle = (options: readonly Option[]): Sql => jsonOf(options.map(({ id, title }) => [title, id]))

const memberOf = (email: Sql, place: Place): Sql => sql`(${members(place)} -> ${email})::int`

/** Ids by email address; it depends on no cell, so it is read once a statement. */
const members = ({ account_id, space_id }: Place): Sql => sql`(select jsonb_object_agg(u.email, u.id) from public.users u
  where u.account_id = ${account_id} and u.status <> 'deleted' and ${isMember(sql`u`, sql`${space_id}::int`)})`

const recordOf = ({ lookup_table_id }: FieldDef, word: Sql): Sql =>
  sql`(select l.id from ${recordsOf(lookup_table_id ?? 0)} l where l.id = case when ${word} ~ '^[0-9]{1,9}$' then ${word}::int end)`

/** Words between commas, each read for itself and kept once; null when one of them cannot be read, or there are more than 1,000. */
function each(words: Sql, read: (one: Sql) => Sql): Sql {
  return sql`(select case when bool_and(p.id is not null) and count(*) <= 1000 then array_agg(p.id order by p.at) end
    from (select o.id, min(o.at) as at from (
      select ${read(sql`s.word`)} as id, s.at
      from (select btrim(t.word) as word, t.at from unnest(string_to_array(${words}, ',')) with ordinality t (word, at)) s
      where s.word <> '') o group by o.id) p)`
}

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
