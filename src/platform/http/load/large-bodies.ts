/**
 * A JSON body is held in memory while it is read, as bytes, as text and as values: a batch of 10 MB takes about 40 MB. A process reads
 * only a few large bodies at once; other requests wait before their bytes are taken from the socket. A slow body takes minutes, so no
 * account can take all slots. An upload goes to storage while it arrives, so many more of them are received at once.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { FairQueue, type Slot } from '../../concurrency/fair-queue.ts'
import { tooBusy, unavailable } from '../../errors.ts'
import { perProcess } from '../../processes/per-process.ts'

/** The most that is read of a body before its caller is known: strangers could otherwise fill the memory with unfinished bodies. */
export const STRANGER_BODY_LIMIT = 65_536
/** A body larger than this is a large one. */
export const LARGE_BYTES = 4 * 1_048_576
const LARGE_AT_ONCE = perProcess(6, 2)
const LARGE_OF_ACCOUNT = Math.max(1, LARGE_AT_ONCE - perProcess(2))
const MOST_WAITING = 100
const WAIT_MS = 30_000

export const openLargeBodies = () =>
  new FairQueue({ slots: LARGE_AT_ONCE, slotsOfAccount: LARGE_OF_ACCOUNT, mostWaiting: MOST_WAITING, waitMs: WAIT_MS })

/** There are enough slots that no account waits for another one. */
const UPLOADS_AT_ONCE = perProcess(1_024)
const UPLOADS_OF_ACCOUNT = perProcess(6)
/** An upload waits longer than other bodies, because the uploads that hold the slots of its account may be slow. */
const UPLOAD_WAIT_MS = 120_000

export const openUploadQueue = () =>
  new FairQueue({ slots: UPLOADS_AT_ONCE, slotsOfAccount: UPLOADS_OF_ACCOUNT, mostWaiting: MOST_WAITING, waitMs: UPLOAD_WAIT_MS })

/**
 * Waits until a large body of the account may be read. The slot is free again when the response is sent or the connection closes.
 * @throws AppError 503 after too long a wait
 */
export async function admitBody(bodies: FairQueue, account: string, { raw }: Pick<FastifyReply, 'raw'>): Promise<void> {
  if (raw.destroyed) throw hungUp()
  const closing = new AbortController()
  let slot: Slot | undefined
  raw.once('close', () => {
    closing.abort(hungUp())
    if (slot) bodies.leave(slot)
  })
  slot = await bodies.enter(account, { signal: closing.signal, refusal: () => tooBusy({ retryAfterSeconds: 5 }) })
  // The connection may have closed after the slot was given and before this function went on.
  if (closing.signal.aborted) bodies.leave(slot)
}

const hungUp = () => unavailable('The caller has hung up')

/** The size of the body as the request states it. A chunked body does not, so it may have any. */
export const bodyBytes = ({ headers }: Pick<FastifyRequest, 'headers'>): number =>
  Number(headers['content-length'] ?? ('transfer-encoding' in headers ? Number.POSITIVE_INFINITY : 0))
