/** The header that names a file: in a response, and in a request that uploads one. */
import { badInput } from '../../errors.ts'
import { withoutUnseen } from '../../unseen-characters.ts'

/**
 * The header Content-Disposition (RFC 6266), with an ASCII name for old clients and the real one for all others.
 * @param name of the file. Any characters are safe: they are encoded, so the name cannot end the header or contain a folder
 */
export function disposition(kind: 'inline' | 'attachment', name: string): string {
  const seen = withoutUnseen(name)
  const plain = seen.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(seen).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encoded}`
}

/**
 * The file name of a header Content-Disposition (RFC 6266): `filename*`, else `filename`, whose bytes may be UTF-8; undefined without one.
 * @throws AppError 400 for a header that cannot be read
 */
export function namedFile(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const parameters = parametersOf(header)
  const extended = parameters?.get('filename*')
  const name = extended === undefined ? parameters?.get('filename') : decodedExtended(extended)
  if (!parameters || (extended !== undefined && name === undefined)) throw badInput('Content-Disposition', 'cannot be read')
  // Node gives the bytes of a header as Latin-1.
  return name !== undefined && extended === undefined ? fromBytes(Buffer.from(name, 'latin1')) : name
}

const PARAMETER = /\s*;\s*(?:([\w!#$%&'*+.^`|~-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))\s*)?/y

/** The parameters behind the disposition itself, by their names in small letters; undefined if the header is malformed. */
function parametersOf(header: string): Map<string, string> | undefined {
  const parameters = new Map<string, string>()
  PARAMETER.lastIndex = /^[^;]*/.exec(header)?.[0].trimEnd().length ?? 0
  while (PARAMETER.lastIndex < header.length) {
    const found = PARAMETER.exec(header)
    if (!found) return undefined
    const [, name, quoted, plain = ''] = found
    if (name) parameters.set(name.toLowerCase(), quoted?.replaceAll(/\\(.)/g, '$1') ?? plain)
  }
  return parameters
}

/** RFC 8187: `UTF-8'en'na%C3%AFve.txt`. */
function decodedExtended(value: string): string | undefined {
  const [, charset = '', encoded = ''] = /^([\w-]+)'[\w-]*'([^']*)$/.exec(value) ?? []
  if (/%(?![\da-f]{2})/i.test(encoded)) return undefined
  const bytes = Buffer.from(
    encoded.replaceAll(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )
  if (/^utf-8$/i.test(charset)) return bytes.toString('utf8')
  return /^iso-8859-1$/i.test(charset) ? bytes.toString('latin1') : undefined
}

function fromBytes(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return bytes.toString('latin1')
  }
}
