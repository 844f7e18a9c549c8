/** Unpacks a ZIP archive within a limit, and packs the entries again: the workbook library sees only entries that were checked here. */
import { crc32, inflateRawSync } from 'node:zlib'

/** Why an archive is refused. */
export class UnreadableArchive extends Error {}
export class LargeArchive extends Error {}

const END = 0x06054b50
const CENTRAL = 0x02014b50
const LOCAL = 0x04034b50
const END_BYTES = 22
const CENTRAL_BYTES = 46
const LOCAL_BYTES = 30
const MAX_COMMENT = 65_535
const MAX_ENTRIES = 10_000
const STORED = 0
const DEFLATED = 8
const ENCRYPTED = 1
const UTF8 = 0x0800

interface ZipEntry {
  name: string
  method: number
  isEncrypted: boolean
  packed: number
  unpacked: number
  at: number
}

export interface Unpacked {
  name: string
  bytes: Buffer
}

/**
 * Unpacks the entries that are wanted. The sizes in the archive may lie, so the bytes are counted as well.
 * @throws LargeArchive above `maxBytes`, stated for all entries or found in those unpacked; UnreadableArchive
 */
export function unpack(archive: Buffer, isWanted: (name: string) => boolean, maxBytes: number): Unpacked[] {
  const entries = entriesOf(archive)
  if (entries.reduce((sum, { unpacked }) => sum + unpacked, 0) > maxBytes) throw new LargeArchive()
  let left = maxBytes
  return entries
    .filter(({ name }) => isWanted(name))
    .map((entry) => {
      const bytes = contentOf(archive, entry, left)
      left -= bytes.length
      return { name: entry.name, bytes }
    })
}

/** Reads the central directory at the end of the archive. */
function entriesOf(archive: Buffer): ZipEntry[] {
  const end = endOf(archive)
  const count = archive.readUInt16LE(end + 10)
  if (count > MAX_ENTRIES) throw new UnreadableArchive('has too many entries')
  const entries: ZipEntry[] = []
  let at = archive.readUInt32LE(end + 16)
  for (let index = 0; index < count; index++) {
    if (at + CENTRAL_BYTES > end || archive.readUInt32LE(at) !== CENTRAL) throw damaged()
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((offset) => archive.readUInt16LE(at + offset)) as [
      number,
      number,
      number,
    ]
    entries.push({
      name: archive.toString('utf8', at + CENTRAL_BYTES, at + CENTRAL_BYTES + nameBytes).replaceAll('\\', '/'),
      isEncrypted: (archive.readUInt16LE(at + 8) & ENCRYPTED) !== 0,
      method: archive.readUInt16LE(at + 10),
      packed: archive.readUInt32LE(at + 20),
      unpacked: archive.readUInt32LE(at + 24),
      at: archive.readUInt32LE(at + 42),
    })
    at += CENTRAL_BYTES + nameBytes + extraBytes + commentBytes
  }
  return entries
}

function endOf(archive: Buffer): number {
  for (let at = archive.length - END_BYTES; at >= Math.max(0, archive.length - END_BYTES - MAX_COMMENT); at--) {
    if (archive.readUInt32LE(at) === END) return at
  }
  throw damaged()
}

function contentOf(archive: Buffer, { method, isEncrypted, packed, at }: ZipEntry, maxBytes: number): Buffer {
  if (isEncrypted) throw new UnreadableArchive('is encrypted')
  if (at + LOCAL_BYTES > archive.length || archive.readUInt32LE(at) !== LOCAL) throw damaged()
  const from = at + LOCAL_BYTES + archive.readUInt16LE(at + 26) + archive.readUInt16LE(at + 28)
  if (from + packed > archive.length) throw damaged()
  const content = archive.subarray(from, from + packed)
  if (method === DEFLATED) return inflated(content, maxBytes)
  if (method !== STORED) throw new UnreadableArchive('is packed by a method that is not supported')
  if (content.length > maxBytes) throw new LargeArchive()
  return content
}

function inflated(content: Buffer, maxBytes: number): Buffer {
  try {
    // Zlib takes 0 for no limit.
    return inflateRawSync(content, { maxOutputLength: Math.max(1, maxBytes) })
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? new LargeArchive() : damaged()
  }
}

const damaged = () => new UnreadableArchive('is damaged')

/** The pieces of an archive with these entries and no others, stored without compression. */
export function* stored(entries: readonly Unpacked[]): Generator<Buffer> {
  const directory: Buffer[] = []
  let at = 0
  for (const { name, bytes } of entries) {
    const path = Buffer.from(name)
    const sizes = { path, crc: crc32(bytes), size: bytes.length }
    const local = header(LOCAL, LOCAL_BYTES, 4, sizes)
    const central = header(CENTRAL, CENTRAL_BYTES, 6, sizes)
    central.writeUInt32LE(at, 42)
    directory.push(central, path)
    yield Buffer.concat([local, path])
    yield bytes
    at += LOCAL_BYTES + path.length + bytes.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(END_BYTES)
  end.writeUInt32LE(END, 0)
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(at, 16)
  yield Buffer.concat([central, end])
}

/** @param fields where the fields begin that both headers have: version, flags, method, time, date, checksum, sizes, length of the name */
function header(
  signature: number,
  bytes: number,
  fields: number,
  { path, crc, size }: { path: Buffer; crc: number; size: number },
): Buffer {
  const made = Buffer.alloc(bytes)
  made.writeUInt32LE(signature, 0)
  made.writeUInt16LE(20, fields)
  made.writeUInt16LE(UTF8, fields + 2)
  made.writeUInt32LE(crc, fields + 10)
  made.writeUInt32LE(size, fields + 14)
  made.writeUInt32LE(size, fields + 18)
  made.writeUInt16LE(path.length, fields + 22)
  return made
}
