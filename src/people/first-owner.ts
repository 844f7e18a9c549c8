/**
 * The first owner of a service without users (contract.md §11, First owner). The token of the link is signed, not stored: every process
 * with the same SECRET_KEY accepts what another one has printed, and none accepts any once there is a user.
 */
import { createAccount, hasUsers } from '../accounts/service.ts'
import { audit } from '../audit/log.ts'
import { invalidToken } from '../auth/password-reset.ts'
import { type SignedIn, signInUnasked } from '../auth/service.ts'
import type { Visitor } from '../auth/sessions.ts'
import { attempt } from '../auth/throttling/attempts.ts'
import { bucket } from '../auth/throttling/throttle.ts'
import { networkOf } from '../platform/access/network.ts'
import { actingAs, type Context, type Deps } from '../platform/context.ts'
import { sql } from '../platform/database/database.ts'
import { conflict } from '../platform/errors.ts'
import { hashPassword, isSigned, newToken, sign } from '../platform/secrets/secrets.ts'
import type { SecretKeys } from '../settings.ts'
import { create as createSpace } from '../spaces/service.ts'
import type { Setup } from './schema.ts'

/** What the space is called, and the account by default. */
const MAIN = 'Main'
const PURPOSE = 'gridpost first owner'
const LIFETIME_MS = 86_400_000
/** A token is these bytes and their signature: the time at which it was made, in milliseconds, and a nonce. */
const [TIME_BYTES, NONCE_BYTES] = [6, 16]
const CONTENT_BYTES = TIME_BYTES + NONCE_BYTES
const TOKEN = /^[\w-]{72}$/

/** What a start says of a service without users, once it has an address where people reach it; nothing if there is a user. */
export async function setupLines({ db, settings, clock }: Pick<Deps, 'db' | 'settings' | 'clock'>): Promise<(url: string) => string[]> {
  if (await hasUsers(db)) return () => []
  const token = newSetupToken(settings.secretKeys, clock())
  return (url) => [`Nobody can sign in yet. This link creates the owner, once and within 24 hours: ${url}/setup#${token}`]
}

export function newSetupToken(secretKeys: SecretKeys, now: Date): string {
  const content = Buffer.alloc(CONTENT_BYTES)
  content.writeUIntBE(now.getTime(), 0, TIME_BYTES)
  content.write(newToken(NONCE_BYTES), TIME_BYTES, 'base64url')
  return Buffer.concat([content, sign(secretKeys, PURPOSE, content)]).toString('base64url')
}

function isSetupToken(secretKeys: SecretKeys, token: string, now: Date): boolean {
  if (!TOKEN.test(token)) return false
  const bytes = Buffer.from(token, 'base64url')
  const content = bytes.subarray(0, CONTENT_BYTES)
  const ageMs = now.getTime() - content.readUIntBE(0, TIME_BYTES)
  return ageMs <= LIFETIME_MS && isSigned(secretKeys, PURPOSE, content, bytes.subarray(CONTENT_BYTES))
}

/**
 * Creates the first account with its owner and a space, and signs the owner in. Of two requests at once one succeeds.
 * @throws AppError 400 for a wrong or expired token; 409 if there is a user; 429 with Retry-After after wrong tokens from the network
 */
export async function setUp(context: Context, input: Setup, visitor: Visitor): Promise<SignedIn> {
  const { db, now, settings, transaction } = context
  if (await hasUsers(db)) throw alreadySetUp()
  const check = async () => isSetupToken(settings.secretKeys, input.token, now) || null
  if (!(await attempt(db, [bucket('setup', networkOf(visitor.ip))], now, check))) throw invalidToken()
  const { name, email } = input
  const timezone = input.timezone ?? 'UTC'
  const passwordHash = await hashPassword(input.password)
  return transaction(async () => {
    // Waits for everybody who creates a user at this moment, the commands of an operator included.
    await db.write(sql`lock table users in share row exclusive mode`)
    if (await hasUsers(db)) throw alreadySetUp()
    const accountName = input.account_name ?? MAIN
    const { accountId, ownerId: userId } = await createAccount(db, accountName, { email, name, timezone, passwordHash }, now)
    const owner = actingAs(context, { accountId, userId, email, name, timeZone: timezone, isOwner: true })
    const asOwner = { ...owner, requester: { userId, keyId: null, ip: context.ip } }
    await audit(asOwner, 'account.created', { id: accountId, name: accountName })
    await createSpace(asOwner, { name: MAIN })
    // Never null: the user was created above.
    return (await signInUnasked(context, userId, visitor)) as SignedIn
  })
}

const alreadySetUp = () => conflict('Already set up')
