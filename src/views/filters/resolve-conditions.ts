/**
 * Resolves parsed conditions against the fields of a table. The result depends on neither the time nor the caller, so a view can be
 * checked when it is saved, and its resolved conditions can be cached with the table's definition.
 */

import { fieldNamed } from '../../fields/by-id.ts'
import type { Compare } from '../../fields/compares.ts'
import { type FieldDef, holdsFiles, type TableDef, withArticle } from '../../fields/definition.ts'
import type { Operand, OperandList, ValueKind } from '../../fields/operand.ts'
import { TYPES } from '../../fields/registry.ts'
import { noOption } from '../../fields/types/select.ts'
import { badInputs, type Issue } from '../../platform/errors.ts'
import { valueInNfc } from '../../platform/normal-forms.ts'
import { mapLeaves, type ParsedCondition, type Path, type Tree } from './parse.ts'

/** A condition whose field, compare and value have been checked. */
export type ResolvedCondition = SingleCondition | ListedCondition

export interface SingleCondition {
  field: FieldDef
  compare: Compare
  operand: Operand
  /** The value as it was sent; absent for is_empty and is_not_empty. */
  value?: unknown
}

/** A condition with a list of values. */
export interface ListedCondition extends Omit<SingleCondition, 'operand' | 'value'> {
  operand: OperandList
  value: unknown[]
}

/**
 * Checks every condition of the tree.
 * @param isSaved true for the conditions of a view that is saved: the title of an option must then exist. In other conditions an unknown
 * title is valid, and no record has it
 * @throws AppError 400 naming each unknown column, each compare that the type does not have, and each value of the wrong type
 */
export function resolveTree(tree: Tree<ParsedCondition>, table: TableDef, isSaved = false): Tree<ResolvedCondition> {
  const issues: Issue[] = []
  const checked = mapLeaves<ParsedCondition, ResolvedCondition>(tree, (condition) => {
    const found = check(condition, table)
    if ('field' in found) {
      const unknown = isSaved ? unknownOptions(found) : []
      issues.push(...unknown.map(({ at, value }) => ({ path: [...valuePath(condition), ...at], message: noOption(value) })))
      if (!unknown.length) return found
    } else issues.push(...found)
    return { all: [] }
  })
  if (issues.length) throw badInputs(issues)
  return checked
}

/** The values that should be titles of options, and that no option has, each with its place in a list. */
export function unknownOptions(condition: ResolvedCondition): { value: unknown; at: Path }[] {
  if (!TYPES[condition.field.type].compares[condition.compare]?.isOptionTitle) return []
  return singlesOf(condition).flatMap(({ operand, value }, index) =>
    operand.kind === 'options' && !operand.ids.length ? [{ value, at: isListed(condition) ? [index] : [] }] : [],
  )
}

export const isListed = (condition: ResolvedCondition): condition is ListedCondition => condition.operand.kind === 'list'

/** The condition for each of its values. */
export function singlesOf(condition: ResolvedCondition): SingleCondition[] {
  if (!isListed(condition)) return [condition]
  const { field, compare, value } = condition
  return condition.operand.operands.map((operand, index) => ({ field, compare, operand, value: value[index] }))
}

/** In `where` the path itself names the field; a filter names its parts under keys. */
const pathTo = (path: Path, key: string): Path => (path[0] === 'where' ? path : [...path, key])
const valuePath = ({ path }: ParsedCondition): Path => pathTo(path, 'value')

function check(condition: ParsedCondition, table: TableDef): ResolvedCondition | Issue[] {
  const { column, compare, value, path } = condition
  const at = (key: string): Path => pathTo(path, key)
  const field = fieldNamed(table, column)
  if (typeof field === 'string') return [{ path: at('column'), message: field }]
  if (field.link && holdsFiles(field)) return [{ path: at('column'), message: 'a file field of another table goes in fields only' }]
  const { compares } = TYPES[field.type]
  const kind = compares[compare]
  if (!kind) {
    const has = Object.keys(compares).join(', ')
    return [{ path: at('compare'), message: `${withArticle(field.type)} does not have ${compare}; it has ${has}` }]
  }
  if (Array.isArray(value)) return checkList(condition, value, field, kind)
  // A view that an earlier release saved may have another form.
  const operand = kind.read(valueInNfc(value), field, compare)
  return operand ? { field, compare, operand, value } : [{ path: at('value'), message: `must be ${kind.wants}` }]
}

function checkList(condition: ParsedCondition, values: unknown[], field: FieldDef, kind: ValueKind): ResolvedCondition | Issue[] {
  const { compare, all, path } = condition
  const { among, isMultiple } = TYPES[field.type]
  if (!among) return [{ path: valuePath(condition), message: `must be ${kind.wants}; ${withArticle(field.type)} takes no list` }]
  if (all && !isMultiple)
    return [{ path: pathTo(path, 'all'), message: `goes with fields of several values, and not with ${withArticle(field.type)}` }]
  const operands: Operand[] = []
  const issues = values.flatMap((value, index) => {
    const operand = kind.read(valueInNfc(value), field, compare)
    if (!operand) return [{ path: [...valuePath(condition), index], message: `must be ${kind.wants}` }]
    operands.push(operand)
    return []
  })
  return issues.length ? issues : { field, compare, operand: { kind: 'list', operands, isAll: all === true }, value: values }
}
