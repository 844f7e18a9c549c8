/**
 * Gives the memory of a chunk back at once. V8 frees the bytes of a buffer only with a garbage collection, and starts one of the whole heap whenever
 * 64 MB of them have come together: with uploads at full speed every half second, each for 10 to 25 ms.
 */

/** A smaller chunk may be a part of Node's pool, or belong to a parser that uses it again. */
const LEAST_BYTES = 16_384

/** Frees the chunk if it has a buffer of its own. The caller must be the last who uses it: afterwards it is empty. */
export function freeChunk({ buffer, byteLength }: Uint8Array): void {
  if (byteLength >= LEAST_BYTES && byteLength === buffer.byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0)
}
