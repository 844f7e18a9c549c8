import { z } from 'zod'
import { tokenOfLink } from '../platform/http/pages/links.ts'
import { EmailAddress, Id, Instant, Name, Person } from '../platform/http/procedures/schemas.ts'
import { isTimeZone } from '../platform/time/time-zones.ts'
import { changesOf } from '../platform/validation-messages.ts'

/** 10 to 200 characters. A long password needs no further rules. */
export const Password = z.string().min(10, 'must have 10 characters or more').max(200, 'must have at most 200 characters')

export const TimeZone = z
  .string()
  .refine(isTimeZone, 'must be an IANA time zone, such as Europe/Berlin')
  .meta({ description: 'An IANA time zone. Date tokens, digests and reminders follow it.', example: 'Europe/Berlin' })

const MailPreference = z.enum(['at_once', 'digest', 'none']).meta({
  description:
    'When notifications are mailed: at once (within a minute), as a digest at the top of each local hour, or not at all. With digest, ' +
    'reminders of tasks come at once.',
})

export const Me = z
  .strictObject({
    ...Person.shape,
    email: z.string().meta({ description: 'The address with which the user signs in.' }),
    timezone: z.string().meta({ description: 'An IANA time zone, which date tokens, digests and reminders follow.' }),
    account_id: Id.meta({ description: 'The account that the user belongs to; there is no other.' }),
    is_owner: z.boolean().meta({ description: 'Whether the account is theirs: its owner is an admin of all its spaces.' }),
    mail_preference: MailPreference,
  })
  .meta({ id: 'Me', description: 'The signed-in user.' })
export type Me = z.infer<typeof Me>

export const Login = z
  .strictObject({
    email: EmailAddress.meta({ description: 'The address of the user, in any case.' }),
    password: z.string().min(1, 'must not be empty').max(1_000).meta({ description: 'The password of the user.' }),
  })
  .meta({ id: 'Login', description: 'What a user signs in with.' })
export type Login = z.infer<typeof Login>

export const Profile = changesOf(
  z.strictObject({ name: Name.meta({ description: 'The name that others see.' }), timezone: TimeZone, mail_preference: MailPreference }),
).meta({ id: 'ProfileUpdate', description: 'What users change about themselves.' })
export type Profile = z.infer<typeof Profile>

/** The password of the signed-in user, once more. */
export const CurrentPassword = z.string().max(1_000).meta({ description: 'The password until now, by which the user is asked once more.' })

export const PasswordChange = z
  .strictObject({
    current_password: CurrentPassword,
    new_password: Password.meta({ description: 'The password from now on: 10 to 200 characters of any kind.' }),
  })
  .meta({ id: 'PasswordChange', description: 'A change of the own password.' })
export type PasswordChange = z.infer<typeof PasswordChange>

/** The token of a link. A page may also send all that follows the #, in which the address comes after it (links.ts). */
export const LinkToken = z.string().min(1, 'must not be empty').max(1_500).overwrite(tokenOfLink)

export const AcceptInvite = z
  .strictObject({
    token: LinkToken.meta({ description: 'What follows the # in the link of the invitation, up to the &.' }),
    name: Name.meta({ description: 'The name that others will see.' }),
    password: Password.meta({ description: 'The password to sign in with: 10 to 200 characters of any kind.' }),
    timezone: TimeZone.nullish().meta({ description: 'An IANA time zone; UTC without it.' }),
  })
  .meta({ id: 'AcceptInvite', description: 'What an invited person becomes a user with.' })
export type AcceptInvite = z.infer<typeof AcceptInvite>

export const Forgot = z
  .strictObject({ email: EmailAddress.meta({ description: 'Where the link is mailed to, if it is the address of a user.' }) })
  .meta({ id: 'PasswordForgotten', description: 'Who has forgotten the password.' })
export type Forgot = z.infer<typeof Forgot>

export const Reset = z
  .strictObject({
    token: LinkToken.meta({ description: 'What follows the # in the link that was mailed, up to the &.' }),
    password: Password.meta({ description: 'The new password: 10 to 200 characters of any kind.' }),
  })
  .meta({ id: 'PasswordReset', description: 'A new password, by the link that was mailed.' })
export type Reset = z.infer<typeof Reset>

export const AddressRequest = z
  .strictObject({
    email: EmailAddress.meta({ description: 'The new address, which has to confirm the change.' }),
    current_password: CurrentPassword,
  })
  .meta({ id: 'AddressChange', description: 'A change of the own address.' })
export type AddressRequest = z.infer<typeof AddressRequest>

export const Confirmation = z
  .strictObject({
    token: LinkToken.meta({ description: 'What follows the # in the link that was mailed, up to the &.' }),
  })
  .meta({ id: 'AddressConfirmation', description: 'The proof that somebody reads the mail of a new address.' })
export type Confirmation = z.infer<typeof Confirmation>

export const Session = z
  .strictObject({
    id: Id.meta({ description: 'The id by which the session is ended.' }),
    created_at: Instant.meta({ description: 'When the user signed in: UTC, YYYY-MM-DD HH:MM:SS.' }),
    last_seen_at: Instant.meta({ description: 'UTC, to the minute' }),
    ip: z.string().nullable().meta({ description: 'The address of the last use; null if it is not known.' }),
    user_agent: z.string().nullable().meta({ description: 'The browser or program of the last use, as it calls itself.' }),
    current: z.boolean().meta({ description: 'Whether the request itself uses this session.' }),
  })
  .meta({ id: 'Session', description: 'A browser or program in which the user is signed in.' })
export type Session = z.infer<typeof Session>

export const SessionPath = z.strictObject({ id: Id })
