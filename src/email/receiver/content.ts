/** The contents that are being received, in memory. Their bytes are limited, so that slow clients cannot take the memory of the process. */
import type { SMTPServerDataStream } from 'smtp-server'

const KB = 1_024
const MB = 1_048_576
/** Every connection may have this much, so that answers without attachments are taken even if others send large mails slowly. */
const FREE_BYTES = 256 * KB
const MAX_BYTES = 128 * MB
const MAX_BYTES_PER_ADDRESS = 64 * MB

/** Memory beyond what every connection has. */
export class ContentMemory {
  #taken = 0
  readonly #byAddress = new Map<string, number>()

  /** @returns false if there is no room for the bytes */
  take(address: string, bytes: number): boolean {
    const own = (this.#byAddress.get(address) ?? 0) + bytes
    if (this.#taken + bytes > MAX_BYTES || own > MAX_BYTES_PER_ADDRESS) return false
    this.#taken += bytes
    this.#byAddress.set(address, own)
    return true
  }

  give(address: string, bytes: number): void {
    const left = (this.#byAddress.get(address) ?? 0) - bytes
    this.#taken -= bytes
    if (left > 0) this.#byAddress.set(address, left)
    else this.#byAddress.delete(address)
  }
}

/** A content. The caller releases its memory. */
export class Content {
  readonly #memory: ContentMemory
  readonly #address: string
  #bytes = Buffer.alloc(0)
  #length = 0
  #taken = 0
  /** Why the content was not kept. The rest of it is read nevertheless, because a client hears an answer only at the end. */
  refusal: 'too large' | 'no room' | undefined

  constructor(memory: ContentMemory, address: string) {
    this.#memory = memory
    this.#address = address
  }

  /** @throws Error when the connection ends before the content does */
  async read(stream: SMTPServerDataStream): Promise<void> {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      if (stream.sizeExceeded) this.#refuse('too large')
      else if (!this.refusal) this.#append(chunk)
    }
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  release(): void {
    this.#memory.give(this.#address, this.#taken)
    this.#taken = 0
    this.#bytes = Buffer.alloc(0)
    this.#length = 0
  }

  /** Copies the chunk: kept as they are, chunks of few bytes would take far more memory than their bytes. */
  #append(chunk: Buffer): void {
    const length = this.#length + chunk.length
    if (length > this.#bytes.length && !this.#grow(length)) this.#refuse('no room')
    else this.#length += chunk.copy(this.#bytes, this.#length)
  }

  #grow(length: number): boolean {
    let size = Math.max(this.#bytes.length, 16 * KB)
    while (size < length) size *= 2
    const taken = Math.max(0, size - FREE_BYTES)
    if (!this.#memory.take(this.#address, taken - this.#taken)) return false
    this.#taken = taken
    const grown = Buffer.allocUnsafe(size)
    this.#bytes.copy(grown, 0, 0, this.#length)
    this.#bytes = grown
    return true
  }

  #refuse(reason: 'too large' | 'no room'): void {
    this.refusal = reason
    this.release()
  }
}
