import { z } from 'zod'
import { orWritten, type WrittenJson } from '../platform/http/answers/written-json.ts'
import {
  Id,
  Instant,
  include,
  limit,
  Offset,
  Ok,
  Person,
  RecordPath,
  TablePath,
  Text,
  Version,
} from '../platform/http/procedures/schemas.ts'
import { Filters, Group, Order, OrderBy, OrderDir, SortKey, Where } from '../views/schema.ts'
import type { Row } from './cells/present.ts'

/** The most records that one request may create, update or delete. */
const MAX_BATCH = 1_000
/** The most ids of fields that a query may name, some of them twice. */
const MAX_CHOSEN = 1_000

/** Each value is checked in drafts.ts. `z.record` is not used, because it silently ignores a key such as `__proto__`. */
export const Values = z
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
    id: 'RecordValues',
    example: { company: 'Acme', stage: 'Lead' },
  })

/** What a query and a single record show beside their fields (contract.md §9). */
const Include = include('version', 'badges')
export type Included = z.infer<typeof Include>

/** An interface, because the type of rows names it, and the types of the client can name no value (scripts/client-types.ts). */
export interface Badges {
  open_tasks: number
  overdue_tasks: number
  comments: number
  unread: number | null
}
export const Badges: z.ZodType<Badges> = z
  .object({
    open_tasks: z.int().meta({ description: 'Its tasks that are not done.' }),
    overdue_tasks: z.int().meta({ description: 'Those of them whose due instant has passed, or their due day where the caller is.' }),
    comments: z.int().meta({ description: 'Its comments and mails.' }),
    unread: z.int().nullable().meta({ description: "The caller's unread notifications about it and its tasks; null for an account key." }),
  })
  .meta({ id: 'RecordBadges', description: 'How much there is about a record, and how much of it the caller has not read.' })

/** The keys are dynamic, and the values come from present.ts, so the answer is not validated again. */
const Data = z
  .custom<Record<string, unknown>>()
  .meta({ id: 'RecordData', type: 'object', additionalProperties: true, description: 'Values by field id, as answers show them.' })

export const DataRecord = z
  .object({
    id: Id.meta({ description: 'The `record_id` of paths, unique in its table.' }),
    title: z.string().nullable().meta({ description: "The table's first text field." }),
    data: Data.meta({ description: 'All fields except the key and calculated fields.' }),
    created_at: Instant,
    updated_at: Instant,
    version: Version,
    badges: Badges.optional().meta({ description: 'With `include=badges`, of a record that is read.' }),
  })
  .meta({ id: 'Record', description: 'One row of a table.' })
export type DataRecord = z.infer<typeof DataRecord>

/** The id of a change (contract.md §10). */
export const ChangeId = z
  .int()
  .nullable()
  .meta({ description: 'The id of the change, also in `X-Change-Id`. Null, without the header, if nothing was changed.', example: 5012 })

export const ChangedRecord = DataRecord.omit({ badges: true })
  .extend({ change_id: ChangeId })
  .meta({ id: 'ChangedRecord', description: 'A record as a change has left it.' })
export type ChangedRecord = z.infer<typeof ChangedRecord>

/** The output of a change of several rows: REST sends `rows` as the body, and the id as a header. */
export const changedListOf = <Row extends z.ZodType>(row: Row) => z.object({ rows: z.array(row), change_id: ChangeId })
export interface ChangedList<Row> {
  rows: Row[]
  change_id: number | null
}

export const RecordQuery = z.strictObject({
  include: Include.meta({ description: 'badges: the record also has `badges`. version: it has that anyway.', example: ['badges'] }),
})
export type RecordQuery = z.infer<typeof RecordQuery>

export const NewRecord = z
  .strictObject({ data: Values.meta({ description: 'The values by field id; fields that are left out are empty.' }) })
  .meta({ id: 'NewRecord', description: 'A record to create.' })
export type NewRecord = z.infer<typeof NewRecord>

export const RecordUpdate = z
  .strictObject({ data: Values.meta({ description: 'The values that change, by field id; null empties a field, and others stay.' }) })
  .meta({ id: 'RecordUpdate', description: 'What changes in a record.' })
export type RecordUpdate = z.infer<typeof RecordUpdate>

export const RecordBatch = z
  .strictObject({
    records: z
      .array(NewRecord)
      .max(MAX_BATCH, `must have at most ${MAX_BATCH} records`)
      .meta({ description: 'The records in their order. All are created, or none.' }),
  })
  .meta({ id: 'RecordBatch', description: 'Records to create together.' })
export type RecordBatch = z.infer<typeof RecordBatch>

export const RecordUpdates = z
  .strictObject({
    records: z
      .array(
        RecordUpdate.extend({
          id: Id.meta({ description: 'The record. A batch may name it once.' }),
          version: Version.nullish().meta({ description: 'If the record has another version by now, nothing changes.' }),
        }).meta({ id: 'RecordUpdateOfBatch', description: 'A record of a batch, and what changes in it.' }),
      )
      .min(1, 'must have at least 1 record')
      .max(MAX_BATCH, `must have at most ${MAX_BATCH} records`)
      .meta({ description: 'The records, which may change in different fields. All are updated, or none.' }),
  })
  .meta({ id: 'RecordUpdates', description: 'Records to update together.' })
export type RecordUpdates = z.infer<typeof RecordUpdates>

export const RecordIds = z
  .strictObject({
    record_ids: z
      .array(Id)
      .max(MAX_BATCH, `must have at most ${MAX_BATCH} ids`)
      .meta({ description: 'The records of the table to delete.' }),
  })
  .meta({ id: 'RecordIds', description: 'Records to delete together.' })
export const DeletedRecords = z
  .object({ deleted: z.int().meta({ description: 'The number of deleted records.' }), change_id: ChangeId })
  .meta({ id: 'DeletedRecords', description: 'How many records were deleted.' })
export type DeletedRecords = z.infer<typeof DeletedRecords>

export const ChangedOk = Ok.extend({ change_id: ChangeId }).meta({ id: 'ChangedOk', description: 'The answer of a change of one record.' })
export type ChangedOk = z.infer<typeof ChangedOk>

// ── many records ────────────────────────────────────────────────────────────

const MAX_SEARCH = 500
/** Longer than any cursor that is issued: a cursor holds three sort values of at most 2,000 characters. */
const MAX_CURSOR = 60_000

const Search = Text.max(MAX_SEARCH, `must have at most ${MAX_SEARCH} characters`).nullish().meta({
  description:
    'Words that must all occur in the text and select fields, ignoring case. Words of one or two characters match the beginnings of words.',
})

/** The schema accepts any view_id, because contract.md §5 fixes the answer for an invalid one. */
const ViewId = z
  .custom<number | null>()
  .meta({ type: ['integer', 'null'], minimum: 0, description: 'The view to query through; 0 means no view.', example: 3 })
  .optional()

export const narrowing = { filters: Filters, where: Where, filter: Group, search: Search }
export const throughView = {
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

export const ordering = { order_by: OrderBy, order_dir: OrderDir, order: Order }
export const rowContents = {
  fields: z
    .array(z.string())
    .max(MAX_CHOSEN, `must have at most ${MAX_CHOSEN} ids`)
    .nullish()
    .meta({ description: 'Ids of the fields to return beside `id`; without ids, all fields.' }),
  include: Include.meta({
    description: 'version, badges: rows also have `_version`, the number in the ETag of the record, and `_badges`.',
    example: ['version'],
  }),
}
export const Cursor = z.string().max(MAX_CURSOR, 'is too long').nullish()

export const RecordsQuery = TablePath.extend({
  ...throughView,
  ...narrowing,
  ...ordering,
  ...rowContents,
  limit: limit(100, 1_000),
  offset: Offset,
  cursor: Cursor.meta({
    description:
      'An empty cursor starts a walk through all pages; each answer has the next cursor in X-Next-Cursor, except the last. Every ' +
      'record that keeps its sort values is returned once, whatever changes beside it. Does not go with an offset; the conditions and ' +
      'the order must not change between pages.',
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
}).meta({ id: 'RecordsQuery', description: 'Which records of a table, which of their fields, and in which order.' })
export type RecordsQuery = z.infer<typeof RecordsQuery>

/** What rows have beside their fields, if a query includes it. */
export interface BesideRow {
  _version?: number
  _badges?: Badges
}

/** Rows have the fields of their table and come from write-rows.ts as JSON text, so the answer is not validated again. */
export const Rows = z.custom<(Row & BesideRow)[]>(Array.isArray).meta({
  type: 'array',
  items: {
    id: 'RecordRow',
    type: 'object',
    required: ['id'],
    properties: {
      id: { type: 'integer', description: 'The `record_id` of paths, unique in its table.' },
      _version: { type: 'integer', description: 'With `include: ["version"]`: increases with each change, for If-Match.' },
      _badges: { $ref: '#/components/schemas/RecordBadges', description: 'With `include: ["badges"]`.' },
    },
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
    me: Person.meta({ description: 'The acting user, to whom @me refers.' }),
    tokens: z
      .array(
        z.object({
          token: z.string().meta({ description: 'The token, as it was sent.' }),
          from: Instant.meta({ description: 'The start of its range, which belongs to it: UTC, YYYY-MM-DD HH:MM:SS.' }),
          to: Instant.meta({ description: 'The end, which does not. The same as the start for an instant.' }),
        }),
      )
      .meta({ description: 'Each date token of the conditions, with what it means now.' }),
    predicate: z.string().meta({ description: 'The conditions, with brackets.' }),
    order: z.array(SortKey).meta({ description: 'All sort keys, including the id that orders ties.' }),
    indexes: z.array(z.string()).meta({ description: 'The indexes of the table that the database chooses for this query.' }),
    record: z
      .object({
        id: Id.meta({ description: 'The record that was asked about.' }),
        matches: z.boolean().meta({ description: 'Whether the query selects it.' }),
        failed: z
          .object({
            column: z.string().nullable().meta({ description: 'Null for a search word.' }),
            compare: z.string().meta({ description: 'How the condition compares; `search` for a search word.' }),
            value: z.unknown().optional().meta({ description: 'The value of the condition, with its tokens as they were sent.' }),
            all: z.literal(true).optional().meta({ description: 'Present if a record must have all values of the list.' }),
            actual: z.unknown().meta({ description: 'The value of the record.' }),
            not: z
              .literal(true)
              .optional()
              .meta({ description: 'Present if the condition holds and must not, because it is inside a `not`.' }),
          })
          .nullable()
          .meta({ description: 'The first condition that excludes the record; of alternatives, that of the first.' }),
      })
      .optional()
      .meta({ description: 'Present with record_id.' }),
  })
  .meta({ id: 'QueryExplanation', description: 'How a query was understood, without rows.' })
export type Explanation = z.infer<typeof Explanation>

/**
 * A page, or with `explain` an explanation. The type is a page with the optional keys of an explanation, so that callers who never send
 * `explain` need not distinguish the two; with `explain` the answer has no `rows`. The document shows both.
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
  .meta({ id: 'RecordsCount', description: 'How many records a query selects, and how many there are.' })
export type Counted = z.infer<typeof Counted>

// ── neighbours ──────────────────────────────────────────────────────────────

export const RecordNeighbours = RecordPath.extend({
  ...throughView,
  ...narrowing,
  ...ordering,
  position: z.boolean().nullish().meta({ description: 'If true, the answer has `position` and `total`, which are counted.' }),
}).meta({ id: 'RecordNeighbours', description: 'Among which records of a table, and in which order, a record has neighbours.' })
export type RecordNeighbours = z.infer<typeof RecordNeighbours>

export const Neighbours = z
  .object({
    matches: z.boolean().meta({ description: 'Whether the query selects the record itself.' }),
    previous: Id.nullable().meta({ description: 'The nearest selected record before it; null at the beginning.' }),
    next: Id.nullable().meta({ description: 'The nearest selected record after it; null at the end.' }),
    position: z.int().optional().meta({ description: 'The number of selected records before it.' }),
    total: z.int().optional().meta({ description: 'The number of selected records.' }),
  })
  .meta({ id: 'Neighbours', description: 'What is before and after a record in a query.' })
export type Neighbours = z.infer<typeof Neighbours>
