import { z } from 'zod'
import { COMPARES } from '../fields/compares.ts'
import { Id, include, Name, TablePath, Version } from '../platform/http/procedures/schemas.ts'
import { changesOf } from '../platform/validation-messages.ts'
import { Field, Table } from '../tables/schema.ts'
import { VIEW_TYPES } from './config.ts'
import { MAX_SORTS, NULLS } from './filters/order.ts'
import { MAX_FILTERS, type Tree } from './filters/parse.ts'

const connector = z.enum(['AND', 'OR'])

const Filter = z
  .object({
    column: z.string().meta({ description: 'The id of a field.' }),
    compare: z.enum(COMPARES).meta({ description: 'How the value of a record is compared with `value`.' }),
    value: z.unknown().optional().meta({
      description:
        'Absent for is_empty and is_not_empty; a list for any of its values. Date tokens and @me are answered as they were sent.',
    }),
    all: z.literal(true).optional().meta({ description: 'Present if a record must have all values of the list.' }),
    connector: connector.meta({ description: "Joins the filter to the one before it; 'AND' on the first. AND binds tighter than OR." }),
  })
  .meta({ id: 'Filter', description: 'One condition of a view, in its normal form.' })
export type Filter = z.infer<typeof Filter>

const Comparison = Filter.omit({ connector: true }).meta({ id: 'Comparison', description: 'One condition of a group, in its normal form.' })
/** Typed by the shapes of parse.ts: an alias would refer to a value, which the types of the client cannot (scripts/client-types.ts). */
const part = z
  .lazy((): z.ZodType<Tree<z.infer<typeof Comparison>>> => z.union([Comparison, FilterGroup]))
  .meta({ id: 'FilterPart', description: 'A condition or a group.' })
const parts = z.array(part)
const FilterGroup: z.ZodType<Tree<z.infer<typeof Comparison>>> = z
  .union([
    z.object({ all: parts.meta({ description: 'All of them must hold; an empty list matches every record.' }) }),
    z.object({ any: parts.meta({ description: 'One of them must hold; an empty list matches none.' }) }),
    z.object({ not: part.meta({ description: 'It must not hold.' }) }),
  ])
  .meta({
    id: 'FilterGroup',
    description: 'All, any or none of its conditions and groups. An empty `all` matches every record, an empty `any` none.',
  })

export const SortKey = z
  .object({
    field: z.string().meta({ description: 'The id of a field.' }),
    dir: z.enum(['A', 'D']).meta({ description: 'A: ascending. D: descending.' }),
    nulls: z.enum(NULLS).optional().meta({ description: 'Where records without a value come, if the order was made with it.' }),
  })
  .meta({ id: 'SortKey', description: 'One key of an order.' })

/** A condition as it may be sent; filters/parse.ts accepts more spellings. */
export interface FilterInput {
  column?: string | null
  /** An alias of `column`. */
  field?: string | null
  compare: string
  /** For `=` and `!=` also a list of 1 to 200 values: any of them, none of them. */
  value?: unknown
  /** With `=`, a list and a field of several values: all of them. */
  all?: boolean | null
  connector?: string | null
}
export type GroupInput = { all: (GroupInput | FilterInput)[] } | { any: (GroupInput | FilterInput)[] } | { not: GroupInput | FilterInput }
export type WhereInput = Record<string, unknown>

/**
 * An input that its parser validates, not the schema: the fields and compares depend on the table, and with a view_id the request's
 * filters are not read at all (contract.md §5). `Input` is its type in the typed client.
 */
const validatedByParser = <Input>(document: Record<string, unknown>) => z.custom<Input | null>().meta(document).optional()

/** The directions that a request may send. */
const DIRECTIONS = ['A', 'D', 'a', 'd', null]

/** Written as JSON, because filters/parse.ts validates it. */
const filterDocument = {
  id: 'FilterInput',
  description: 'One condition, as it may be sent.',
  type: 'object',
  required: ['compare'],
  anyOf: [{ required: ['column'] }, { required: ['field'] }],
  properties: {
    column: { type: ['string', 'null'], description: 'The id of a field.' },
    field: { type: ['string', 'null'], description: 'An alias of `column`.' },
    compare: {
      description: 'A comparison of the list, or one of its other spellings.',
      anyOf: [
        { type: 'string', enum: COMPARES },
        { type: 'string', pattern: '^[A-Za-z_]+$', description: 'EQ, NE, GT, C, SW, IS_EMPTY and the like, in any case.' },
      ],
    },
    value: {
      description:
        'Not needed for is_empty and is_not_empty. For `=` and `!=` also a list of 1 to 200 values: any of them, none of them. Date ' +
        'tokens (`today`, `-7d`, `start_of_month`) and `@me` are resolved for the acting user.',
    },
    all: {
      type: ['boolean', 'null'],
      default: false,
      description: 'With `=`, a list and a field of several values: a record must have all of them.',
    },
    connector: {
      type: ['string', 'null'],
      enum: [...connector.options, 'and', 'or', null],
      default: 'AND',
      description: 'Joins the condition to the one before it; of no effect on the first.',
    },
  },
  additionalProperties: false,
}

export const Filters = validatedByParser<FilterInput[]>({
  type: ['array', 'null'],
  maxItems: MAX_FILTERS,
  items: filterDocument,
  description: 'Conditions joined by their connectors. AND binds tighter than OR.',
  example: [{ column: 'stage', compare: '=', value: 'Won' }],
})
export const Where = validatedByParser<WhereInput>({
  id: 'ConditionsByField',
  type: ['object', 'null'],
  additionalProperties: true,
  description: 'Conditions by field, joined by AND, to `filters` too: `{"stage": "Won", "amount": [">", 1000]}`.',
  example: { stage: 'Won', amount: ['>', 1000] },
}).meta({ description: 'Conditions by field, joined by AND, to `filters` too.' })
export const Group = validatedByParser<GroupInput | FilterInput>({
  id: 'FilterGroupInput',
  type: ['object', 'null'],
  additionalProperties: true,
  description:
    'A condition, or nested groups of conditions, up to five deep: `{"any": [{"column", "compare", "value"}, {"all": […]}, ' +
    '{"not": {…}}]}`.',
  example: {
    any: [{ column: 'stage', compare: '=', value: ['Won', 'Lost'] }, { not: { column: 'amount', compare: '>', value: 1000 } }],
  },
}).meta({ description: 'A condition or nested groups of conditions, joined to `filters` by AND.' })
export const OrderBy = validatedByParser<string>({ type: ['string', 'null'], description: 'The id of a field.', example: 'amount' })
export const OrderDir = validatedByParser<'A' | 'D' | 'a' | 'd'>({
  type: ['string', 'null'],
  enum: DIRECTIONS,
  description: 'Ascending or descending.',
})
export interface SortInput {
  field: string
  dir?: 'A' | 'D' | 'a' | 'd' | null
  nulls?: 'first' | 'last' | null
}
export const Order = validatedByParser<SortInput[]>({
  type: ['array', 'null'],
  maxItems: MAX_SORTS,
  items: {
    id: 'SortInput',
    description: 'One key of an order, as it may be sent.',
    type: 'object',
    required: ['field'],
    properties: {
      field: { type: 'string', description: 'The id of a field.' },
      dir: { type: ['string', 'null'], enum: DIRECTIONS, default: 'A', description: 'Ascending or descending.' },
      nulls: {
        type: ['string', 'null'],
        enum: [...NULLS, null],
        description: 'Where records without a value come; by default first in an ascending order, and last in a descending one.',
      },
    },
    additionalProperties: false,
  },
  description:
    'Up to three keys, in place of order_by and order_dir; those, if sent too, must equal the first key. Ties are ordered by id, in ' +
    'the direction of the last key.',
  example: [{ field: 'stage' }, { field: 'amount', dir: 'D' }],
})
const Config = validatedByParser<Record<string, unknown>>({
  id: 'ViewConfigInput',
  type: ['object', 'null'],
  additionalProperties: true,
  description:
    'grid: columns, widths, showHidden. calendar: startField, endField, colorField, secondaryField, mode, weekStart. ' +
    'gallery: imageField, secondaryField, showHidden. kanban: categoryField, secondaryField, showHidden. A grid ignores unknown inputs.',
  example: { columns: ['company', 'amount'] },
}).meta({ description: 'What the layout shows; its keys depend on `type`.' })

const ViewConfig = z
  .record(z.string(), z.unknown())
  .meta({ id: 'ViewConfig', description: 'What a layout shows; ViewConfigInput lists the keys of each type.' })

export const View = z
  .object({
    id: z.int().meta({ description: '0 for the Default view, which every table has.' }),
    account_id: Id.meta({ description: 'The account of the table.' }),
    table_id: Id.meta({ description: 'The table that the view shows.' }),
    name: z.string().meta({ description: 'The name, by which lists of views are sorted.' }),
    type: z.enum(VIEW_TYPES).meta({ description: 'The layout, which decides over the keys of `config`.' }),
    config: ViewConfig.nullable().meta({ description: 'Depends on `type`; null for the Default view only.' }),
    filters: z.array(Filter).meta({ description: 'The conditions, joined by their connectors.' }),
    filter: part.optional().meta({ description: 'Present if the view was saved with a condition or a group; `filters` is then empty.' }),
    order_by: z.string().nullable().meta({ description: 'The id of the field that records are sorted by; null: by id.' }),
    order_dir: z.enum(['A', 'D']).nullable().meta({ description: "'D' means descending." }),
    order: z
      .array(SortKey)
      .optional()
      .meta({ description: 'Present if the view was saved with `order`; `order_by` and `order_dir` are its first key.' }),
    created_by: z.int().meta({ description: '0 for the Default view.' }),
    created_at: z.string().meta({ description: 'UTC, YYYY-MM-DD HH:MM:SS; empty for the Default view.', example: '2026-03-31 09:30:00' }),
    updated_at: z.string().meta({ description: 'UTC, YYYY-MM-DD HH:MM:SS; empty for the Default view.', example: '2026-03-31 09:30:00' }),
    is_default: z.boolean().meta({ description: 'True for the Default view only.' }),
    is_table_default: z.boolean().meta({ description: 'The view that a grid opens if none is requested; at most one per table.' }),
    version: Version.meta({ description: 'The number in the ETag, for If-Match; 0 for the Default view, which never changes.' }),
  })
  .meta({ id: 'View', description: 'A saved set of filters and an order for one table, with a layout.' })
export type View = z.infer<typeof View>

export const ListedTable = Table.extend({
  fields: z.array(Field).optional().meta({ description: 'With `include=fields`: as in the table itself.' }),
  views: z.array(View).optional().meta({ description: 'With `include=views`: the Default view first, then the saved ones by name.' }),
  record_count: z.int().optional().meta({ description: 'With `include=counts`.' }),
}).meta({ id: 'TableSummary', description: 'A table in a list.' })
export type ListedTable = z.infer<typeof ListedTable>

export const TableQuery = z.strictObject({
  include: include('fields', 'views', 'counts').meta({
    description: 'fields, views, counts: rows also have `fields`, `views` and `record_count`.',
    example: ['fields', 'views'],
  }),
})
export type TableQuery = z.infer<typeof TableQuery>

export const NewView = z
  .strictObject({
    name: Name.meta({ description: 'A name that no other view of the table has.' }),
    type: z.enum(VIEW_TYPES).meta({ description: 'The layout. It cannot be changed later.' }),
    config: Config,
    filters: Filters,
    filter: Group.meta({
      description: 'A condition or nested groups of conditions, in place of `filters`, which must then be empty or absent.',
    }),
    order_by: OrderBy,
    order_dir: OrderDir,
    order: Order,
    is_table_default: z.boolean().nullish().meta({ description: 'True makes it the view that a grid opens, in place of another.' }),
  })
  .meta({ id: 'NewView', description: 'A view to save.' })
export type NewView = z.infer<typeof NewView>

export const ViewUpdate = changesOf(NewView.omit({ type: true })).meta({
  id: 'ViewUpdate',
  description: 'What can be changed about a view.',
})
export type ViewUpdate = z.infer<typeof ViewUpdate>

export const ViewCheck = View.pick({
  name: true,
  type: true,
  config: true,
  filters: true,
  filter: true,
  order_by: true,
  order_dir: true,
  order: true,
  is_table_default: true,
})
  .extend({
    dropped: z.array(z.string()).meta({ description: 'Paths of the inputs that would be ignored.' }),
    index: z.string().nullable().meta({ description: 'The calendar index that saving would create if it is missing.' }),
  })
  .meta({ id: 'ViewCheck', description: 'A view as it would be saved.' })
export type ViewCheck = z.infer<typeof ViewCheck>

export const ViewPath = TablePath.extend({ view_id: z.int() })
