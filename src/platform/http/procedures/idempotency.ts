/** `Idempotency-Key`: the effect and the answer are committed together, so a repeated request has no second effect. */
import { createHash } from 'node:crypto'
import type { SecretKeys } from '../../../settings.ts'
import type { Actor } from '../../actor.ts'
import { type Database, sql } from '../../database/database.ts'
import { badInput, conflict } from '../../errors.ts'
import { parseExact } from '../../exact-json.ts'
import type { SealedColumn } from '../../secrets/sealed-columns.ts'
import { decrypt, encrypt, UnreadableSecret } from '../../secrets/secrets.ts'
import { formatInstant } from '../../time/time.ts'

const KEPT_HOURS = 24
const MAX_KEY_LENGTH = 255

interface Repeatable {
  db: Database
  secretKeys: SecretKeys
  actor: Actor
  now: Date
  /** The procedure: the same key may be used for different operations. */
  operation: string
  key: string
  input: unknown
}

/** The part of an answer that is stored. */
export interface StoredAnswer {
  value: unknown
  /** The headers that belong to the value: ETag, X-Ignored and X-Unknown-Options. */
  headers?: Record<string, string>
}

/**
 * Runs `fn` once for a key. A request with the same key and input within 24 hours gets the first answer again.
 * @throws AppError 409 if the key was used with another input, or while the first request still runs
 */
export async function once(
  { db, secretKeys, actor, now, operation, key, input }: Repeatable,
  fn: () => Promise<StoredAnswer>,
): Promise<{ answer: StoredAnswer; isReplay: boolean }> {
  if (!/^[\x21-\x7e]+$/.test(key) || key.length > MAX_KEY_LENGTH)
    throw badInput('Idempotency-Key', `must have 1 to ${MAX_KEY_LENGTH} visible ASCII characters`)
  const who = actor.keyId !== null ? `key:${actor.keyId}` : `user:${actor.userId}`
  const id = sha256(`${who}\n${operation}\n${key}`)
  const bodyHash = sha256(stableJson(input))
  return db.transaction(async () => {
    const [lock] = await db.read<{ free: boolean }>(sql`select pg_try_advisory_xact_lock(${id.readBigInt64BE(0)}) as free`)
    if (!lock?.free) throw conflict('A request with this Idempotency-Key is still running')
    const oldest = oldestKept(now)
    const [stored] = await db.read<{ body_hash: Buffer; answer: Buffer }>(
      sql`select body_hash, answer from idempotency_keys where id = ${id} and created_at > ${oldest}::timestamp`,
    )
    if (stored && !bodyHash.equals(stored.body_hash)) throw conflict('This Idempotency-Key was used with another body')
    if (stored) return { answer: readAnswer(secretKeys, stored.answer), isReplay: true }
    const answer = await fn()
    await db.write(sql`
      insert into idempotency_keys (id, body_hash, answer, created_at)
      values (${id}, ${bodyHash}, ${encrypt(secretKeys, JSON.stringify(answer), CONTEXT)}, ${formatInstant(now)}::timestamp)
      on conflict (id) do update set body_hash = excluded.body_hash, answer = excluded.answer, created_at = excluded.created_at`)
    return { answer, isReplay: false }
  })
}

/** @throws AppError 409 if the answer was encrypted with a key that the service no longer has */
function readAnswer(secretKeys: SecretKeys, encrypted: Buffer): StoredAnswer {
  try {
    return parseExact(decrypt(secretKeys, encrypted, CONTEXT)) as StoredAnswer
  } catch (error) {
    if (!(error instanceof UnreadableSecret)) throw error
    throw conflict('This Idempotency-Key was used, and its answer can no longer be read')
  }
}

/** Deletes the answers that have expired. */
export async function deleteExpiredAnswers(db: Database, now: Date): Promise<void> {
  await db.write(sql`delete from idempotency_keys where created_at <= ${oldestKept(now)}::timestamp`)
}

const oldestKept = (now: Date) => formatInstant(new Date(now.getTime() - KEPT_HOURS * 3_600_000))

const CONTEXT = 'idempotency'

export const sealedAnswers: SealedColumn = {
  what: 'answers under an Idempotency-Key',
  table: 'idempotency_keys',
  column: 'answer',
  key: { column: 'id', type: 'bytea' },
  contextOf: { column: 'id', context: () => CONTEXT },
}

const sha256 = (text: string) => createHash('sha256').update(text).digest()

/** JSON with sorted keys, so that equal values have equal texts. */
function stableJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}
