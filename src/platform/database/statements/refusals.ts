/**
 * Why a node has refused a change of a table. Citus (14.0.1) sends the error of the node as a warning, and then an error that names only
 * the node, as if its connection were lost.
 */
import pg from 'pg'

/** A lock timeout, a deadlock, a statement that was cancelled. */
const WAITED_IN_VAIN = new Set(['55P03', '40P01', '57014'])

interface Refusal {
  code: string
  message: string | undefined
}

const refusals = new WeakMap<pg.ClientBase, Refusal>()

/** Keeps the last warning about a statement that waited too long for a lock of a node, or was cancelled there. */
export function keepRefusals(client: pg.ClientBase): void {
  client.on('notice', ({ code, message }) => {
    if (code && WAITED_IN_VAIN.has(code)) refusals.set(client, { code, message })
  })
}

/** For the next transaction on the connection. */
export const forgetRefusal = (client: pg.ClientBase) => refusals.delete(client)

/** Gives an error of the transaction on the connection the SQLSTATE and the text of the node's error. */
export function explainRefusal(error: unknown, client: pg.ClientBase): void {
  const isRefused = error instanceof pg.DatabaseError && error.message.startsWith('failure on connection marked as essential')
  if (isRefused) Object.assign(error, refusals.get(client))
}
