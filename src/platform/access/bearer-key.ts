/** The key that a request presents in its header Authorization. */
import { looksLikeKey, tokenHash } from '../secrets/secrets.ts'
import type { Credentials } from './authenticate.ts'

/**
 * The key that each connection has sent last. Callers send the same one with each request, and its checksum and hash are 4 % of what node
 * spends on a small one. Whether the key is valid is asked each time.
 */
const lastKeys = new WeakMap<object, { authorization: string; credentials: Credentials }>()

/** A key has about 60 characters. A longer header, of up to 16 KB, would otherwise stay in memory as long as its connection. */
const MOST_KEPT = 200

/** @param socket of the connection @param authorization the header */
export function keyOf(socket: object, authorization: string): Credentials {
  const last = lastKeys.get(socket)
  if (last?.authorization === authorization) return last.credentials
  const credentials = credentialsIn(authorization)
  if (authorization.length <= MOST_KEPT) lastKeys.set(socket, { authorization, credentials })
  return credentials
}

function credentialsIn(authorization: string): Credentials {
  const secret = /^Bearer +(\S+)\s*$/i.exec(authorization)?.[1]
  // The checksum detects a mistyped key without a query.
  return secret && looksLikeKey(secret) ? { kind: 'key', tokenHash: tokenHash(secret) } : { kind: 'invalid' }
}
