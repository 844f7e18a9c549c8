/** How a statement that nobody waits for any more is given up. */
import { once } from 'node:events'
import { connect } from 'node:net'
import type pg from 'pg'

/** What pg's types do not show of a client. */
interface Backend {
  host: string
  port: number
  processID: number
  secretKey: number
}

const CANCEL_REQUEST = 80_877_102
const PATIENCE_MS = 1_000

/**
 * Asks Postgres to give up what the connection is doing, and waits until it has been passed on; on an idle connection it does nothing.
 * The request goes by a connection of its own and without a password, as the protocol has it: it knows the secret of the connection.
 */
export async function cancel(client: pg.ClientBase): Promise<void> {
  const { host, port, processID, secretKey } = client as unknown as Backend
  const request = Buffer.alloc(16)
  for (const [index, part] of [request.length, CANCEL_REQUEST, processID, secretKey].entries()) request.writeInt32BE(part | 0, index * 4)
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  socket.setTimeout(PATIENCE_MS, () => socket.destroy())
  // Not cancelled, the statement ends by its own timeout.
  socket.on('error', () => {})
  socket.end(request)
  await once(socket, 'close')
}
