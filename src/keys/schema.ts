import { isIP } from 'node:net'
import { z } from 'zod'
import { Id, Instant, Name } from '../platform/http/procedures/schemas.ts'
import { formatInstant, parseInstant } from '../platform/time/time.ts'
import { changesOf } from '../platform/validation-messages.ts'

/** An address or a CIDR range, IPv4 or IPv6. */
const IpRange = z.string().refine(isIpRange, 'must be an IP address or a CIDR range').meta({ example: '203.0.113.0/24' })

function isIpRange(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const family = isIP(address)
  if (!family || rest.length) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32))
}

export const Key = z
  .strictObject({
    id: Id,
    kind: z.enum(['account', 'personal']),
    name: z.string(),
    read_only: z.boolean(),
    space_ids: z.array(Id).nullable().meta({ description: 'The only spaces that an account key can access; null stands for every space.' }),
    ip_allowlist: z
      .array(z.string())
      .meta({ description: 'The only addresses from which the key can be used; an empty list permits any address.' }),
    expires_at: Instant.nullable(),
    last_used_at: Instant.nullable().meta({ description: 'Exact to a minute.' }),
    created_at: Instant,
  })
  .meta({ id: 'Key', description: 'An API key, without its secret.' })
export type Key = z.infer<typeof Key>

export const KeyWithSecret = Key.extend({ secret: z.string().meta({ description: 'Shown once.' }) }).meta({ id: 'KeyWithSecret' })

const Expiry = z
  .string()
  .refine((text) => parseInstant(text) !== null, 'must be an instant in UTC, as YYYY-MM-DD HH:MM:SS')
  .transform((text) => formatInstant(parseInstant(text) as Date))
  .meta({ example: '2027-01-01 00:00:00' })

export const KeyUpdate = changesOf(
  z.strictObject({
    name: Name,
    read_only: z.boolean(),
    space_ids: z.array(Id).min(1, 'must name a space').max(1_000).nullish(),
    ip_allowlist: z.array(IpRange).max(100, 'must have at most 100 ranges').nullish(),
    expires_at: Expiry.nullish(),
  }),
)
export type KeyUpdate = z.infer<typeof KeyUpdate>

export const NewKey = KeyUpdate.extend({ kind: z.enum(['account', 'personal']), name: Name, read_only: z.boolean().nullish() })
export type NewKey = z.infer<typeof NewKey>

export const KeyPath = z.strictObject({ key_id: Id })

export const Self = z
  .strictObject({
    key: Key,
    account_id: Id,
    acts_as: z.strictObject({ id: Id, email: z.string(), name: z.string(), timezone: z.string() }),
  })
  .meta({ id: 'Self', description: 'A key, and the user on whose behalf it acts.' })
export type Self = z.infer<typeof Self>
