/** The bytes of a file in a folder as a stream. A call that hangs fails the stream, which closes the file once the call has ended. */
import type { FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { FolderCalls } from './folder-calls.ts'

const CHUNK_BYTES = 65_536

export class FolderBytes extends Readable {
  /** The bytes that the file has given. */
  bytesRead = 0
  readonly #file: FileHandle
  readonly #calls: FolderCalls
  #position: number
  readonly #end: number
  /** True while a call uses the file. */
  #isReading = false

  /** @param range both ends included; without it the whole file */
  constructor(
    file: FileHandle,
    calls: FolderCalls,
    { start, end }: { start: number; end: number } = { start: 0, end: Number.POSITIVE_INFINITY },
  ) {
    super({ highWaterMark: CHUNK_BYTES })
    this.#file = file
    this.#calls = calls
    this.#position = start
    this.#end = end
  }

  override _read(): void {
    const size = Math.min(CHUNK_BYTES, this.#end - this.#position + 1)
    if (size <= 0) return void this.push(null)
    this.#isReading = true
    this.#calls
      .run(() => this.#readChunk(size))
      .then(
        (chunk) => this.push(chunk),
        (error) => this.destroy(error),
      )
  }

  async #readChunk(size: number): Promise<Buffer | null> {
    try {
      const { bytesRead, buffer } = await this.#file.read(Buffer.allocUnsafe(size), 0, size, this.#position)
      this.#position += bytesRead
      this.bytesRead += bytesRead
      return bytesRead ? buffer.subarray(0, bytesRead) : null
    } finally {
      this.#isReading = false
    }
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    // `close` of a file waits for a call that uses it, and must not take another thread for that.
    if (this.#isReading) this.#file.close().catch(() => {})
    else this.#calls.later(() => this.#file.close())
    done(error)
  }
}
