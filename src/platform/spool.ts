/** Bytes whose number is known only once they have arrived: the first ones are kept in memory, all of them in a temporary file if they are many. */
import type { FileHandle } from 'node:fs/promises'
import { openTemporaryFile, writeAt } from './temporary-files.ts'

export class Spool {
  readonly #dataDir: string
  readonly #inMemory: number
  #chunks: Buffer[] = []
  #file: FileHandle | undefined
  #bytes = 0

  /** @param inMemory the most bytes that are kept in memory */
  constructor(dataDir: string, inMemory: number) {
    this.#dataDir = dataDir
    this.#inMemory = inMemory
  }

  get bytes(): number {
    return this.#bytes
  }

  async add(chunk: Buffer): Promise<void> {
    this.#bytes += chunk.length
    this.#chunks.push(chunk)
    if (!this.#file && this.#bytes <= this.#inMemory) return
    this.#file ??= await openTemporaryFile(this.#dataDir)
    const pending = Buffer.concat(this.#chunks)
    this.#chunks = []
    await writeAt(this.#file, pending, this.#bytes - pending.length)
  }

  /** All bytes, in one buffer. */
  async whole(): Promise<Buffer> {
    if (!this.#file) return Buffer.concat(this.#chunks)
    const whole = Buffer.allocUnsafeSlow(this.#bytes)
    for (let read = 0; read < whole.length; ) {
      const { bytesRead } = await this.#file.read(whole, read, whole.length - read, read)
      if (!bytesRead) throw new Error('The temporary file is shorter than what was written')
      read += bytesRead
    }
    return whole
  }

  /** Gives memory and disk space back. */
  async close(): Promise<void> {
    this.#chunks = []
    const file = this.#file
    this.#file = undefined
    await file?.close()
  }
}
