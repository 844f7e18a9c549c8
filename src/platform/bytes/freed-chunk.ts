/**
 * Frees the memory of a chunk at once. V8 frees the bytes of a buffer only with a garbage collection, and collects the whole heap whenever
 * buffers have added up (docs/decisions/0022-requests-before-uploads.md, 0024-written-pages.md).
 */

/** A smaller chunk may be a part of Node's pool, or belong to a parser that uses it again. */
const LEAST_BYTES = 16_384

/** Frees the chunk if it has at least 16 KB and a buffer of its own. The caller must be the last who uses it: afterwards it is empty. */
export function freeChunk({ byteLength, buffer }: Uint8Array): void {
  if (byteLength >= LEAST_BYTES && byteLength === buffer.byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0)
}
