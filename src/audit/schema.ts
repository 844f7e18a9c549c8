import { z } from 'zod'
import { Cursor, Id, Instant, InstantInput, limit } from '../platform/http/procedures/schemas.ts'
import { ACTION_NAMES, ACTIONS } from './actions.ts'

const ActionName = z.enum(ACTION_NAMES).meta({
  id: 'AuditAction',
  description: Object.entries(ACTIONS)
    .map(([action, { means }]) => `- \`${action}\`: ${means}`)
    .join('\n'),
})

export const AuditEntry = z
  .strictObject({
    id: z.int().meta({ description: 'Rises with time, but rows are not committed in the order of their ids.' }),
    at: Instant,
    actor_user_id: Id.nullable().meta({
      description: 'The user who acted; for an account key the owner. Null for jobs, operators and failed sign-ins.',
    }),
    api_key_id: Id.nullable().meta({ description: 'The key of the request; null for a session.' }),
    ip: z.string().nullable().meta({ description: 'The address of the request; null for jobs and operators.', example: '203.0.113.7' }),
    action: ActionName.meta({ description: 'What was done.' }),
    space_id: Id.nullable().meta({ description: 'The space it was done in; null outside of spaces.' }),
    table_id: Id.nullable().meta({ description: 'The table it was done in; null outside of tables.' }),
    object: z
      .strictObject({
        type: z.string().meta({ description: 'What kind of thing it is, such as user, key or field.', example: 'field' }),
        id: z.string().meta({ description: 'The id as text.', example: 'stage' }),
        name: z.string().nullable().meta({ description: 'The name that it had; null for people, records, tasks and comments.' }),
      })
      .nullable()
      .meta({ description: 'The thing that the action was done to; null if there are several.' }),
    detail: z.record(z.string(), z.unknown()).meta({ description: 'What else is known, depending on the action. Never contents.' }),
  })
  .meta({ id: 'AuditEntry', description: 'A row of the audit log.' })
export type AuditEntry = z.infer<typeof AuditEntry>

export const AuditFilters = z.strictObject({
  actor_user_id: Id.nullish().meta({ description: 'Rows of this user.' }),
  action: ActionName.nullish().meta({ description: 'Rows with this action.' }),
  space_id: Id.nullish().meta({ description: 'Rows about this space.' }),
  since: InstantInput.nullish().meta({ description: 'Rows of this second and later.', example: '2026-03-31 00:00:00' }),
  until: InstantInput.nullish().meta({ description: 'Rows before this second.', example: '2026-03-31 00:00:00' }),
})
export type AuditFilters = z.infer<typeof AuditFilters>

export const AuditQuery = AuditFilters.extend({
  limit: limit(50, 200),
  cursor: Cursor.meta({ description: 'The X-Next-Cursor of the previous page, with the same filters.' }),
})
export type AuditQuery = z.infer<typeof AuditQuery>
