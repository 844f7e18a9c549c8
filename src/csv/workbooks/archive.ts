/** The entries of a ZIP archive, read within a limit on what they hold. */
import type { Readable } from 'node:stream'
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl'

/** Why an archive is refused. */
export class UnreadableArchive extends Error {}
export class LargeArchive extends Error {}

const MAX_ENTRIES = 10_000
const [STORED, DEFLATED] = [0, 8]

/** Names of entries are compared without case, as those of the parts of an office file are (ECMA-376 part 2, 6.2.2.3). */
const keyOf = (name: string) => name.replaceAll('\\', '/').replace(/^\//, '').toLowerCase()

export class Archive {
  readonly #zip: ZipFile
  readonly #entries: ReadonlyMap<string, Entry>
  #left: number

  private constructor(zip: ZipFile, entries: ReadonlyMap<string, Entry>, maxBytes: number) {
    this.#zip = zip
    this.#entries = entries
    this.#left = maxBytes
  }

  /** @throws LargeArchive if the entries say that they hold more than `maxBytes`; UnreadableArchive */
  static async open(bytes: Buffer, maxBytes: number): Promise<Archive> {
    try {
      // The sizes in an archive may lie, and some writers state none: the bytes are counted while they are read.
      const zip = await fromBufferPromise(bytes, { decodeStrings: false, validateEntrySizes: false })
      if (zip.entryCount > MAX_ENTRIES) throw new UnreadableArchive('has too many entries')
      const entries = new Map<string, Entry>()
      let stated = 0
      for await (const entry of zip.eachEntry()) {
        stated += entry.uncompressedSize
        entries.set(keyOf(entry.fileNameRaw.toString()), entry)
      }
      if (stated > maxBytes) throw new LargeArchive()
      return new Archive(zip, entries, maxBytes)
    } catch (error) {
      throw refusal(error)
    }
  }

  has(name: string): boolean {
    return this.#entries.has(keyOf(name))
  }

  /** Yields the content of an entry. @throws LargeArchive once all that was read exceeds the limit; UnreadableArchive */
  async *read(name: string): AsyncGenerator<Buffer> {
    const entry = this.#entries.get(keyOf(name))
    if (!entry) throw new UnreadableArchive(`has no ${name}`)
    if (entry.isEncrypted()) throw new UnreadableArchive('is encrypted')
    if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED)
      throw new UnreadableArchive('is packed by a method that is not supported')
    let content: Readable | undefined
    try {
      content = await this.#zip.openReadStreamPromise(entry)
      for await (const chunk of content as AsyncIterable<Buffer>) {
        this.#left -= chunk.length
        if (this.#left < 0) throw new LargeArchive()
        yield chunk
      }
    } catch (error) {
      throw refusal(error)
    } finally {
      content?.destroy()
    }
  }
}

const refusal = (error: unknown): Error =>
  error instanceof LargeArchive || error instanceof UnreadableArchive ? error : new UnreadableArchive('is damaged', { cause: error })
