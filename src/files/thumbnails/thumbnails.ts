/**
 * Thumbnails of stored images. The first request of a width makes the thumbnail, and keeps it beside the file. Images are decoded
 * in processes of their own. An account uses at most one of these at a time, so its large or hostile images delay only its own thumbnails.
 */
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { BoundedMap } from '../../platform/collections/bounded-map.ts'
import { accountName } from '../../platform/concurrency/current-account.ts'
import { FairQueue } from '../../platform/concurrency/fair-queue.ts'
import type { Deps } from '../../platform/context.ts'
import { AppError, tooBusy, unavailable } from '../../platform/errors.ts'
import { openWorkProcess, WorkRefused } from '../../platform/processes/work-process.ts'
import type { Storage } from '../../platform/storage/storage.ts'
import { DETECTION_BYTES, detectType, UNKNOWN_TYPE } from '../media-types.ts'
import { thumbnailSeconds, thumbnails } from '../metrics.ts'
import type { ReadableFile } from '../queries.ts'
import { open } from '../reading.ts'
import { SharedWork } from './shared-work.ts'
import { type ThumbnailWidth, thumbnailKey } from './thumbnail-keys.ts'
import type { ThumbnailWork } from './thumbnail-process.ts'

/** The caller who asks for a thumbnail. */
interface Asking {
  accountId: number
  /** Aborts when the caller hangs up. */
  signal: AbortSignal
}

export interface Thumbnails {
  /**
   * The thumbnail of the file, as WebP: as wide as asked, or as the image if that is narrower.
   * @throws AppError 415 if the file has none; 404 if its bytes have just been deleted; 503 if the storage is away or too many wait
   */
  read(file: ReadableFile, width: ThumbnailWidth, asking: Asking): Promise<Buffer>
  close(): void
}

export interface ThumbnailLimits {
  /** The process is killed when an image takes longer. An interlaced PNG of 50 megapixels takes 5 seconds, an AVIF 7. */
  decodeMs: number
  /** How long the bytes of a file may take to arrive from the storage. */
  bytesMs: number
  /** The time without work after which a process is ended. */
  idleMs: number
}

const LIMITS: ThumbnailLimits = { decodeMs: 20_000, bytesMs: 30_000, idleMs: 10_000 }

const PROCESSES = 2
/** The other process is left for all other accounts. */
const PROCESSES_OF_ACCOUNT = 1
/** The most requests that wait, because a gallery may ask for all its thumbnails at once. */
const MOST_WAITING = 200
const WAIT_MS = 30_000
/** A process that holds more memory than this after an image is ended. One that decodes photos holds about 100 MB. */
const KEPT_MB = 256
const KNOWN_REFUSALS = 10_000
/** How long a refusal is remembered. A decoder that took too long may succeed on a less busy machine. */
const REFUSED_MS = 600_000

/** The types that the process has decoders for. HEIC is not among them, because its codec has patents. */
const DECODED = new Set(['image/jpeg', 'image/png', 'image/apng', 'image/webp', 'image/gif', 'image/avif'])
export function openThumbnails({ storage, metrics, log }: Pick<Deps, 'storage' | 'metrics' | 'log'>, limits = LIMITS): Thumbnails {
  const module = new URL('./thumbnail-process.ts', import.meta.url)
  const options = { module, timeoutMs: limits.decodeMs, maxHeapMb: 128, idleMs: limits.idleMs, keptMb: KEPT_MB }
  const workers = Array.from({ length: PROCESSES }, () => openWorkProcess<ThumbnailWork, Uint8Array>(options))
  const free = [...workers]
  const queue = new FairQueue({ slots: PROCESSES, slotsOfAccount: PROCESSES_OF_ACCOUNT, mostWaiting: MOST_WAITING, waitMs: WAIT_MS })
  const underway = new SharedWork<Buffer>()
  /** The keys of thumbnails that could not be made, each with the time until which it is refused without another attempt. */
  const refusedUntil = new BoundedMap<string, number>(KNOWN_REFUSALS)

  function refuse(file: ReadableFile, width: ThumbnailWidth, cause?: Error): AppError {
    refusedUntil.set(thumbnailKey(file.path, width), performance.now() + REFUSED_MS)
    metrics.count(thumbnails, { outcome: 'refused' })
    return noThumbnail(file, cause)
  }

  async function readOrMake(file: ReadableFile, width: ThumbnailWidth, asking: Asking): Promise<Buffer> {
    if (file.detected_type !== null) requireDecoder(file, width, file.detected_type)
    const key = thumbnailKey(file.path, width)
    const kept = await storage.read(key)
    if (kept) return buffer(bytesIn(kept, limits.bytesMs))
    if (file.detected_type === null) requireDecoder(file, width, await detectType(await firstBytes(file)))
    const made = await queue.run(accountName(asking.accountId), () => make(file, width), {
      refusal: () => tooBusy({ retryAfterSeconds: 5 }),
      signal: asking.signal,
    })
    // The caller gets the thumbnail even if it cannot be stored. The storage logs the reason.
    await storage.write(key, made).catch(() => log.warn('a thumbnail is not kept'))
    return made
  }

  function requireDecoder(file: ReadableFile, width: ThumbnailWidth, type: string): void {
    if (!DECODED.has(type)) throw refuse(file, width)
  }

  /** Reads the first bytes of a file that an earlier release stored without detecting its type. */
  async function firstBytes(file: ReadableFile): Promise<Buffer> {
    if (!file.size) return Buffer.alloc(0)
    const range = { start: 0, end: Math.min(file.size, DETECTION_BYTES) - 1 }
    return buffer(bytesIn(await open(storage, file, range), limits.bytesMs))
  }

  async function make(file: ReadableFile, width: ThumbnailWidth): Promise<Buffer> {
    // The process that was used last is used next, so that the idle one can end.
    const worker = free.pop() as (typeof free)[number]
    const since = performance.now()
    try {
      const bytes = bytesOf(storage, file, limits.bytesMs)
      const webp = await worker.run({ width }, { bytes })
      metrics.count(thumbnails, { outcome: 'made' })
      return Buffer.from(webp)
    } catch (error) {
      if (error instanceof AppError) throw error
      log.info({ err: error, size: file.size }, 'no thumbnail')
      if (error instanceof WorkRefused) throw refuse(file, width, error)
      throw unavailable('Thumbnails cannot be made at the moment', 5, error)
    } finally {
      metrics.observe(thumbnailSeconds, (performance.now() - since) / 1000)
      free.push(worker)
    }
  }

  return {
    async read(file, width, asking) {
      const key = thumbnailKey(file.path, width)
      if (performance.now() < (refusedUntil.get(key) ?? 0)) throw noThumbnail(file)
      return underway.run(key, asking.signal, (signal) => readOrMake(file, width, { ...asking, signal }))
    },
    close() {
      for (const worker of workers) worker.stop()
    },
  }
}

function noThumbnail({ type, detected_type }: ReadableFile, cause?: Error): AppError {
  const known = detected_type === null || detected_type === UNKNOWN_TYPE ? type : detected_type
  return new AppError('UNSUPPORTED_MEDIA_TYPE', `No thumbnail of ${known}`, { cause })
}

/** All bytes of the file, read when they are asked for. */
async function* bytesOf(storage: Storage, file: ReadableFile, limitMs: number): AsyncGenerator<Buffer> {
  let size = 0
  for await (const chunk of bytesIn(await open(storage, file, undefined), limitMs)) {
    size += chunk.length
    yield chunk
  }
  // If bytes were lost on the way, the image itself may have a thumbnail, so it is not refused.
  if (size !== file.size) throw storageAway(new Error(`${size} bytes of ${file.size} came from the storage`))
}

/** @throws AppError 503 if the storage fails meanwhile, or takes too long */
async function* bytesIn(source: Readable, limitMs: number): AsyncGenerator<Buffer> {
  const timer = setTimeout(() => source.destroy(new Error(`The bytes took longer than ${limitMs} ms`)), limitMs)
  try {
    yield* source
  } catch (error) {
    throw storageAway(error)
  } finally {
    clearTimeout(timer)
    source.destroy()
  }
}

const storageAway = (cause: unknown) => unavailable('The file storage is not available', 5, cause)
