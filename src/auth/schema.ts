import { z } from 'zod'
import { EmailAddress, Id, Instant, Name } from '../platform/http/procedures/schemas.ts'
import { isTimeZone } from '../platform/time/time-zones.ts'
import { changesOf } from '../platform/validation-messages.ts'

/** 10 to 200 characters. A long password needs no further rules. */
export const Password = z.string().min(10, 'must have 10 characters or more').max(200, 'must have at most 200 characters')

export const TimeZone = z.string().refine(isTimeZone, 'must be an IANA time zone, such as Europe/Berlin').meta({ example: 'Europe/Berlin' })

const MailPreference = z.enum(['at_once', 'digest', 'none']).meta({
  description:
    'When notifications are mailed: at once (within a minute), as a digest at the top of each local hour, or not at all. With digest, ' +
    'reminders of tasks come at once.',
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

export const Forgot = z.strictObject({ email: EmailAddress })
export type Forgot = z.infer<typeof Forgot>

export const Reset = z.strictObject({ token: z.string().min(1, 'must not be empty').max(200), password: Password })
export type Reset = z.infer<typeof Reset>

export const Session = z
  .strictObject({
    id: Id,
    created_at: Instant,
    last_seen_at: Instant.meta({ description: 'UTC, to the minute' }),
    ip: z.string().nullable().meta({ description: 'The address of the last use; null if it is not known.' }),
    user_agent: z.string().nullable().meta({ description: 'The browser or program of the last use, as it calls itself.' }),
    current: z.boolean().meta({ description: 'Whether the request itself uses this session.' }),
  })
  .meta({ id: 'Session', description: 'A browser or program in which the user is signed in.' })
export type Session = z.infer<typeof Session>

export const SessionPath = z.strictObject({ id: Id })
