/** SQL fragments that several field types share. Values are bound parameters; identifiers come from the field list. */
import { ident, join, raw, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { formatInstant, isInRange } from '../platform/time/time.ts'
import type { Compare } from './compares.ts'
import type { FieldSettings } from './settings.ts'
import { isShortWord } from './text-match.ts'

/**
 * The column of a field, or of the record that a lookup refers to; null without one. Always with its alias: in a subselect a bare name
 * could mean a column of the inner table.
 */
export function columnOf({ id, link }: Pick<FieldSettings, 'id' | 'link'>): Sql {
  if (!link) return sql`r.${ident(id)}`
  const { lookup, field } = link
  return sql`(select k.${ident(field.id)} from ${recordsOf(lookup.lookup_table_id ?? 0)} k where k.id = r.${ident(lookup.id)})`
}

/** Selects for each record that the multi_lookup of the field refers to what `read` prints of its column, in the order of the links. */
export function eachLinked({ lookup, field }: NonNullable<FieldSettings['link']>, read: (column: Sql) => Sql): Sql {
  return sql`select ${read(sql`k.${ident(field.id)}`)} as value, m.at from unnest(r.${ident(lookup.id)}) with ordinality m (id, at)
    join ${recordsOf(lookup.lookup_table_id ?? 0)} k on k.id = m.id`
}

/** Compares the column with one value. `!=` matches empty cells, too; the other compares do not. */
export function scalar(column: Sql, compare: Compare, value: Sql): Sql {
  if (compare === '!=') return sql`${column} is distinct from ${value}`
  return sql`${column} ${operator(compare)} ${value}`
}

const OPERATORS: Partial<Record<Compare, Sql>> = { '=': raw('='), '>': raw('>'), '<': raw('<'), '>=': raw('>='), '<=': raw('<=') }

/** @throws Error for a compare that SQL has no operator for */
export function operator(compare: Compare): Sql {
  const printed = OPERATORS[compare]
  if (!printed) throw new Error(`No SQL operator for ${compare}`)
  return printed
}

/** The condition that a list contains the value, or for `!=` that it does not. */
export function hasValue(column: Sql, compare: Compare, value: Sql): Sql {
  const has = sql`${column} @> array[${value}]`
  return compare === '!=' ? sql`(${column} is null or not ${has})` : has
}

/** The condition that the column equals one of the values. @param values an array */
export const isOneOf = (column: Sql, values: Sql): Sql => sql`${column} = any(${values})`

/** The condition that a list contains one of the values, or with `isAll` each of them. @param values an array */
export const hasValues = (column: Sql, values: Sql, isAll: boolean): Sql => sql`${column} ${raw(isAll ? '@>' : '&&')} ${values}`

/** Formats the instant for Postgres. A bound outside the years 1 to 9999 becomes an infinity, because no record lies beyond it. */
export function timestampText(instant: Date): string {
  if (isInRange(instant)) return formatInstant(instant)
  return instant.getTime() < 0 ? '-infinity' : 'infinity'
}

/** The emptiness test that most types use. */
export const isNull = (_: unknown, column: Sql): Sql => sql`(${column} is null)`

/** Gives text the collation of record columns, so that case follows Unicode rules whatever the database's own collation is. */
export const unicode = (text: Sql): Sql => sql`(${text}) collate "pg_c_utf8"`
export const lower = (text: string): Sql => sql`lower(${unicode(sql`${text}::text`)})`

/** Prints contains, starts_with and ends_with. They ignore case and escape % _ \. The text must have the collation of `unicode`. */
export function like(text: Sql, compare: Compare, part: string): Sql {
  const escaped = part.replaceAll(/[\\%_]/g, '\\$&')
  const pattern = `${compare === 'starts_with' ? '' : '%'}${escaped}${compare === 'ends_with' ? '' : '%'}`
  return sql`lower(${text}) like ${lower(pattern)}`
}

/** The condition of `like` for each of the spellings. @param parts from `formsOf`, only one where the texts are in NFC */
export const likeAny = (text: Sql, compare: Compare, parts: readonly string[]): Sql =>
  parts.length === 1
    ? like(text, compare, parts[0] as string)
    : sql`(${join(
        parts.map((part) => like(text, compare, part)),
        ' or ',
      )})`

/** The text in NFC. Most texts are of ASCII letters alone, which have one form. */
export const inNfc = (text: Sql): Sql =>
  sql`(case when octet_length(${text}) = char_length(${text}) then ${text} else normalize(${text}, NFC) end)`

/** A regular expression for a lower-cased text in which a word begins with the short word. */
export const startOfWord = (short: string): Sql => lower(`(^|[^[:alnum:]])${short.replaceAll(/[^\p{L}\p{N}]/gu, '\\$&')}`)

/** The condition that a search finds the word in the text, in a form for which no index is used. */
export function holds(text: Sql, word: string): Sql {
  if (isShortWord(word)) return sql`regexp_like(lower(${text}), ${startOfWord(word)})`
  return sql`strpos(lower(${text}), ${lower(word)}) > 0`
}

/**
 * A JSON object as SQL. Postgres finds a key by binary search, also in parallel workers. An array would be scanned for each cell, and a
 * table would need a query.
 */
export const jsonOf = (entries: readonly (readonly [number | string, number | string])[]): Sql =>
  sql`${JSON.stringify(Object.fromEntries(entries))}::jsonb`

/** The characters that JavaScript's `trim` removes, as an escaped SQL text: Unicode's white space and the mark of a file's beginning. */
const BLANKS = raw(
  String.raw`U&'\0009\000A\000B\000C\000D\0020\00A0\1680` +
    String.raw`\2000\2001\2002\2003\2004\2005\2006\2007\2008\2009\200A\2028\2029\202F\205F\3000\FEFF'`,
)

/** The text without blanks around it, as `trim` gives it. Postgres by itself would only remove ordinary spaces. */
export const trimmed = (text: Sql): Sql => sql`btrim(${text}, ${BLANKS})`

// ── lists ───────────────────────────────────────────────────────────────────

/** Wraps one value in a list; null stays null. */
export const asList = (one: Sql): Sql => sql`case when ${one} is not null then array[${one}] end`

/** Returns the only value of a list, converted by `read`; null if the list has no value or several. */
export const onlyValue = (list: Sql, read: (one: Sql) => Sql = (one) => one): Sql =>
  sql`case when cardinality(${list}) = 1 then ${read(sql`${list}[1]`)} end`

// Lists have the form that csv-format.ts writes and reads: values with a comma, a quote, a line break or outer blanks are in quotes.

const BLANK = String.raw`[\t\n\v\f\r \u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF]`
const NEEDS_QUOTES = `^$|[",\\r\\n]|^${BLANK}|${BLANK}$`
const QUOTED = '"(?:[^"]|"")*"'
/** A value with the comma behind it. Without a group that captures, the time is linear. */
const VALUE_AND_COMMA = `(?:${BLANK}*${QUOTED}${BLANK}*|[^,]*)(?:,|$)`

/** Joins the values of the cell into a list. @param textOf the text of a value, null for one that is left out */
export const joined = (cell: Sql, textOf: (value: Sql) => Sql): Sql => sql`(
  select string_agg(case when e.word ~ ${NEEDS_QUOTES} then '"' || replace(e.word, '"', '""') || '"' else e.word end, ', ' order by e.at)
  from (select ${textOf(sql`o.id`)} as word, o.at from unnest(${cell}) with ordinality o (id, at) offset '0') e)`

/** The values of a list, as rows of `word` and `at`. The word is null where a quote is not closed, or is closed before the value ends. */
export function splitWords(text: Sql): Sql {
  const quotedParts = sql`array(
    select regexp_replace(m.part[1], ',$', '')
    from regexp_matches(${text}, ${VALUE_AND_COMMA}, 'g') with ordinality m (part, at) order by m.at)`
  const parts = sql`case when strpos(${text}, '"') = 0 then string_to_array(${text}, ',') else ${quotedParts} end`
  const unquoted = trimmed(sql`replace(substr(q.word, 2, length(q.word) - 2), '""', '"')`)
  return sql`(
    select case when q.word not like '"%' then q.word when q.word ~ ${`^${QUOTED}$`} then ${unquoted} end as word, q.at
    from (select ${trimmed(sql`t.word`)} as word, t.at from unnest(${parts}) with ordinality t (word, at)) q)`
}

/** Reads a list and keeps each value once. The result is null if a value cannot be read or there are more than 1,000. */
export function eachOf(text: Sql, read: (one: Sql) => Sql): Sql {
  return sql`(select case when bool_and(p.id is not null) and count(*) <= 1000 then array_agg(p.id order by p.at) end
    from (select o.id, min(o.at) as at from (
      select ${read(sql`s.word`)} as id, s.at from ${splitWords(text)} s where s.word is distinct from '') o group by o.id) p)`
}
