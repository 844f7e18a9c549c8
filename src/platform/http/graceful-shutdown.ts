/** Stops the HTTP server: running requests are answered, and idle connections do not delay the stop. */
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** Running requests may take this long. Then all connections are closed, also those of endless streams. */
const REQUESTS_END_WITHIN_MS = 10_000
const SWEEP_EVERY_MS = 50

/** Limits the time that `app.close()` takes. */
export function limitShutdownTime(app: FastifyInstance): void {
  const { server } = app
  const connections = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  app.addHook('preClose', async () => {
    if (!server.listening) return
    const sweep = setInterval(() => {
      // A connection is kept alive after its last response.
      server.closeIdleConnections()
      // Browsers open connections in advance. Node treats one without any bytes as if it had a running request.
      for (const socket of connections) if (socket.bytesRead === 0) socket.destroy()
    }, SWEEP_EVERY_MS)
    const cutOff = setTimeout(() => server.closeAllConnections(), REQUESTS_END_WITHIN_MS)
    server.once('close', () => {
      clearInterval(sweep)
      clearTimeout(cutOff)
    })
  })
}
