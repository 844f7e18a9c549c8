/** Who can be assigned, named as assigner, mentioned: as SQL, so that it is looked up in the statement that needs it. */
import type { Actor } from '../platform/access/authorize.ts'
import { type Sql, sql } from '../platform/database/database.ts'
import { isMember } from '../spaces/membership.ts'

/** The user is the caller, or in a space that the caller is in too; the owner is in all. */
const sharesSpace = (user: Sql, { userId, isOwner }: Actor): Sql => sql`(
  ${user}.id = ${userId}
  or exists (
    select 1 from spaces s
    where s.account_id = ${user}.account_id and s.deleted_at is null
      and (${isOwner} or exists (select 1 from space_members m where m.space_id = s.id and m.user_id = ${userId}))
      and ${isMember(user, sql`s.id`)}))`

/** Who can be the assignee: members of the space; for a task that is nowhere, those who share a space with the caller. */
export const isReachable = (user: Sql, spaceId: number | null, actor: Actor): Sql =>
  spaceId === null ? sharesSpace(user, actor) : isMember(user, sql`${spaceId}::int`)

/** A person as an input names them: the id wins over the address. Neither: nobody. */
export interface Named {
  id: number | null
  email: string | null
}

export const named = (id: number | null | undefined, email: string | null | undefined): Named => ({
  id: id ?? null,
  email: id == null ? (email ?? null) : null,
})

/** Selects the id of that person, if they can be reached; else no row. */
export const findPerson = ({ id, email }: Named, spaceId: number | null, actor: Actor): Sql => sql`
  select u.id from users u
  where u.account_id = ${actor.accountId} and u.status <> 'deleted' and (u.id = ${id}::int or u.email = ${email}::text)
    and ${isReachable(sql`u`, spaceId, actor)}`

/** The inputs that lose against an id, for X-Ignored. */
export function losers(
  input: Partial<Record<'assignee_user_id' | 'assignee_email' | 'assigner_user_id' | 'assigner_email', unknown>>,
): string[] {
  return (['assignee', 'assigner'] as const)
    .filter((role) => input[`${role}_user_id`] != null && input[`${role}_email`] != null)
    .map((role) => `${role}_email`)
}

/** The input that named them, as errors call it. */
export const inputOf = (role: 'assignee' | 'assigner', { email }: { email: string | null }) =>
  email === null ? `${role}_user_id` : `${role}_email`

/** Why somebody named cannot be taken. */
export const OUT_OF_REACH = { record: 'is not a member of the space', standalone: 'shares no space with you' }
