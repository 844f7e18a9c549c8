import { z } from 'zod'
import { type FieldDef, isSelect } from '../fields/definition.ts'
import { FIELD_TYPES } from '../fields/registry.ts'
import { COLORS, type Color } from '../fields/settings.ts'
import { SLUG } from '../fields/slug.ts'
import { Id, Name, TablePath, Text, Version } from '../platform/http/procedures/schemas.ts'
import { absentOr, changesOf } from '../platform/validation-messages.ts'
import { colorsByTitle, type GivenColors } from './fields/option-colors.ts'

export const MAX_FIELDS = 300
export const MAX_OPTIONS = 500
const MAX_DECIMALS = 8

/** `z.record` is not used, because it silently ignores a key such as `__proto__`. */
const OptionColors = z.custom<Record<string, Color>>().meta({
  id: 'OptionColors',
  type: 'object',
  additionalProperties: { type: 'string', enum: [...COLORS] },
  description: 'The colors of options by their titles.',
  example: { Won: 'green' },
})

export const Field = z
  .object({
    id: z.string().meta({ description: 'Generated from the name, unique in its table. A rename does not change it.' }),
    name: z.string().meta({ description: 'The heading of the column. A rename keeps the id.' }),
    type: z.enum(FIELD_TYPES).meta({ description: 'Decides which values the field takes and how they are compared.' }),
    required: z
      .boolean()
      .meta({ description: 'True if a record cannot be created without a value, nor lose it. Older records may have none.' }),
    always_hidden: z.boolean().meta({ description: 'Hidden in layouts, but part of every answer.' }),
    admin_only: z.boolean().meta({ description: 'Everybody can read the field; only admins can write it.' }),
    options: z.array(z.string()).optional().meta({ description: 'The titles of a select, in order.' }),
    colors: OptionColors.optional().meta({ description: 'The colors of its options by title, of those that have one.' }),
    decimals: z.int().optional().meta({ description: 'Digits after the point that a number keeps. If absent, up to 8.' }),
    table: Id.optional().meta({ description: 'The table that a lookup points to.' }),
    key: z.literal(true).optional().meta({ description: "The record's id." }),
    calc: z.literal(true).optional().meta({ description: 'True if the service sets the values.' }),
    version: Version.optional().meta({
      description: 'Increases with every change: the number in the ETag, for If-Match. Absent in a dry run.',
    }),
  })
  .meta({ id: 'Field', description: 'A column of a table.' })
export type Field = z.infer<typeof Field>

export const Table = z
  .object({
    id: Id.meta({ description: 'The `table_id` of paths.' }),
    name: z.string().meta({ description: 'The name, unique in its space.' }),
    space_id: Id.meta({ description: 'The space that the table is in; it never changes.' }),
  })
  .meta({ id: 'TableSummary', description: 'A table without its fields.' })
export type Table = z.infer<typeof Table>

export const TableWithFields = Table.extend({
  fields: z.array(Field).meta({ description: 'In their order: the key first, calc fields last.' }),
}).meta({
  id: 'Table',
  description: 'A table with its fields: the key first, calc fields last.',
})
export type TableWithFields = z.infer<typeof TableWithFields>

const OptionTitle = Text.trim().min(1, 'must not be empty').max(500, 'must have at most 500 characters')
export const Options = z.array(OptionTitle).max(MAX_OPTIONS, `must have at most ${MAX_OPTIONS} options`)

const isColor = (value: unknown) => value === null || COLORS.some((color) => color === value)
const NewOptionColors = z
  .custom<GivenColors>((data) => typeof data === 'object' && data !== null && !Array.isArray(data), {
    error: 'must be an object with colors by option title',
    abort: true,
  })
  .meta({
    type: 'object',
    additionalProperties: { type: ['string', 'null'], enum: [...COLORS, null] },
    description: 'Colors for options by their titles; null for none.',
    example: { Won: 'green', Lost: 'red' },
  })
  .superRefine((colors, ctx) => {
    const entries = Object.entries(colors)
    if (entries.length > MAX_OPTIONS) return ctx.addIssue(`must have at most ${MAX_OPTIONS} colors`)
    const wrong = entries.filter(([, color]) => !isColor(color))
    for (const [title] of wrong) ctx.addIssue({ code: 'custom', path: [title], message: `must be one of ${COLORS.join(', ')}` })
  })
  .meta({ id: 'NewOptionColors' })

export const Decimals = z.int().min(0, 'must be 0 or more').max(MAX_DECIMALS, `must be at most ${MAX_DECIMALS}`)

export const NewField = z
  .strictObject({
    id: z
      .string()
      .regex(SLUG, 'must be a lower-case letter and up to 47 lower-case letters, digits and underscores')
      .nullish()
      .meta({ description: 'By default derived from the name.' }),
    name: Name.meta({ description: 'The heading of the column; at most 100 characters.' }),
    type: z.enum(FIELD_TYPES).meta({ description: 'Decides which values the field takes; changeType converts it later.' }),
    required: z.boolean().nullish().meta({ description: 'If true, no record can be created without a value. Default false.' }),
    always_hidden: z
      .boolean()
      .nullish()
      .meta({ description: 'If true, layouts leave the field out unless a view says `showHidden`. Default false.' }),
    admin_only: z.boolean().nullish().meta({ description: 'If true, only admins can write it. Default false.' }),
    options: Options.nullish().meta({ description: 'For select and multi_select: titles, each once.' }),
    colors: NewOptionColors.nullish().meta({ description: 'Colors of options by title; an option need not have one.' }),
    decimals: Decimals.nullish().meta({ description: 'For number.' }),
    table: Id.nullish().meta({ description: 'For lookup and multi_lookup, required: a table of the same space.' }),
  })
  .meta({ id: 'NewField', description: 'A field to add to a table.' })
export type NewField = z.infer<typeof NewField>

const RenamedOption = z
  .strictObject({
    title: OptionTitle.meta({ description: 'The new title.' }),
    was: Text.meta({ description: 'The title until now.' }),
  })
  .meta({ id: 'RenamedOption', description: 'An option that gets another title, also in the records that have it.' })

export const FieldUpdate = changesOf(
  z.strictObject({
    name: Name.meta({ description: 'The new heading; the id stays.' }),
    required: z.boolean().nullish().meta({ description: 'Whether a record must have a value from now on; records without one stay.' }),
    always_hidden: z.boolean().nullish().meta({ description: 'Whether layouts leave the field out.' }),
    admin_only: z.boolean().nullish().meta({ description: 'Whether only admins can write it.' }),
    options: z
      .array(z.union([OptionTitle, RenamedOption]))
      .max(MAX_OPTIONS, `must have at most ${MAX_OPTIONS} options`)
      .nullish()
      .meta({ description: 'The whole list in its new order. `{title, was}` renames an option; records keep it.' }),
    add_options: Options.nullish().meta({ description: 'Titles to add to those that the field has, beside changes that others make.' }),
    remove_options: Options.nullish().meta({ description: 'Titles to remove from those that the field has.' }),
    colors: NewOptionColors.nullish().meta({
      description:
        'All colors by title; beside add_options or remove_options those that change. Null ends them. If absent, options keep theirs.',
    }),
    decimals: Decimals.nullish().meta({ description: 'For number: digits after the point that it keeps; null: up to 8.' }),
    force: z.boolean().meta({ description: 'Changes cells too: removed options are emptied, numbers rounded.' }),
  }),
).meta({ id: 'FieldUpdate', description: 'What can be changed about a field.' })
export type FieldUpdate = z.infer<typeof FieldUpdate>

export const NewTable = z
  .strictObject({
    name: Name.meta({ description: 'A name that no other table of the space has.' }),
    fields: z
      .array(NewField)
      .max(MAX_FIELDS, `must have at most ${MAX_FIELDS} fields`)
      .nullish()
      .meta({ description: 'The fields in their order, without the key and the calc fields, which every table has.' }),
  })
  .meta({ id: 'NewTable', description: 'A table to create.' })
export type NewTable = z.infer<typeof NewTable>

export const TableUpdate = changesOf(
  z.strictObject({ name: Name.meta({ description: 'A name that no other table of the space has.' }) }),
).meta({ id: 'TableUpdate', description: 'What can be changed about a table.' })
export type TableUpdate = z.infer<typeof TableUpdate>

export const TableDeletion = z
  .strictObject({
    force: absentOr(z.boolean()).meta({
      description: 'Also deletes views of other tables that filter by its fields through lookups, and drops sorts by them.',
    }),
  })
  .meta({ id: 'TableDeletion', description: 'How a table is deleted.' })

export const FieldOrder = z
  .strictObject({
    field_ids: z.array(z.string()).max(MAX_FIELDS).meta({ description: 'Every field of the table once, except key and calc fields.' }),
  })
  .meta({ id: 'FieldOrder', description: 'The order of the fields of a table.' })

export const LostView = z
  .object({
    id: Id.meta({ description: 'The id that the view has or had.' }),
    name: z.string().meta({ description: 'The name, to tell people what they lost.' }),
  })
  .meta({ id: 'LostView', description: 'A view that a change deleted, or whose order it dropped.' })
export const FieldDeletion = z
  .strictObject({
    force: absentOr(z.boolean()).meta({
      description: 'Also deletes views that filter or are structured by the field, and drops sorts by it.',
    }),
  })
  .meta({ id: 'FieldDeletion', description: 'How a field is deleted.' })
export const FieldDeleted = z
  .object({
    ok: z.literal(true).meta({ description: 'Always true: a refusal has another status.' }),
    deleted_views: z.array(LostView).meta({ description: 'Views that used the field in a filter or as a structural field.' }),
    unsorted_views: z.array(LostView).meta({ description: 'Views that were sorted by it.' }),
  })
  .meta({ id: 'FieldDeleted', description: 'What the deletion of a field took along.' })
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
    ...(isSelect(type) && { options: (options ?? []).map(({ title }) => title), colors: colorsByTitle(field) }),
    ...(decimals !== null && { decimals }),
    ...(lookup_table_id !== null && { table: lookup_table_id }),
    ...(key && { key }),
    ...(calc && { calc }),
    version,
  }
}
