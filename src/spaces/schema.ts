import { z } from 'zod'
import { EmailAddress, Id, Name, SpacePath } from '../platform/http/procedures/schemas.ts'
import { changesOf } from '../platform/validation-messages.ts'

const Role = z
  .enum(['viewer', 'member', 'admin'])
  .meta({ description: 'A viewer can read, a member can also write records, an admin can also change tables, views and members.' })

export const Space = z
  .strictObject({ id: Id, name: z.string(), account_id: Id, role: Role.meta({ description: "The caller's role." }) })
  .meta({ id: 'Space', description: 'A workspace: tables and the people who work in them.' })
export type Space = z.infer<typeof Space>

export const NewSpace = z.strictObject({ name: Name })
export const SpaceUpdate = changesOf(z.strictObject({ name: Name }))

export const Member = z
  .strictObject({ user_id: Id, name: z.string(), email: z.string(), role: Role, status: z.enum(['active', 'invited']) })
  .meta({ id: 'Member', description: 'A person in a space.' })
export type Member = z.infer<typeof Member>

export const NewMember = z.strictObject({ email: EmailAddress, role: Role })
export type NewMember = z.infer<typeof NewMember>
export const MemberUpdate = z.strictObject({ role: Role })
export const MemberPath = SpacePath.extend({ user_id: Id })
