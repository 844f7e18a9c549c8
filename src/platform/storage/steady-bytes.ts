/** Reads bytes of a storage on another machine, and fails if they stop or trickle half-way. */
import { once } from 'node:events'
import { type Readable, Transform, type TransformCallback } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** A storage that sends fewer bytes than this, while its reader waits for them, has failed. */
const LEAST_BYTES_PER_SECOND = 1_024

/**
 * Passes the bytes on. The stream fails if the source sends fewer than LEAST_BYTES_PER_SECOND during `limitMs`. Time in which the reader
 * leaves bytes unread does not count.
 */
export class SteadyBytes extends Transform {
  /** The bytes that the source has sent. */
  bytesRead = 0
  readonly #limitMs: number
  readonly #timer: NodeJS.Timeout
  /** The bytes since the last check. */
  #recent = 0
  #hasWaited = false

  constructor(limitMs: number) {
    super()
    this.#limitMs = limitMs
    this.#timer = setInterval(() => this.#look(), limitMs).unref()
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    this.bytesRead += chunk.length
    this.#recent += chunk.length
    // The buffer is full, so the stream waits for its reader.
    if (!this.push(chunk)) this.#hasWaited = true
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearInterval(this.#timer)
    super._destroy(error, done)
  }

  #look(): void {
    const isSteady = this.#hasWaited || this.readableLength > 0 || this.#recent >= (LEAST_BYTES_PER_SECOND * this.#limitMs) / 1_000
    this.#recent = 0
    this.#hasWaited = false
    if (!isSteady) this.destroy(new Error(`The file storage has sent next to nothing for ${this.#limitMs} ms`))
  }
}

/**
 * @returns the bytes of the source, as soon as the first of them have arrived
 * @throws what the source throws until then, or an error after `limitMs` without any
 */
export async function steadyBytes(source: Readable, limitMs: number): Promise<SteadyBytes> {
  const bytes = new SteadyBytes(limitMs)
  const first = once(bytes, 'readable')
  // A failure reaches the reader as the error of `bytes`.
  pipeline(source, bytes).catch(() => {})
  await first
  return bytes
}
