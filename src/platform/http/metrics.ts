/** Metrics of requests, and the route that shows all metrics to Prometheus. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Deps } from '../context.ts'
import { AppError, unauthorized } from '../errors.ts'
import { memo } from '../memo.ts'
import type { Observer } from '../metrics/durations.ts'
import { duration, METRICS_TYPE, type Metric, type Metrics } from '../metrics/metrics.ts'
import { metricsOfAll } from '../processes/member.ts'
import { membership } from '../processes/per-process.ts'
import type { PlainOperation } from './openapi/document.ts'

const requests = duration({
  name: 'gridpost_http_request_seconds',
  help: 'Time to answer a request, without streams of events.',
  labels: ['method', 'route', 'status'],
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
})

export const httpMetrics: readonly Metric[] = [requests]

/** Measures each request by the pattern of its route. All paths that do not exist share one value. */
export function measureRequests(app: FastifyInstance, metrics: Metrics): void {
  const observers = memo((_route: object) => new Map<string, Observer>())
  app.addHook('onResponse', ({ method, context: { route } }, reply, done) => {
    if (route.isStream) return done()
    const known = observers(route)
    const name = `${method} ${reply.statusCode}`
    const observe = known.get(name) ?? metrics.observer(requests, { method, route: route.url ?? 'none', status: String(reply.statusCode) })
    known.set(name, observe)
    observe(reply.elapsedTime / 1000)
    done()
  })
}

/**
 * Mounts /metrics.
 * @param admit refuses a request by throwing
 */
export function mountMetrics(app: FastifyInstance, deps: Deps, admit: (request: FastifyRequest) => void = () => {}): void {
  app.get('/metrics', {
    config: { isAlwaysServed: true },
    onRequest: async (request) => admit(request),
    handler: async (_, reply) => reply.type(METRICS_TYPE).send(await (membership ? metricsOfAll() : deps.metrics.text(deps))),
  })
}

/** Admits a caller who sends METRICS_TOKEN as a bearer token. Without the setting the answer is that for an unknown path. */
export function requireMetricsToken({ settings }: Deps): (request: FastifyRequest) => void {
  const { metricsToken } = settings
  const expected = metricsToken === undefined ? undefined : digest(metricsToken)
  return ({ headers }) => {
    if (!expected) throw new AppError('NOT_FOUND', 'No such path')
    const token = /^Bearer +(\S+)\s*$/i.exec(headers.authorization ?? '')?.[1]
    // Digests have one length, so the comparison takes the same time for every token.
    if (!token || !timingSafeEqual(digest(token), expected)) throw unauthorized('Send METRICS_TOKEN as a bearer token')
  }
}

const digest = (text: string) => createHash('sha256').update(text).digest()

export const metricsOperation: PlainOperation = {
  method: 'get',
  path: '/metrics',
  operationId: 'health.metrics',
  tag: 'Operations',
  summary: 'Get metrics for Prometheus',
  description:
    'Requests, the database, jobs, mail, indexes, files, streams and the process. Needs `METRICS_TOKEN` of the settings as a bearer ' +
    'token; without that setting the path does not exist. Workers serve the same on `METRICS_PORT`.',
  isPublic: false,
  security: [{ metrics: [] }],
  responses: { 200: { description: 'The text format of Prometheus.', content: { 'text/plain': { schema: { type: 'string' } } } } },
  errors: [401, 404],
}
