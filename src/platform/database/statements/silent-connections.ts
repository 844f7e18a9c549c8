/**
 * Closes connections to a server that vanished without closing them, such as a machine that lost its power. No packet says so, and a
 * statement would wait for its answer for ever, on a connection that nobody else can use.
 */
import type { Socket } from 'node:net'
import type pg from 'pg'

/** The members of pg's client (8.23.1, pinned) that its types do not declare. */
interface Inside {
  connection: { stream: Socket }
  /** The statement that was sent and has not been answered; null after its error, although the server has not ended it yet. */
  _activeQuery: unknown
  /** False from the first statement that is sent until the server has ended it, also after an error. */
  readyForQuery: boolean
}

/** The connection is closed when a statement has been without an answer in this many looks at it, one after the other. */
const LOOKS = 4

/**
 * Closes the connection when one of its statements has had no answer for this time, or up to a quarter more, so that the statement fails
 * like on any lost connection. The socket's own timer is of no use: it may fire in the turn in which a statement is sent.
 * @param client is connected
 * @param silentMs more than any statement on the connection may take
 */
export function closeIfSilent(client: pg.ClientBase, silentMs: number): void {
  const inside = client as unknown as Inside
  const { stream } = inside.connection
  let unanswered: unknown
  let bytesRead = 0
  let looks = 0
  const timer = setInterval(() => {
    if (inside.readyForQuery || inside._activeQuery !== unanswered || stream.bytesRead !== bytesRead) {
      unanswered = inside._activeQuery
      bytesRead = stream.bytesRead
      looks = 0
    } else if (++looks >= LOOKS) {
      // If this process was busy, the answer may have arrived. The immediate runs after the socket was read.
      setImmediate(() => stream.bytesRead === bytesRead && stream.destroy())
    }
  }, silentMs / LOOKS)
  timer.unref()
  stream.once('close', () => clearInterval(timer))
}

/** Closes the connection without telling the server, so that its statements fail now. */
export function cutConnection(client: pg.ClientBase): void {
  const { stream } = (client as unknown as Inside).connection
  stream.destroy()
}
