/** The cookies that the operations of this feature set, and those that they read. */
import type { RequestContext } from '../platform/http/procedures/request-context.ts'
import type { SignedIn } from './service.ts'
import { SESSION_COOKIE, sessionSeconds, type Visitor } from './sessions.ts'
import { DEVICE_COOKIE, DEVICE_SECONDS } from './throttling/known-device.ts'

export const visitorOf = (request: RequestContext): Visitor => ({
  ip: request.ip,
  userAgent: request.userAgent,
  deviceCookie: request.cookie(DEVICE_COOKIE),
  sessionCookie: request.cookie(SESSION_COOKIE),
  pause: (ms) => request.pause(ms),
})

export function setSession(request: RequestContext, { token, device }: SignedIn): void {
  request.setCookie(SESSION_COOKIE, token, { maxAgeSeconds: sessionSeconds(request.deps.settings) })
  setDevice(request, device)
}

export const setDevice = (request: RequestContext, device: string): void =>
  request.setCookie(DEVICE_COOKIE, device, { maxAgeSeconds: DEVICE_SECONDS })

/** Clears the cookie of the session that has ended, if it is the one of the request. The device stays known. */
export function clearSession(request: RequestContext, { isCurrent }: { isCurrent: boolean }): void {
  if (isCurrent) request.setCookie(SESSION_COOKIE, '', { maxAgeSeconds: 0 })
}
