import { z } from 'zod'
import { Cursor, Id, Instant, limit } from '../../platform/http/procedures/schemas.ts'
import { Mailbox } from '../metadata.ts'

/** What a message was read as. */
export const VERDICTS = ['comment', 'bounced', 'automatic', 'duplicate', 'dropped'] as const
export type Verdict = (typeof VERDICTS)[number]

export const InboundMessage = z
  .object({
    id: Id.meta({ description: 'The id by which the message is downloaded.' }),
    received_at: Instant.meta({ description: 'When it came: UTC, YYYY-MM-DD HH:MM:SS.' }),
    from: Mailbox.meta({ description: 'Who sent it, by its From header.' }),
    subject: z.string().meta({ description: 'Its subject, decoded.' }),
    verdict: z.enum([...VERDICTS, 'pending']).meta({
      description:
        'What the message was read as: a reply that became a comment, a report that the mail bounced, an automatic reply, a message ' +
        'that had arrived before, or a dropped one. `pending` until it has been read.',
    }),
    reason: z
      .string()
      .nullable()
      .meta({ description: 'Why a message was dropped, is a duplicate or could not be read, or why a report changed nothing.' }),
    comment_ids: z.array(Id).meta({ description: 'The comments that it became; for a duplicate, those of the first message.' }),
  })
  .meta({ id: 'InboundMessage', description: 'A message that came to the reply address of a mail.' })
export type InboundMessage = z.infer<typeof InboundMessage>

export const InboundQuery = z.strictObject({
  limit: limit(50, 200),
  cursor: Cursor.meta({ description: 'The X-Next-Cursor of the previous page.' }),
})
export type InboundQuery = z.infer<typeof InboundQuery>
