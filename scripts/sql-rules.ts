/**
 * Checks that aliases in SQL cannot be confused with fields of users. A field may have the id `e`, and in a statement that reads its table a bare
 * `e` is then the field, even if the statement has an alias `e`. With a dot it can only be the alias: `e.entry`, `e.*`.
 */
import { isReserved } from '../src/fields/slug.ts'
import type { SourceFacts } from './source-facts.ts'

export interface BareAlias {
  line: number
  alias: string
}

/** The functions that print the table or the columns of a user. */
const NAMES_FIELDS: ReadonlySet<string> = new Set(['recordsOf', 'stagingOf', 'columnOf', 'ident'])

/** True if statements of the file can meet the fields of a table. */
export const namesFields = ({ path, calls }: SourceFacts): boolean =>
  path.startsWith('src/fields/') || calls.some(({ callee }) => NAMES_FIELDS.has(callee))

/** The alias of a table in a FROM clause, with the list of columns that may follow: `unnest(…) with ordinality u (option, at)`. */
const NAMED =
  /(?:\b(?:from|join)\s+(?:lateral\s+)?[\w.?]+|\))\s*(?:with\s+ordinality\s+)?(?:\bas\s+)?\b([a-z_]\w*)\b(?:\s*\(([\w", ]+)\))?/gi
/** Words after a table or a closing parenthesis that are not aliases. */
const KEYWORDS = new Set(
  (
    'and as asc between by case collate conflict cross desc do else end except filter for from full group having in inner intersect is ' +
    'join lateral left like limit materialized not nulls offset on or order over returning right select set then union using values when ' +
    'where with within'
  ).split(' '),
)

/**
 * Finds aliases of tables, and columns that an alias lists, that are used without a dot. An alias may be declared in one fragment of the file and
 * used in another.
 */
export function bareAliases(source: SourceFacts): BareAlias[] {
  if (!namesFields(source)) return []
  const statements = source.sql.map(({ line, text }) => ({ line, ...namesIn(text.replace(/--[^\n]*/g, '').replace(/'[^']*'/g, "''")) }))
  const tables = statements.flatMap((statement) => statement.tables)
  return statements.flatMap(({ line, columns, rest }) =>
    [...new Set([...tables, ...columns])].filter((alias) => isBareIn(rest, alias)).map((alias) => ({ line, alias })),
  )
}

/** @returns the aliases of a statement, and its text without the lists of their columns */
function namesIn(text: string): { tables: string[]; columns: string[]; rest: string } {
  const tables: string[] = []
  const columns: string[] = []
  const rest = text.replaceAll(NAMED, (declared, alias: string, list: string | undefined) => {
    // `) as name` without a list names a value of the answer.
    const isValue = list === undefined && /^\)\s*as\b/i.test(declared)
    if (isValue || KEYWORDS.has(alias.toLowerCase())) return declared
    tables.push(alias)
    columns.push(...(list ?? '').split(/[\s,]+/).filter((name) => /^\w+$/.test(name) && !isReserved(name)))
    return list === undefined ? declared : declared.replace(`(${list})`, ' ')
  })
  return { tables, columns, rest }
}

/** As an argument or operand, or after a word that a value follows. */
function isBareIn(text: string, alias: string): boolean {
  const value = `(?<![.\\w"])${alias}(?![\\w."(])`
  const before = new RegExp(
    `(?:[\\w?]\\(|[=<>|+*/-]|\\b(?:select|distinct|and|or|where|not|by|case|when|then|else|on))\\s*${value}(?!\\s*(?:\\(|set\\b))`,
    'i',
  )
  const after = new RegExp(`${value}\\s*(?:->|::|[=<>|])`, 'i')
  return before.test(text) || after.test(text)
}
