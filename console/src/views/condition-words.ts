/** Conditions and orders in plain words (docs/queries.md, Conditions). */
import type { Field, Place } from '../cells/kind.ts'
import { viewTexts } from '../texts/views/views.ts'
import { dateShown, instantShown, timeShown } from '../ui/locale/date-format.ts'
import { isDay } from '../ui/locale/days.ts'
import { plainNumberText } from '../ui/locale/number-text.ts'
import { tokenWords } from './token-words.ts'

/** A condition as people and views write it; what an address holds may be anything. */
export interface Condition {
  column: string
  compare: string
  value?: unknown
  all?: unknown
  connector?: unknown
}

/** What conditions are said with. */
export interface Wording {
  fieldOf(name: string): Field | undefined
  place: Place
  me: { id: number; email: string | null }
  /** The name of a member of the space, by the id or the address; undefined if it is not known (yet). */
  personName?(idOrEmail: number | string): string | undefined
  /** The title of a record. */
  recordTitle?(tableId: number, id: number): string | undefined
}

/** The kind of values, by which compares are said. */
export function kindOf({ type, linked }: Pick<Field, 'type' | 'linked'>): keyof typeof viewTexts.compares {
  if (type.startsWith('multi_') || linked === 'many') return 'many'
  if (type === 'number') return 'number'
  return type === 'date' || type === 'datetime' || type === 'time' ? 'time' : 'text'
}

/** The name of a field; that of one through a lookup has both names. */
export function fieldName(name: string, { fieldOf }: Pick<Wording, 'fieldOf'>): string {
  const known = fieldOf(name)
  if (known) return isolated(known.name)
  const [lookup = '', ...rest] = name.split('.')
  const through = rest.length ? fieldOf(lookup) : undefined
  return isolated(through ? `${through.name}: ${rest.join('.')}` : name)
}

/** Letters and marks that are written from right to left, and those that turn the direction. */
const FROM_THE_RIGHT = /[\u0590-\u08ff\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufeff]/

/** A name within a sentence, whose order of words it must not change. */
export const isolated = (text: string): string => (FROM_THE_RIGHT.test(text) ? `\u2068${text}\u2069` : text)

function conditionWords(condition: Condition, wording: Wording): string {
  const { column, compare, value, all } = condition
  const field = wording.fieldOf(column)
  const name = fieldName(column, wording)
  if (field?.type === 'checkbox' && typeof value === 'boolean') {
    return viewTexts.condition(name, value === (compare === '=') ? viewTexts.checked : viewTexts.unchecked)
  }
  const compares: Readonly<Record<string, string>> = viewTexts.compares[field ? kindOf(field) : 'text']
  const said = (Object.hasOwn(compares, compare) && compares[compare]) || compare
  if (compare === 'is_empty' || compare === 'is_not_empty') return viewTexts.condition(name, said)
  const values = (Array.isArray(value) ? value : [value]).map((one) => valueWords(one, field, wording))
  if (all === true) return viewTexts.condition(name, viewTexts.allOf(values))
  if (compare === '!=' && values.length > 1) return viewTexts.condition(name, viewTexts.noneOf(values))
  return viewTexts.condition(name, `${said} ${viewTexts.anyOf(values)}`)
}

/** One value of a condition in words. */
export function valueWords(value: unknown, field: Field | undefined, wording: Wording): string {
  const text = String(value)
  const words = field && VALUES[field.type]?.(text, value, wording, field)
  if (words) return words
  return typeof value === 'string' ? viewTexts.quoted(isolated(value)) : text
}

type SaidValue = (text: string, value: unknown, wording: Wording, field: Field) => string | null

const personWords: SaidValue = (text, value, { me, personName }) => {
  if (text.toLowerCase() === '@me' || value === me.id || text === me.email) return viewTexts.me
  const name = typeof value === 'number' || typeof value === 'string' ? personName?.(value) : undefined
  if (name !== undefined) return isolated(name)
  return typeof value === 'number' ? viewTexts.userOf(value) : null
}
const recordWords: SaidValue = (_, value, { recordTitle }, { table }) => {
  if (typeof value !== 'number') return null
  const title = table === undefined ? undefined : recordTitle?.(table, value)
  return title === undefined ? viewTexts.recordOf(value) : viewTexts.quoted(isolated(title))
}

/** Values in words; null: as any other text. */
const VALUES: Partial<Record<Field['type'], SaidValue>> = {
  number: (_, value, { place }) => (typeof value === 'number' ? plainNumberText(value, place.locale) : null),
  date: (text, _, { place }) => tokenWords(text) ?? dateShown(text, place.locale),
  datetime: (text, _, { place }) => tokenWords(text) ?? (isDay(text) ? dateShown(text, place.locale) : instantShown(text, place)),
  time: (text, _, { place }) => timeShown(text, place.locale),
  user: personWords,
  multi_user: personWords,
  lookup: recordWords,
  multi_lookup: recordWords,
}

/** A tree of conditions as one text. */
export function treeWords(tree: unknown, wording: Wording, isInside = false): string {
  const condition = conditionOf(tree)
  if (condition) return conditionWords(condition, wording)
  const { all, any, not } = (typeof tree === 'object' && tree !== null ? tree : {}) as Record<string, unknown>
  if (not !== undefined) return viewTexts.not(treeWords(not, wording))
  const members = membersOf(all ?? any).map((member) => treeWords(member, wording, true))
  if (members.length === 0) return any === undefined ? viewTexts.every : viewTexts.none
  const text = any === undefined ? viewTexts.and(members) : viewTexts.or(members)
  return isInside && members.length > 1 ? viewTexts.group(text) : text
}

/** The conditions in trees and lists of them, in whatever depth. */
export function leavesOf(part: unknown): Condition[] {
  if (Array.isArray(part)) return part.flatMap(leavesOf)
  const condition = conditionOf(part)
  if (condition) return [condition]
  if (typeof part !== 'object' || part === null) return []
  const { all, any, not } = part as Record<string, unknown>
  return [all, any, not].flatMap(leavesOf)
}

export const membersOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Other spellings of compares, which addresses may have (docs/queries.md). */
const SPELLINGS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ eq: '=', ne: '!=', neq: '!=', gt: '>', gte: '>=', lt: '<', lte: '<=', c: 'contains', sw: 'starts_with', ew: 'ends_with' },
    ...{ empty: 'is_empty', nempty: 'is_not_empty' },
  }),
)

/** Reads what an address may hold in place of a condition; null for anything else. */
export function conditionOf(value: unknown): Condition | null {
  if (typeof value !== 'object' || value === null) return null
  const { field, column = field, compare, ...rest } = value as Record<string, unknown>
  if (typeof column !== 'string' || typeof compare !== 'string') return null
  const spelled = compare.toLowerCase()
  return { ...rest, column, compare: SPELLINGS.get(spelled) ?? spelled }
}

/** The members of the outermost `all`; a tree of another kind is its only member. */
export function partsOf(tree: unknown): readonly unknown[] {
  const { all } = (typeof tree === 'object' && tree !== null ? tree : {}) as Record<string, unknown>
  return Array.isArray(all) ? all : [tree]
}

export interface SortKey {
  field: string
  dir?: string | undefined
}

const isDescending = ({ dir }: SortKey) => dir?.toUpperCase() === 'D'
export const sortWords = (key: SortKey, wording: Wording) => viewTexts.sorted(fieldName(key.field, wording), isDescending(key))
