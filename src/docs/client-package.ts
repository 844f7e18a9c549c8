/** The package of the typed client, as npm installs it: what `npm run build:client` wrote, in a compressed tar archive (POSIX.1, ustar). */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

const BUILT = fileURLToPath(new URL('../../generated/client/', import.meta.url))

export interface ClientPackage {
  bytes: Buffer
  /** Such as `gridpost-client-0.1.0.tgz`. */
  fileName: string
  etag: string
}

/** The same bytes in every process of a release, because lock files have their hash. @throws Error if the package was not built */
export async function packClient(): Promise<ClientPackage> {
  const entries = await readdir(BUILT, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name).slice(BUILT.length))
  const files = await Promise.all(paths.sort().map(async (path) => ({ path, content: await readFile(BUILT + path) })))
  const { name, version, bin } = JSON.parse(String(files.find(({ path }) => path === 'package.json')?.content)) as Manifest
  const programs = Object.values(bin)
  const blocks = files.flatMap(({ path, content }) => {
    const inPackage = path.replaceAll(sep, '/')
    return entryOf(`package/${inPackage}`, content, programs.includes(inPackage) ? 0o755 : 0o644)
  })
  const bytes = await promisify(gzip)(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { level: 9 })
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  return { bytes, fileName: `${name}-${version}.tgz`, etag }
}

interface Manifest {
  name: string
  version: string
  bin: Record<string, string>
}

const BLOCK = 512
/** The second that npm gives to all files of a package, so that its bytes do not depend on the clock. */
const MODIFIED = Date.UTC(1985, 9, 26, 8, 15) / 1000

/** A file in the archive: its header and its content, each filled up to whole blocks. */
function entryOf(path: string, content: Buffer, mode: number): Buffer[] {
  if (Buffer.byteLength(path) > 100) throw new Error(`${path} has more than the 100 bytes that a name in the archive may have`)
  const header = Buffer.alloc(BLOCK)
  const octal = (value: number, offset: number, length: number) => header.write(value.toString(8).padStart(length - 1, '0'), offset)
  header.write(path, 0)
  octal(mode, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(content.length, 124, 12)
  octal(MODIFIED, 136, 12)
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  // The sum counts its own field as blanks.
  header.fill(' ', 148, 156)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\x00 `, 148)
  return [header, content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)]
}
