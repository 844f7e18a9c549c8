/** Who may look at caught mails, in which there are links that set passwords: programs on this machine, and whoever has the token. */
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../platform/errors.ts'
import { isLocalCaller } from '../../platform/http/procedures/local-callers.ts'
import { isSigned, sign } from '../../platform/secrets/secrets.ts'
import type { Settings } from '../../settings.ts'

const PURPOSE = 'gridpost caught mail'
const TOKEN_BYTES = 24
const COOKIE = 'gridpost_mail'
const COOKIE_SECONDS = 30 * 86_400

/** The token that the start prints. It comes from SECRET_KEY, so that all processes, scripts and the next start have the same one. */
export const catcherToken = ({ secretKeys }: Pick<Settings, 'secretKeys'>): string =>
  sign(secretKeys, PURPOSE, NOTHING).toString('base64url', 0, TOKEN_BYTES)

const NOTHING = Buffer.of()

/**
 * Lets in a request by its token, as bearer or from the cookie, and without one from a program on this machine.
 * @param given the `token` of the address, after which the browser has the cookie
 * @throws AppError 404, as for an unknown path
 */
export function requireAccess(settings: Settings, { context, headers, raw }: FastifyRequest, given: unknown): void {
  const bearer = /^Bearer +(\S+)\s*$/i.exec(headers.authorization ?? '')?.[1]
  if (isToken(settings, given)) context.setCookie(COOKIE, catcherToken(settings), COOKIE_OPTIONS)
  else if (!isLocalCaller(settings, raw) && !isToken(settings, bearer) && !isToken(settings, context.cookie(COOKIE)))
    throw new AppError('NOT_FOUND', 'No such path')
}

/** `/dev/mail.json` is not below `/dev/mail`. */
const COOKIE_OPTIONS = { maxAgeSeconds: COOKIE_SECONDS, path: '/dev', sameSite: 'strict' } as const

/** Compares in constant time. The decoder skips what is no digit, so only the text that the bytes are written as counts. */
function isToken({ secretKeys }: Settings, text: unknown): boolean {
  if (typeof text !== 'string') return false
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text && isSigned(secretKeys, PURPOSE, NOTHING, bytes, TOKEN_BYTES)
}
