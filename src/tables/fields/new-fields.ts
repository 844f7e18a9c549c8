/** Checks new fields as a whole before anything is written, and gives them ids. */

import type { FieldDef } from '../../fields/definition.ts'
import { TYPES } from '../../fields/registry.ts'
import type { Option } from '../../fields/settings.ts'
import { isReserved, slugOf } from '../../fields/slug.ts'
import type { Issue } from '../../platform/errors.ts'
import type { NewField } from '../schema.ts'
import { givenColors } from './option-colors.ts'
import { repeatedTitle, unknownOption } from './select-options.ts'

/**
 * Returns the definitions of new fields, and the validation issues by the index of the field in the list.
 * @param taken ids of the fields that the table already has
 */
export function newFields(wanted: readonly NewField[], taken: ReadonlySet<string>): { fields: FieldDef[]; issues: Issue[] } {
  const issues = wanted.flatMap((field, index) => issuesOf(field).map((issue) => ({ ...issue, path: [index, ...issue.path] })))
  // A generated id must not take one that another field of the list asks for.
  const ids = new Set([...taken, ...wanted.flatMap(({ id }) => id ?? [])])
  for (const [index, { id }] of wanted.entries()) {
    const isRepeated = id && (taken.has(id) || wanted.findIndex((other) => other.id === id) < index)
    if (isRepeated) issues.push({ path: [index, 'id'], message: 'another field has this id' })
  }
  const fields = wanted.map((field, index) => {
    const id = field.id ?? slugOf(field.name, ids, taken.size + index + 1)
    ids.add(id)
    return definitionOf(field, id)
  })
  return { fields, issues }
}

function issuesOf(field: NewField): Issue[] {
  const { id, type, options, decimals, table } = field
  const issues = colorIssuesOf(field)
  const refuse = (key: string, message: string) => issues.push({ path: [key], message })
  const { takes } = TYPES[type]
  const repeated = options && repeatedTitle(options)
  if (id && isReserved(id)) refuse('id', 'is a reserved word')
  if (options && takes !== 'options') refuse('options', `${type} fields have no options`)
  else if (repeated) refuse('options', `"${repeated}" is listed twice`)
  if (decimals != null && takes !== 'decimals') refuse('decimals', `${type} fields have no decimals`)
  if (table != null && takes !== 'table') refuse('table', `${type} fields point to no table`)
  if (table == null && takes === 'table') refuse('table', `is required for ${type} fields`)
  return issues
}

function colorIssuesOf({ type, options, colors }: NewField): Issue[] {
  if (!colors) return []
  if (TYPES[type].takes !== 'options') return [{ path: ['colors'], message: `${type} fields have no colors` }]
  const { unknown } = givenColors(optionsOf(options), colors)
  return unknown === undefined ? [] : [{ path: ['colors', unknown], message: unknownOption(unknown) }]
}

const optionsOf = (titles: NewField['options']): Option[] => (titles ?? []).map((title, index) => ({ id: index + 1, title }))

function definitionOf(field: NewField, id: string): FieldDef {
  const { name, type, required, always_hidden, admin_only, decimals, table } = field
  const { takes } = TYPES[type]
  const options = takes === 'options' ? optionsOf(field.options) : null
  return {
    id,
    name,
    type,
    required: required ?? false,
    always_hidden: always_hidden ?? false,
    admin_only: admin_only ?? false,
    options,
    option_colors: givenColors(options ?? [], field.colors ?? {}).colors,
    removed_options: [],
    decimals: takes === 'decimals' ? (decimals ?? null) : null,
    is_rounding: false,
    narrowing: null,
    lookup_table_id: takes === 'table' ? (table ?? null) : null,
    key: false,
    calc: false,
    is_normalized: true,
    version: 1,
  }
}
