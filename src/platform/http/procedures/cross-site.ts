import type { FastifyRequest } from 'fastify'
import type { Deps } from '../../context.ts'

/** True if a browser's headers show that another site sent the request. Other clients send no such headers. */
export function isCrossSite({ settings, publicUrl }: Pick<Deps, 'settings' | 'publicUrl'>, request: FastifyRequest): boolean {
  const { method, headers } = request
  if (method === 'GET' || method === 'HEAD') return false
  const { origin } = headers
  const site = headers['sec-fetch-site']
  if (site === 'same-origin' || site === 'none') return false
  if (origin !== undefined) return !settings.corsOrigins.includes(origin) && !isOwn(origin, new URL(publicUrl()), request)
  return site === 'cross-site'
}

/** Whether the origin is this service, at its public address or at the one that the request names. */
function isOwn(origin: string, own: URL, { headers, protocol }: Pick<FastifyRequest, 'headers' | 'protocol'>): boolean {
  if (!URL.canParse(origin)) return false
  const from = new URL(origin)
  const hasTls = protocol === 'https' || (own.protocol === 'https:' && own.host === from.host)
  // Anybody between the browser and the service can write a page that comes without TLS.
  if (hasTls && from.protocol === 'http:') return false
  return from.host === headers.host || from.origin === own.origin
}
