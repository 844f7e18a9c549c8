/** Reads stored bytes to compare them with what a row says. */
import { createHash } from 'node:crypto'
import type { Storage } from '../platform/storage/storage.ts'
import { DETECTION_BYTES } from './media-types.ts'

export interface Digest {
  size: number
  sha256: Buffer<ArrayBuffer>
  /** The first bytes, enough to detect the media type. */
  head: Buffer
}

/** The digest of the bytes under the path; null if there are none. */
export async function digest(storage: Pick<Storage, 'read'>, path: string): Promise<Digest | null> {
  const bytes = await storage.read(path)
  if (!bytes) return null
  const hash = createHash('sha256')
  let [size, head] = [0, Buffer.alloc(0)]
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    hash.update(chunk)
    size += chunk.length
    if (head.length < DETECTION_BYTES) head = Buffer.concat([head, chunk.subarray(0, DETECTION_BYTES - head.length)])
  }
  return { size, sha256: hash.digest(), head }
}
