import { z } from 'zod'
import { File } from '../files/schema.ts'
import { instant, int, jsonb, shapeOf, text } from '../platform/http/answers/columns.ts'
import { Id, Instant, limit, Offset, RecordPath, Text } from '../platform/http/procedures/schemas.ts'
import { absentOr } from '../platform/validation-messages.ts'

const MAX_COMMENT = 50_000
const MAX_ATTACHMENTS = 100

export const recordCommentColumns = {
  id: int(Id),
  table_id: int(Id),
  record_id: int(Id),
  type: text(z.enum(['comment', 'email_out', 'email_in'])),
  user_id: int(z.int().meta({ description: '0 for an API key and for an email that was received.' })),
  user_name: text(z.string().meta({ description: "`API: <key name>` for an API key; the sender's name for an email that was received." })),
  api_key_id: int(Id.nullable()),
  content: text(z.string()),
  attachments: jsonb(z.array(File)),
  metadata: jsonb(
    z.record(z.string(), z.unknown()).nullable().meta({ description: 'The status, addresses and times of an email; null for a comment.' }),
  ),
  created_at: instant(Instant),
  updated_at: instant(Instant.nullable().meta({ description: 'Null until edited.' })),
}

export const RecordComment = z
  .object(shapeOf(recordCommentColumns))
  .meta({ id: 'RecordComment', description: 'A comment on a record, an email that was sent from it, or a reply to one.' })
export type RecordComment = z.infer<typeof RecordComment>

/** The content of a comment on any subject. The service refuses an empty one unless the comment has files. */
export const CommentText = Text.max(MAX_COMMENT, `must have at most ${MAX_COMMENT} characters`).meta({
  description: 'Mentions are written @{<user_id>:<display_name>}. It may be empty if the comment has files.',
})

/** The content of a new comment, which may be absent if the comment has files. */
export const NewCommentText = absentOr(CommentText).meta({
  description: 'Required unless `attachments` has a file. Mentions are written @{<user_id>:<display_name>}.',
})

const CommentAttachment = z
  .strictObject({
    path: z.string().max(1_000, 'must have at most 1000 characters'),
    name: z.string().nullish(),
    size: z.number().nullish(),
    type: z.string().nullish(),
    host: z.string().nullish(),
  })
  .meta({ description: 'The response of the upload. The path identifies the file.' })
export type CommentAttachment = z.infer<typeof CommentAttachment>

export const NewComment = z.strictObject({
  content: NewCommentText,
  attachments: z.array(CommentAttachment).max(MAX_ATTACHMENTS, `must have at most ${MAX_ATTACHMENTS} files`).nullish(),
})
export type NewComment = z.infer<typeof NewComment>

/** A key of its own, so that a request with files gets a message that says why they are refused. */
export const FixedAttachments = absentOr(z.never('are fixed when the comment is posted')).meta({
  description: 'Refused, because the files of a comment cannot be changed.',
})

export const CommentContent = z.strictObject({ content: CommentText, attachments: FixedAttachments })
export type CommentContent = z.infer<typeof CommentContent>

export const CommentQuery = z.strictObject({ limit: limit(20, 100), offset: Offset })
export type CommentQuery = z.infer<typeof CommentQuery>

export const CommentPath = RecordPath.extend({ comment_id: Id })

export const Force = z.strictObject({
  force: z.boolean().nullish().meta({ description: 'Succeed without an effect instead of 409.' }),
})
export const Subscribed = z.object({ ok: z.literal(true), subscribed: z.boolean() })
export type Subscribed = z.infer<typeof Subscribed>

export const StatusChoice = z.strictObject({ record_id: Id.nullish() })
export const SubscriptionStatus = z.object({
  table: z.boolean().meta({ description: 'Whether the acting user is subscribed to the table.' }),
  record: z.boolean().meta({ description: 'Whether the acting user is subscribed to the record; false without record_id.' }),
})
export type SubscriptionStatus = z.infer<typeof SubscriptionStatus>
