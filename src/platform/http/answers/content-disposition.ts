/** The header that names a file: in a response, and in a request that uploads one. */
import { decodeExtended, encodeExtended, parse } from 'content-disposition'
import { badInput } from '../../errors.ts'
import { withoutUnseen } from '../../unseen-characters.ts'

/**
 * The header Content-Disposition (RFC 6266), with an ASCII name for old clients and the real one for all others.
 * @param name of the file. Any characters are safe: they are encoded, so the name cannot end the header or contain a folder
 */
export function disposition(kind: 'inline' | 'attachment', name: string): string {
  const seen = withoutUnseen(name)
  const plain = seen.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_')
  return `${kind}; filename="${plain}"; filename*=${encodeExtended(seen)}`
}

/** The parser leaves out a name that is not closed, such as `filename="a`. */
const NAMES_A_FILE = /^[^;]*;.*filename\*?\s*=/is

/**
 * The file name of a header Content-Disposition (RFC 6266): `filename*`, else `filename`, whose bytes may be UTF-8; undefined without one.
 * @throws AppError 400 for a header whose name cannot be read
 */
export function namedFile(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const { filename, 'filename*': extended } = parse(header, { extended: false }).parameters
  // Node gives the bytes of a header as Latin-1.
  const name = extended === undefined ? filename && fromBytes(Buffer.from(filename, 'latin1')) : decodeExtended(extended)
  if (name === undefined && NAMES_A_FILE.test(header)) throw badInput('Content-Disposition', 'cannot be read')
  return name
}

function fromBytes(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return bytes.toString('latin1')
  }
}
