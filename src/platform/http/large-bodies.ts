/**
 * A JSON body is held in memory while it is read, as bytes, as text and as values: a 50 MB upload takes about 200 MB. A process reads
 * only a few large bodies at once; other requests wait before their bytes are taken from the socket.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Release, Semaphore } from '../semaphore.ts'
import { tooBusy, unavailable } from './errors.ts'

/** A body larger than this is a large one. */
export const LARGE_BYTES = 4 * 1_048_576
const LARGE_AT_ONCE = 6
const WAIT_MS = 30_000

export const openLargeBodies = () => new Semaphore(LARGE_AT_ONCE, () => tooBusy({ retryAfterSeconds: 5 }))

/**
 * Waits until the body may be read, if it is large. The permit is released when the response is sent or the connection closes.
 * @throws AppError 503 after too long a wait
 */
export async function admitBody(bodies: Semaphore, { headers }: FastifyRequest, { raw }: FastifyReply): Promise<void> {
  if (!isLarge(headers)) return
  const closing = new AbortController()
  let release: Release | undefined
  raw.once('close', () => {
    closing.abort(unavailable('The caller has hung up'))
    release?.()
  })
  release = await bodies.acquire({ signal: closing.signal, timeoutMs: WAIT_MS })
  // The connection may have closed after the permit was granted and before this function went on.
  if (closing.signal.aborted) release()
}

/** A chunked body does not state its length, so it may be large. */
const isLarge = (headers: FastifyRequest['headers']) =>
  headers['content-length'] === undefined ? 'transfer-encoding' in headers : Number(headers['content-length']) > LARGE_BYTES
