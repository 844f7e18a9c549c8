/** Who and what an account has: its users, and for an operator all accounts and keys. */
import { isErased, userStatus } from '../accounts/user-status.ts'
import { type Database, raw, type Sql, sql } from '../platform/database/database.ts'
import type { User } from './schema.ts'

const isGone = isErased(sql`u`)

/** Of a user `u` of the account `a`. The previous release notes the use of a session in the session alone. */
const userColumns: Sql = sql`u.id, u.name, case when not ${isGone} then u.email end as email, ${userStatus(sql`u`)} as status,
  greatest((select l.at from last_seen l where l.user_id = u.id),
    (select max(s.last_seen_at) from sessions s where s.user_id = u.id)) as last_seen_at,
  coalesce((
    select json_agg(json_build_object('space_id', s.id, 'role', case when a.owner_user_id = u.id then 'admin' else m.role end)
      order by s.id)
    from spaces s left join space_members m on m.space_id = s.id and m.user_id = u.id
    where s.account_id = u.account_id and s.deleted_at is null and (m.role is not null or a.owner_user_id = u.id)), '[]') as spaces`

/** The users of an account, by name; those who were erased come last. */
export const usersOf = (db: Database, accountId: number): Promise<User[]> =>
  db.read<User>(sql`
    select ${userColumns} from users u join accounts a on a.id = u.account_id
    where u.account_id = ${accountId} order by ${isGone}, lower(u.name), u.id`)

/** The users of one account or of all, with their account, for an operator. */
export const usersOfAccounts = (db: Database, accountId: number | null): Promise<(User & { account_id: number })[]> =>
  db.read(sql`
    select u.account_id, a.owner_user_id is not distinct from u.id as is_owner, ${userColumns}
    from users u join accounts a on a.id = u.account_id
    where ${accountId}::int is null or u.account_id = ${accountId} order by u.account_id, ${isGone}, lower(u.name), u.id`)

/** All accounts, for an operator. `users` counts those who can sign in. */
export const accounts = (db: Database): Promise<object[]> =>
  db.read(sql`
    select a.id, a.name, case when o.id is not null then json_build_object('id', o.id, 'name', o.name, 'email', o.email) end as owner,
      (select count(*)::int from users u where u.account_id = a.id and u.status = 'active') as users,
      (select count(*)::int from spaces s where s.account_id = a.id and s.deleted_at is null) as spaces,
      (select count(*)::int from api_keys k where k.account_id = a.id) as keys, a.created_at
    from accounts a left join users o on o.id = a.owner_user_id order by a.id`)

/** The keys of one account or of all, with the address of the user for whom each acts, for an operator. */
export const keysOf = (db: Database, accountId: number | null): Promise<object[]> =>
  db.read(sql`
    select k.id, k.account_id, k.kind, k.name, u.id as user_id, u.email, k.read_only,
      case when not k.all_spaces then coalesce(k.space_ids, '{}') end as space_ids, coalesce(k.ip_allowlist, '{}') as ip_allowlist,
      k.expires_at, k.last_used_at, k.created_at
    from api_keys k join accounts a on a.id = k.account_id
      left join users u on u.id = case k.kind when 'account' then a.owner_user_id else k.user_id end
    where ${accountId}::int is null or k.account_id = ${accountId} order by k.account_id, k.id`)

/** How many ids of a table are looked at together, whoever the rows belong to. */
const IDS_AT_ONCE = 20_000

/** The ids of a table that no index of users opens, in ranges, so that no statement takes long. */
export async function* idRanges(db: Database, table: 'record_comments' | 'task_comments' | 'notifications') {
  const [found] = await db.read<{ first: number | null; last: number | null }>(
    sql`select min(id) as first, max(id) as last from ${raw(table)}`,
  )
  const { first, last } = found ?? { first: null, last: null }
  if (first === null || last === null) return
  for (let from = first; from <= last; from += IDS_AT_ONCE) yield { first: from, last: from + IDS_AT_ONCE - 1 }
}
