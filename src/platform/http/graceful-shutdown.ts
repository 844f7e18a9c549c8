/** How the HTTP server ends: requests under way are answered, and no connection without one holds it up. */
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** Requests under way get this long; what streams for ever is cut off then. */
const REQUESTS_END_WITHIN_MS = 10_000
const SWEEP_EVERY_MS = 50

/** Bounds the time that `app.close()` takes. */
export function boundClosing(app: FastifyInstance): void {
  const { server } = app
  const connections = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  app.addHook('preClose', async () => {
    if (!server.listening) return
    const sweep = setInterval(() => {
      // One whose last answer has just been sent is kept alive by default.
      server.closeIdleConnections()
      // One on which nothing has come yet, as browsers open them in advance, counts for Node as one with a request.
      for (const socket of connections) if (socket.bytesRead === 0) socket.destroy()
    }, SWEEP_EVERY_MS)
    const cutOff = setTimeout(() => server.closeAllConnections(), REQUESTS_END_WITHIN_MS)
    server.once('close', () => {
      clearInterval(sweep)
      clearTimeout(cutOff)
    })
  })
}
