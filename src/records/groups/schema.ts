/** The shapes of what is computed of many records: their number and sums by field. */
import { z } from 'zod'
import { Id, limit, Person, TablePath } from '../../platform/http/procedures/schemas.ts'
import { Cursor, narrowing, ordering, Rows, rowContents, throughView } from '../schema.ts'

/** A record, as lookups name it. */
const LinkedRecord = z
  .object({
    id: Id.meta({ description: 'The `record_id` in the other table.' }),
    title: z.string().nullable().meta({ description: "That table's first text field." }),
  })
  .meta({ id: 'LinkedRecord', description: 'A record, as lookups name it.' })

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
}).meta({ id: 'RecordsGroups', description: 'Which records of a table to count, and by which field.' })
export type RecordsGroups = z.infer<typeof RecordsGroups>

export const RecordGroup = z
  .object({
    value: z.union([z.string(), z.boolean(), Person]).nullable().meta({
      description:
        'The value as in a record. For dates, the first day of the unit, YYYY-MM-DD in the time zone of the caller. Null for empty.',
    }),
    count: z.int().meta({ description: 'The number of records in the group.' }),
  })
  .meta({ id: 'RecordGroup', description: 'The number of records that have a value.' })
export type RecordGroup = z.infer<typeof RecordGroup>

// ── sums ────────────────────────────────────────────────────────────────────

const AggregateUnit = z.enum(['day', 'week', 'month', 'quarter', 'year'])
export type AggregateUnit = z.infer<typeof AggregateUnit>

const MAX_BY = 2
const MAX_MEASURES = 10

const AggregateKey = z
  .strictObject({
    field: z.string().meta({ description: 'The id of a field of another type than number, time, long_text and file.' }),
    unit: AggregateUnit.nullish().meta({ description: 'For date and datetime fields, as in `records/groups`; day by default.' }),
  })
  .meta({ id: 'AggregateKey', description: 'A field to group records by.' })

const Measure = z
  .strictObject({
    fn: z
      .enum(['count', 'filled', 'empty', 'distinct', 'sum', 'avg', 'median', 'min', 'max', 'checked'])
      .meta({ description: 'What to compute. Which types of fields have it is in docs/queries.md.' }),
    field: z.string().nullish().meta({ description: 'The id of the field; `count` has none.' }),
  })
  .meta({ id: 'Measure', description: 'What to compute of the records of each group.' })

export const RecordsAggregate = TablePath.extend({
  ...throughView,
  ...narrowing,
  by: z
    .array(AggregateKey)
    .max(MAX_BY, `must have at most ${MAX_BY} fields`)
    .nullish()
    .meta({ description: 'The fields to group by; without them all records are one group.', example: [{ field: 'stage' }] }),
  measures: z
    .array(Measure)
    .min(1, 'must have a measure')
    .max(MAX_MEASURES, `must have at most ${MAX_MEASURES} measures`)
    .meta({ description: 'What to compute of each group.', example: [{ fn: 'count' }, { fn: 'sum', field: 'amount' }] }),
  order: z
    .strictObject({
      measure: z.int('must be a whole number').min(0, 'must be 0 or more').meta({ description: 'The index of a measure, from 0.' }),
      dir: z.enum(['A', 'D', 'a', 'd'], "must be 'A' or 'D'").nullish().meta({ description: 'Ascending, the default, or descending.' }),
    })
    .meta({ id: 'MeasureOrder', description: 'An order of groups by a measure.' })
    .nullish()
    .meta({ description: 'Sorts the groups by a measure; equal ones stay in the order of the fields.' }),
  limit: limit(100, 1_000),
}).meta({ id: 'RecordsAggregate', description: 'Which records of a table to sum up, by which fields, and what to compute.' })
export type RecordsAggregate = z.infer<typeof RecordsAggregate>

export const GroupValue = z.union([z.string(), z.boolean(), Person, LinkedRecord]).nullable().meta({
  description: 'One value as in a record. For dates, the first day of the unit, YYYY-MM-DD in the time zone of the caller. Null for empty.',
})
export type GroupValue = z.infer<typeof GroupValue>

/** A sum can have more digits than a JavaScript number, so a result is an `ExactNumber` or a text then (measures.ts). */
const MeasureResult = z.custom<number | string | null>().meta({
  type: ['number', 'string', 'null'],
  description: 'A number, as decimal text beyond ±10^15; a date, an instant or a time as in a record; null over nothing.',
})
export type MeasureResult = z.infer<typeof MeasureResult>

export const AggregatedGroup = z
  .object({
    group: z.array(GroupValue).meta({ description: 'The value of each field in `by`.' }),
    values: z.array(MeasureResult).meta({ description: 'The result of each measure.' }),
  })
  .meta({ id: 'AggregatedGroup', description: 'The results for the records that have the values.' })
export type AggregatedGroup = z.infer<typeof AggregatedGroup>

// ── boards ──────────────────────────────────────────────────────────────────

const PER_GROUP = 20
const MAX_PER_GROUP = 100

export const RecordsBoard = TablePath.extend({
  ...throughView,
  ...narrowing,
  ...ordering,
  by: z.string().meta({ description: 'The id of a select, checkbox, user or lookup field: its values are the columns.', example: 'stage' }),
  per_group: z
    .int('must be a whole number')
    .min(1, 'must be at least 1')
    .max(MAX_PER_GROUP, `must be at most ${MAX_PER_GROUP}`)
    .nullish()
    .transform((value) => value ?? PER_GROUP)
    .meta({ description: `The most rows of each column; default ${PER_GROUP}, at most ${MAX_PER_GROUP}.`, example: PER_GROUP }),
  ...rowContents,
  cursor: Cursor.meta({
    description: 'The `next_cursor` of a column: the answer is this column alone, with the rows that follow. The query must be the same.',
  }),
}).meta({ id: 'RecordsBoard', description: 'Which records of a table, in which order, and by which field they are in columns.' })
export type RecordsBoard = z.infer<typeof RecordsBoard>

export const BoardColumn = z
  .object({
    value: GroupValue,
    count: z.int().meta({ description: 'The number of records in the column.' }),
    rows: Rows.meta({ description: 'Its first records, or those after the cursor, as rows of `records/query`.' }),
    next_cursor: z.string().optional().meta({ description: 'Continues the column; absent at its end.' }),
  })
  .meta({ id: 'BoardColumn', description: 'The records that have a value.' })
export type BoardColumn = z.infer<typeof BoardColumn>
