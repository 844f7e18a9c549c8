/** Which types a field can be changed to (docs/field-types.md), and what is said of the values that would not fit. */
import type { Job } from '../ended-job.ts'
import { type FieldType, TYPES } from './field-draft.ts'

const TEXTS: readonly FieldType[] = ['text', 'long_text', 'email', 'url', 'phone']
const SELECTS: readonly FieldType[] = ['select', 'multi_select']

/** Beside the texts, which become everything but files, and which everything but files becomes. */
const BECOMES: Partial<Record<FieldType, readonly FieldType[]>> = {
  number: ['checkbox', ...SELECTS, 'lookup', 'multi_lookup'],
  checkbox: ['number', ...SELECTS],
  date: ['datetime', ...SELECTS],
  datetime: ['date', ...SELECTS],
  time: SELECTS,
  select: ['multi_select'],
  multi_select: ['select'],
  user: [...SELECTS, 'multi_user'],
  multi_user: ['user'],
  lookup: ['number', ...SELECTS, 'multi_lookup'],
  multi_lookup: ['lookup'],
}

/** The types that a field of this type can have from now on, its own first. */
export function typesAfter(from: FieldType): FieldType[] {
  if (from === 'file') return [from]
  const others = TYPES.filter((to) => to !== from && to !== 'file')
  return [from, ...others.filter((to) => TEXTS.includes(from) || TEXTS.includes(to) || BECOMES[from]?.includes(to))]
}

/** What a dry run has found. */
export interface Counted {
  converts: number
  failing: number
  /** Values that do not fit, some of them. */
  examples: readonly string[]
}

const EXAMPLES = 5

export const countedOf = ({ converts = 0, failing = 0, fails = [] }: Job): Counted => ({
  ...{ converts, failing },
  examples: [...new Set(fails.map(({ value }) => value))].slice(0, EXAMPLES),
})
