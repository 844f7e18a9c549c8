/** A ZIP archive that is written while it is read: its memory does not grow with its entries, and a slow reader slows their sources. */
import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { ZipFile } from 'yazl'

export interface ZipEntry {
  /** The path in the archive. Entries have different ones. */
  name: string
  bytes: Readable
  /** False for bytes that cannot be made shorter. */
  isCompressed: boolean
  /** When the file was last changed. */
  at: Date
}

/**
 * Returns the archive of the entries, which are asked for one after the other. If one of them fails, or their iterator does, the stream
 * fails with the same error; if the stream is destroyed, so is the entry that is being read.
 */
export async function zipStream(entries: AsyncIterable<ZipEntry>): Promise<Readable> {
  // Loaded for the first archive, because no start needs it.
  const yazl = await import('yazl')
  const zip = new yazl.ZipFile()
  const archive = zip.outputStream as Readable
  const write = async () => {
    for await (const entry of entries) {
      await writeEntry(zip, archive, entry)
      if (archive.destroyed) return
    }
    zip.end()
  }
  write().catch((error: unknown) => archive.destroy(error as Error))
  return archive
}

async function writeEntry(zip: ZipFile, archive: Readable, { name, bytes, isCompressed, at }: ZipEntry): Promise<void> {
  const stop = () => bytes.destroy()
  archive.once('close', stop)
  try {
    zip.addReadStream(bytes, name, { mtime: at, compress: isCompressed })
    await finished(bytes)
  } finally {
    archive.off('close', stop)
    bytes.destroy()
  }
}
