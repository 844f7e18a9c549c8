import { z } from 'zod'
import { NewCommentText } from '../../comments/schema.ts'
import { instant, int, jsonb, shapeOf, text } from '../../platform/http/answers/columns.ts'
import { Id, Instant, limit, Offset } from '../../platform/http/procedures/schemas.ts'
import { Attachment, AttachmentEntry, attachments } from '../files/schema.ts'

export const taskCommentColumns = {
  id: int(Id.meta({ description: 'The `comment_id` of paths.' })),
  task_id: int(Id.meta({ description: 'The task that the comment is on.' })),
  content: text(z.string().meta({ description: 'The text, with mentions as @{<user_id>:<display_name>}.' })),
  user_id: int(z.int().meta({ description: '0 when written through an API key.' })),
  user_name: text(z.string().meta({ description: "'API: <key name>' when written through an API key." })),
  api_key_id: int(Id.nullable().meta({ description: 'The key that wrote it; null for a session.' })),
  attachments: jsonb(z.array(Attachment).meta({ description: 'The files that came with it; they never change.' })),
  created_at: instant(Instant),
  updated_at: instant(Instant.nullable().meta({ description: 'Null until edited.' })),
}

export const TaskComment = z.strictObject(shapeOf(taskCommentColumns)).meta({ id: 'TaskComment', description: 'A comment on a task.' })
export type TaskComment = z.infer<typeof TaskComment>

export const TaskCommentPath = z.strictObject({ task_id: Id, comment_id: Id })

export const TaskCommentQuery = z.strictObject({ limit: limit(50, 200), offset: Offset })
export type TaskCommentQuery = z.infer<typeof TaskCommentQuery>

export const NewTaskComment = z
  .strictObject({
    content: NewCommentText,
    attachments: attachments(AttachmentEntry).nullish().meta({
      description: 'The responses of uploads for a comment on the task. They cannot be changed later. From a browser session only.',
    }),
  })
  .meta({ id: 'NewTaskComment', description: 'A comment to write on a task.' })
export type NewTaskComment = z.infer<typeof NewTaskComment>
