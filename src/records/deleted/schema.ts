/** The shapes of deleted records (contract.md §10, Deleted records). */
import { z } from 'zod'
import { Cursor, Id, Instant, limit, TablePath } from '../../platform/http/procedures/schemas.ts'

const MAX_SEARCH = 500

export const DeletedQuery = TablePath.extend({
  search: z
    .string()
    .max(MAX_SEARCH, `must have at most ${MAX_SEARCH} characters`)
    .nullish()
    .meta({ description: 'Words that the title must contain, ignoring case.', example: 'acme' }),
  limit: limit(50, 200),
  cursor: Cursor.meta({ description: 'The X-Next-Cursor of the previous page of the same search.' }),
})
export type DeletedQuery = z.infer<typeof DeletedQuery>

export const DeletedRecord = z
  .strictObject({
    id: Id.meta({ description: 'The `record_id` of paths, which is not found until it is restored.' }),
    title: z.string().nullable().meta({ description: 'The title that it had.' }),
    deleted_at: Instant,
    user_id: z.int().nullable().meta({ description: 'Who has deleted it; for an account key its owner.', example: 7 }),
    user_name: z.string().nullable().meta({ description: 'Their name today; for a key `API: ` and its name.', example: 'Ada Lovelace' }),
    change_id: z.int().meta({ description: 'The change that has deleted it.', example: 4711 }),
    kept_until: Instant,
  })
  .meta({ id: 'DeletedRecord', description: 'A record that was deleted and can be restored.' })
export type DeletedRecord = z.infer<typeof DeletedRecord>
