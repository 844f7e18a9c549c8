import { z } from 'zod'
import { type FieldDef, isSelect } from '../fields/definition.ts'
import { FIELD_TYPES } from '../fields/registry.ts'
import { SLUG } from '../fields/slug.ts'
import { Id, Name, TablePath, Text } from '../platform/http/procedures/schemas.ts'
import { absentOr, changesOf } from '../platform/validation-messages.ts'

export const MAX_FIELDS = 300
export const MAX_OPTIONS = 500
const MAX_DECIMALS = 8

export const Field = z
  .object({
    id: z.string().meta({ description: 'Generated from the name, unique in its table. A rename does not change it.' }),
    name: z.string(),
    type: z.enum(FIELD_TYPES),
    required: z.boolean(),
    always_hidden: z.boolean().meta({ description: 'Hidden in layouts, but part of every answer.' }),
    admin_only: z.boolean().meta({ description: 'Everybody can read the field; only admins can write it.' }),
    options: z.array(z.string()).optional().meta({ description: 'The titles of a select, in order.' }),
    decimals: z.int().optional().meta({ description: 'Digits after the point that a number keeps. If absent, up to 8.' }),
    table: Id.optional().meta({ description: 'The table that a lookup points to.' }),
    key: z.literal(true).optional().meta({ description: "The record's id." }),
    calc: z.literal(true).optional().meta({ description: 'True if the service sets the values.' }),
    version: z.int().optional().meta({ description: 'Increases with every change, for If-Match. Absent in a dry run.' }),
  })
  .meta({ id: 'Field', description: 'A column of a table.' })
export type Field = z.infer<typeof Field>

export const Table = z.object({ id: Id, name: z.string(), space_id: Id }).meta({ id: 'TableSummary' })
export type Table = z.infer<typeof Table>

export const TableWithFields = Table.extend({ fields: z.array(Field) }).meta({
  id: 'Table',
  description: 'A table with its fields: the key first, calc fields last.',
})
export type TableWithFields = z.infer<typeof TableWithFields>

const OptionTitle = Text.trim().min(1, 'must not be empty').max(500, 'must have at most 500 characters')
export const Options = z.array(OptionTitle).max(MAX_OPTIONS, `must have at most ${MAX_OPTIONS} options`)
export const Decimals = z.int().min(0, 'must be 0 or more').max(MAX_DECIMALS, `must be at most ${MAX_DECIMALS}`)

export const NewField = z.strictObject({
  id: z
    .string()
    .regex(SLUG, 'must be a lower-case letter and up to 47 lower-case letters, digits and underscores')
    .nullish()
    .meta({ description: 'By default derived from the name.' }),
  name: Name,
  type: z.enum(FIELD_TYPES),
  required: z.boolean().nullish(),
  always_hidden: z.boolean().nullish(),
  admin_only: z.boolean().nullish(),
  options: Options.nullish().meta({ description: 'For select and multi_select: titles, each once.' }),
  decimals: Decimals.nullish().meta({ description: 'For number.' }),
  table: Id.nullish().meta({ description: 'For lookup and multi_lookup, required: a table of the same space.' }),
})
export type NewField = z.infer<typeof NewField>

export const FieldUpdate = changesOf(
  z.strictObject({
    name: Name,
    required: z.boolean().nullish(),
    always_hidden: z.boolean().nullish(),
    admin_only: z.boolean().nullish(),
    options: z
      .array(z.union([OptionTitle, z.strictObject({ title: OptionTitle, was: Text })]))
      .max(MAX_OPTIONS, `must have at most ${MAX_OPTIONS} options`)
      .nullish()
      .meta({ description: 'The whole list in its new order. `{title, was}` renames an option; records keep it.' }),
    add_options: Options.nullish().meta({ description: 'Titles to add to those that the field has, beside changes that others make.' }),
    remove_options: Options.nullish().meta({ description: 'Titles to remove from those that the field has.' }),
    decimals: Decimals.nullish(),
    force: z.boolean().meta({ description: 'Changes cells too: removed options are emptied, numbers rounded.' }),
  }),
)
export type FieldUpdate = z.infer<typeof FieldUpdate>

export const NewTable = z.strictObject({
  name: Name,
  fields: z.array(NewField).max(MAX_FIELDS, `must have at most ${MAX_FIELDS} fields`).nullish(),
})
export type NewTable = z.infer<typeof NewTable>

export const TableUpdate = changesOf(z.strictObject({ name: Name }))
export type TableUpdate = z.infer<typeof TableUpdate>

export const FieldOrder = z.strictObject({
  field_ids: z.array(z.string()).max(MAX_FIELDS).meta({ description: 'Every field of the table once, except key and calc fields.' }),
})

export const LostView = z.object({ id: Id, name: z.string() })
export const FieldDeletion = z.strictObject({
  force: absentOr(z.boolean()).meta({
    description: 'Also deletes views that filter or are structured by the field, and drops sorts by it.',
  }),
})
export const FieldDeleted = z.object({
  ok: z.literal(true),
  deleted_views: z.array(LostView).meta({ description: 'Views that used the field in a filter or as a structural field.' }),
  unsorted_views: z.array(LostView).meta({ description: 'Views that were sorted by it.' }),
})
export type FieldDeleted = z.infer<typeof FieldDeleted>

/** The id of a field in a path. The id is a text, but a path segment of digits is read as a number. */
export const FieldPath = TablePath.extend({
  field_id: z.union([z.string(), z.number()]).meta({ type: 'string', example: 'stage' }).transform(String),
})

/** Returns a field as the API shows it: options by their titles, and only the properties of its type. */
export function fieldOf({ id, name, type, required, always_hidden, admin_only, version, ...field }: FieldDef): Field {
  const { options, decimals, lookup_table_id, key, calc } = field
  return {
    ...{ id, name, type, required, always_hidden, admin_only },
    ...(isSelect(type) && { options: (options ?? []).map(({ title }) => title) }),
    ...(decimals !== null && { decimals }),
    ...(lookup_table_id !== null && { table: lookup_table_id }),
    ...(key && { key }),
    ...(calc && { calc }),
    version,
  }
}
