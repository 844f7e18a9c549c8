/** Spells a resolved query as text, with brackets, and with the values that tokens and @me have for the caller. */
import { type Meaning, type Moment, meaningOf, type Token } from '../../fields/date-tokens.ts'
import type { FieldDef } from '../../fields/definition.ts'
import type { QueryContext } from '../../fields/field-type.ts'
import { TYPES } from '../../fields/registry.ts'
import { formatInstant } from '../../platform/time/time.ts'
import { dayRange } from '../../platform/time/time-zones.ts'
import { leavesOf, type Tree } from '../../views/filters/parse.ts'
import { type ResolvedCondition, type SingleCondition, singlesOf } from '../../views/filters/resolve-conditions.ts'
import { isAlways, type Selection } from './selection.ts'

/** `(stage = "Won" OR due <= today (2026-03-29)) AND owner = @me (ann@example.com) AND search "acme"` */
export function spellSelection({ where, words }: Selection, queryContext: QueryContext): string {
  const parts = [...(isAlways(where) ? [] : [where]), ...words.map((word) => `search ${JSON.stringify(word)}`)]
  if (parts.length === 0) return 'every record'
  return parts.map((part) => (typeof part === 'string' ? part : spell(part, queryContext, parts.length > 1))).join(' AND ')
}

function spell(tree: Tree<ResolvedCondition>, queryContext: QueryContext, isPart: boolean): string {
  if ('field' in tree) return spellCondition(tree, queryContext)
  if ('not' in tree) return `NOT ${spellNegated(tree.not, queryContext)}`
  const [parts, connector] = 'all' in tree ? [tree.all.filter((part) => !isAlways(part)), ' AND '] : [tree.any, ' OR ']
  if (parts.length === 0) return 'all' in tree ? 'every record' : 'no record'
  if (parts.length === 1 && parts[0]) return spell(parts[0], queryContext, isPart)
  const spelled = parts.map((part) => spell(part, queryContext, true)).join(connector)
  return isPart ? `(${spelled})` : spelled
}

function spellNegated(tree: Tree<ResolvedCondition>, queryContext: QueryContext): string {
  const spelled = spell(tree, queryContext, true)
  return spelled.startsWith('(') ? spelled : `(${spelled})`
}

function spellCondition(condition: ResolvedCondition, queryContext: QueryContext): string {
  const { field, compare, operand } = condition
  if (operand.kind === 'nothing') return `${field.id} ${compare}`
  const values = singlesOf(condition).map((one) => spellValue(one, queryContext))
  if (operand.kind !== 'list') return `${field.id} ${compare} ${values[0]}`
  return `${field.id} ${compare === '!=' ? 'none' : operand.isAll ? 'all' : 'any'} of [${values.join(', ')}]`
}

function spellValue({ field, operand, value }: SingleCondition, { moment, me }: QueryContext): string {
  if (operand.kind === 'me') return `${value} (${me.email})`
  if (operand.kind !== 'token') return JSON.stringify(value)
  const meaning = meantOn(field, operand.token, moment)
  return `${value} (${'day' in meaning ? meaning.day : formatInstant(meaning.instant)})`
}

/** The distinct date tokens, each with the start (inclusive) and end (exclusive) of its range; both are equal for an instant. */
export function spellTokens({ where }: Selection, { moment }: QueryContext): { token: string; from: string; to: string }[] {
  const tokens = leavesOf(where)
    .flatMap(singlesOf)
    .flatMap(({ field, operand, value }) => {
      if (operand.kind !== 'token') return []
      const meaning = meantOn(field, operand.token, moment)
      const { from, to } = 'day' in meaning ? dayRange(meaning.day, moment.timeZone) : { from: meaning.instant, to: meaning.instant }
      return { token: String(value), from: formatInstant(from), to: formatInstant(to) }
    })
  return [...new Map(tokens.map((token) => [JSON.stringify(token), token])).values()]
}

/** On a date field an instant counts as the local day in which it lies. */
const meantOn = ({ type }: FieldDef, token: Token, moment: Moment): Meaning => (TYPES[type].meaningOf ?? meaningOf)(token, moment)
