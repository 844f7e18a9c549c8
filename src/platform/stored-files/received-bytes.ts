/** Bytes that are received to storage before anything is written to the database: a transaction never waits for a slow client. */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { chunkTurn } from '../concurrency/loop-turns.ts'
import type { Storage } from '../storage/storage.ts'
import { newPath, STAGED_PREFIX } from './paths.ts'

/** How many of the first bytes are kept: enough to detect the media type. */
const HEAD_BYTES = 4_100

/**
 * Bytes in storage that no row names yet, under a temporary path: it must be moved or kept before a row names it. A job deletes them a day
 * later, unless a row has taken them.
 */
export class ReceivedBytes {
  /** Their path in storage. */
  readonly key: string
  readonly size: number
  readonly sha256: Buffer<ArrayBuffer>
  /** The first bytes. */
  readonly head: Buffer
  /** True as soon as a row may name the bytes. It stays true after a failed commit, which may have succeeded in the database. */
  isTaken = false
  #isKept = false

  constructor({ key, size, sha256, head }: { key: string; size: number; sha256: Buffer<ArrayBuffer>; head: Buffer }) {
    this.key = key
    this.size = size
    this.sha256 = sha256
    this.head = head
  }

  /** Makes their path durable. A folder that hangs takes long, so this is called before a transaction begins. */
  async keep(storage: Pick<Storage, 'keep'>): Promise<void> {
    if (!this.#isKept) await storage.keep(this.key)
    this.#isKept = true
  }
}

interface ReceiveOptions {
  /** The name of the file, or '' if it is not known yet. It becomes part of the key, for people who look into the storage. */
  name: string
  maxBytes: number
  /** Makes the error for a source of more than `maxBytes`. */
  tooLarge: () => Error
}

/**
 * Writes the bytes to storage while they arrive. Nothing stays there if the source fails.
 * @throws what the source throws, `tooLarge()` at the first byte over the limit, and what the storage throws
 */
export async function receiveBytes(
  storage: Pick<Storage, 'write'>,
  source: AsyncIterable<Uint8Array>,
  { name, maxBytes, tooLarge }: ReceiveOptions,
): Promise<ReceivedBytes> {
  const key = newPath(STAGED_PREFIX, name)
  const hash = createHash('sha256')
  let [size, head] = [0, Buffer.alloc(0)]
  async function* measured(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      await chunkTurn()
      size += chunk.byteLength
      if (size > maxBytes) throw tooLarge()
      hash.update(chunk)
      if (head.length < HEAD_BYTES) head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES - head.length)])
      // A byte stream would end at an empty chunk.
      if (chunk.byteLength) yield chunk
    }
  }
  await storage.write(key, Readable.from(measured(), { objectMode: false }), { isTemporary: true })
  return new ReceivedBytes({ key, size, sha256: hash.digest(), head })
}
