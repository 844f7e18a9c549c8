/**
 * Closes connections with too many requests that wait for an answer. HTTP/1.1 lets a client send requests before it has the answer to an
 * earlier one, and Node begins all that have arrived at once: a few megabytes are 100,000 of them, and everybody else would wait for them.
 */
import { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** More than a client has a use for, and few enough to be begun within milliseconds. */
const MOST_WAITING = 100

/** Adds the hook, which should be the first, because the others cost time. */
export function limitPipelining(app: FastifyInstance): void {
  /** How many requests of a connection wait until an earlier one is answered. */
  const waiting = new WeakMap<Socket, number>()
  app.addHook('onRequest', ({ raw: { socket } }, reply, done) => {
    const { raw } = reply
    // Nearly always the answer can be sent at once. A request that the service makes to itself has no connection.
    if (raw.socket === socket || !(socket instanceof Socket)) return done()
    const before = waiting.get(socket) ?? 0
    if (before >= MOST_WAITING || socket.destroyed) {
      reply.hijack()
      socket.destroy()
      return
    }
    waiting.set(socket, before + 1)
    raw.once('socket', () => waiting.set(socket, (waiting.get(socket) ?? 1) - 1))
    done()
  })
}
