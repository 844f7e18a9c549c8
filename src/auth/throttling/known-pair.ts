/**
 * A known pair is a user and a network (an IPv4 address or an IPv6 /64) from which they have signed in, or set a password with a mailed
 * link, within 90 days. The failures of the network do not count for it: nobody behind the same address can keep the user out of a new
 * browser.
 */
import { networkOf } from '../../platform/access/network.ts'
import type { Context } from '../../platform/context.ts'
import { type Database, sql } from '../../platform/database/database.ts'
import { shortRead } from '../../platform/database/statements/statement.ts'
import { keysToRead, sign } from '../../platform/secrets/secrets.ts'
import { formatInstant } from '../../platform/time/time.ts'
import type { SecretKeys } from '../../settings.ts'

const KNOWN_DAYS = 90
const PURPOSE = 'gridpost known pairs'

/** The text that stands for both, in all limits on pairs. */
export const pairOf = (email: string, ip: string): string => `${networkOf(ip)}\n${email}`

/** Only a keyed hash is stored, because all addresses could be tried on another one. */
const hashOf = (secretKeys: SecretKeys, pair: string) => sign(secretKeys, PURPOSE, Buffer.from(pair))

/** Whether the pair is known. An address that no user has is looked up as well. */
export async function isKnownPair({ db, now, settings }: Pick<Context, 'db' | 'now' | 'settings'>, pair: string): Promise<boolean> {
  const { secretKeys } = settings
  const hashes = keysToRead(secretKeys).map((current) => hashOf({ ...secretKeys, current }, pair))
  const statement = sql`select from known_pairs where id = any(${hashes}::bytea[]) and used_at > ${forgottenAt(now)}::timestamp`
  return (await db.read(shortRead('auth:known-pair', statement))).length > 0
}

/** Remembers the pair for 90 days from now. Call it last in a transaction: it waits for another one of the same pair. */
export async function rememberPair({ db, now, settings }: Pick<Context, 'db' | 'now' | 'settings'>, pair: string): Promise<void> {
  await db.write(sql`
    insert into known_pairs (id, used_at) values (${hashOf(settings.secretKeys, pair)}, ${formatInstant(now)}::timestamp)
    on conflict (id) do update set used_at = excluded.used_at`)
}

const forgottenAt = (now: Date): string => formatInstant(new Date(now.getTime() - KNOWN_DAYS * 86_400_000))

export async function deleteForgottenPairs(db: Database, now: Date): Promise<void> {
  await db.write(sql`delete from known_pairs where used_at <= ${forgottenAt(now)}::timestamp`)
}
