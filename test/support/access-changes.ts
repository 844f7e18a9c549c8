/** Changes that end the access of a caller, made by SQL. */
import { type Sql, sql } from '../../src/platform/database/database.ts'
import { tokenHash } from '../../src/platform/secrets/secrets.ts'
import type { Caller, TestAccount } from './app.ts'

type Ground = TestAccount & { table: number }

export const hashOf = (secret: string) => Buffer.from(tokenHash(secret))

/**
 * Changes of another process, of which this one does not learn: what was changed, how, whose access to the record it ends, and how a request for the
 * record is then refused.
 */
export const ACCESS_CHANGES: [string, (ground: Ground) => Sql, caller: (ground: Ground) => Caller, expected: string][] = [
  [
    'a key that was deleted',
    ({ keys }) => sql`delete from api_keys where token_hash = ${hashOf(keys.personal)}`,
    ({ keys }) => keys.personal,
    '401 The API key is not valid',
  ],
  [
    'a key that was rotated',
    ({ keys }) => sql`update api_keys set token_hash = '\\x00' || token_hash where token_hash = ${hashOf(keys.personal)}`,
    ({ keys }) => keys.personal,
    '401 The API key is not valid',
  ],
  [
    'a key that has ended',
    ({ keys }) => sql`update api_keys set expires_at = now() - interval '1 day' where token_hash = ${hashOf(keys.personal)}`,
    ({ keys }) => keys.personal,
    '401 The API key has expired',
  ],
  [
    'a key for other addresses',
    ({ keys }) => sql`update api_keys set ip_allowlist = '{10.0.0.0/8}' where token_hash = ${hashOf(keys.personal)}`,
    ({ keys }) => keys.personal,
    '401 The API key may not be used from this address',
  ],
  [
    'a key for another space',
    ({ keys, otherSpace }) =>
      sql`update api_keys set all_spaces = false, space_ids = array[${otherSpace}::int] where token_hash = ${hashOf(keys.account)}`,
    ({ keys }) => keys.account,
    '403 API key not authorized for this workspace',
  ],
  [
    'a user who was deactivated',
    ({ member }) => sql`update users set status = 'deleted' where id = ${member.id}`,
    ({ keys }) => keys.personal,
    '401 The API key is not valid',
  ],
  [
    'a user who was deleted',
    ({ viewer }) => sql`delete from users where id = ${viewer.id}`,
    ({ viewer }) => viewer,
    '401 The session has ended, please sign in again',
  ],
  [
    'a session that was ended',
    ({ member }) => sql`delete from sessions where user_id = ${member.id}`,
    ({ member }) => member,
    '401 The session has ended, please sign in again',
  ],
  [
    'a session that was shortened',
    ({ member }) => sql`update sessions set expires_at = now() - interval '1 day' where user_id = ${member.id}`,
    ({ member }) => member,
    '401 The session has ended, please sign in again',
  ],
  [
    'a member who was removed',
    ({ member, space }) => sql`delete from space_members where space_id = ${space} and user_id = ${member.id}`,
    ({ member }) => member,
    '403 Not authorized',
  ],
  [
    'an owner who is not one any more',
    ({ id, member, owner, space }) => sql`
    with a as (update accounts set owner_user_id = ${member.id} where id = ${id}) delete from space_members where space_id = ${space} and user_id = ${owner.id}`,
    ({ owner }) => owner,
    '403 Not authorized',
  ],
  [
    'a space that was deleted',
    ({ space }) => sql`update spaces set deleted_at = now() where id = ${space}`,
    ({ member }) => member,
    '404 Table not found',
  ],
  [
    'a table that was deleted',
    ({ table }) => sql`update tables set deleted_at = now() where id = ${table}`,
    ({ member }) => member,
    '404 Table not found',
  ],
  ['a table that is gone', ({ table }) => sql`delete from tables where id = ${table}`, ({ member }) => member, '404 Table not found'],
  [
    'a table of another space',
    ({ table, otherSpace }) => sql`update tables set space_id = ${otherSpace} where id = ${table}`,
    ({ member }) => member,
    '403 Not authorized',
  ],
]
