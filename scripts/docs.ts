/**
 * Writes the audited actions, the compares, the conversions and the states of an email from the code into the documents; with --check only
 * reports whether they are up to date.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { ACTIONS } from '../src/audit/actions.ts'
import { isConvertible } from '../src/conversions/rules.ts'
import { EMAIL_STATES, EMAIL_STATUSES } from '../src/email/states.ts'
import { COMPARES, type Compare } from '../src/fields/compares.ts'
import { NOTHING, type ValueKind } from '../src/fields/operand.ts'
import { FIELD_TYPES, type FieldType, TYPES } from '../src/fields/registry.ts'

/** Compares that are the same for every type share a column. */
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

/** @throws Error when compares that share a column differ for a type and need their own columns */
function cellOf(kinds: (ValueKind | undefined)[]): string {
  const [kind, ...others] = new Set(kinds)
  if (others.length) throw new Error(`One column, two meanings: ${kinds.map((each) => each?.wants).join(', ')}`)
  if (!kind) return '–'
  return kind === NOTHING ? 'yes' : kind.wants
}

function tableOfCompares(): string {
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

/** Returns the target types of each type. Text types share a row, and are named "the texts" in the others. */
function tableOfConversions(): string {
  const texts = FIELD_TYPES.filter((type) => TYPES[type].maxLength !== null)
  const others = FIELD_TYPES.filter((type) => !texts.includes(type))
  const unreachable = others.filter((type) => !TYPES[type].fromText)
  const becomes = (type: FieldType) => [...(TYPES[type].asText ? ['the texts'] : []), ...others.filter((to) => isConvertible(type, to))]
  const rows = [
    [texts.join(', '), `each other, and every type but ${unreachable.join(', ')}`],
    ...others.map((type) => [type, becomes(type).join(', ') || '–']),
  ]
  return [['From', 'To'], ['---', '---'], ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}

/** Returns the transitions of an email as a Mermaid diagram. */
function diagramOfStates(): string {
  const transitions = EMAIL_STATUSES.flatMap((to) => EMAIL_STATES[to].from.map((from) => `  ${from} --> ${to}\n`))
  return `\`\`\`mermaid\nstateDiagram-v2\n  [*] --> queued\n${transitions.join('')}\`\`\`\n`
}

/** Returns each audited action with its object, its meaning and its detail. */
function tableOfActions(): string {
  const rows = Object.entries(ACTIONS).map(([action, { object, means, ...more }]) => [
    `\`${action}\``,
    object,
    means,
    'detail' in more ? more.detail : '',
  ])
  return [['Action', 'Object', 'Meaning', '`detail`'], ['---', '---', '---', '---'], ...rows]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('')
}

print('docs/audit.md', 'src/audit/actions.ts', tableOfActions())
print('docs/queries.md', 'src/fields/types/', tableOfCompares())
print('docs/field-types.md', 'src/fields/types/', tableOfConversions())
print('docs/email.md', 'src/email/states.ts', diagramOfStates())

/** Inserts the text between the comments that mark its place in the document. */
function print(document: string, source: string, block: string): void {
  const path = new URL(`../${document}`, import.meta.url)
  const [marker, endMarker] = [`<!-- printed from ${source} by \`npm run docs\` -->\n`, '<!-- end -->\n']
  const text = readFileSync(path, 'utf8')
  const [begin, end] = [text.indexOf(marker), text.indexOf(endMarker)]
  if (begin < 0 || end < begin) throw new Error(`${document} has no place for what is printed: it needs ${marker}and ${endMarker}`)
  const fresh = `${text.slice(0, begin)}${marker}\n${block}\n${text.slice(end)}`
  if (fresh === text) return
  if (process.argv.includes('--check')) {
    console.error(`${document} is out of date: run \`npm run docs\` and commit it`)
    process.exitCode = 1
  } else writeFileSync(path, fresh)
}
