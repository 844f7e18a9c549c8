/** Scalar's API reference as one script for browsers. It is taken from the package's own route, because the package has no file of it. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/**
 * Returns the script, compressed with gzip. A thread of its own loads the package, which takes 60 MB, and gives them back.
 * @throws Error if the package cannot be loaded
 */
export async function compressedBundle(): Promise<Buffer> {
  const worker = new Worker(new URL('./bundle-worker.ts', import.meta.url))
  const [message] = await Promise.race([
    once(worker, 'message'),
    once(worker, 'exit').then(([code]) => {
      throw new Error(`The thread that loads the API reference ended with ${code}`)
    }),
  ])
  return Buffer.from(message as Uint8Array)
}
