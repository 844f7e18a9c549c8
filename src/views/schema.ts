import { z } from 'zod'
import { Id, Name } from '../platform/http/schemas.ts'
import { changesOf } from '../platform/http/validation-messages.ts'
import { TablePath } from '../tables/schema.ts'
import { VIEW_TYPES } from './config.ts'
import { COMPARES } from './filters/compares.ts'
import { type Branch, MAX_FILTERS, type Tree } from './filters/parse.ts'
import { MAX_SORTS } from './filters/sort.ts'

const connector = z.enum(['AND', 'OR'])

const Filter = z
  .object({
    column: z.string().meta({ description: 'The id of a field.' }),
    compare: z.enum(COMPARES),
    value: z
      .unknown()
      .optional()
      .meta({ description: 'Absent for is_empty and is_not_empty. Date tokens and @me stay as they were sent.' }),
    connector: connector.meta({ description: "Joins the filter to the one before it; 'AND' on the first. AND binds tighter than OR." }),
  })
  .meta({ id: 'Filter', description: 'One condition of a view, in its normal form.' })
export type Filter = z.infer<typeof Filter>

const Comparison = Filter.omit({ connector: true }).meta({ id: 'Comparison', description: 'One condition of a group, in its normal form.' })
const parts = z.array(z.lazy((): z.ZodType<Tree<z.infer<typeof Comparison>>> => z.union([Comparison, FilterGroup])))
/** Typed by shapes of filter.ts: an alias here would name a value, and the types of the client package can hold none (scripts/client-types.ts). */
const FilterGroup: z.ZodType<Branch<z.infer<typeof Comparison>>> = z
  .union([z.object({ all: parts }), z.object({ any: parts })])
  .meta({ id: 'FilterGroup', description: 'All or any of its conditions and groups; an empty `all` holds always, an empty `any` never.' })

export const SortKey = z.object({ field: z.string(), dir: z.enum(['A', 'D']) })

/** A condition as it may be sent; `views/filter.ts` accepts more spellings. */
export interface FilterInput {
  column?: string
  /** Another name of column. */
  field?: string
  compare: string
  value?: unknown
  connector?: string | null
}
export type GroupInput = { all: (GroupInput | FilterInput)[] } | { any: (GroupInput | FilterInput)[] }
export type WhereInput = Record<string, unknown>

/**
 * An input that its own parser judges, not the schema: which fields and compares there are depends on the table, and where a
 * view_id is given the filters beside it are not even read (contract.md §5). `Input` is what the typed client lets through.
 */
const judgedByParser = <Input>(document: Record<string, unknown>) => z.custom<Input | null>().meta(document).optional()

const filterDocument = {
  type: 'object',
  required: ['column', 'compare'],
  properties: {
    column: { type: 'string', description: 'The id of a field; `field` is another name.' },
    compare: { type: 'string', enum: COMPARES, description: 'Also EQ, NE, GT, C, SW, IS_EMPTY and the like, in any case.' },
    value: {
      description:
        'Not needed for is_empty and is_not_empty. Date tokens (`today`, `-7d`, `start_of_month`) and `@me` are resolved for the acting user.',
    },
    connector: { type: 'string', enum: connector.options, default: 'AND' },
  },
}

export const Filters = judgedByParser<FilterInput[]>({
  type: 'array',
  maxItems: MAX_FILTERS,
  items: filterDocument,
  description: 'Conditions joined by their connectors; AND binds tighter than OR.',
  example: [{ column: 'stage', compare: '=', value: 'Won' }],
})
export const Where = judgedByParser<WhereInput>({
  type: 'object',
  additionalProperties: true,
  description: 'Values by field, all of which must hold: `{"stage": "Won", "amount": [">", 1000]}`. Joined to `filters` by AND.',
  example: { stage: 'Won', amount: ['>', 1000] },
})
export const Group = judgedByParser<GroupInput>({
  type: 'object',
  additionalProperties: true,
  description: 'Nested groups of conditions: `{"any": [{"column", "compare", "value"}, {"all": […]}]}`. Joined to `filters` by AND.',
  example: {
    any: [
      { column: 'stage', compare: '=', value: 'Won' },
      { column: 'amount', compare: '>', value: 1000 },
    ],
  },
})
export const OrderBy = judgedByParser<string>({ type: 'string', description: 'The id of a field.', example: 'amount' })
export const OrderDir = judgedByParser<'A' | 'D' | 'a' | 'd'>({ type: 'string', enum: ['A', 'D'], description: 'Ascending or descending.' })
export interface SortInput {
  field: string
  dir?: 'A' | 'D' | 'a' | 'd' | null
}
export const Order = judgedByParser<SortInput[]>({
  type: 'array',
  maxItems: MAX_SORTS,
  items: {
    type: 'object',
    required: ['field'],
    properties: {
      field: { type: 'string', description: 'The id of a field.' },
      dir: { type: 'string', enum: ['A', 'D'], default: 'A', description: 'Ascending or descending.' },
    },
  },
  description:
    'Several keys, instead of order_by and order_dir, which beside it must be its first key. Ties of the last go by id in its direction.',
  example: [{ field: 'stage' }, { field: 'amount', dir: 'D' }],
})
const Config = judgedByParser<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description:
    'grid: columns, widths, showHidden. calendar: startField, endField, colorField, secondaryField, mode, weekStart. ' +
    'gallery: imageField, secondaryField, showHidden. kanban: categoryField, secondaryField, showHidden. What a grid does not understand is dropped.',
  example: { columns: ['company', 'amount'] },
})

export const View = z
  .object({
    id: z.int().meta({ description: '0 for the Default view, which every table has.' }),
    account_id: Id,
    table_id: Id,
    name: z.string(),
    type: z.enum(VIEW_TYPES),
    config: z.record(z.string(), z.unknown()).nullable().meta({ description: 'By type; null for the Default view only.' }),
    filters: z.array(Filter),
    filter: FilterGroup.optional().meta({ description: 'Where a group was saved in place of `filters`, which then is empty.' }),
    order_by: z.string().nullable(),
    order_dir: z.enum(['A', 'D']).nullable().meta({ description: "'D' means descending." }),
    order: z.array(SortKey).optional().meta({ description: 'Where it was saved; `order_by` and `order_dir` are its first key.' }),
    created_by: z.int().meta({ description: '0 for the Default view.' }),
    created_at: z.string().meta({ description: 'UTC, YYYY-MM-DD HH:MM:SS; empty for the Default view.', example: '2026-03-31 09:30:00' }),
    updated_at: z.string().meta({ description: 'The same.', example: '2026-03-31 09:30:00' }),
    is_default: z.boolean().meta({ description: 'True for the Default view only.' }),
    is_table_default: z.boolean().meta({ description: 'Opened by a grid when no view is asked for; one view per table at most.' }),
  })
  .meta({ id: 'View', description: 'A saved set of filters and an order for one table, with a layout.' })
export type View = z.infer<typeof View>

export const NewView = z.strictObject({
  name: Name,
  type: z.enum(VIEW_TYPES),
  config: Config,
  filters: Filters,
  filter: Group.meta({ description: 'Nested groups of conditions, in place of `filters`, which beside it must be empty.' }),
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
    dropped: z.array(z.string()).meta({ description: 'Paths of what would be left out in silence.' }),
    index: z.string().nullable().meta({ description: 'The index that saving would make sure of.' }),
  })
  .meta({ id: 'ViewCheck' })
export type ViewCheck = z.infer<typeof ViewCheck>

export const ViewPath = TablePath.extend({ view_id: z.int() })
