import { z } from 'zod'
import { instant, int, shapeOf, text } from '../platform/http/answers/columns.ts'
import { Id, Instant, limit, Offset } from '../platform/http/procedures/schemas.ts'
import { orDefault } from '../platform/validation-messages.ts'

export const notificationColumns = {
  id: int(Id.meta({ description: 'The id by which it is marked as read.' })),
  user_id: int(Id.meta({ description: 'The user whom it is for: the caller.' })),
  actor_user_id: int(
    Id.nullable().meta({ description: 'The user who made the change; null for an account key and for the service itself.' }),
  ),
  account_id: int(Id.meta({ description: 'The account of the user.' })),
  space_id: int(Id.nullable().meta({ description: 'The space of what changed; null for a standalone task.' })),
  table_id: int(Id.nullable().meta({ description: 'The table of the record; null without one.' })),
  record_id: int(Id.nullable().meta({ description: 'The record that changed, or that the task is on; null without one.' })),
  task_id: int(Id.nullable().meta({ description: 'The task that changed; null if it was something else.' })),
  event_type: text(
    z.string().meta({
      description:
        'TASK_ASSIGNED, TASK_COMMENT, TASK_DONE, TASK_UNDONE, TASK_REMINDER, task.comment.mention, COMMENT, comment.mention, ' +
        'SMTP_FAILING or EMAIL_BOUNCED.',
      example: 'TASK_ASSIGNED',
    }),
  ),
  message: text(z.string().meta({ description: 'The change, as a sentence.' })),
  url: text(z.string().meta({ description: 'The path of the task or record in a frontend.' })),
  summary: text(z.string().meta({ description: 'The task or record, as a sentence.' })),
  seen_at: instant(
    Instant.nullable().meta({ description: 'When it was read for the first time; null before. Marking it as unread does not change it.' }),
  ),
  read_at: instant(Instant.nullable().meta({ description: 'When it was marked as read; null while it is unread.' })),
  created_at: instant(Instant),
}

export const Notification = z
  .strictObject(shapeOf(notificationColumns))
  .meta({ id: 'Notification', description: 'A message to a user about a change of a task or a record.' })
export type Notification = z.infer<typeof Notification>

export const NotificationQuery = z
  .strictObject({
    filter: orDefault(z.enum(['all', 'unread']), 'all').meta({
      description: 'unread: only those that are not marked as read. Default all.',
    }),
    limit: limit(50, 200),
    offset: Offset,
  })
  .meta({ id: 'NotificationQuery', description: 'Which notifications of the caller to list.' })
export type NotificationQuery = z.infer<typeof NotificationQuery>

export const UnreadCount = z
  .strictObject({
    unread: z.int().meta({ description: 'The unread notifications of the caller.' }),
    tasksDue: z.int().meta({ description: 'Open tasks of the caller that are due today or overdue.' }),
  })
  .meta({ id: 'UnreadCount', description: 'What the badge of an app shows.' })
export type UnreadCount = z.infer<typeof UnreadCount>

export const NotificationPath = z.strictObject({ id: Id })

export const MarkedRead = z
  .strictObject({ read: z.int().meta({ description: 'How many notifications became read.' }) })
  .meta({ id: 'MarkedRead', description: 'How many notifications were marked.' })
export type MarkedRead = z.infer<typeof MarkedRead>

export const ReadState = z
  .strictObject({ id: Id.meta({ description: 'The notification.' }), read: z.boolean().meta({ description: 'Whether it is read now.' }) })
  .meta({ id: 'ReadState', description: 'A notification after it was marked.' })
export type ReadState = z.infer<typeof ReadState>
