import { z } from 'zod'
import { Id, Instant, limit, Offset } from '../../platform/http/procedures/schemas.ts'
import { parseMailbox } from '../address.ts'

export const SUPPRESSION_REASONS = ['hard_bounce', 'complaint', 'manual'] as const
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number]

export const Suppression = z
  .object({
    email: z.string().meta({ description: 'The address, in lower case.' }),
    reason: z.enum(SUPPRESSION_REASONS).meta({
      description:
        'hard_bounce: the address takes no mail. complaint: its recipient reported a mail as unwanted. manual: an admin added it.',
    }),
    since: Instant,
    comment_id: Id.nullable().meta({ description: 'The mail that caused it; null if it was deleted or is in a space of others.' }),
  })
  .meta({ id: 'Suppression', description: 'An address to which the account sends no mail.' })
export type Suppression = z.infer<typeof Suppression>

export const SuppressionQuery = z.strictObject({ limit: limit(50, 200), offset: Offset })
export type SuppressionQuery = z.infer<typeof SuppressionQuery>

/** The address is compared without case. */
export const SuppressedAddress = z
  .strictObject({
    email: z
      .string()
      .max(320, 'must have at most 320 characters')
      .refine((text) => parseMailbox(text)?.name === '', 'must be an email address')
      .overwrite((text) => parseMailbox(text)?.email.toLowerCase() ?? text)
      .meta({ description: 'The address, in any case.' }),
  })
  .meta({ id: 'SuppressedAddress', description: 'An address to which mail may go again.' })
