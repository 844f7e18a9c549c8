/**
 * The rows that nearly every test begins with, in two statements. The service's functions would need thirty, one after the other;
 * test/test-accounts.test.ts holds that they would write the same.
 */

import { randomBytes } from 'node:crypto'
import { sessionSeconds } from '../../src/auth/sessions.ts'
import type { Deps } from '../../src/platform/context.ts'
import { type Database, sql } from '../../src/platform/database/database.ts'
import { labelled } from '../../src/platform/database/statements/statement.ts'
import { hashPassword, newKeySecret, newToken, tokenHash } from '../../src/platform/secrets/secrets.ts'
import { formatInstant } from '../../src/platform/time/time.ts'

export interface Person {
  id: number
  email: string
  name: string
  password: string
  timezone: string
  /** The value of the session cookie. */
  session: string
}

export const KEY_NAME = 'Test key'
const PASSWORD = 'correct horse battery'

/** An account with a space where every role has a member, a second space and keys, and a stranger in another account. */
export async function insertAccounts(
  { db, settings, clock }: Pick<Deps, 'db' | 'settings' | 'clock'>,
  { timezone, withPassword }: { timezone: string; withPassword: boolean },
) {
  const now = clock()
  const { accounts, users, spaces } = await newIds(db)
  const [id, otherId] = accounts
  const [space, otherSpace] = spaces
  const personOf = (userId: number, name: string): Person => ({ ...newPerson(name, timezone), id: userId, session: newToken() })
  const people = {
    owner: personOf(users[0], 'Olga Owner'),
    admin: personOf(users[1], 'Ada Admin'),
    member: personOf(users[2], 'Max Member'),
    viewer: personOf(users[3], 'Vera Viewer'),
    outsider: personOf(users[4], 'Sam Stranger'),
  }
  const { owner, admin, member, viewer, outsider } = people
  const accountOf = (person: Person) => (person === outsider ? otherId : id)
  const keyOf = (kind: 'account' | 'personal', person: Person, { isReadOnly = false, spaceIds = [] as number[] } = {}) => ({
    secret: newKeySecret(kind),
    row: { account_id: accountOf(person), user_id: person.id, kind, read_only: isReadOnly, space_ids: spaceIds },
  })
  const keys = {
    account: keyOf('account', owner),
    accountReadOnly: keyOf('account', owner, { isReadOnly: true }),
    accountOtherSpace: keyOf('account', owner, { spaceIds: [otherSpace] }),
    personal: keyOf('personal', member),
    personalViewer: keyOf('personal', viewer),
    personalOutsider: keyOf('personal', outsider),
    accountOutsider: keyOf('account', outsider),
  }
  const passwordHash = withPassword ? await hashOfPassword() : null
  const rows = {
    accounts: [
      { id, name: 'Test', owner: owner.id },
      { id: otherId, name: 'Other', owner: outsider.id },
    ],
    users: Object.values(people).map((person) => ({
      ...{ id: person.id, account_id: accountOf(person), email: person.email, name: person.name },
      ...{ password_hash: person === owner ? passwordHash : null, token_hash: hashOf(person.session) },
    })),
    spaces: [space, otherSpace].map((one) => ({ id: one, name: newSpaceName() })),
    members: [
      { space_id: space, user_id: owner.id, role: 'admin' },
      { space_id: space, user_id: admin.id, role: 'admin' },
      { space_id: space, user_id: member.id, role: 'member' },
      { space_id: space, user_id: viewer.id, role: 'viewer' },
      { space_id: otherSpace, user_id: owner.id, role: 'admin' },
    ],
    keys: Object.values(keys).map(({ secret, row }) => ({ ...row, token_hash: hashOf(secret) })),
  }
  const at = formatInstant(now)
  const expiresAt = formatInstant(new Date(now.getTime() + sessionSeconds(settings) * 1000))
  // Foreign keys are checked at the end of a statement, so accounts and their owners can name each other.
  await db.write(
    labelled(
      'test-accounts',
      sql`
    with given as (select ${JSON.stringify(rows)}::jsonb as rows, ${at}::timestamp as now),
    new_accounts as (
      insert into accounts (id, name, owner_user_id, created_at)
      select a.id, a.name, a.owner, given.now from given, jsonb_to_recordset(rows->'accounts') as a (id int, name text, owner int)),
    new_users as (
      insert into users (id, account_id, email, name, password_hash, timezone, created_at, updated_at)
      select u.id, u.account_id, u.email, u.name, u.password_hash, ${timezone}, given.now, given.now
      from given, jsonb_to_recordset(rows->'users') as u (id int, account_id int, email text, name text, password_hash text)),
    new_sessions as (
      insert into sessions (user_id, token_hash, created_at, last_seen_at, expires_at)
      select u.id, decode(u.token_hash, 'hex'), given.now, given.now, ${expiresAt}::timestamp
      from given, jsonb_to_recordset(rows->'users') as u (id int, token_hash text)),
    new_seen as (
      insert into last_seen (user_id, at)
      select u.id, given.now from given, jsonb_to_recordset(rows->'users') as u (id int)),
    new_spaces as (
      insert into spaces (id, account_id, name)
      select s.id, ${id}::int, s.name from given, jsonb_to_recordset(rows->'spaces') as s (id int, name text)),
    new_members as (
      insert into space_members (space_id, user_id, account_id, role)
      select m.space_id, m.user_id, ${id}::int, m.role
      from given, jsonb_to_recordset(rows->'members') as m (space_id int, user_id int, role text))
    insert into api_keys (account_id, user_id, kind, name, token_hash, read_only, all_spaces, space_ids, ip_allowlist, created_at)
    select k.account_id, k.user_id, k.kind, ${KEY_NAME}, decode(k.token_hash, 'hex'), k.read_only, k.space_ids = '{}', k.space_ids, '{}', given.now
    from given, jsonb_to_recordset(rows->'keys') as k (account_id int, user_id int, kind text, token_hash text, read_only bool, space_ids int[])`,
    ),
  )
  return { id, ...people, space, otherSpace, keys: secretsOf(keys) }
}

/** Ids in the order of the sequences, because tests expect that what is made later has the higher id. */
async function newIds(db: Database) {
  const [ids] = await db.write<{ accounts: [number, number]; users: [number, number, number, number, number]; spaces: [number, number] }>(
    labelled(
      'test-account-ids',
      sql`
    select array(select nextval('accounts_id_seq')::int from generate_series(1, 2)) as accounts,
      array(select nextval('users_id_seq')::int from generate_series(1, 5)) as users,
      array(select nextval('spaces_id_seq')::int from generate_series(1, 2)) as spaces`,
    ),
  )
  if (!ids) throw new Error('A query without a table has one row')
  return ids
}

const hashOf = (token: string) => tokenHash(token).toString('hex')

const secretsOf = <Name extends string>(keys: Record<Name, { secret: string }>) =>
  Object.fromEntries(Object.entries<{ secret: string }>(keys).map(([name, { secret }]) => [name, secret])) as Record<Name, string>

export const newSpaceName = () => `Space ${randomBytes(3).toString('hex')}`

let hashed: Promise<string> | undefined
/** Hashing a password takes long on purpose, so all people of a process have one hash, and few have a password at all. */
function hashOfPassword(): Promise<string> {
  hashed ??= hashPassword(PASSWORD)
  return hashed
}

export function newPerson(name: string, timezone: string): Omit<Person, 'id' | 'session'> {
  const email = `${name.split(' ')[0]?.toLowerCase()}.${randomBytes(5).toString('hex')}@example.com`
  return { name, timezone, email, password: PASSWORD }
}

export const withoutPassword = ({ email, name, timezone }: Omit<Person, 'id' | 'session'>) => ({ email, name, timezone })
