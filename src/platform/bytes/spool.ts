/** Holds bytes of unknown number while they arrive: at most SPOOLED_BYTES in memory, and the others in a temporary file. */
import type { FileHandle } from 'node:fs/promises'
import { openTemporaryFile, writeAt } from './temporary-files.ts'

const KB = 1_024
/** The most bytes that a spool keeps in memory. */
export const SPOOLED_BYTES = 64 * KB
const PIECE_BYTES = 256 * KB
/** Every spool may keep this many bytes in memory, whatever the others hold. */
const FREE_BYTES = 4 * KB

/** Limits the memory of all spools of a kind together, and of those of one address. Bytes without room go to temporary files. */
export class SpoolMemory {
  readonly #bytes: number
  readonly #bytesPerAddress: number
  #taken = 0
  readonly #byAddress = new Map<string, number>()

  constructor(bytes: number, bytesPerAddress: number) {
    this.#bytes = bytes
    this.#bytesPerAddress = bytesPerAddress
  }

  /** @returns false if there is no room for the bytes */
  take(address: string, bytes: number): boolean {
    const own = (this.#byAddress.get(address) ?? 0) + bytes
    if (this.#taken + bytes > this.#bytes || own > this.#bytesPerAddress) return false
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

export class Spool {
  readonly #dataDir: string
  readonly #memory: SpoolMemory
  readonly #address: string
  /** The bytes that are not in the file: the last ones, or all of them if there is no file. */
  #buffer: Buffer = Buffer.alloc(0)
  #buffered = 0
  #taken = 0
  #file: FileHandle | undefined
  #inFile = 0

  constructor(dataDir: string, memory: SpoolMemory, address: string) {
    this.#dataDir = dataDir
    this.#memory = memory
    this.#address = address
  }

  get bytes(): number {
    return this.#inFile + this.#buffered
  }

  /** Copies the chunk into one buffer: a list of chunks of a byte or two would take a hundred times the memory of their bytes. */
  async add(chunk: Buffer): Promise<void> {
    for (let done = 0; done < chunk.length; ) {
      if (this.#buffered === this.#buffer.length && !this.#grow(this.#buffered + chunk.length - done)) await this.#flush()
      const copied = chunk.copy(this.#buffer, this.#buffered, done)
      this.#buffered += copied
      done += copied
    }
  }

  /** All bytes, in one buffer. */
  whole(): Promise<Buffer> {
    return this.start(this.bytes)
  }

  /** The first bytes, at most this many, in one buffer. */
  async start(bytes: number): Promise<Buffer> {
    const start = Buffer.allocUnsafeSlow(Math.min(bytes, this.bytes))
    for (let at = 0; at < start.length; ) at += await this.#read(start, at, at)
    return start
  }

  /** All bytes from the first. A piece is overwritten as soon as the next one is asked for. */
  async *pieces(): AsyncGenerator<Buffer> {
    const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, this.bytes))
    for (let at = 0; at < this.bytes; ) {
      const read = await this.#read(piece, 0, at)
      at += read
      yield piece.subarray(0, read)
    }
  }

  /** Moves the bytes that are in memory to the file. @returns the descriptor of the file, which has them all until `close` */
  async file(): Promise<number> {
    await this.#flush()
    return (this.#file as FileHandle).fd
  }

  /** Copies bytes from this position on into the target. @returns how many */
  async #read(target: Buffer, at: number, position: number): Promise<number> {
    if (!this.#file || position >= this.#inFile) return this.#buffer.copy(target, at, position - this.#inFile, this.#buffered)
    const { bytesRead } = await this.#file.read(target, at, Math.min(target.length - at, this.#inFile - position), position)
    if (!bytesRead) throw new Error('The temporary file is shorter than what was written')
    return bytesRead
  }

  /** Gives memory and disk space back. */
  async close(): Promise<void> {
    this.#memory.give(this.#address, this.#taken)
    this.#taken = 0
    this.#buffer = Buffer.alloc(0)
    this.#buffered = 0
    const file = this.#file
    this.#file = undefined
    await file?.close()
  }

  /** Enlarges the buffer for this many bytes, or up to the limit. @returns false if no byte more is allowed */
  #grow(wanted: number): boolean {
    let size = Math.max(this.#buffer.length, FREE_BYTES)
    while (size < wanted && size < SPOOLED_BYTES) size *= 2
    const taken = size - FREE_BYTES
    if (size > this.#buffer.length && this.#memory.take(this.#address, taken - this.#taken)) this.#taken = taken
    else if (this.#buffer.length) return false
    else size = FREE_BYTES
    const grown = Buffer.allocUnsafeSlow(size)
    this.#buffer.copy(grown, 0, 0, this.#buffered)
    this.#buffer = grown
    return true
  }

  async #flush(): Promise<void> {
    this.#file ??= await openTemporaryFile(this.#dataDir)
    this.#inFile += await writeAt(this.#file, this.#buffer.subarray(0, this.#buffered), this.#inFile)
    this.#buffered = 0
  }
}
