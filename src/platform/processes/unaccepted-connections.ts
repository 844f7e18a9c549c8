/**
 * Looks after connections that were given to a process which did not accept them. Node 24.21 forgets them in two cases: when the process
 * dies first, and when it was the last one to listen. They would stay open, and nobody would ever answer.
 */
import type { ChildProcess } from 'node:child_process'
import type { Worker } from 'node:cluster'

/** The messages of node:cluster by which a process listens, stops listening, and is given a connection, which it accepts or not. */
interface ClusterMessage {
  cmd?: string
  act?: string
  /** Of the address that is listened on. */
  key?: string
  errno?: number | null
  seq?: number
  ack?: number
  accepted?: boolean
}

interface Connection {
  close(): void
}

/** The time in which the messages are read that a process has sent before its end. */
const LAST_WORDS_MS = 100

/** The processes that listen, by the key of the address. */
const listeners = new Map<string, Set<ChildProcess>>()

const listenersOn = (key = '') => {
  const known = listeners.get(key) ?? new Set()
  listeners.set(key, known)
  return known
}

/** Watches the connections that the supervisor gives to the process. Expects to be called before the process listens. */
export function passOnUnaccepted({ process: child }: Worker): void {
  const unaccepted = new Map<number, { connection: Connection; key: string | undefined }>()
  watchSent(child, ({ act, seq, key, ack, errno }, handle) => {
    if (act === 'newconn' && seq !== undefined && handle) unaccepted.set(seq, { connection: handle, key })
    // The answer to a process that wants to listen.
    if (ack !== undefined && key !== undefined && !errno) listenersOn(key).add(child)
  })
  // The cluster hears each message first.
  child.on('internalMessage', ({ act, key, ack = -1, accepted }: ClusterMessage) => {
    if (act === 'close') listenersOn(key).delete(child)
    const given = unaccepted.get(ack)
    unaccepted.delete(ack)
    // The cluster keeps a connection that is not accepted for the next process that listens.
    if (given && !accepted && !listenersOn(given.key).size) given.connection.close()
  })
  let isDisconnected = false
  // Node delays 'disconnect' of a dead process while a connection that was sent to it is unread.
  child.once('exit', () => {
    setTimeout(() => isDisconnected || child.emit('disconnect'), LAST_WORDS_MS)
  })
  // When this event is emitted, the cluster gives the process no more connections.
  child.once('disconnect', () => {
    isDisconnected = true
    for (const processes of listeners.values()) processes.delete(child)
    // A process that is stopping would answer in this way.
    for (const ack of [...unaccepted.keys()])
      child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: false } satisfies ClusterMessage)
  })
}

/** The cluster sends with the method of the object, which has no event for it. */
function watchSent(child: ChildProcess, sent: (message: ClusterMessage, handle: Connection | undefined) => void): void {
  const send = child.send.bind(child) as (...parts: unknown[]) => boolean
  const watching = (...parts: unknown[]) => {
    const [message, handle] = parts as [ClusterMessage, Connection | undefined]
    if (message.cmd === 'NODE_CLUSTER') sent(message, handle)
    return send(...parts)
  }
  child.send = watching as ChildProcess['send']
}
