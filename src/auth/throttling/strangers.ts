/**
 * Sign-ins from browsers and networks that the user has not used before. Their failures also count for the network, which bounds how many
 * passwords one attacker can try on many accounts. Beyond that bound all attempts are answered alike, after the same time, but a right
 * password is still let in.
 */
import { networkOf, siteOf, storedAddress } from '../../platform/access/network.ts'
import type { Context } from '../../platform/context.ts'
import type { AppError } from '../../platform/errors.ts'
import type { HashingCaller } from '../../platform/secrets/secrets.ts'
import { checkCounted, inTurn, refuseWaiting, tooManyFailures } from './attempts.ts'
import { pairOf } from './known-pair.ts'
import { type Bucket, bucket, count, isRefused, knownWaits, untouched, waits } from './throttle.ts'

/** What the failures of strangers count for, beside the account and its pair with the network. */
interface Origin {
  /** As the refusal names it. */
  name: string
  failures: Bucket
  /** The checks beyond the bound. */
  checks: Bucket
}

/** The network of the address, and for IPv6 its /48, too. */
function originsOf(ip: string): [Origin, ...Origin[]] {
  const [network, site] = [networkOf(ip), siteOf(ip)]
  // A proxy that is trusted too far can pass on any text.
  const name = storedAddress(ip) === null ? 'this address' : network
  const own: Origin = { name, failures: bucket('network', network), checks: bucket('checksForNetwork', network) }
  return site === null ? [own] : [own, { name: site, failures: bucket('site', site), checks: bucket('checksForSite', site) }]
}

/** How the password of an attempt is checked. */
export interface PasswordCheck<User, SignedIn> {
  /** The active user with the email; null if there is none. */
  find: () => Promise<User | null>
  /** Checks the password, without a user as well, at the same cost. @returns null if it is wrong */
  check: (user: User | null, caller: HashingCaller) => Promise<SignedIn | null>
}

/**
 * Runs the attempt, and counts it unless it succeeds.
 * @returns null if it fails; an error if it is refused, which the caller throws a second after the attempt has come
 * @throws AppError 429 with Retry-After for the failures of the account or of its pair with the network; what `check` throws
 */
export function attemptOfStranger<User, SignedIn>(
  { db, now }: Pick<Context, 'db' | 'now'>,
  { email, ip }: { email: string; ip: string },
  { find, check }: PasswordCheck<User, SignedIn>,
): Promise<SignedIn | AppError | null> {
  const origins = originsOf(ip)
  const [pair, account] = [bucket('pair', pairOf(email, ip)), bucket('account', email)]
  const failures = origins.map((origin) => origin.failures)
  return inTurn(db, pair, attemptNow, whenFull)

  async function attemptNow(): Promise<SignedIn | AppError | null> {
    const [ofPair = 0, ofAccount = 0, ...ofOrigins] = await waits(db, [pair, account, ...failures], now)
    const refusal = refusalOf(origins, ofOrigins)
    if (refusal) return (await checkBeyond()) ?? refusal
    if (ofPair || ofAccount) throw tooManyFailures(Math.max(ofPair, ofAccount))
    return checkCounted(db, [pair, account, ...failures], async () => check(await find(), 'stranger'), failures)
  }

  /** Attempts wait longer where a password is hashed. A full network must not show for which names that is. */
  function whenFull(): AppError {
    return refusalOf(origins, knownWaits(db, failures, now)) ?? refuseWaiting()
  }

  /**
   * Checks the password of a user whose pair has no failure, while few are checked. A wrong one counts for the pair and the account.
   * An address that no user has is not checked.
   */
  async function checkBeyond(): Promise<SignedIn | null> {
    const others = [account, ...origins.map(({ checks }) => checks)]
    const buckets = [untouched(pair), ...others]
    if (isRefused(knownWaits(db, buckets, now))) return null
    const user = await find()
    if (!user || (await count(db, buckets, now)) > 0) return null
    // The queue for hashing had room for strangers when the attempt came. A 503 that only a user can get would tell who is one.
    return checkCounted(db, [pair, ...others], () => check(user, 'known'))
  }
}

/** The refusal of the origin that is full for longest; null if none is full. @param seconds how long each of them is full */
function refusalOf(origins: readonly Origin[], seconds: readonly number[]): AppError | null {
  const longest = Math.max(...seconds)
  const full = origins[seconds.indexOf(longest)]
  return full && longest > 0 ? tooManyFailures(longest, `Too many failed sign-ins from ${full.name}, please wait`) : null
}
