/** Records which SECRET_KEY the processes write with, by its fingerprint, so that a rotation knows when the old key may go. */
import type { FastifyBaseLogger } from 'fastify'
import type { SecretKeys } from '../../settings.ts'
import { type Database, sql } from '../database/database.ts'
import { fingerprintOf, keysToRead } from './secrets.ts'

const RECORD_EVERY_MS = 20_000
/** A key that no process has recorded for this long is not used any more, even if one record was late. */
const UNUSED_AFTER_SECONDS = 60

export interface KeyUse {
  fingerprint: string
  last_used_at: string
  /** Whether a process that runs now writes with the key. */
  is_used: boolean
}

/** Records the current key of this process now and at intervals. The time is the database's, so that all processes share one clock. */
export async function recordSecretKey(db: Database, secretKeys: SecretKeys, log: FastifyBaseLogger): Promise<{ stop(): void }> {
  const fingerprint = fingerprintOf(secretKeys.current)
  const record = () =>
    db.write(sql`
      insert into secret_key_uses (fingerprint) values (${fingerprint})
      on conflict (fingerprint) do update set last_used_at = excluded.last_used_at`)
  await record()
  const known = keysToRead(secretKeys).map(fingerprintOf)
  const unknown = (await keyUses(db)).filter((use) => use.is_used && !known.includes(use.fingerprint))
  if (unknown.length)
    log.warn(
      { keys: unknown },
      'another process writes with a SECRET_KEY that this one has neither as SECRET_KEY nor in SECRET_KEY_PREVIOUS',
    )
  const timer = setInterval(
    () => record().catch((error: unknown) => log.warn({ err: error }, 'use of the key not recorded')),
    RECORD_EVERY_MS,
  )
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

/** All keys that processes of this release have written with, the latest first. */
export function keyUses(db: Database): Promise<KeyUse[]> {
  return db.read<KeyUse>(sql`
    select fingerprint, last_used_at,
      last_used_at > localtimestamp - make_interval(secs => ${UNUSED_AFTER_SECONDS}) as is_used
    from secret_key_uses order by last_used_at desc, fingerprint`)
}
