/** PostgreSQL's CancelRequest. */
import { connect } from 'node:net'
import type pg from 'pg'

/** Properties of a pg client that its types do not declare. */
interface Backend {
  host: string
  port: number
  processID: number
  secretKey: number
}

const CANCEL_REQUEST = 80_877_102
const TIMEOUT_MS = 1_000

/**
 * Cancels the statement that the connection runs, and waits until the request has been delivered or has failed. On an idle connection it
 * has no effect. The protocol sends the request over a connection of its own, authenticated by the secret key of the one to cancel.
 */
export async function cancelQuery(client: pg.ClientBase): Promise<void> {
  const { host, port, processID, secretKey } = client as unknown as Backend
  const request = Buffer.alloc(16)
  for (const [index, part] of [request.length, CANCEL_REQUEST, processID, secretKey].entries()) request.writeInt32BE(part | 0, index * 4)
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy())
  // If the request fails, the statement ends by its own timeout. `once` of node:events would reject.
  socket.on('error', () => {})
  socket.end(request)
  await new Promise<void>((resolve) => socket.once('close', () => resolve()))
}
