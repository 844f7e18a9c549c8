/** Bytes that lie in a file between others, such as an attachment that another process has written. */
import type { FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'

export interface FilePart {
  readonly byteLength: number
  readonly sha256: Buffer<ArrayBuffer>
  /** The first bytes: enough to detect the media type. */
  readonly head: Buffer
  /** Streams the bytes. The file must stay open meanwhile. */
  read(): Readable
}

const CHUNK_BYTES = 256 * 1_024

/** The bytes of the file from this position on, and up to this many. Each chunk has memory of its own. */
export async function* chunksOf(file: FileHandle, position: number, bytes: number): AsyncGenerator<Buffer> {
  for (let done = 0; done < bytes; ) {
    const size = Math.min(CHUNK_BYTES, bytes - done)
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafeSlow(size), 0, size, position + done)
    if (!bytesRead) throw new Error('The file is shorter than what was written')
    done += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** A part of an open file that begins at this position. */
export const filePart = (file: FileHandle, position: number, { byteLength, sha256, head }: Omit<FilePart, 'read'>): FilePart => ({
  byteLength,
  sha256,
  head,
  read: () => Readable.from(chunksOf(file, position, byteLength), { objectMode: false }),
})
