/** Whether a condition still asks for the same records when the type or the options of its field change. */
import { isDeepStrictEqual } from 'node:util'
import { type Compare, needsNoValue } from '../../fields/compares.ts'
import { decimalText } from '../../fields/decimal.ts'
import { type FieldDef, isMultiple, isThroughMany } from '../../fields/definition.ts'
import type { Operand } from '../../fields/operand.ts'
import { TYPES } from '../../fields/registry.ts'
import { formatInstant } from '../../platform/time/time.ts'
import { isListed, type ResolvedCondition, type SingleCondition, singlesOf } from './resolve-conditions.ts'

/**
 * True if the condition on the changed field finds the records that it found before. Dates that are relative to today and `@me` have no
 * equal among texts, and neither has the whole day that a date means among instants.
 * @param after the same condition, read for the changed field
 */
export function keepsMeaning(before: ResolvedCondition, after: ResolvedCondition): boolean {
  if (needsNoValue(before.compare)) return true
  if (isListed(before) !== isListed(after)) return false
  if (isThroughMany(before.field) !== isThroughMany(after.field) && isUnchecked(before)) return false
  const were = singlesOf(before)
  return singlesOf(after).every((is, index) => keepsValue(were[index] as SingleCondition, is))
}

/** Without a linked record a checkbox counts as unchecked through a lookup, and not through a multi_lookup. */
const isUnchecked = ({ operand }: ResolvedCondition) => operand.kind === 'boolean' && !operand.value

function keepsValue(before: SingleCondition, after: SingleCondition): boolean {
  const { compare } = before
  const [was, is] = [before, after].map(({ field }) => TYPES[field.type].compares[compare])
  if (is?.isOptionTitle) return keepsOption(before, after, was === is)
  if (was === is) return true
  if (before.operand.kind === after.operand.kind && before.operand.kind !== 'text') return isSame(before, after)
  if (isMultiple(before.field.type) || isMultiple(after.field.type)) return false
  if (isPart(compare)) return !namesUsers(before.field) && !namesUsers(after.field)
  // Texts are in the order of their characters, in which numbers are not.
  if (compare !== '=' && compare !== '!=' && [before, after].some(({ operand }) => operand.kind === 'number')) return false
  const text = valueText(before)
  return text !== null && text === valueText(after)
}

/** @param wasTitle true if the value was the whole title of an option before; options keep their ids, so a renamed one is still the same */
function keepsOption(before: SingleCondition, { field, operand, value }: SingleCondition, wasTitle: boolean): boolean {
  const { options } = field
  if (before.operand.kind === 'options') {
    const { ids } = before.operand
    return wasTitle ? ids.every((id) => options?.some((option) => option.id === id)) : isDeepStrictEqual(before.operand, operand)
  }
  if (isMultiple(field.type)) return false
  // Without options a job has yet to read them from the cells.
  return !options || (operand.kind === 'options' && operand.ids.length > 0 && valueText(before) === value)
}

function isSame(before: SingleCondition, after: SingleCondition): boolean {
  if (!isDeepStrictEqual(before.operand, after.operand)) return false
  return before.operand.kind !== 'token' || isDeepStrictEqual(tokenKind(before), tokenKind(after))
}

const SOME_MOMENT = { now: new Date(0), timeZone: 'UTC', weekStart: 'monday' } as const

/** Whether a token means a day or an instant: `now` is an instant among instants, and today among dates. */
function tokenKind({ field, operand }: SingleCondition): string[] {
  const meaning = operand.kind === 'token' ? TYPES[field.type].meaningOf?.(operand.token, SOME_MOMENT) : undefined
  return Object.keys(meaning ?? {})
}

const isPart = (compare: Compare) => compare === 'contains' || compare === 'starts_with' || compare === 'ends_with'
const namesUsers = ({ type }: FieldDef) => TYPES[type].names === 'users'

/** The only value that the condition means, as a text field would hold it; null if it means several, or another one at another time. */
function valueText({ field, operand, value }: SingleCondition): string | null {
  const { groups } = TYPES[field.type]
  if (operand.kind === 'date') return groups?.by === 'days' && groups.isInstant ? null : operand.date
  if (operand.kind === 'options') return String(value)
  const textOf = TEXTS[operand.kind] as ((one: Operand) => string | null) | undefined
  return textOf?.(operand) ?? null
}

const TEXTS: { [Kind in Operand['kind']]?: (operand: Extract<Operand, { kind: Kind }>) => string | null } = {
  text: ({ text }) => text,
  number: ({ decimal }) => decimalText(decimal),
  boolean: ({ value }) => String(value),
  instant: ({ instant }) => formatInstant(instant),
  time: ({ time }) => time,
  email: ({ email }) => email,
}
