/** The bytes of a file in a folder as streams, from it and to it. A call that hangs fails the stream. */
import type { FileHandle } from 'node:fs/promises'
import { Readable, Writable } from 'node:stream'
import { freeChunk } from '../bytes/freed-chunk.ts'
import type { FolderCalls } from './folder-calls.ts'

/** The bytes of the first call to read, and of each call for a slow reader, who keeps two chunks in memory for a long time. */
const CHUNK_BYTES = 65_536
/** A reader who takes each chunk within this time gets twice as many bytes with the next one, up to a limit: each call has its cost. */
const QUICK_MS = 20
const LARGEST_CHUNK_BYTES = 524_288
/** After a call that gave fewer bytes than asked, the next one probably finds the end of the file. */
const LAST_CHUNK_BYTES = 4_096

/** Reads the file. It is closed once no call uses it any more. */
export class FolderBytes extends Readable {
  /** The bytes that the file has given. */
  bytesRead = 0
  readonly #file: FileHandle
  readonly #calls: FolderCalls
  #position: number
  readonly #end: number
  /** True while a call uses the file. */
  #isReading = false
  /** The bytes that the next call asks for, unless the reader is slow. */
  #chunkBytes = CHUNK_BYTES
  #pushedAt = performance.now()

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
    const isQuick = performance.now() - this.#pushedAt < QUICK_MS
    const size = Math.min(isQuick ? this.#chunkBytes : Math.min(this.#chunkBytes, CHUNK_BYTES), this.#end - this.#position + 1)
    if (size <= 0) return void this.push(null)
    this.#isReading = true
    this.#calls
      .run(() => this.#readChunk(size))
      .then(
        (chunk) => {
          this.#chunkBytes = chunk?.length === size ? Math.min(size * 2, LARGEST_CHUNK_BYTES) : LAST_CHUNK_BYTES
          this.#pushedAt = performance.now()
          this.push(chunk)
        },
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

/** The bytes of one call to write: more would take too long on a slow server. */
const PIECE_BYTES = 1_048_576
/** This many bytes may wait while a call writes, so that the caller's connection is read and hashed meanwhile. */
const WAITING_BYTES = 262_144

/**
 * A stream that writes to the file, and leaves it open.
 * @param isOwned true if nobody else uses the chunks, whose memory is then freed as soon as they are written
 */
export function bytesTo(file: FileHandle, calls: FolderCalls, isOwned: boolean): Writable {
  const write = (chunks: Uint8Array[], done: (error?: Error | null) => void) => {
    const written = () => {
      if (isOwned) chunks.forEach(freeChunk)
      done()
    }
    writeAll(file, calls, chunks).then(written, done)
  }
  return new Writable({
    highWaterMark: WAITING_BYTES,
    write: (chunk: Uint8Array, _, done) => write([chunk], done),
    writev: (waiting, done) =>
      write(
        waiting.map(({ chunk }) => chunk),
        done,
      ),
  })
}

async function writeAll(file: FileHandle, calls: FolderCalls, chunks: Uint8Array[]): Promise<void> {
  let rest = chunks
  while (rest.length) {
    const { bytesWritten } = await calls.run(() => file.writev(rest))
    rest = after(rest, bytesWritten)
  }
}

/** The chunks without their first bytes, which have been written. */
function after(chunks: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let written = bytes
  const rest: Uint8Array[] = []
  for (const chunk of chunks) {
    if (written < chunk.length) rest.push(chunk.subarray(written))
    written = Math.max(0, written - chunk.length)
  }
  return rest
}

/** The bytes in pieces that one call writes. A stream is destroyed if the reader stops early, but never with the error of its reader. */
export async function* piecesOf(bytes: Uint8Array | Readable): AsyncGenerator<Uint8Array> {
  if (bytes instanceof Readable) yield* bytes
  else for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
}
