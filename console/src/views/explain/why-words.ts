/** Why a view does not show a record, in words (docs/queries.md, Why is this record not in the view?). */
import type { Field } from '../../cells/kind.ts'
import { anyText, isEmpty, isLink, isPerson } from '../../cells/values.ts'
import { whyTexts } from '../../texts/views/why.ts'
import { fieldName, isolated, kindOf, valueWords, type Wording } from '../condition-words.ts'

/** The condition that excludes a record, as `records.explain` answers it. */
export interface Failed {
  column: string | null
  compare: string
  value?: unknown
  all?: true | undefined
  actual?: unknown
  not?: true | undefined
}

/** Who wants what the record is not: a view, or what is tried beside it. */
export type Wanting = keyof typeof whyTexts.wanting

/** A sentence such as: Stage is "Lead", the view wants "Won". */
export function whyWords(failed: Failed, wording: Wording, wanting: Wanting = 'view'): string {
  const { column, compare, value, actual, not } = failed
  const { wants, wantsNot } = whyTexts.wanting[wanting]
  if (column === null) return whyTexts.wordMissing(isolated(String(value)))
  const field = wording.fieldOf(column)
  const name = fieldName(column, wording)
  if (field?.type === 'checkbox' && typeof value === 'boolean') {
    const isWanted = (value === (compare === '=')) !== (not === true)
    return whyTexts.sentence(name, whyTexts.checked(actual === true), wants, whyTexts.toBeChecked(isWanted))
  }
  return whyTexts.sentence(name, actualWords(actual, field, wording), not ? wantsNot : wants, wantedWords(failed, field, wording))
}

function wantedWords({ compare, value, all }: Failed, field: Field | undefined, wording: Wording): string {
  const kind = field ? kindOf(field) : 'text'
  const values = (Array.isArray(value) ? value : [value]).map((one) => valueWords(one, field, wording))
  const text = all ? whyTexts.allOf(values) : whyTexts.anyOf(values)
  const wanted: Readonly<Record<string, (value: string) => string>> = whyTexts.wanted[kind]
  return wanted[compare]?.(text) ?? `${compare} ${text}`
}

/** The longest value that a sentence quotes whole. */
const LONGEST = 100
const shortened = (text: string) => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text)

function actualWords(actual: unknown, field: Field | undefined, wording: Wording): string {
  if (isEmpty(actual)) return whyTexts.isEmpty
  const values = (Array.isArray(actual) ? actual : [actual]).filter((one) => !isEmpty(one))
  const isMany = Array.isArray(actual)
  return whyTexts.has(isMany, values.map((one) => oneWords(one, field, wording)).join(', '))
}

function oneWords(value: unknown, field: Field | undefined, wording: Wording): string {
  if (isPerson(value)) return value.id === wording.me.id ? whyTexts.me(isolated(value.name)) : isolated(shortened(value.name))
  if (isLink(value)) return value.title === null ? valueWords(value.id, field, wording) : whyTexts.quoted(isolated(shortened(value.title)))
  if (typeof value === 'string' || typeof value === 'number')
    return valueWords(typeof value === 'string' ? shortened(value) : value, field, wording)
  return whyTexts.quoted(isolated(shortened(anyText(value))))
}
