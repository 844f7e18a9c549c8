import { z } from 'zod'
import { Id, Instant } from '../schemas.ts'

/** Records that one request may make or delete. */
export const MAX_BATCH = 1_000

const Values = z.record(z.string(), z.unknown()).meta({
  description: 'Values by field id. What each type takes and gives: see the list of field types in the documentation.',
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

export const TablePath = z.strictObject({ table_id: Id })
export const RecordPath = TablePath.extend({ record_id: Id })
