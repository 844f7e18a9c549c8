import { z } from 'zod'
import { orWritten, type WrittenJson } from '../platform/http/answers/written-json.ts'
import { Id, Instant, limit, Offset, TablePath, Text } from '../platform/http/procedures/schemas.ts'
import { Filters, Group, Order, OrderBy, OrderDir, SortKey, Where } from '../views/schema.ts'
import type { Row } from './cells/present.ts'

/** The most records that one request may create or delete. */
const MAX_BATCH = 1_000
/** The most ids of fields that a query may name, some of them twice. */
const MAX_CHOSEN = 1_000

/** Each value is checked in drafts.ts. `z.record` is not used, because it silently ignores a key such as `__proto__`. */
const Values = z
  .custom<Record<string, unknown>>((data) => typeof data === 'object' && data !== null && !Array.isArray(data), {
    error: ({ input }) => (input === undefined ? 'is required' : 'must be an object with values by field id'),
  })
  .meta({
    type: 'object',
    additionalProperties: true,
    description:
      'Values by field id; null clears a field. Accepted values: text for text, long_text, email, url, phone; a number or numeric text; ' +
      'true or false for a checkbox; YYYY-MM-DD, YYYY-MM-DD HH:MM:SS in UTC or ISO 8601 with an offset, HH:MM for date, datetime, time; ' +
      'the title of an option for a select; an id, an address, {id}, {email} or @me for a user; an id or {id} for a lookup; entries from ' +
      'an upload for a file; lists of these for multi_select, multi_user, multi_lookup and file.',
    example: { company: 'Acme', stage: 'Lead' },
  })

/** `data` has dynamic keys and comes from present.ts, so the answer is not validated again. */
export const DataRecord = z
  .object({
    id: Id,
    title: z.string().nullable().meta({ description: "The table's first text field." }),
    data: z
      .custom<Record<string, unknown>>()
      .meta({ type: 'object', additionalProperties: true, description: 'All fields except the key and calculated fields.' }),
    created_at: Instant,
    updated_at: Instant,
  })
  .meta({ id: 'Record', description: 'One row of a table.' })
export type DataRecord = z.infer<typeof DataRecord>

export const NewRecord = z.strictObject({ data: Values })
export type NewRecord = z.infer<typeof NewRecord>

export const RecordUpdate = z.strictObject({ data: Values })
export type RecordUpdate = z.infer<typeof RecordUpdate>

export const RecordBatch = z.strictObject({
  records: z.array(NewRecord).max(MAX_BATCH, `must have at most ${MAX_BATCH} records`),
})
export type RecordBatch = z.infer<typeof RecordBatch>

export const RecordIds = z.strictObject({ record_ids: z.array(Id).max(MAX_BATCH, `must have at most ${MAX_BATCH} ids`) })
export const Deleted = z.object({ deleted: z.int().meta({ description: 'The number of deleted records.' }) })

// ── many records ────────────────────────────────────────────────────────────

const MAX_SEARCH = 500
/** Longer than any cursor that is issued: a cursor holds a sort value of at most 2,000 characters. */
const MAX_CURSOR = 20_000

const Search = Text.max(MAX_SEARCH, `must have at most ${MAX_SEARCH} characters`).nullish().meta({
  description:
    'Words that must all occur in the text and select fields, ignoring case. Words of one or two characters match the beginnings of words.',
})

/** The schema accepts any view_id, because contract.md §5 fixes the answer for an invalid one. */
const ViewId = z
  .custom<number | null>()
  .meta({ type: ['integer', 'null'], minimum: 0, description: 'The view to query through; 0 means no view.', example: 3 })
  .optional()

const narrowing = { filters: Filters, where: Where, filter: Group, search: Search }
const throughView = {
  view_id: ViewId,
  append_filters: z
    .boolean()
    .nullish()
    .meta({
      description:
        "With view_id: also applies the request's filters, and its order if it has one. Otherwise they are ignored, and X-Ignored names " +
        'them.',
    }),
}

export const RecordsQuery = TablePath.extend({
  ...throughView,
  ...narrowing,
  order_by: OrderBy,
  order_dir: OrderDir,
  order: Order,
  fields: z
    .array(z.string())
    .max(MAX_CHOSEN, `must have at most ${MAX_CHOSEN} ids`)
    .nullish()
    .meta({ description: 'Ids of the fields to return beside `id`; without ids, all fields.' }),
  limit: limit(100, 1_000),
  offset: Offset,
  cursor: z
    .string()
    .max(MAX_CURSOR, 'is too long')
    .nullish()
    .meta({
      description:
        'An empty cursor starts a walk through all pages; each answer has the next cursor in X-Next-Cursor, except the last. Every ' +
        'record that exists throughout is returned once, and each page costs the same. Requires at most one sort key and no offset; ' +
        'the conditions and the order must not change between pages.',
      example: '',
    }),
  count: z.boolean().nullish().meta({ description: 'If true, X-Total-Count is the number of all matching records.' }),
  explain: z
    .boolean()
    .nullish()
    .meta({ description: 'If true, the answer is that of `records/explain`: how the query was understood, without rows.' }),
  record_id: Id.nullish().meta({
    description: 'To explain: a record, to learn which condition excludes it. A query without `explain` refuses it.',
  }),
})
export type RecordsQuery = z.infer<typeof RecordsQuery>

/** Rows have the fields of their table and come from write-rows.ts as JSON text, so the answer is not validated again. */
const Rows = z.custom<Row[]>(Array.isArray).meta({
  type: 'array',
  items: {
    type: 'object',
    required: ['id'],
    properties: { id: { type: 'integer' } },
    additionalProperties: true,
    description: 'A record: its id, and a value for each field by field id.',
  },
})

const RecordPage = z.object({ rows: Rows, total: z.int().optional(), next_cursor: z.string().optional() })
type RecordPage = z.infer<typeof RecordPage>

/** An explanation of how a query was understood. */
export const Explanation = z
  .object({
    timezone: z.string().meta({ description: 'The time zone of the acting user, in which tokens and local days are resolved.' }),
    me: z.object({ id: Id, email: z.string(), name: z.string() }).meta({ description: 'The acting user, to whom @me refers.' }),
    tokens: z.array(z.object({ token: z.string(), from: Instant, to: Instant })).meta({
      description: 'Each date token, with the start (inclusive) and the end (exclusive) of its range; both are equal for an instant.',
    }),
    predicate: z.string().meta({ description: 'The conditions, with brackets.' }),
    order: z.array(SortKey).meta({ description: 'All sort keys, including the id that orders ties.' }),
    indexes: z.array(z.string()).meta({ description: 'The indexes of the table that the database chooses for this query.' }),
    record: z
      .object({
        id: Id,
        matches: z.boolean(),
        failed: z
          .object({
            column: z.string().nullable().meta({ description: 'Null for a search word.' }),
            compare: z.string(),
            value: z.unknown().optional(),
            actual: z.unknown().meta({ description: 'The value of the record.' }),
          })
          .nullable()
          .meta({ description: 'The first condition that excludes the record; of alternatives, that of the first.' }),
      })
      .optional()
      .meta({ description: 'Present with record_id.' }),
  })
  .meta({ id: 'QueryExplanation' })
export type Explanation = z.infer<typeof Explanation>

/**
 * A page, or with `explain` an explanation. The type is a page with the optional keys of an explanation, so that callers who never send
 * `explain` need not distinguish the two; with `explain` the answer has no `rows`. The document shows the page alone.
 */
export const QueryAnswer = orWritten(z.union([RecordPage, Explanation])) as unknown as z.ZodType<
  RecordPage & Partial<Explanation>,
  WrittenJson<RecordPage> | Explanation
>

/** The inputs that decide which records a query selects. */
export type Narrowing = Pick<RecordsQuery, 'table_id' | keyof typeof throughView | keyof typeof narrowing>

export const Counted = z
  .object({
    count: z.int().meta({ description: 'The number of matching records.' }),
    total: z.int().meta({ description: 'The number of records in the table.' }),
    total_approx: z.boolean().meta({ description: 'True if `total` is an estimate.' }),
    restricted: z.boolean().meta({ description: 'True if a filter, a search or a view restricted the count.' }),
  })
  .meta({ id: 'RecordsCount' })
export type Counted = z.infer<typeof Counted>

// ── groups ──────────────────────────────────────────────────────────────────

const GroupUnit = z.enum(['day', 'week', 'month'])
export type GroupUnit = z.infer<typeof GroupUnit>

export const RecordsGroups = TablePath.extend({
  ...throughView,
  ...narrowing,
  by: z.string().meta({ description: 'The id of a select, user, checkbox, date or datetime field.', example: 'stage' }),
  unit: GroupUnit.nullish().meta({
    description: 'For date and datetime fields; day by default. Weeks start on Monday unless the view sets another day.',
  }),
})
export type RecordsGroups = z.infer<typeof RecordsGroups>

export const RecordGroup = z
  .object({
    value: z
      .union([z.string(), z.boolean(), z.object({ id: Id, email: z.string(), name: z.string() })])
      .nullable()
      .meta({
        description:
          'The value as in a record. For dates, the first day of the unit, YYYY-MM-DD in the time zone of the caller. Null for empty.',
      }),
    count: z.int(),
  })
  .meta({ id: 'RecordGroup', description: 'The number of records that have a value.' })
export type RecordGroup = z.infer<typeof RecordGroup>
