import { type Sql, sql } from '../platform/database/database.ts'

/**
 * The condition that the user is a member of the space. The account's owner is a member of all its spaces.
 * @param user alias of a row of users
 */
export const isMember = (user: Sql, spaceId: Sql): Sql => sql`(
  exists (select 1 from space_members m where m.space_id = ${spaceId} and m.user_id = ${user}.id)
  or exists (select 1 from accounts a where a.id = ${user}.account_id and a.owner_user_id = ${user}.id))`
