/**
 * Closes connections to a server that has gone without a word, such as a machine that lost its power. No packet says so, and a statement
 * would wait for its answer for ever, on a connection that nobody else can use.
 */
import type { Socket } from 'node:net'
import type pg from 'pg'

/** The members of pg's client (8.23.1, pinned) that its types do not declare. */
interface Inside {
  connection: { stream: Socket }
  /** The statement that was sent and has not been answered. */
  _activeQuery: unknown
}

/**
 * Closes the connection when one of its statements has had no answer for this time, so that the statement fails like on any lost connection.
 * @param client is connected
 * @param silentMs more than any statement on the connection may take
 */
export function closeIfSilent(client: pg.ClientBase, silentMs: number): void {
  const inside = client as unknown as Inside
  const { stream } = inside.connection
  stream.setTimeout(silentMs).on('timeout', () => {
    // Once it has fired on an idle connection, the timer of Node 24 does not start again with the next statement.
    stream.setTimeout(silentMs)
    const { _activeQuery: unanswered } = inside
    if (!unanswered) return
    const { bytesRead } = stream
    // If this process was busy, the answer may have arrived. The immediate runs after the socket was read.
    setImmediate(() => {
      if (inside._activeQuery === unanswered && stream.bytesRead === bytesRead) stream.destroy()
    })
  })
}
