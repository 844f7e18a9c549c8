/** ZIP archives for tests. */
import { crc32 } from 'node:zlib'

const [LOCAL, CENTRAL, END] = [0x04034b50, 0x02014b50, 0x06054b50]
const [LOCAL_BYTES, CENTRAL_BYTES, END_BYTES] = [30, 46, 22]
const UTF8 = 0x0800

export interface ArchiveEntry {
  name: string
  bytes: Buffer
}

/** An archive with these entries, stored without compression. */
export function stored(entries: readonly ArchiveEntry[]): Buffer {
  const [contents, directory]: [Buffer[], Buffer[]] = [[], []]
  let at = 0
  for (const { name, bytes } of entries) {
    const path = Buffer.from(name)
    const sizes = { path, crc: crc32(bytes), size: bytes.length }
    const central = header(CENTRAL, CENTRAL_BYTES, 6, sizes)
    central.writeUInt32LE(at, 42)
    directory.push(central, path)
    contents.push(header(LOCAL, LOCAL_BYTES, 4, sizes), path, bytes)
    at += LOCAL_BYTES + path.length + bytes.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(END_BYTES)
  end.writeUInt32LE(END, 0)
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...contents, central, end])
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
