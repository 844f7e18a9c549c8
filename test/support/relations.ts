/** Reads which tables a statement names. */
import { readFileSync } from 'node:fs'

/** The tables of the system, by the schema. */
export const SYSTEM_TABLES: ReadonlySet<string> = new Set(
  [...readFileSync('prisma/schema.prisma', 'utf8').matchAll(/@@map\("(\w+)"\)/g)].map(([, name]) => name as string),
)

const WORD = /'(?:[^']|'')*'|--[^\n]*|\/\*.*?\*\/|"(?:[^"]|"")*"|[a-z_][a-z0-9_]*|[^\s]/gis
/** What a table follows. In a list of tables it follows a comma, where a column may stand, too; so a word before a dot does not count. */
const BEFORE_TABLE = new Set(['from', 'join', 'into', 'update', 'only', 'table', 'lateral', ','])

export interface Relations {
  /** Names of system tables. A column of the same name counts, too, unless it is quoted. */
  system: string[]
  /** Schemas of user tables, such as `t4`. */
  records: string[]
}

export function relationsOf(statement: string): Relations {
  const words = (statement.match(WORD) ?? []).filter((word) => !/^('|--|\/\*)/.test(word))
  const system = new Set<string>()
  const records = new Set<string>()
  for (const [index, word] of words.entries()) {
    const name = word.replaceAll('"', '').toLowerCase()
    const [before = '', beyond = ''] = [words[index - 1]?.toLowerCase(), words[index + 1]]
    if (/^t\d+$/.test(name) && beyond === '.') records.add(name)
    const isTable = before === '.' ? words[index - 2]?.replaceAll('"', '') === 'public' : BEFORE_TABLE.has(before) && beyond !== '.'
    if (isTable && SYSTEM_TABLES.has(name)) system.add(name)
  }
  return { system: [...system], records: [...records] }
}
