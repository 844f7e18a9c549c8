/** The side of the process that work-process.ts starts. */
import type { FromProcess, ToProcess } from './work-process.ts'

/**
 * Does each piece of work that comes, and answers with its result. The process ends with the service, at once.
 * @param bytes those that came with the work
 */
export function serveWork<Work, Result>(perform: (work: Work, bytes: Buffer) => Promise<Result>): void {
  // A terminal and systemd signal all processes of a service. The service still waits for the work that is being done.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  // The service has ended without ending this process. A decoder in another thread would go on.
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  const send = (message: FromProcess<Result>) => process.send?.(message)
  let given: { id: number; chunks: Uint8Array[] } = { id: 0, chunks: [] }

  process.on('message', async (message: ToProcess<Work>) => {
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
  })
  send({ isReady: true })
}
