import type { UserRef } from '../accounts/user-status.ts'
import { audit, differing } from '../audit/log.ts'
import { isNoted, NOTE_AFTER_MS } from '../platform/access/authenticate.ts'
import type { Resource } from '../platform/access/authorize.ts'
import type { Actor } from '../platform/actor.ts'
import { Batches } from '../platform/concurrency/batches.ts'
import type { Context, Deps } from '../platform/context.ts'
import { type Database, empty, type Sql, sql } from '../platform/database/database.ts'
import { isOutage } from '../platform/database/database-errors.ts'
import { badInput, forbidden, notFound, unauthorized } from '../platform/errors.ts'
import { memo } from '../platform/memo.ts'
import { newKeySecret, tokenHash } from '../platform/secrets/secrets.ts'
import { formatInstant, parseInstant } from '../platform/time/time.ts'
import type { Key, KeyUpdate, NewKey, Self } from './schema.ts'

/** One of the caller's personal keys, or for the account's owner one of its account keys. Other keys are not found. */
export const keyResource: Resource<{ found_key_id: number; kind: 'account' | 'personal' }> = {
  ids: [{ name: 'key_id', thing: 'Key', found: 'found_key_id' }],
  select: ({ key_id }) => sql`
    select k.id as found_key_id, k.kind from api_keys k
    where k.id = ${key_id} and k.account_id = p.p_account_id
      and case k.kind when 'account' then p.p_is_owner else k.user_id = p.p_user_id end`,
  check: () => {},
}

// An operator's SQL may have set a list to NULL, which is an empty one.
const columns = sql`id, kind, name, read_only, case when not all_spaces then coalesce(space_ids, '{}') end as space_ids,
  coalesce(ip_allowlist, '{}') as ip_allowlist, expires_at, last_used_at, created_at`

/** Returns the caller's personal keys, and for the account's owner the account keys, newest first. */
export async function list({ db, actor }: Context): Promise<{ rows: Key[]; total: number }> {
  const rows = await db.read<Key>(sql`
    select ${columns} from api_keys
    where account_id = ${actor.accountId} and case kind when 'account' then ${actor.isOwner} else user_id = ${actor.userId} end
    order by id desc`)
  return { rows, total: rows.length }
}

/**
 * Creates a personal key, or for the account's owner an account key. Only this answer contains the secret.
 * @throws AppError 403 for an account key if the caller is not the owner; 400 for an invalid whitelist, and for an end in the past
 */
export async function create(context: Context, input: NewKey): Promise<Key & { secret: string }> {
  const { actor, now } = context
  if (input.kind === 'account' && !actor.isOwner) throw forbidden()
  // As `refusalOf` compares. An update may name a past instant, which ends the key.
  if (input.expires_at && input.expires_at <= formatInstant(now)) throw badInput('expires_at', 'must be in the future')
  await checkSpaces(context, input.kind, input.space_ids)
  return context.transaction(async () => {
    const key = await insertKey(context.db, actor, input, now)
    await audit(context, 'key.created', { id: key.id, name: key.name, detail: { kind: key.kind, ...rightsOf(key) } })
    return key
  })
}

/** What a key may do, for the audit log. */
const rightsOf = ({ read_only, space_ids, ip_allowlist, expires_at }: Key) => ({ read_only, space_ids, ip_allowlist, expires_at })

/**
 * Creates a key for this actor. Scripts call it, too.
 * @throws AppError 401 if the actor was disabled meanwhile, which has ended the keys
 */
export async function insertKey(
  db: Database,
  actor: Pick<Actor, 'accountId' | 'userId'>,
  input: NewKey,
  now: Date,
): Promise<Key & { secret: string }> {
  const secret = newKeySecret(input.kind)
  const [row] = await db.write<Key>(sql`
    insert into api_keys (account_id, user_id, kind, name, token_hash, read_only,
      all_spaces, space_ids, ip_allowlist, expires_at, created_at)
    select ${actor.accountId}::int, id, ${input.kind}::text, ${input.name}::text, ${tokenHash(secret)}::bytea,
      ${input.read_only ?? false}::bool, ${!input.space_ids}::bool, ${input.space_ids ?? []}::int[], ${input.ip_allowlist ?? []}::text[],
      ${input.expires_at ?? null}::timestamp, ${formatInstant(now)}::timestamp
    from users where id = ${actor.userId} and status = 'active'
    -- Waits for a change of the status that has not been committed yet.
    for share
    returning ${columns}`)
  if (!row) throw unauthorized('The user was disabled meanwhile')
  return { ...row, secret }
}

/**
 * Changes the rights of a key. Absent properties keep their value, null clears them.
 * @throws AppError 400 for an invalid whitelist; 404 if the key has just been revoked
 */
export async function update(
  context: Context,
  row: { found_key_id: number; kind: 'account' | 'personal' },
  input: KeyUpdate,
): Promise<Key> {
  await checkSpaces(context, row.kind, input.space_ids)
  return context.transaction(async () => {
    const before = await read(context.db, row.found_key_id, sql`for update`)
    await context.db.prisma.apiKey.updateMany({
      where: { id: row.found_key_id },
      data: {
        ...(input.name !== undefined && { name: input.name }),
        ...(input.read_only !== undefined && { readOnly: input.read_only }),
        ...(input.space_ids !== undefined && { allSpaces: !input.space_ids, spaceIds: input.space_ids ?? [] }),
        ...(input.ip_allowlist !== undefined && { ipAllowlist: input.ip_allowlist ?? [] }),
        ...(input.expires_at !== undefined && { expiresAt: input.expires_at && parseInstant(input.expires_at) }),
      },
    })
    const key = await read(context.db, row.found_key_id)
    const changed = differing(before, key)
    if (changed.length) await audit(context, 'key.updated', { id: key.id, name: key.name, detail: { changed, ...rightsOf(key) } })
    return key
  })
}

/** Gives the key a new secret; the old one stops working at once. @throws AppError 404 if the key has just been revoked */
export async function rotate(
  context: Context,
  { found_key_id, kind }: { found_key_id: number; kind: 'account' | 'personal' },
): Promise<Key & { secret: string }> {
  const secret = newKeySecret(kind)
  return context.transaction(async () => {
    const [row] = await context.db.write<Key>(
      sql`update api_keys set token_hash = ${tokenHash(secret)} where id = ${found_key_id} returning ${columns}`,
    )
    if (!row) throw notFound('Key')
    await audit(context, 'key.rotated', { id: row.id, name: row.name })
    return { ...row, secret }
  })
}

/** Revokes the key at once. */
export async function remove(context: Context, { found_key_id }: { found_key_id: number }): Promise<void> {
  await context.transaction(async () => {
    const [row] = await context.db.write<{ name: string }>(sql`delete from api_keys where id = ${found_key_id} returning name`)
    // Another request may have revoked it since this one was admitted.
    if (row) await audit(context, 'key.deleted', { id: found_key_id, name: row.name })
  })
}

/** Ends all personal keys of a user. The account's keys stay, whoever has made them. @returns how many */
export async function endPersonalKeys(db: Database, userId: number): Promise<number> {
  return (await db.write(sql`delete from api_keys where user_id = ${userId} and kind = 'personal'`)).changed
}

/** Gives the account's keys to its new owner, so that they are gone with no other user. */
export async function giveAccountKeys(db: Database, { id, account_id }: UserRef): Promise<void> {
  await db.write(sql`update api_keys set user_id = ${id} where account_id = ${account_id} and kind = 'account' and user_id <> ${id}`)
}

/** Returns the calling key and the user on whose behalf it acts. */
export async function self({ db, actor }: Context): Promise<Self> {
  return {
    key: await read(db, actor.keyId ?? 0),
    account_id: actor.accountId,
    acts_as: { id: actor.userId, email: actor.email, name: actor.name, timezone: actor.timeZone },
  }
}

/** @throws AppError 404 if the key has just been revoked */
async function read(db: Database, id: number, lock: Sql = empty): Promise<Key> {
  const [row] = await db.read<Key>(sql`select ${columns} from api_keys where id = ${id} ${lock}`)
  if (!row) throw notFound('Key')
  return row
}

async function checkSpaces({ db, actor }: Context, kind: string, spaceIds: number[] | null | undefined): Promise<void> {
  if (!spaceIds) return
  if (kind === 'personal') throw badInput('space_ids', 'is only for account keys; a personal key has the access of its user')
  const found = await db.read<{ id: number }>(sql`
    select id from spaces where id = any(${spaceIds}) and account_id = ${actor.accountId} and deleted_at is null`)
  const known = new Set(found.map(({ id }) => id))
  const index = spaceIds.findIndex((id) => !known.has(id))
  if (index >= 0) throw badInput(['space_ids', index], 'is not a space of this account')
}

/** Uses of different keys share a statement, and its commit. */
const NOTES = { restMs: 100, most: 500 }

interface Use {
  keyId: number
  at: string
}

const usesOf = memo((db: Database) => new Batches((uses: readonly Use[]) => noteUses(db, uses), { ...NOTES, isForAll: isOutage }))

/** Records the last use, at most once a minute. The caller does not wait for the write. */
export function noteKeyUse({ db, log }: Deps, { keyId }: Actor, lastUsedAt: string | null, now: Date): void {
  if (keyId === null || isNoted(lastUsedAt, now)) return
  usesOf(db)
    .add({ keyId, at: formatInstant(now) })
    .catch((error: unknown) => log.warn({ err: error }, 'last use of the key not recorded'))
}

/** A key that another statement is changing is left out: it is probably another process that records its use. */
async function noteUses(db: Database, uses: readonly Use[]): Promise<undefined[]> {
  const latest = new Map(uses.map(({ keyId, at }) => [keyId, at]))
  await db.write(sql`
    update api_keys set last_used_at = u.at
    from unnest(${[...latest.keys()]}::int[], ${[...latest.values()]}::timestamp[]) as u (id, at)
    where api_keys.id = u.id and api_keys.id in (
      select k.id from api_keys k where k.id = any(${[...latest.keys()]}::int[]) for update skip locked)
      and (last_used_at is null or last_used_at <= u.at - make_interval(secs => ${NOTE_AFTER_MS / 1_000}))`)
  return uses.map(() => undefined)
}
