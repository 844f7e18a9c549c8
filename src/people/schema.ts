import { z } from 'zod'
import { USER_STATUSES } from '../accounts/user-status.ts'
import { CurrentPassword, LinkToken, Password, TimeZone } from '../auth/schema.ts'
import { EmailAddress, Id, Instant, Name } from '../platform/http/procedures/schemas.ts'
import { Role } from '../spaces/schema.ts'

const UserSpace = z
  .strictObject({ space_id: Id.meta({ description: 'The id of the space.' }), role: Role })
  .meta({ id: 'UserSpace', description: 'A space that a user is in.' })

export const User = z
  .strictObject({
    id: Id.meta({ description: 'The `user_id` of paths.' }),
    name: z.string().meta({ description: 'The name, for people to read; for an invited person the address.' }),
    email: z.string().nullable().meta({ description: 'The address with which the user signs in; null for one who was erased.' }),
    status: z.enum(USER_STATUSES).meta({
      description:
        'invited: the invitation is not accepted yet. disabled: may do nothing until enabled again. erased: the person is gone for good.',
    }),
    last_seen_at: Instant.nullable().meta({
      description: 'When the user last used a session: UTC, YYYY-MM-DD HH:MM:SS, to the minute; null for never.',
    }),
    spaces: z.array(UserSpace).meta({ description: 'The spaces of the user, by id. A disabled user keeps them; the owner is in all.' }),
  })
  .meta({ id: 'User', description: 'A user of the account.' })
export type User = z.infer<typeof User>

export const UserPath = z.strictObject({ user_id: Id })

/** What a change that cannot be taken back asks for. */
export const Proof = z
  .strictObject({ current_password: CurrentPassword })
  .meta({ id: 'UserErasure', description: 'The password of the owner, who erases a user.' })
export type Proof = z.infer<typeof Proof>

export const NewOwner = z
  .strictObject({
    user_id: Id.meta({ description: 'The active user of the account who is to own it.' }),
    current_password: CurrentPassword,
  })
  .meta({ id: 'NewOwner', description: 'Whom to hand the account to.' })
export type NewOwner = z.infer<typeof NewOwner>

export const Setup = z
  .strictObject({
    token: LinkToken.meta({ description: 'What follows the # in the link that the start has printed.' }),
    name: Name.meta({ description: 'The name that others will see.' }),
    email: EmailAddress.meta({ description: 'The address to sign in with, in any case.' }),
    password: Password.meta({ description: 'The password to sign in with: 10 to 200 characters of any kind.' }),
    timezone: TimeZone.nullish().meta({ description: 'An IANA time zone; UTC without it.' }),
    account_name: Name.nullish().meta({ description: 'What the account is called; `Main` without it.' }),
  })
  .meta({ id: 'Setup', description: 'What the first owner of a service is created with.' })
export type Setup = z.infer<typeof Setup>
