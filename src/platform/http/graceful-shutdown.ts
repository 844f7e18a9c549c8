/** Stops the HTTP server: running requests are answered, and idle connections do not delay the stop. */
import { type Socket, Server as TcpServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

/** Running requests may take this long. Then all connections are closed, also those of endless streams. */
const REQUESTS_END_WITHIN_MS = 10_000
const SWEEP_EVERY_MS = 50
/** A client that has sent nothing for this long has no reason to send something in the very moment in which its connection is closed. */
const RELEASE_WITHIN_MS = 5_000

/** Limits the time that `app.close()` takes. */
export function limitShutdownTime(app: FastifyInstance): void {
  const { server } = app
  const connections = new Set<Socket>()
  let wasListening = false
  server.on('listening', () => {
    wasListening = true
  })
  server.on('connection', (socket: Socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  app.addHook('preClose', async () => {
    if (!wasListening) return
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

/**
 * Lets the clients go over to other processes that listen on the same port, before `app.close()`: no connection is accepted any more, and
 * each one that is kept alive ends with its next response. No request is lost, not even of a client that sends one after the other.
 * Resolves when no connection is left, or after five seconds.
 */
export async function releaseClients({ server }: FastifyInstance): Promise<void> {
  server.prependListener('request', (_, response) => {
    response.shouldKeepAlive = false
  })
  // The method of HTTP servers would also close idle connections, on which a request may be under way.
  const released = new Promise((resolve) => TcpServer.prototype.close.call(server, resolve))
  await Promise.race([released, sleep(RELEASE_WITHIN_MS, undefined, { ref: false })])
}
