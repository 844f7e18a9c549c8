import { z } from 'zod'
import { Id, Instant, limit, Offset } from '../platform/http/schemas.ts'
import { orDefault } from '../platform/http/validation-messages.ts'

export const Notification = z
  .strictObject({
    id: Id,
    user_id: Id,
    actor_user_id: Id.nullable().meta({ description: 'The user who made the change; null for an account key and for the service itself.' }),
    account_id: Id,
    space_id: Id.nullable(),
    table_id: Id.nullable(),
    record_id: Id.nullable(),
    task_id: Id.nullable(),
    event_type: z.string().meta({ example: 'TASK_ASSIGNED' }),
    message: z.string().meta({ description: 'The change, as a sentence.' }),
    url: z.string().meta({ description: 'The path of the task or record in a frontend.' }),
    summary: z.string().meta({ description: 'The task or record, as a sentence.' }),
    seen_at: Instant.nullable(),
    read_at: Instant.nullable(),
    created_at: Instant,
  })
  .meta({ id: 'Notification', description: 'A message to a user about a change of a task or a record.' })
export type Notification = z.infer<typeof Notification>

export const NotificationQuery = z.strictObject({
  filter: orDefault(z.enum(['all', 'unread']), 'all'),
  limit: limit(50, 200),
  offset: Offset,
})
export type NotificationQuery = z.infer<typeof NotificationQuery>

export const UnreadCount = z
  .strictObject({ unread: z.int(), tasksDue: z.int().meta({ description: 'Open tasks of the caller that are due today or overdue.' }) })
  .meta({ id: 'UnreadCount' })
export type UnreadCount = z.infer<typeof UnreadCount>

export const NotificationPath = z.strictObject({ id: Id })

export const ReadState = z.strictObject({ id: Id, read: z.boolean() }).meta({ id: 'ReadState' })
export type ReadState = z.infer<typeof ReadState>
