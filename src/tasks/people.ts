/** The users who can be assignee or assigner of a task, or be mentioned in its comments. As SQL, so that no extra query is needed. */
import type { Actor } from '../platform/actor.ts'
import { type Sql, sql } from '../platform/database/database.ts'
import type { Given } from '../platform/database/prepare.ts'
import { isMember } from '../spaces/membership.ts'

type Searcher = { [Part in 'accountId' | 'userId' | 'isOwner']: Given<Actor[Part]> }

/** True for the acting user and for users who share a space with them. The owner of the account is in every space. */
const sharesSpace = (user: Sql, { userId, isOwner }: Searcher): Sql => sql`(
  ${user}.id = ${userId}
  or exists (
    select 1 from spaces s
    where s.account_id = ${user}.account_id and s.deleted_at is null
      and (${isOwner} or exists (select 1 from space_members m where m.space_id = s.id and m.user_id = ${userId}))
      and ${isMember(user, sql`s.id`)}))`

/** True for members of the space; for a standalone task, for users who share a space with the acting user. */
export const isReachable = (user: Sql, spaceId: Given<number> | null, actor: Searcher): Sql =>
  spaceId === null ? sharesSpace(user, actor) : isMember(user, sql`${spaceId}::int`)

/** A user as a request names them: by id or, without an id, by email address. */
export type NamedPerson = { id: number; email: null } | { id: null; email: string }

/** The same as parameters of a statement, of which one is null. */
type NamedBy = { id: Given<number> | null; email: Given<string> | null }

/** Null when the request names nobody. */
export function namedPerson(id: number | null | undefined, email: string | null | undefined): NamedPerson | null {
  if (id != null) return { id, email: null }
  return email == null ? null : { id: null, email }
}

/** Selects the id of the user, or no row if the actor cannot reach them. */
export const findPerson = ({ id, email }: NamedBy, spaceId: Given<number> | null, actor: Searcher): Sql => sql`
  select u.id from users u
  where u.account_id = ${actor.accountId} and u.status <> 'deleted' and (u.id = ${id}::int or u.email = ${email}::text)
    and ${isReachable(sql`u`, spaceId, actor)}`

/** The email addresses that are ignored because an id names the same person, for X-Ignored. */
export function ignoredEmails(
  input: Partial<Record<'assignee_user_id' | 'assignee_email' | 'assigner_user_id' | 'assigner_email', unknown>>,
): string[] {
  return (['assignee', 'assigner'] as const)
    .filter((role) => input[`${role}_user_id`] != null && input[`${role}_email`] != null)
    .map((role) => `${role}_email`)
}

/** The key of the request that names the person, for error messages. */
export const inputOf = (role: 'assignee' | 'assigner', person: NamedPerson | null) =>
  person?.email == null ? `${role}_user_id` : `${role}_email`

/** Why a person cannot be assigned. */
export const OUT_OF_REACH = { record: 'is not a member of the space', standalone: 'shares no space with you' }
