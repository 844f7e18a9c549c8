import { z } from 'zod'
import { File } from '../files/schema.ts'
import { instant, int, jsonb, shapeOf, text } from '../platform/http/answers/columns.ts'
import { Cursor, Id, Instant, limit, OffsetIfAny, RecordPath, Text } from '../platform/http/procedures/schemas.ts'
import { absentOr, orDefault } from '../platform/validation-messages.ts'

const MAX_COMMENT = 50_000
const MAX_ATTACHMENTS = 100

const TYPES = ['comment', 'email_out', 'email_in'] as const

export const recordCommentColumns = {
  id: int(Id.meta({ description: 'The `comment_id` of paths.' })),
  table_id: int(Id.meta({ description: 'The table of the record.' })),
  record_id: int(Id.meta({ description: 'The record that the comment is on.' })),
  type: text(
    z
      .enum(TYPES)
      .meta({ description: 'comment: written here. email_out: an email that was sent from the record. email_in: a reply to one.' }),
  ),
  user_id: int(z.int().meta({ description: '0 for an API key and for an email that was received.' })),
  user_name: text(z.string().meta({ description: "`API: <key name>` for an API key; the sender's name for an email that was received." })),
  api_key_id: int(Id.nullable().meta({ description: 'The key that wrote it; null for a session and for an email that was received.' })),
  content: text(z.string().meta({ description: 'The text, with mentions as @{<user_id>:<display_name>}.' })),
  attachments: jsonb(z.array(File).meta({ description: 'The files that came with it; they never change.' })),
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
const CommentText = Text.max(MAX_COMMENT, `must have at most ${MAX_COMMENT} characters`).meta({
  description: 'Mentions are written @{<user_id>:<display_name>}. It may be empty if the comment has files.',
})

/** The content of a new comment, which may be absent if the comment has files. */
export const NewCommentText = absentOr(CommentText).meta({
  description: 'Required unless `attachments` has a file. Mentions are written @{<user_id>:<display_name>}.',
})

const ECHOED = 'As the upload answered it; not needed.'
const CommentAttachment = z
  .strictObject({
    path: z.string().max(1_000, 'must have at most 1000 characters').meta({ description: 'The `path` of the upload.' }),
    name: z.string().nullish().meta({ description: ECHOED }),
    size: z.number().nullish().meta({ description: ECHOED }),
    type: z.string().nullish().meta({ description: ECHOED }),
    host: z.string().nullish().meta({ description: ECHOED }),
  })
  .meta({ id: 'CommentAttachment', description: 'The response of the upload. The path identifies the file.' })
export type CommentAttachment = z.infer<typeof CommentAttachment>

export const NewComment = z
  .strictObject({
    content: NewCommentText,
    attachments: z
      .array(CommentAttachment)
      .max(MAX_ATTACHMENTS, `must have at most ${MAX_ATTACHMENTS} files`)
      .nullish()
      .meta({ description: 'The answers of comments/upload. They cannot be changed later.' }),
  })
  .meta({ id: 'NewComment', description: 'A comment to write on a record.' })
export type NewComment = z.infer<typeof NewComment>

/** A key of its own, so that a request with files gets a message that says why they are refused. */
const FixedAttachments = absentOr(z.never('are fixed when the comment is posted')).meta({
  description: 'Refused, because the files of a comment cannot be changed.',
})

export const CommentContent = z
  .strictObject({ content: CommentText, attachments: FixedAttachments })
  .meta({ id: 'CommentContent', description: 'The new text of a comment.' })
export type CommentContent = z.infer<typeof CommentContent>

export const CommentQuery = z.strictObject({
  types: z
    .array(z.enum(TYPES))
    .min(1, 'must have at least 1 type')
    .max(20, 'must have at most 20 types')
    .nullish()
    .meta({ description: 'Only comments of these types; by default all.', example: ['comment', 'email_in'] }),
  limit: limit(20, 100),
  offset: OffsetIfAny,
  cursor: Cursor.meta({ description: 'The X-Next-Cursor of the previous page, for the same types. It does not go with `offset`.' }),
})
export type CommentQuery = z.infer<typeof CommentQuery>

export const CommentPath = RecordPath.extend({ comment_id: Id })

export const Force = z
  .strictObject({ force: orDefault(z.boolean(), false).meta({ description: 'Succeed without an effect instead of 409.' }) })
  .meta({ id: 'ForceOption', description: 'Whether a call without an effect succeeds.' })
export const Subscribed = z
  .object({
    ok: z.literal(true).meta({ description: 'Always true: a refusal has another status.' }),
    subscribed: z.boolean().meta({ description: 'Whether the acting user follows the table or record now.' }),
  })
  .meta({ id: 'Subscribed', description: 'Whether the acting user follows a table or record.' })
export type Subscribed = z.infer<typeof Subscribed>

export const StatusChoice = z
  .strictObject({ record_id: Id.nullish().meta({ description: 'A record of the table to ask about, too.' }) })
  .meta({ id: 'SubscriptionQuery', description: 'What to ask about.' })
export const SubscriptionStatus = z
  .object({
    table: z.boolean().meta({ description: 'Whether the acting user is subscribed to the table.' }),
    record: z.boolean().meta({ description: 'Whether the acting user is subscribed to the record; false without record_id.' }),
  })
  .meta({ id: 'SubscriptionStatus', description: 'What the acting user follows.' })
export type SubscriptionStatus = z.infer<typeof SubscriptionStatus>
