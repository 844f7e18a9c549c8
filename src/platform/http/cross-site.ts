import type { FastifyRequest } from 'fastify'
import type { Deps } from '../context.ts'

/** True if a browser's headers show that another site sent the request. Other clients send no such headers. */
export function isCrossSite({ settings, publicUrl }: Pick<Deps, 'settings' | 'publicUrl'>, { method, headers }: FastifyRequest): boolean {
  if (method === 'GET' || method === 'HEAD') return false
  const { origin } = headers
  const site = headers['sec-fetch-site']
  if (site === 'same-origin' || site === 'none') return false
  if (origin !== undefined) {
    if (settings.corsOrigins.includes(origin)) return false
    if (URL.canParse(origin) && (new URL(origin).host === headers.host || new URL(origin).origin === new URL(publicUrl()).origin))
      return false
    return true
  }
  return site === 'cross-site'
}
