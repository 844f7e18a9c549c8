import { z } from 'zod'
import { EmailAddress, Id, limitIfAny, Name, SpacePath, Text } from '../platform/http/procedures/schemas.ts'
import { absentOr, changesOf } from '../platform/validation-messages.ts'

export const Role = z
  .enum(['viewer', 'member', 'admin'])
  .meta({ description: 'A viewer can read, a member can also write records, an admin can also change tables, views and members.' })

export const Space = z
  .strictObject({
    id: Id.meta({ description: 'The `space_id` of paths.' }),
    name: z.string().meta({ description: 'The name that its members see.' }),
    account_id: Id.meta({ description: 'The account that has the space.' }),
    role: Role.meta({ description: "The caller's role." }),
  })
  .meta({ id: 'Space', description: 'A workspace: tables and the people who work in them.' })
export type Space = z.infer<typeof Space>

export const NewSpace = z
  .strictObject({ name: Name.meta({ description: 'What its members will see; spaces may share a name.' }) })
  .meta({ id: 'NewSpace', description: 'A space to create.' })
export const SpaceUpdate = changesOf(z.strictObject({ name: Name.meta({ description: 'The new name.' }) })).meta({
  id: 'SpaceUpdate',
  description: 'What can be changed about a space.',
})

export const Member = z
  .strictObject({
    user_id: Id.meta({ description: 'The id that tasks, mentions and user fields take.' }),
    name: z.string().meta({ description: 'The name, for people to read; for an invited person the address.' }),
    email: z.string().meta({ description: 'The address with which the person signs in.' }),
    role: Role,
    status: z.enum(['active', 'invited']).meta({ description: 'invited: the invitation has not been accepted yet.' }),
  })
  .meta({ id: 'Member', description: 'A person in a space.' })
export type Member = z.infer<typeof Member>

const MAX_MEMBERS = 1_000

export const ListedMember = Member.extend({
  status: Member.shape.status.optional().meta({ description: 'Only for admins and account keys.' }),
}).meta({ id: 'ListedMember', description: 'A person in a list of the people of a space.' })
export type ListedMember = z.infer<typeof ListedMember>

export const MemberQuery = z.strictObject({
  search: absentOr(Text.max(500, 'must have at most 500 characters')).meta({
    description: 'Only people whose name and address contain all words, ignoring case.',
  }),
  limit: limitIfAny(MAX_MEMBERS),
})
export type MemberQuery = z.infer<typeof MemberQuery>

export const NewMember = z
  .strictObject({ email: EmailAddress.meta({ description: 'The address of a user, or of a person to invite by mail.' }), role: Role })
  .meta({ id: 'NewMember', description: 'A person to add to a space.' })
export type NewMember = z.infer<typeof NewMember>
export const MemberUpdate = z.strictObject({ role: Role }).meta({ id: 'MemberUpdate', description: 'What can be changed about a member.' })
export const MemberPath = SpacePath.extend({ user_id: Id })
