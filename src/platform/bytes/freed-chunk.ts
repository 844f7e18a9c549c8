/**
 * Frees the memory of a chunk at once. V8 frees the bytes of a buffer only with a garbage collection, and collects the whole heap whenever
 * buffers have added up to 64 MB: during uploads at full speed every half second, with a pause of 10 to 25 ms.
 */

/** A smaller chunk may be a part of Node's pool, or belong to a parser that uses it again. */
const LEAST_BYTES = 16_384

/** Whether these are bytes that `freeChunk` frees: at least 16 KB, with a buffer of their own. */
export const isFreeable = (bytes: Uint8Array | string): bytes is Uint8Array<ArrayBuffer> =>
  typeof bytes !== 'string' &&
  bytes.byteLength >= LEAST_BYTES &&
  bytes.byteLength === bytes.buffer.byteLength &&
  bytes.buffer instanceof ArrayBuffer

/** Frees the chunk if it has a buffer of its own. The caller must be the last who uses it: afterwards it is empty. */
export function freeChunk(chunk: Uint8Array): void {
  if (isFreeable(chunk)) chunk.buffer.transfer(0)
}
