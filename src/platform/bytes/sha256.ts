import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'

const PIECE_BYTES = 1_048_576

/** The SHA-256 of the parts together. Between pieces other requests are answered, because 25 MB take 50 ms or more. */
export async function sha256(...parts: readonly Uint8Array[]): Promise<Buffer<ArrayBuffer>> {
  const hash = createHash('sha256')
  for (const part of parts)
    for (let offset = 0; offset < part.byteLength; offset += PIECE_BYTES) {
      if (offset) await setImmediate()
      hash.update(part.subarray(offset, offset + PIECE_BYTES))
    }
  return hash.digest()
}
