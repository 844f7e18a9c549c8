/**
 * Resolves parsed conditions against the fields of a table. The result depends on neither the time nor the caller, so a view can be
 * checked when it is saved, and its resolved conditions can be cached with the table's definition.
 */

import { fieldsById, notAField } from '../../fields/by-id.ts'
import type { Compare } from '../../fields/compares.ts'
import { type FieldDef, type TableDef, withArticle } from '../../fields/definition.ts'
import type { Operand } from '../../fields/operand.ts'
import { TYPES } from '../../fields/registry.ts'
import { noOption } from '../../fields/types/select.ts'
import { badInputs, type Issue } from '../../platform/errors.ts'
import { valueInNfc } from '../../platform/normal-forms.ts'
import { mapLeaves, type ParsedCondition, type Path, type Tree } from './parse.ts'

/** A condition whose field, compare and value have been checked. */
export interface ResolvedCondition {
  field: FieldDef
  compare: Compare
  operand: Operand
  /** The value as it was sent; absent for is_empty and is_not_empty. */
  value?: unknown
}

/**
 * Checks every condition of the tree.
 * @param isSaved true for the conditions of a view that is saved: the title of an option must then exist. In other conditions an unknown
 * title is valid, and no record has it
 * @throws AppError 400 naming each unknown column, each compare that the type does not have, and each value of the wrong type
 */
export function resolveTree(tree: Tree<ParsedCondition>, table: TableDef, isSaved = false): Tree<ResolvedCondition> {
  const issues: Issue[] = []
  const fields = fieldsById(table)
  const checked = mapLeaves<ParsedCondition, ResolvedCondition>(tree, (condition) => {
    const found = check(condition, fields)
    if (!('field' in found)) issues.push(found)
    else if (isSaved && namesUnknownOption(found)) issues.push({ path: valuePath(condition), message: noOption(found.value) })
    else return found
    return { all: [] }
  })
  if (issues.length) throw badInputs(issues)
  return checked
}

/** True if the value should be the title of an option, and no option has it. */
export function namesUnknownOption({ field, compare, operand }: ResolvedCondition): boolean {
  return TYPES[field.type].compares[compare]?.isOptionTitle === true && operand.kind === 'options' && !operand.ids.length
}

/** In `where` the path itself names the field; a filter names its parts under keys. */
const pathTo = (path: Path, key: string): Path => (path[0] === 'where' ? path : [...path, key])
const valuePath = ({ path }: ParsedCondition): Path => pathTo(path, 'value')

function check({ column, compare, value, path }: ParsedCondition, fields: ReadonlyMap<string, FieldDef>): ResolvedCondition | Issue {
  const at = (key: string): Path => pathTo(path, key)
  const field = fields.get(column)
  if (!field) return { path: at('column'), message: notAField(column) }
  const { compares } = TYPES[field.type]
  const kind = compares[compare]
  if (!kind) {
    const has = Object.keys(compares).join(', ')
    return { path: at('compare'), message: `${withArticle(field.type)} does not have ${compare}; it has ${has}` }
  }
  // A view that an earlier release saved may have another form.
  const operand = kind.read(valueInNfc(value), field, compare)
  return operand ? { field, compare, operand, value } : { path: at('value'), message: `must be ${kind.wants}` }
}
