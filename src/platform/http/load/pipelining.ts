/**
 * Ends connections with too many requests that wait for an answer. HTTP/1.1 lets a client send requests before it has the answer to an
 * earlier one, and Node begins all that have arrived at once: a few megabytes are 100,000 of them, and everybody else would wait for them.
 */
import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** More than a client has a use for, and few enough to be begun within milliseconds. */
const MOST_WAITING = 100
/** How long a client may go on sending once it has got all answers. */
const LINGER_MS = 1_000

/** The requests of a connection that wait until an earlier one is answered. */
interface Waiting {
  count: number
  last: ServerResponse | undefined
  /** True once there were too many: no further one is begun. */
  isOver: boolean
}

/** Adds the hook, which should be the first, because the others cost time. */
export function limitPipelining(app: FastifyInstance): void {
  const connections = new WeakMap<Socket, Waiting>()
  app.addHook('onRequest', ({ raw: { socket } }, reply, done) => {
    const { raw } = reply
    // Nearly always the answer can be sent at once. A request that the service makes to itself has no connection.
    if (raw.socket === socket || !(socket instanceof Socket)) return done()
    const waiting = connections.get(socket) ?? { count: 0, last: undefined, isOver: false }
    connections.set(socket, waiting)
    if (waiting.isOver || waiting.count >= MOST_WAITING || socket.destroyed) {
      reply.hijack()
      if (!waiting.isOver && waiting.last) endAfter(waiting.last, socket)
      waiting.isOver = true
      return
    }
    waiting.count++
    waiting.last = raw
    raw.once('socket', () => waiting.count--)
    done()
  })
}

/** Reads nothing more, and ends the connection when the response, the last of those that were begun, has been sent. */
function endAfter(response: ServerResponse, socket: Socket): void {
  socket.pause()
  response.once('finish', () => {
    socket.end()
    // A connection that is closed with unread bytes is reset, and its client loses the answers that it has not read yet.
    socket.removeAllListeners('data').on('data', () => {})
    socket.resume()
    const linger = setTimeout(() => socket.destroy(), LINGER_MS).unref()
    socket.once('close', () => clearTimeout(linger))
  })
}
