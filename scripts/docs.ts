/** Prints into docs/queries.md what the code itself says of compares; with --check only tells whether it is up to date. */
import { readFileSync, writeFileSync } from 'node:fs'
import { COMPARES, type Compare } from '../src/fields/compares.ts'
import { NOTHING, type ValueKind } from '../src/fields/operand.ts'
import { FIELD_TYPES, type FieldType, TYPES } from '../src/fields/registry.ts'

const path = new URL('../docs/queries.md', import.meta.url)
const [BEGIN, END] = ['<!-- printed from src/fields/types/ by `npm run docs` -->\n', '<!-- end -->\n']

/** Compares that every type has alike share a column. */
const COLUMNS: readonly Compare[][] = [
  ['=', '!='],
  ['>', '<', '>=', '<='],
  ['contains'],
  ['starts_with', 'ends_with'],
  ['is_empty', 'is_not_empty'],
]

/** Types with the same rules share a row. */
function rows(): string[][] {
  const alike = new Map<string, FieldType[]>()
  for (const type of FIELD_TYPES) {
    const rule = rulesOf(type).join(' | ')
    alike.set(rule, [...(alike.get(rule) ?? []), type])
  }
  return [...alike.values()].map((types) => [types.join(', '), ...rulesOf(types[0] as FieldType)])
}

function rulesOf(type: FieldType): string[] {
  const { compares, sort, groups, search } = TYPES[type]
  return [
    ...COLUMNS.map((column) => cellOf(column.map((compare) => compares[compare]))),
    sort?.follows ?? '–',
    groups?.by ?? '–',
    search ? 'yes' : '–',
  ]
}

/** @throws Error when compares that share a column differ on a type: they need columns of their own then */
function cellOf(kinds: (ValueKind | undefined)[]): string {
  const [kind, ...others] = new Set(kinds)
  if (others.length) throw new Error(`One column, two meanings: ${kinds.map((each) => each?.wants).join(', ')}`)
  if (!kind) return '–'
  return kind === NOTHING ? 'yes' : kind.wants
}

function printed(): string {
  const missing = COMPARES.filter((compare) => !COLUMNS.flat().includes(compare))
  if (missing.length) throw new Error(`No column for ${missing.join(', ')}`)
  const head = [
    'Type',
    ...COLUMNS.map((column) => column.map((compare) => `\`${compare}\``).join(' ')),
    'Sorts by',
    'Groups by',
    'Searched',
  ]
  return [head, head.map(() => '---'), ...rows()].map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}

const text = readFileSync(path, 'utf8')
const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)]
if (begin < 0 || end < begin) throw new Error(`docs/queries.md has no place for the table: it needs ${BEGIN}and ${END}`)
const fresh = `${text.slice(0, begin)}${BEGIN}\n${printed()}\n${text.slice(end)}`

if (process.argv.includes('--check')) {
  if (fresh !== text) {
    console.error('The table of compares in docs/queries.md is out of date: run `npm run docs` and commit it')
    process.exitCode = 1
  }
} else writeFileSync(path, fresh)
