import { z } from 'zod'
import { EmailAddress, Id, Name } from '../platform/http/schemas.ts'
import { changesOf } from '../platform/http/validation-messages.ts'
import { isTimeZone } from '../platform/time.ts'

/** 10 to 200 characters. A long password needs no further rules. */
export const Password = z.string().min(10, 'must have 10 characters or more').max(200, 'must have at most 200 characters')

export const TimeZone = z.string().refine(isTimeZone, 'must be an IANA time zone, such as Europe/Berlin').meta({ example: 'Europe/Berlin' })

const MailPreference = z.enum(['at_once', 'digest', 'none']).meta({
  description:
    'When notifications are mailed: at once (within a minute), as a digest at the top of each local hour, or not at all. With digest, reminders of tasks come at once.',
})

export const Me = z
  .strictObject({
    id: Id,
    name: z.string(),
    email: z.string(),
    timezone: z.string(),
    account_id: Id,
    mail_preference: MailPreference,
  })
  .meta({ id: 'Me', description: 'The signed-in user.' })
export type Me = z.infer<typeof Me>

export const Login = z.strictObject({ email: EmailAddress, password: z.string().min(1, 'must not be empty').max(1_000) })
export type Login = z.infer<typeof Login>

export const Profile = changesOf(z.strictObject({ name: Name, timezone: TimeZone, mail_preference: MailPreference }))
export type Profile = z.infer<typeof Profile>

export const PasswordChange = z.strictObject({ current_password: z.string().max(1_000), new_password: Password })
export type PasswordChange = z.infer<typeof PasswordChange>

export const AcceptInvite = z.strictObject({
  token: z.string().min(1).max(200),
  name: Name,
  password: Password,
  timezone: TimeZone.nullish(),
})
export type AcceptInvite = z.infer<typeof AcceptInvite>
