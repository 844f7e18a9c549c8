import { isIP } from 'node:net'
import { z } from 'zod'
import { Id, Instant, Name, Person } from '../platform/http/procedures/schemas.ts'
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

const KIND = 'account: acts for the whole account, as its owner. personal: acts as the user who made it, with the rights of that user.'

export const Key = z
  .strictObject({
    id: Id.meta({ description: 'The id, by which the key is rotated, changed and deleted.' }),
    kind: z.enum(['account', 'personal']).meta({ description: KIND }),
    name: z.string().meta({ description: 'What the key is for, as its owner named it. Comments show it.' }),
    read_only: z.boolean().meta({ description: 'True if the key can only read.' }),
    space_ids: z.array(Id).nullable().meta({ description: 'The only spaces that an account key can access; null stands for every space.' }),
    ip_allowlist: z
      .array(z.string())
      .meta({ description: 'The only addresses from which the key can be used; an empty list permits any address.' }),
    expires_at: Instant.nullable().meta({
      description: 'From then on the key is refused: UTC, YYYY-MM-DD HH:MM:SS; null: it does not expire.',
    }),
    last_used_at: Instant.nullable().meta({ description: 'Exact to a minute.' }),
    created_at: Instant,
  })
  .meta({ id: 'Key', description: 'An API key, without its secret.' })
export type Key = z.infer<typeof Key>

export const KeyWithSecret = Key.extend({
  secret: z.string().meta({ description: 'The key itself, for `Authorization: Bearer`. Shown this once; the service keeps a hash.' }),
}).meta({ id: 'KeyWithSecret', description: 'A new or rotated API key with its secret.' })

const Expiry = z
  .string()
  .refine((text) => parseInstant(text) !== null, 'must be an instant in UTC, as YYYY-MM-DD HH:MM:SS')
  .transform((text) => formatInstant(parseInstant(text) as Date))
  .meta({ example: '2027-01-01 00:00:00' })

export const KeyUpdate = changesOf(
  z.strictObject({
    name: Name.meta({ description: 'What the key is for. Comments that it writes show it.' }),
    read_only: z.boolean().meta({ description: 'Whether the key can only read.' }),
    space_ids: z
      .array(Id)
      .min(1, 'must name a space')
      .max(1_000)
      .nullish()
      .meta({ description: 'The only spaces that an account key can access; null stands for every space.' }),
    ip_allowlist: z
      .array(IpRange)
      .max(100, 'must have at most 100 ranges')
      .nullish()
      .meta({ description: 'The only addresses and ranges from which the key can be used; null and an empty list permit any.' }),
    expires_at: Expiry.nullish().meta({ description: 'From then on the key is refused: UTC, YYYY-MM-DD HH:MM:SS; null: never.' }),
  }),
).meta({ id: 'KeyUpdate', description: 'What can be changed about a key.' })
export type KeyUpdate = z.infer<typeof KeyUpdate>

export const NewKey = KeyUpdate.extend({
  kind: z.enum(['account', 'personal']).meta({ description: KIND }),
  name: Name.meta({ description: 'What the key is for. Comments that it writes show it.' }),
  read_only: z.boolean().nullish().meta({ description: 'True if the key may only read; false by default.' }),
}).meta({ id: 'NewKey', description: 'An API key to make.' })
export type NewKey = z.infer<typeof NewKey>

export const KeyPath = z.strictObject({ key_id: Id })

export const Self = z
  .strictObject({
    key: Key.meta({ description: 'The key of the request.' }),
    account_id: Id.meta({ description: 'The account of the key.' }),
    acts_as: z
      .strictObject({ ...Person.shape, timezone: z.string().meta({ description: 'The zone in which date tokens are resolved.' }) })
      .meta({ description: 'The acting user: the owner of the account, or of a personal key its user.' }),
  })
  .meta({ id: 'Self', description: 'A key, and the user on whose behalf it acts.' })
export type Self = z.infer<typeof Self>
