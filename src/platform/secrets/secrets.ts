import {
  argon2,
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hash,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { SecretKeys } from '../../settings.ts'
import { Semaphore } from '../concurrency/semaphore.ts'
import { tooBusy } from '../errors.ts'
import { memo } from '../memo.ts'
import { perProcess } from '../processes/per-process.ts'

// ── tokens ──────────────────────────────────────────────────────────────────

/** A random token for URLs and cookies, in base64url; 32 bytes by default. Store only its `tokenHash`. */
export function newToken(byteCount = 32): string {
  return randomBytes(byteCount).toString('base64url')
}

/** A random token in lower-case hex, for mail addresses, whose local parts may lose their case in transit. */
export function newHexToken(byteCount: number): string {
  return randomBytes(byteCount).toString('hex')
}

/**
 * The hash that is stored for a token and by which it is found. A plain SHA-256 is enough: random tokens cannot be guessed, and the
 * timing of a lookup by hash reveals nothing about the token.
 */
export function tokenHash(token: string): Buffer<ArrayBuffer> {
  return hash('sha256', token, 'buffer') as Buffer<ArrayBuffer>
}

// ── API keys ────────────────────────────────────────────────────────────────

export type KeyKind = 'account' | 'personal'

const KEY_PREFIX: Record<KeyKind, string> = { account: 'gp_acct_', personal: 'gp_user_' }
const KEY_BODY_LENGTH = 43 // 32 bytes in base 62
const KEY_CHECKSUM_LENGTH = 6 // a CRC-32 in base 62
const KEY_PATTERN = new RegExp(`^(gp_acct_|gp_user_)[0-9A-Za-z]{${KEY_BODY_LENGTH + KEY_CHECKSUM_LENGTH}}$`)

/** A new API key: prefix, 32 random bytes, checksum (contract.md §2). It is shown once; store only its `tokenHash`. */
export function newKeySecret(kind: KeyKind): string {
  const body = KEY_PREFIX[kind] + base62(BigInt(`0x${newHexToken(32)}`), KEY_BODY_LENGTH)
  return body + keyChecksum(body)
}

/** The kind of the key, by its prefix and checksum; null if the text cannot be a key, which saves a query. */
export function looksLikeKey(text: string): KeyKind | null {
  if (!KEY_PATTERN.test(text)) return null
  const body = text.slice(0, -KEY_CHECKSUM_LENGTH)
  if (keyChecksum(body) !== text.slice(-KEY_CHECKSUM_LENGTH)) return null
  return text.startsWith(KEY_PREFIX.account) ? 'account' : 'personal'
}

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Every request with a key needs its checksum, and a bigint costs more garbage than the rest of it. */
function keyChecksum(body: string): string {
  let text = ''
  for (let rest = crc32(body); rest > 0; rest = Math.floor(rest / 62)) text = DIGITS.charAt(rest % 62) + text
  return text.padStart(KEY_CHECKSUM_LENGTH, '0')
}

function base62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; rest > 0n; rest /= 62n) text = DIGITS.charAt(Number(rest % 62n)) + text
  return text.padStart(length, '0')
}

// ── secrets at rest ─────────────────────────────────────────────────────────

const FORMAT = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts with AES-256-GCM under the current key.
 * @param context the row that the secret belongs to, such as `smtp:12`; it cannot be decrypted with another context.
 * @returns one format byte, the nonce, the tag, the cipher text.
 */
export function encrypt({ current }: SecretKeys, plainText: string, context: string): Buffer<ArrayBuffer> {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', encryptionKey(current), nonce).setAAD(Buffer.from(context))
  const body = Buffer.concat([cipher.update(plainText, 'utf8'), cipher.final()])
  return Buffer.concat([Buffer.of(FORMAT), nonce, cipher.getAuthTag(), body])
}

/** The secret was encrypted with a key that the service no longer has, or for another context, or its bytes were changed. */
export class UnreadableSecret extends Error {}

/** Decrypts with the current key or a previous one. @throws UnreadableSecret */
export function decrypt(keys: SecretKeys, encrypted: Uint8Array, context: string): string {
  for (const key of keysToRead(keys)) {
    const plainText = decryptWith(key, encrypted, context)
    if (plainText !== null) return plainText
  }
  throw new UnreadableSecret('The secret was encrypted with another SECRET_KEY')
}

/** Encrypts a secret under the current key if a previous one encrypted it; null if it is under the current key. @throws UnreadableSecret */
export function reencrypt(keys: SecretKeys, encrypted: Uint8Array, context: string): Buffer<ArrayBuffer> | null {
  if (decryptWith(keys.current, encrypted, context) !== null) return null
  return encrypt(keys, decrypt(keys, encrypted, context), context)
}

/** The plain text; null if the key or the context differs, or the bytes were changed. */
function decryptWith(key: Buffer, encrypted: Uint8Array, context: string): string | null {
  const bytes = Buffer.from(encrypted)
  if (bytes[0] !== FORMAT || bytes.length < 1 + NONCE_BYTES + TAG_BYTES) return null
  const nonce = bytes.subarray(1, 1 + NONCE_BYTES)
  const tag = bytes.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', encryptionKey(key), nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(context)).setAuthTag(tag)
  const plainText = decipher.update(bytes.subarray(1 + NONCE_BYTES + TAG_BYTES), undefined, 'utf8')
  try {
    return plainText + decipher.final('utf8')
  } catch {
    return null
  }
}

const encryptionKey = (key: Buffer) => keyFor(key, 'gridpost secrets at rest')

const derivedKeys = memo((_: Buffer) => new Map<string, KeyObject>())

/**
 * SECRET_KEY may be of any length, and each purpose gets a key that is derived from it. The keys are kept: deriving one for each page
 * of a cursor costs as much as a database round trip, and creating a key object from its bytes a quarter of that.
 */
function keyFor(secretKey: Buffer, purpose: string): KeyObject {
  const derived = derivedKeys(secretKey)
  const key = derived.get(purpose) ?? createSecretKey(Buffer.from(hkdfSync('sha256', secretKey, '', purpose, 32)))
  derived.set(purpose, key)
  return key
}

/** The bytes of a signature. */
const SIGNATURE_BYTES = 32

/** The HMAC-SHA-256 of the bytes under the current key. A signature for one purpose is not valid for another. */
export const sign = ({ current }: SecretKeys, purpose: string, bytes: Uint8Array): Buffer => hmac(current, purpose, bytes)

/**
 * Whether the current key or a previous one signed the bytes for the purpose.
 * @param length the number of bytes of a signature that was cut
 */
export function isSigned(keys: SecretKeys, purpose: string, bytes: Uint8Array, signature: Uint8Array, length = SIGNATURE_BYTES): boolean {
  if (signature.length !== length) return false
  return keysToRead(keys).some((key) => timingSafeEqual(signature, hmac(key, purpose, bytes).subarray(0, length)))
}

/** Everything that was written with one of these can be read. */
export const keysToRead = ({ current, previous, guesses = [] }: SecretKeys): Buffer[] => [current, ...previous, ...guesses]

function hmac(key: Buffer, purpose: string, bytes: Uint8Array): Buffer {
  return createHmac('sha256', keyFor(key, purpose)).update(bytes).digest()
}

/** Names a key in the database and in the output of commands: 8 hex digits, from which the key cannot be computed. */
export const fingerprintOf = (key: Buffer): string => hmac(key, 'gridpost fingerprints', Buffer.of()).toString('hex', 0, 4)

// ── passwords ───────────────────────────────────────────────────────────────

// OWASP's first choice for argon2id: 19 MiB, two passes, one lane.
const MEMORY_KIB = 19_456
const PASSES = 2
const LANES = 1
const SALT_BYTES = 16
const HASH_BYTES = 32
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

/**
 * Who waits for a password to be hashed. Strangers may fill only a part of the queue, so that people who have shown a proof of another
 * kind (a known device, a session, a link that was mailed to them) still find a slot during an attack.
 */
export type HashingCaller = 'stranger' | 'known'

/** Hashes a password with argon2id, as a PHC string. @throws AppError 503 with Retry-After if too many others wait */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const hash = await argon2id(password, salt, HASH_BYTES, { memory: MEMORY_KIB, passes: PASSES, parallelism: LANES })
  return `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${unpadded(salt)}$${unpadded(hash)}`
}

/**
 * Whether the password matches the hash. Without a stored hash (unknown user, invited user) it does the same work against a hash that
 * nothing matches, so that the response time does not reveal which addresses exist.
 * @throws AppError 503 with Retry-After if too many others wait
 */
export async function verifyPassword(
  password: string,
  stored: string | null | undefined,
  caller: HashingCaller = 'known',
): Promise<boolean> {
  const [, memory, passes, parallelism, salt = '', hash = ''] = PHC.exec(stored ?? NOBODYS_HASH) ?? []
  if (!hash) throw new Error('Not an argon2id hash')
  const expected = Buffer.from(hash, 'base64')
  const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) }
  const actual = await argon2id(password, Buffer.from(salt, 'base64'), expected.length, cost, caller)
  return timingSafeEqual(actual, expected) && stored != null
}

/** Costs as much as a real hash. No known password has it, and `verifyPassword` refuses it in any case. */
const NOBODYS_HASH = [
  `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}`,
  unpadded(Buffer.alloc(SALT_BYTES, 1)),
  unpadded(Buffer.alloc(HASH_BYTES, 1)),
].join('$')

type Cost = { memory: number; passes: number; parallelism: number }

/** The thread pool has four threads, which files and DNS need too, and each hash takes 19 MiB: two at a time. */
const hashing = new Semaphore(perProcess(2))
/** A hash takes some 40 ms, so the last in the queue waits about a second. */
const MOST_WAITING: Record<HashingCaller, number> = { stranger: perProcess(32), known: perProcess(64) }

/** Lets a request fail before it costs a query. @throws AppError 503 with Retry-After if too many others wait */
export function refuseIfHashingIsBusy(caller: HashingCaller): void {
  if (hashing.waiting >= MOST_WAITING[caller]) throw tooBusy()
}

async function argon2id(password: string, nonce: Buffer, tagLength: number, cost: Cost, caller: HashingCaller = 'known'): Promise<Buffer> {
  refuseIfHashingIsBusy(caller)
  // NFKC: another keyboard may compose the same characters in another way.
  const message = password.normalize('NFKC')
  return hashing.run(
    () =>
      new Promise((resolve, reject) =>
        argon2('argon2id', { message, nonce, tagLength, ...cost }, (error, hash) => (error ? reject(error) : resolve(hash))),
      ),
  )
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
