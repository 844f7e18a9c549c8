import { z } from 'zod'
import { Id, Instant, limit, Offset, TablePath } from '../platform/http/schemas.ts'
import { Filters, Group, Order, OrderBy, OrderDir, SortKey, Where } from '../views/schema.ts'
import type { Row } from './cells/present.ts'

/** Records that one request may make or delete. */
const MAX_BATCH = 1_000

/** Looked through cell by cell in drafts.ts; `z.record` would pass over a key such as `__proto__` in silence. */
const Values = z
  .custom<Record<string, unknown>>((data) => typeof data === 'object' && data !== null && !Array.isArray(data), {
    error: ({ input }) => (input === undefined ? 'is required' : 'must be an object with values by field id'),
  })
  .meta({
    type: 'object',
    additionalProperties: true,
    description:
      'Values by field id; null empties one. Taken are: text for text, long_text, email, url, phone; a number or numeric text; true or ' +
      'false for a checkbox; YYYY-MM-DD, YYYY-MM-DD HH:MM:SS in UTC or ISO 8601 with an offset, HH:MM for date, datetime, time; the ' +
      'title of an option for a select; an id, an address, {id}, {email} or @me for a user; an id or {id} for a lookup; entries got ' +
      'from an upload for a file; lists of these for multi_select, multi_user, multi_lookup and file.',
    example: { company: 'Acme', stage: 'Lead' },
  })

/** `data` has dynamic keys and is made by present.ts, so it is not looked through again on its way out. */
export const DataRecord = z
  .object({
    id: Id,
    title: z.string().nullable().meta({ description: "The table's first text field." }),
    data: z
      .custom<Record<string, unknown>>()
      .meta({ type: 'object', additionalProperties: true, description: 'Every field but key and calc fields.' }),
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
export const Deleted = z.object({ deleted: z.int().meta({ description: 'How many of them there were.' }) })

// ── many records ────────────────────────────────────────────────────────────

const MAX_SEARCH = 500
/** Longer than any that we give: it holds a text to sort by, of 2,000 characters at most. */
const MAX_CURSOR = 20_000

const Search = z.string().max(MAX_SEARCH, `must have at most ${MAX_SEARCH} characters`).nullish().meta({
  description: 'Words that must all stand somewhere in the text and select fields, ignoring case. Short words match beginnings of words.',
})

/** A view_id of a wrong kind has an answer of its own (contract.md §5), so it is not for the schema to refuse. */
const ViewId = z
  .custom<number>()
  .meta({ type: 'integer', minimum: 0, description: 'The view to query through; 0 is none.', example: 3 })
  .optional()

const narrowing = { filters: Filters, where: Where, filter: Group, search: Search }
const throughView = {
  view_id: ViewId,
  append_filters: z.boolean().nullish().meta({
    description:
      "With view_id: the request's filters, too, and its order if it has one. Without this they are ignored, and X-Ignored names them.",
  }),
}

export const RecordsQuery = TablePath.extend({
  ...throughView,
  ...narrowing,
  order_by: OrderBy,
  order_dir: OrderDir,
  order: Order,
  fields: z.array(z.string()).nullish().meta({ description: 'Ids of the fields that rows shall have beside `id`; none means all.' }),
  limit: limit(100, 1_000),
  offset: Offset,
  cursor: z
    .string()
    .max(MAX_CURSOR, 'is too long')
    .nullish()
    .meta({
      description:
        'An empty one starts a walk; each answer has the next in X-Next-Cursor, until the end. Every record is seen once, whatever ' +
        'comes and goes meanwhile, and each page costs the same. With one sort key at most, without offset; conditions and order must ' +
        'stay as they were.',
      example: '',
    }),
  count: z.boolean().nullish().meta({ description: 'Whether to count all records that match, in the header X-Total-Count.' }),
  explain: z.boolean().nullish().meta({ description: 'Answers how the query was understood instead of rows.' }),
  record_id: Id.nullish().meta({ description: 'With explain: a record, to learn what keeps it out.' }),
})
export type RecordsQuery = z.infer<typeof RecordsQuery>

/** Rows have the fields of their table, and come out of the database as the wire has them: they are not judged again one by one. */
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

export const RecordPage = z.object({ rows: Rows, total: z.int().optional(), next_cursor: z.string().optional() })
export type RecordPage = z.infer<typeof RecordPage>

/** How a query was understood. */
export const Explanation = z
  .object({
    timezone: z.string().meta({ description: 'Of the acting user: in it tokens and local days are resolved.' }),
    me: z.object({ id: Id, email: z.string(), name: z.string() }).meta({ description: 'The acting user, whom @me means.' }),
    tokens: z
      .array(z.object({ token: z.string(), from: Instant, to: Instant }))
      .meta({ description: 'Each date token: from that instant up to, not including, the other; both are the same for one instant.' }),
    predicate: z.string().meta({ description: 'The conditions with their brackets.' }),
    order: z.array(SortKey).meta({ description: 'With what decides ties.' }),
    indexes: z.array(z.string()).meta({ description: 'Indexes of the table that the database takes for this query.' }),
    record: z
      .object({
        id: Id,
        matches: z.boolean(),
        failed: z
          .object({
            column: z.string().nullable().meta({ description: 'null for a word of the search.' }),
            compare: z.string(),
            value: z.unknown().optional(),
            actual: z.unknown().meta({ description: 'What the record has.' }),
          })
          .nullable()
          .meta({ description: 'The first condition that keeps it out; of alternatives, that of the first.' }),
      })
      .optional()
      .meta({ description: 'With record_id.' }),
  })
  .meta({ id: 'QueryExplanation' })
export type Explanation = z.infer<typeof Explanation>

/**
 * A page, or with `explain` an explanation in its place. Typed as a page that may have more, so that callers who never ask for an
 * explanation need not tell the two apart; who does ask finds no `rows`.
 */
export const QueryAnswer = z.union([RecordPage, Explanation]) as unknown as z.ZodType<
  z.infer<typeof RecordPage> & Partial<z.infer<typeof Explanation>>
>
export type QueryAnswer = z.infer<typeof QueryAnswer>

export const RecordsCount = TablePath.extend({ ...throughView, ...narrowing })
export type RecordsCount = z.infer<typeof RecordsCount>

export const Counted = z
  .object({
    count: z.int().meta({ description: 'How many records match.' }),
    total: z.int().meta({ description: 'How many records the table has.' }),
    total_approx: z.boolean().meta({ description: 'Whether total is an estimate.' }),
    restricted: z.boolean().meta({ description: 'Whether anything narrowed the count.' }),
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
    description: 'For date and datetime fields; default day. Weeks start on Monday unless the view says otherwise.',
  }),
})
export type RecordsGroups = z.infer<typeof RecordsGroups>

export const RecordGroup = z
  .object({
    value: z
      .union([z.string(), z.boolean(), z.object({ id: Id, email: z.string(), name: z.string() })])
      .nullable()
      .meta({
        description: 'As a record has it; of dates the first day of the unit, YYYY-MM-DD in the zone of the caller; null for empty.',
      }),
    count: z.int(),
  })
  .meta({ id: 'RecordGroup', description: 'How many records have a value.' })
export type RecordGroup = z.infer<typeof RecordGroup>
