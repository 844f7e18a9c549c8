/** The side of the process that work-process.ts starts. */
import { flushCompileCache } from 'node:module'
import type { FromWorkProcess, ToWorkProcess } from './work-process.ts'

/**
 * Performs each piece of work that the service sends, and answers with its result. When the service ends, the process is killed at once.
 * @param perform gets the work, and the bytes that were sent before it
 */
export function serveWork<Work, Result>(perform: (work: Work, bytes: Buffer) => Promise<Result>): void {
  // A terminal and systemd send signals to all processes of a service, but the service still waits for the current work.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  // The service was killed and could not end this process. SIGKILL also ends decoders that run in other threads.
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  const send = (message: FromWorkProcess<Result>) => process.send?.(message)
  let given: { id: number; chunks: Uint8Array[] } = { id: 0, chunks: [] }

  process.on('message', async (message: ToWorkProcess<Work>) => {
    const { id } = message
    // The bytes of work that was given up are dropped.
    if (given.id !== id) given = { id, chunks: [] }
    if ('chunk' in message) return void given.chunks.push(message.chunk)
    const bytes = Buffer.concat(given.chunks)
    given.chunks = []
    try {
      const result = await perform(message.work, bytes)
      send({ id, heldBytes: process.memoryUsage.rss(), result })
    } catch (error) {
      send({ id, heldBytes: process.memoryUsage.rss(), error: error instanceof Error ? error.message : String(error) })
    }
    // By itself Node writes compiled code when a process exits, but this one is killed. What is written already is not written again.
    flushCompileCache()
  })
  send({ isReady: true })
}
