/** What the form of conditions holds while it is filled in: rows and groups. It becomes a tree of conditions, and comes from one. */
import type { Field, Place } from '../../cells/kind.ts'
import { viewTexts } from '../../texts/views/views.ts'
import { conditionOf, membersOf } from '../condition-words.ts'
import { comparesOf, filterText, readFilterValue, valueFormOf } from './filter-values.ts'

export interface Chosen {
  value: string | number
  /** How it is shown until its name is known. */
  label?: string | undefined
}

export interface RowDraft {
  kind: 'row'
  key: number
  column: string
  compare: string
  /** What is typed; of a list a line each. */
  text: string
  chosen: readonly Chosen[]
}
export type Match = 'all' | 'any' | 'none'
export interface GroupDraft {
  kind: 'group'
  key: number
  match: Match
  members: readonly Draft[]
}
/** What the form cannot change stays as it is, and can be removed. */
interface KeptDraft {
  kind: 'kept'
  key: number
  tree: unknown
}
export type Draft = RowDraft | GroupDraft | KeptDraft

let lastKey = 0
const nextKey = () => ++lastKey

export const newRow = (field: Field | undefined): RowDraft => ({
  ...{ kind: 'row', key: nextKey(), column: field?.id ?? '', compare: (field && comparesOf(field)[0]) ?? '', text: '', chosen: [] },
})
export const newGroup = (members: readonly Draft[], match: Match = 'all'): GroupDraft => ({ kind: 'group', key: nextKey(), match, members })

type FieldOf = (name: string) => Field | undefined

// ── from a tree ─────────────────────────────────────────────────────────────

export function draftOf(tree: unknown, fieldOf: FieldOf, place: Place): Draft {
  const condition = conditionOf(tree)
  if (condition) return rowOf(condition, fieldOf(condition.column), place) ?? { kind: 'kept', key: nextKey(), tree }
  const { all, any, not } = (typeof tree === 'object' && tree !== null ? tree : {}) as Record<string, unknown>
  const draft = (part: unknown) => draftOf(part, fieldOf, place)
  if (Array.isArray(all)) return newGroup(all.map(draft))
  if (Array.isArray(any)) return newGroup(any.map(draft), 'any')
  if (typeof not !== 'object' || not === null) return { kind: 'kept', key: nextKey(), tree }
  const inner = (not as Record<string, unknown>).any
  return newGroup(Array.isArray(inner) ? inner.map(draft) : [draft(not)], 'none')
}

/** The group that the form begins with. */
export function rootOf(tree: unknown, fieldOf: FieldOf, place: Place): GroupDraft {
  const draft = draftOf(tree, fieldOf, place)
  return draft.kind === 'group' ? draft : newGroup([draft])
}

/** A row that means the same as the condition; null if no row does. */
function rowOf(condition: { compare: string; value?: unknown; all?: unknown }, field: Field | undefined, place: Place): RowDraft | null {
  if (!field) return null
  const { value, all } = condition
  const isList = Array.isArray(value)
  const compare = compareInForm(condition, field, isList, all === true)
  if (compare === null || !comparesOf(field).includes(compare)) return null
  const row = { ...newRow(field), compare }
  const values = membersOf(isList ? value : [value])
  switch (valueFormOf(field, compare)) {
    case 'none':
      return row
    case 'checked':
      return typeof value === 'boolean' ? { ...row, text: String(value === (condition.compare === '=')) } : null
    case 'text':
    case 'lines': {
      const texts = values.map((one) => filterText(one, field, place))
      return texts.includes(null) ? null : { ...row, text: texts.join('\n') }
    }
    default: {
      const chosen = values.flatMap((one) => (typeof one === 'string' || typeof one === 'number' ? { value: one } : []))
      return chosen.length === values.length ? { ...row, chosen } : null
    }
  }
}

function compareInForm({ compare }: { compare: string }, field: Field, isList: boolean, isAll: boolean): string | null {
  if (isAll) return 'all_of'
  if (field.type === 'checkbox') return compare === '=' || compare === '!=' ? '=' : null
  // A field of several values contains what it has.
  if (compare === 'contains' && field.type.startsWith('multi_')) return '='
  if (!isList || ['options', 'people', 'records'].includes(valueFormOf(field, compare))) return compare
  return { '=': 'any_of', '!=': 'none_of' }[compare] ?? null
}

// ── to a tree ───────────────────────────────────────────────────────────────

/** What is wrong, by the key of the row. */
export type Problems = ReadonlyMap<number, string>

/** The tree of a draft; what is wrong with rows is added to `problems`. */
export function treeOf(draft: Draft, fieldOf: FieldOf, place: Place, problems: Map<number, string>): unknown {
  if (draft.kind === 'kept') return draft.tree
  if (draft.kind === 'row') {
    const read = conditionOfRow(draft, fieldOf(draft.column), place)
    if (!('problem' in read)) return read
    problems.set(draft.key, read.problem)
    return null
  }
  const members = draft.members.map((member) => treeOf(member, fieldOf, place, problems))
  const [first] = members
  if (draft.match === 'none') return { not: members.length === 1 ? first : { any: members } }
  return members.length === 1 ? first : { [draft.match]: members }
}

/** The most values of a list (contract.md §1). */
const MOST_VALUES = 200

type ReadCondition = { column: string; compare: string; value?: unknown; all?: boolean } | { problem: string }

function conditionOfRow(row: RowDraft, field: Field | undefined, place: Place): ReadCondition {
  if (!field) return { problem: viewTexts.fieldMissing }
  const { column, compare, text, chosen } = row
  switch (valueFormOf(field, compare)) {
    case 'none':
      return { column, compare }
    case 'checked':
      return text === '' ? { problem: viewTexts.valueMissing } : withValue(column, '=', text === 'true')
    case 'text': {
      const read = readFilterValue(text, field, place)
      return 'problem' in read ? read : withValue(column, compare, read.value)
    }
    case 'lines': {
      const values = readLines(text, field, place)
      return 'problem' in values ? values : withValues(row, values)
    }
    default:
      return withValues(
        row,
        chosen.map(({ value }) => value),
      )
  }
}

const SPELLED: ReadonlyMap<string, string> = new Map([
  ['any_of', '='],
  ['none_of', '!='],
  ['all_of', '='],
])

function withValues({ column, compare }: RowDraft, values: readonly (string | number)[]): ReadCondition {
  if (values.length === 0) return { problem: viewTexts.valueMissing }
  if (values.length > MOST_VALUES) return { problem: viewTexts.tooManyValues(MOST_VALUES) }
  const condition = withValue(column, SPELLED.get(compare) ?? compare, values.length === 1 ? values[0] : values)
  return compare === 'all_of' && values.length > 1 ? { ...condition, all: true } : condition
}

const withValue = (column: string, compare: string, value: unknown) => ({ column, compare, value })

/** A value a line, each once. */
function readLines(text: string, field: Field, place: Place): (string | number)[] | { problem: string } {
  const values = new Set<string | number>()
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue
    const read = readFilterValue(line, field, place)
    if ('problem' in read) return read
    values.add(read.value)
  }
  return [...values]
}

// ── changes ─────────────────────────────────────────────────────────────────

/** The draft with one member replaced, or without it; groups that are empty go, too. */
export function replaced(group: GroupDraft, key: number, change: (draft: Draft) => Draft | null): GroupDraft {
  const members = group.members.flatMap((member) => {
    if (member.key === key) return change(member) ?? []
    if (member.kind !== 'group') return member
    const inner = replaced(member, key, change)
    return inner.members.length ? inner : []
  })
  return { ...group, members }
}
