import { z } from 'zod'
import { instant, int, shapeOf, text } from '../platform/http/answers/columns.ts'
import { Id, Instant, limit, Offset } from '../platform/http/procedures/schemas.ts'
import { orDefault } from '../platform/validation-messages.ts'

export const notificationColumns = {
  id: int(Id),
  user_id: int(Id),
  actor_user_id: int(
    Id.nullable().meta({ description: 'The user who made the change; null for an account key and for the service itself.' }),
  ),
  account_id: int(Id),
  space_id: int(Id.nullable()),
  table_id: int(Id.nullable()),
  record_id: int(Id.nullable()),
  task_id: int(Id.nullable()),
  event_type: text(z.string().meta({ example: 'TASK_ASSIGNED' })),
  message: text(z.string().meta({ description: 'The change, as a sentence.' })),
  url: text(z.string().meta({ description: 'The path of the task or record in a frontend.' })),
  summary: text(z.string().meta({ description: 'The task or record, as a sentence.' })),
  seen_at: instant(Instant.nullable()),
  read_at: instant(Instant.nullable()),
  created_at: instant(Instant),
}

export const Notification = z
  .strictObject(shapeOf(notificationColumns))
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
