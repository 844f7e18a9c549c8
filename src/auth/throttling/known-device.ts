/**
 * A signed cookie by which a browser proves that a user has signed in with it before. Its sign-ins are delayed only by its own failures,
 * so nobody can lock a user out by guessing their password. It grants nothing else, and is bound to the address that it was issued for.
 */
import { isSigned, newToken, sign } from '../../platform/secrets/secrets.ts'
import type { SecretKeys } from '../../settings.ts'

export const DEVICE_COOKIE = 'gridpost_device'
export const DEVICE_SECONDS = 365 * 86_400

const PURPOSE = 'gridpost known devices'

/** The cookie holds one proof for each of the last users of the browser. */
const MOST_USERS = 5
const NONCE_BYTES = 16
/** When it was issued, in seconds and base 36; a nonce; the signature. */
const PROOF = /^([0-9a-z]{1,9})\.([\w-]{22})\.([\w-]{43})$/

/** The id of the device, if its cookie has a proof for the address; otherwise null. */
export function knownDevice(secretKeys: SecretKeys, cookie: string | undefined, email: string, now: Date): string | null {
  const proof = proofsIn(cookie).find((one) => isFor(secretKeys, one, email, now))
  return proof ? idOf(proof) : null
}

/** The new value of the cookie, after its user has signed in. @param cookie its present value */
export function rememberDevice(secretKeys: SecretKeys, cookie: string | undefined, email: string, now: Date): string {
  const others = proofsIn(cookie).filter((one) => !isFor(secretKeys, one, email, now))
  const content = `${Math.floor(now.getTime() / 1000).toString(36)}.${newToken(NONCE_BYTES)}`
  return [`${content}.${sign(secretKeys, PURPOSE, signedOf(content, email)).toString('base64url')}`, ...others]
    .slice(0, MOST_USERS)
    .join('~')
}

const proofsIn = (cookie = ''): string[] => cookie.split('~', MOST_USERS).filter((text) => PROOF.test(text))

const idOf = (proof: string) => proof.split('.')[1] ?? ''

function isFor(secretKeys: SecretKeys, proof: string, email: string, now: Date): boolean {
  const [, issuedAt = '', nonce = '', signature = ''] = PROOF.exec(proof) ?? []
  const ageSeconds = now.getTime() / 1000 - Number.parseInt(issuedAt, 36)
  if (ageSeconds > DEVICE_SECONDS) return false
  return isSigned(secretKeys, PURPOSE, signedOf(`${issuedAt}.${nonce}`, email), Buffer.from(signature, 'base64url'))
}

/** The bytes that a proof signs. */
const signedOf = (content: string, email: string) => Buffer.from(`${content}\n${email}`)
