/**
 * Passes on connections that were given to a process which died before it accepted them. Node 24.21 forgets them: they stay open, and
 * nobody ever answers.
 */
import type { ChildProcess } from 'node:child_process'
import cluster, { type Worker } from 'node:cluster'

/** The messages of node:cluster by which a connection is given, and accepted or not. */
interface ClusterMessage {
  cmd?: string
  act?: string
  seq?: number
  ack?: number
  accepted?: boolean
}

interface Connection {
  close(): void
}

/** The time in which the messages are read that a process has sent before its end. */
const LAST_WORDS_MS = 100

/** Watches the connections that the supervisor gives to the process. */
export function passOnUnaccepted({ process: child }: Worker): void {
  const unaccepted = new Map<number, Connection>()
  watchSent(child, ({ act, seq }, handle) => {
    if (act === 'newconn' && seq !== undefined) unaccepted.set(seq, handle)
  })
  child.on('internalMessage', ({ ack }: ClusterMessage) => {
    if (ack !== undefined) unaccepted.delete(ack)
  })
  let isDisconnected = false
  // While a process has not read a connection, Node does not tell of the end of its channel.
  child.once('exit', () => {
    setTimeout(() => isDisconnected || child.emit('disconnect'), LAST_WORDS_MS)
  })
  // The cluster has taken the process out of its turns by then.
  child.once('disconnect', () => {
    isDisconnected = true
    const isAnotherThere = Object.values(cluster.workers ?? {}).some((other) => other?.isConnected())
    for (const [ack, handle] of [...unaccepted]) {
      // This is what a process answers that is just stopping.
      if (isAnotherThere) child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: false } satisfies ClusterMessage)
      else handle.close()
    }
  })
}

/** The cluster sends with the method of the object, which has no event for it. */
function watchSent(child: ChildProcess, sent: (message: ClusterMessage, handle: Connection) => void): void {
  const send = child.send.bind(child) as (...parts: unknown[]) => boolean
  const watching = (...parts: unknown[]) => {
    const [message, handle] = parts as [ClusterMessage, Connection | undefined]
    if (message.cmd === 'NODE_CLUSTER' && handle) sent(message, handle)
    return send(...parts)
  }
  child.send = watching as ChildProcess['send']
}
