import { z } from 'zod'
import { COMPARES } from '../fields/compares.ts'
import { Id, Name, TablePath } from '../platform/http/procedures/schemas.ts'
import { changesOf } from '../platform/validation-messages.ts'
import { VIEW_TYPES } from './config.ts'
import { MAX_SORTS } from './filters/order.ts'
import { type Branch, MAX_FILTERS, type Tree } from './filters/parse.ts'

const connector = z.enum(['AND', 'OR'])

const Filter = z
  .object({
    column: z.string().meta({ description: 'The id of a field.' }),
    compare: z.enum(COMPARES),
    value: z
      .unknown()
      .optional()
      .meta({ description: 'Absent for is_empty and is_not_empty. Date tokens and @me are answered as they were sent.' }),
    connector: connector.meta({ description: "Joins the filter to the one before it; 'AND' on the first. AND binds tighter than OR." }),
  })
  .meta({ id: 'Filter', description: 'One condition of a view, in its normal form.' })
export type Filter = z.infer<typeof Filter>

const Comparison = Filter.omit({ connector: true }).meta({ id: 'Comparison', description: 'One condition of a group, in its normal form.' })
const parts = z.array(z.lazy((): z.ZodType<Tree<z.infer<typeof Comparison>>> => z.union([Comparison, FilterGroup])))
/** Typed by the shapes of parse.ts: an alias would refer to a value, which the types of the client cannot (scripts/client-types.ts). */
const FilterGroup: z.ZodType<Branch<z.infer<typeof Comparison>>> = z.union([z.object({ all: parts }), z.object({ any: parts })]).meta({
  id: 'FilterGroup',
  description: 'All or any of its conditions and groups. An empty `all` matches every record, an empty `any` none.',
})

export const SortKey = z.object({ field: z.string(), dir: z.enum(['A', 'D']) })

/** A condition as it may be sent; filters/parse.ts accepts more spellings. */
export interface FilterInput {
  column?: string | null
  /** An alias of `column`. */
  field?: string | null
  compare: string
  value?: unknown
  connector?: string | null
}
export type GroupInput = { all: (GroupInput | FilterInput)[] } | { any: (GroupInput | FilterInput)[] }
export type WhereInput = Record<string, unknown>

/**
 * An input that its parser validates, not the schema: the fields and compares depend on the table, and with a view_id the request's
 * filters are not read at all (contract.md §5). `Input` is its type in the typed client.
 */
const validatedByParser = <Input>(document: Record<string, unknown>) => z.custom<Input | null>().meta(document).optional()

/** The directions that a request may send. */
const DIRECTIONS = ['A', 'D', 'a', 'd', null]

const filterDocument = {
  type: 'object',
  required: ['compare'],
  anyOf: [{ required: ['column'] }, { required: ['field'] }],
  properties: {
    column: { type: ['string', 'null'], description: 'The id of a field.' },
    field: { type: ['string', 'null'], description: 'An alias of `column`.' },
    compare: {
      anyOf: [
        { type: 'string', enum: COMPARES },
        { type: 'string', pattern: '^[A-Za-z_]+$', description: 'EQ, NE, GT, C, SW, IS_EMPTY and the like, in any case.' },
      ],
    },
    value: {
      description:
        'Not needed for is_empty and is_not_empty. Date tokens (`today`, `-7d`, `start_of_month`) and `@me` are resolved for the ' +
        'acting user.',
    },
    connector: { type: ['string', 'null'], enum: [...connector.options, 'and', 'or', null], default: 'AND' },
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
  type: ['object', 'null'],
  additionalProperties: true,
  description: 'Conditions by field, joined by AND, to `filters` too: `{"stage": "Won", "amount": [">", 1000]}`.',
  example: { stage: 'Won', amount: ['>', 1000] },
})
export const Group = validatedByParser<GroupInput>({
  type: ['object', 'null'],
  additionalProperties: true,
  description: 'Nested groups of conditions: `{"any": [{"column", "compare", "value"}, {"all": […]}]}`. Joined to `filters` by AND.',
  example: {
    any: [
      { column: 'stage', compare: '=', value: 'Won' },
      { column: 'amount', compare: '>', value: 1000 },
    ],
  },
})
export const OrderBy = validatedByParser<string>({ type: ['string', 'null'], description: 'The id of a field.', example: 'amount' })
export const OrderDir = validatedByParser<'A' | 'D' | 'a' | 'd'>({
  type: ['string', 'null'],
  enum: DIRECTIONS,
  description: 'Ascending or descending.',
})
export interface SortInput {
  field: string
  dir?: 'A' | 'D' | 'a' | 'd' | null
}
export const Order = validatedByParser<SortInput[]>({
  type: ['array', 'null'],
  maxItems: MAX_SORTS,
  items: {
    type: 'object',
    required: ['field'],
    properties: {
      field: { type: 'string', description: 'The id of a field.' },
      dir: { type: ['string', 'null'], enum: DIRECTIONS, default: 'A', description: 'Ascending or descending.' },
    },
    additionalProperties: false,
  },
  description:
    'Up to three keys, in place of order_by and order_dir; those, if sent too, must equal the first key. Ties are ordered by id, in ' +
    'the direction of the last key.',
  example: [{ field: 'stage' }, { field: 'amount', dir: 'D' }],
})
const Config = validatedByParser<Record<string, unknown>>({
  type: ['object', 'null'],
  additionalProperties: true,
  description:
    'grid: columns, widths, showHidden. calendar: startField, endField, colorField, secondaryField, mode, weekStart. ' +
    'gallery: imageField, secondaryField, showHidden. kanban: categoryField, secondaryField, showHidden. A grid ignores unknown inputs.',
  example: { columns: ['company', 'amount'] },
})

export const View = z
  .object({
    id: z.int().meta({ description: '0 for the Default view, which every table has.' }),
    account_id: Id,
    table_id: Id,
    name: z.string(),
    type: z.enum(VIEW_TYPES),
    config: z.record(z.string(), z.unknown()).nullable().meta({ description: 'Depends on `type`; null for the Default view only.' }),
    filters: z.array(Filter),
    filter: FilterGroup.optional().meta({ description: 'Present if the view was saved with a group; `filters` is then empty.' }),
    order_by: z.string().nullable(),
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
  })
  .meta({ id: 'View', description: 'A saved set of filters and an order for one table, with a layout.' })
export type View = z.infer<typeof View>

export const NewView = z.strictObject({
  name: Name,
  type: z.enum(VIEW_TYPES),
  config: Config,
  filters: Filters,
  filter: Group.meta({ description: 'Nested groups of conditions, in place of `filters`, which must then be empty or absent.' }),
  order_by: OrderBy,
  order_dir: OrderDir,
  order: Order,
  is_table_default: z.boolean().nullish(),
})
export type NewView = z.infer<typeof NewView>

export const ViewUpdate = changesOf(NewView.omit({ type: true }))
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
  .meta({ id: 'ViewCheck' })
export type ViewCheck = z.infer<typeof ViewCheck>

export const ViewPath = TablePath.extend({ view_id: z.int() })
