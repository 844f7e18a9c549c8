/** The contents that are being received, in temporary files. Their bytes are limited, so that slow clients cannot fill the disk. */
import { createHash } from 'node:crypto'
import type { SMTPServerDataStream } from 'smtp-server'
import { Spool, SpoolMemory } from '../../platform/bytes/spool.ts'
import { chunkTurn } from '../../platform/concurrency/loop-turns.ts'

const KB = 1_024
const MB = 1_048_576
/** Every connection may have this much, so that answers without attachments are taken even if others send large mails slowly. */
const FREE_BYTES = 256 * KB

/** What all contents may take together, and those of one address. */
export class ContentLimits {
  readonly memory = new SpoolMemory(32 * MB, 8 * MB)
  readonly bytes = new SpoolMemory(1_024 * MB, 512 * MB)
}

/** A content. The caller releases it. */
export class Content {
  /** Its bytes. */
  readonly spool: Spool
  readonly #limits: ContentLimits
  readonly #address: string
  readonly #hash = createHash('sha256')
  #taken = 0
  /** Why the content was not kept. The rest of it is read nevertheless, because a client hears an answer only at the end. */
  refusal: 'too large' | 'no room' | undefined

  /** @param hashed lines that are hashed before the bytes */
  constructor(limits: ContentLimits, { dataDir, address, hashed }: { dataDir: string; address: string; hashed: string }) {
    this.spool = new Spool(dataDir, limits.memory, address)
    this.#limits = limits
    this.#address = address
    this.#hash.update(hashed)
  }

  /** @throws Error when the connection ends before the content does */
  async read(stream: SMTPServerDataStream): Promise<void> {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      if (stream.sizeExceeded) await this.#refuse('too large')
      else if (!this.refusal) await this.#append(chunk)
    }
  }

  /** The SHA-256 of the lines and of all bytes. */
  sha256(): Buffer {
    return this.#hash.digest()
  }

  async release(): Promise<void> {
    this.#limits.bytes.give(this.#address, this.#taken)
    this.#taken = 0
    await this.spool.close()
  }

  async #append(chunk: Buffer): Promise<void> {
    const taken = Math.max(0, this.spool.bytes + chunk.length - FREE_BYTES)
    if (!this.#limits.bytes.take(this.#address, taken - this.#taken)) return this.#refuse('no room')
    this.#taken = taken
    if (taken) await chunkTurn()
    this.#hash.update(chunk)
    await this.spool.add(chunk)
  }

  async #refuse(reason: 'too large' | 'no room'): Promise<void> {
    this.refusal = reason
    await this.release()
  }
}
