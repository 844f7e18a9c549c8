/** The fields that records are grouped by. */

import { fieldNamed } from '../../fields/by-id.ts'
import { type FieldDef, isThroughMany, type TableDef, withArticle } from '../../fields/definition.ts'
import type { Grouping } from '../../fields/field-type.ts'
import { FIELD_TYPES, TYPES } from '../../fields/registry.ts'

export interface GroupedField {
  field: FieldDef
  grouping: Grouping
}

/** The field of that name, or a message if there is none or the operation does not group by its type. */
export function groupedField(table: TableDef, name: string, operation: Grouping['in'][number]): GroupedField | string {
  const field = fieldNamed(table, name)
  if (typeof field === 'string') return field
  if (isThroughMany(field)) return 'cannot be grouped by through a multi_lookup, which has several records'
  const { groups: grouping } = TYPES[field.type]
  if (grouping?.in.includes(operation)) return { field, grouping }
  const types = FIELD_TYPES.filter((type) => TYPES[type].groups?.in.includes(operation))
  return `${withArticle(field.type)} cannot be grouped by; ${types.join(', ')} can`
}

/** The message for a unit of a field that has none. */
export const noUnit = ({ type }: FieldDef): string => `does not go with ${withArticle(type)}`
