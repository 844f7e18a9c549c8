/** The shapes of what is known of a record's past (contract.md §10). */
import { z } from 'zod'
import { Cursor, Id, Instant, limit, RecordPath } from '../../platform/http/procedures/schemas.ts'

export const HistoryQuery = RecordPath.extend({
  limit: limit(50, 200),
  cursor: Cursor.meta({ description: 'The X-Next-Cursor of the previous page of the same record.' }),
})
export type HistoryQuery = z.infer<typeof HistoryQuery>

const KINDS = ['create', 'update', 'delete', 'restore', 'undo'] as const

const FieldChange = z
  .strictObject({
    field: z.string().meta({ description: 'The id of the field.', example: 'stage' }),
    name: z.string().meta({ description: 'Its present name; of a field that was deleted since, the name of the time.', example: 'Stage' }),
    from: z
      .unknown()
      .meta({ description: 'The value before, as records showed it. Options and linked records have their titles of the time.' }),
    to: z.unknown().meta({ description: 'The value that the change gave it, in the same form.' }),
  })
  .meta({ id: 'FieldChange', description: 'A field that a change has made different.' })
export type FieldChange = z.infer<typeof FieldChange>

export const HistoryEntry = z
  .strictObject({
    change_id: z.int().meta({ description: 'The request that wrote it. All records that it wrote have the same id.', example: 4711 }),
    version: z.int().meta({ description: 'The version of the record after the change.', example: 2 }),
    at: Instant,
    user_id: Id.nullable().meta({ description: 'The user who acted; for an account key the owner. Null for the service itself.' }),
    user_name: z.string().nullable().meta({ description: 'The name today; `API: <key name>` for an API key.', example: 'Ann' }),
    api_key_id: Id.nullable().meta({ description: 'The key of the request; null for a session.' }),
    kind: z.enum(KINDS).meta({ description: 'What was done to the record. What an undo does to values is an `undo`.' }),
    records: z.int().meta({ description: 'The number of records that the change wrote.', example: 1 }),
    changes: z.array(FieldChange).optional().meta({ description: 'The fields that became different. A `create` has none.' }),
  })
  .meta({ id: 'HistoryEntry', description: 'A change of a record.' })
export type HistoryEntry = z.infer<typeof HistoryEntry>
