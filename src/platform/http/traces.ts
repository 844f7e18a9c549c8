/** A span for each request, around everything that it does. */
import type { FastifyInstance } from 'fastify'
import { isTracing, type OpenSpan, openSpan } from '../tracing/tracing.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The span of the request, if this process traces. */
    span: OpenSpan | undefined
  }
}

/** Continues the trace of a caller that sends `traceparent`. Mount it before all other hooks. */
export function traceRequests(app: FastifyInstance): void {
  if (!isTracing()) return
  app.decorateRequest('span')
  app.addHook('onRequest', (request, reply, done) => {
    const { traceparent } = request.headers
    const route = request.routeOptions.url ?? 'none'
    const span = openSpan(`${request.method} ${route}`, {
      kind: 'server',
      attributes: { 'http.request.method': request.method, 'http.route': route, 'gridpost.request_id': request.id },
      parent: typeof traceparent === 'string' ? traceparent : undefined,
    })
    if (!span) return done()
    request.span = span
    // Also emitted when the caller hangs up.
    reply.raw.once('close', () => {
      span.set({ 'http.response.status_code': reply.statusCode })
      span.end(reply.statusCode >= 500 ? { code: String(reply.statusCode) } : undefined)
    })
    span.run(done)
  })
  // The body arrives in events of the socket, which are outside of the span.
  app.addHook('preValidation', (request, _, done) => (request.span ? request.span.run(done) : done()))
}
