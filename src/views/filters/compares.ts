/**
 * Which compare each type of field has, what its value is read as, and how the type sorts (contract.md §5). This table is the
 * validation, and what docs/queries.md is printed from (`npm run docs`); `records/condition.ts` has the SQL of every entry.
 */
import type { FieldType } from '../../fields/definition.ts'

export const COMPARES = ['=', '!=', '>', '<', '>=', '<=', 'contains', 'starts_with', 'ends_with', 'is_empty', 'is_not_empty'] as const
export type Compare = (typeof COMPARES)[number]

/** What the value of a filter is read as. The text completes "must be …". */
export const VALUE_KINDS = {
  nothing: 'left out',
  text: 'a text',
  number: 'a number',
  digits: 'a number or a part of one, as text',
  boolean: 'true or false',
  day: 'a date (YYYY-MM-DD) or a date token',
  moment: 'a date (YYYY-MM-DD), an instant (YYYY-MM-DD HH:MM:SS) or a date token',
  time: 'a time of day (HH:MM)',
  option: 'the title of an option',
  optionPart: 'a part of the title of an option',
  person: 'an email address, a user id or @me',
  personPart: 'a part of a name or email address, or @me',
  record: 'the id of a record',
} as const
export type ValueKind = keyof typeof VALUE_KINDS

interface Rule {
  readonly compares: Readonly<Partial<Record<Compare, ValueKind>>>
  /** What its order follows; null for types that cannot be sorted by. */
  readonly sortsBy: string | null
  /** Whether `search` looks into it. */
  readonly searched: boolean
  /** What records can be counted by; absent for types that cannot be grouped by. */
  readonly groups?: 'value' | 'days'
}

const equality = (kind: ValueKind) => ({ '=': kind, '!=': kind })
const order = (kind: ValueKind) => ({ '>': kind, '<': kind, '>=': kind, '<=': kind })
const within = (kind: ValueKind) => ({ contains: kind, starts_with: kind, ends_with: kind })
const EMPTINESS = { is_empty: 'nothing', is_not_empty: 'nothing' } as const

const TEXT: Rule = {
  compares: { ...equality('text'), ...order('text'), ...within('text'), ...EMPTINESS },
  sortsBy: 'the lower-cased text',
  searched: true,
}

/** A field that holds several values: `=` and `contains` mean "has this value". */
const several = (kind: ValueKind): Rule => ({
  compares: { ...equality(kind), contains: kind, ...EMPTINESS },
  sortsBy: null,
  searched: false,
})

export const RULES: Readonly<Record<FieldType, Rule>> = {
  text: TEXT,
  long_text: { ...TEXT, sortsBy: 'its first 200 characters, lower-cased' },
  email: TEXT,
  url: TEXT,
  phone: TEXT,
  number: {
    compares: { ...equality('number'), ...order('number'), contains: 'digits', ...EMPTINESS },
    sortsBy: 'the number',
    searched: false,
  },
  checkbox: { compares: equality('boolean'), sortsBy: 'false before true', searched: false, groups: 'value' },
  date: { compares: { ...equality('day'), ...order('day'), ...EMPTINESS }, sortsBy: 'the date', searched: false, groups: 'days' },
  datetime: {
    compares: { ...equality('moment'), ...order('moment'), ...EMPTINESS },
    sortsBy: 'the instant',
    searched: false,
    groups: 'days',
  },
  time: { compares: { ...equality('time'), ...order('time'), ...EMPTINESS }, sortsBy: 'the time of day', searched: false },
  select: {
    compares: { ...equality('option'), ...within('optionPart'), ...EMPTINESS },
    sortsBy: 'the position of the option',
    searched: true,
    groups: 'value',
  },
  multi_select: several('option'),
  user: {
    compares: { ...equality('person'), ...within('personPart'), ...EMPTINESS },
    sortsBy: 'the name',
    searched: false,
    groups: 'value',
  },
  multi_user: several('person'),
  lookup: { compares: { ...equality('record'), ...within('text'), ...EMPTINESS }, sortsBy: 'the title', searched: false },
  multi_lookup: several('record'),
  file: { compares: { contains: 'text', ...EMPTINESS }, sortsBy: null, searched: false },
}

/** The types that records can be grouped by. */
export const GROUPABLE: readonly FieldType[] = (Object.keys(RULES) as FieldType[]).filter((type) => RULES[type].groups)

/** What the compare reads its value as on such a field; undefined when the type does not have the compare. */
export const valueKind = (type: FieldType, compare: Compare): ValueKind | undefined => RULES[type].compares[compare]

const SPELLINGS = new Map<string, Compare>([
  ...COMPARES.map((compare) => [compare.toUpperCase(), compare] as const),
  ['EQ', '='],
  ['NE', '!='],
  ['NEQ', '!='],
  ['GT', '>'],
  ['GTE', '>='],
  ['LT', '<'],
  ['LTE', '<='],
  ['C', 'contains'],
  ['SW', 'starts_with'],
  ['EW', 'ends_with'],
  ['EMPTY', 'is_empty'],
  ['NEMPTY', 'is_not_empty'],
])

/** The compare that is meant, of all accepted spellings in any case; undefined for an unknown one. */
export const compareOf = (spelling: unknown): Compare | undefined =>
  typeof spelling === 'string' ? SPELLINGS.get(spelling.toUpperCase()) : undefined

/** Whether the compare asks for emptiness and so needs no value. */
export const needsNoValue = (compare: Compare): boolean => compare === 'is_empty' || compare === 'is_not_empty'
