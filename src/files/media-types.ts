/** The two media types of a file: the one that its upload claimed, and the one that its bytes show. */
/** The media type of bytes about which nothing is known. */
export const UNKNOWN_TYPE = 'application/octet-stream'

const MAX_LENGTH = 255
/** RFC 6838: names of types, and RFC 9110: parameters such as `; charset=utf-8`. */
const NAME = '[A-Za-z0-9][\\w!#$&^.+-]{0,126}'
const TOKEN = "[\\w!#$%&'*+.^`|~-]+"
const QUOTED = '"(?:[\\t\\x20-\\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\[\\t\\x20-\\x7e])*"'
const MEDIA_TYPE = new RegExp(`^${NAME}/${NAME}(?:[ \\t]*;[ \\t]*${TOKEN}=(?:${TOKEN}|${QUOTED}))*$`)

/** Whether the text is a media type, with or without parameters. Such a text can stand in a header. */
export const isMediaType = (text: string): boolean => text.length <= MAX_LENGTH && MEDIA_TYPE.test(text)

/** The number of first bytes that `detectType` needs. */
export const DETECTION_BYTES = 4_100

/**
 * The media type that the first bytes of a file show, by their signature.
 * @param start the first DETECTION_BYTES of the file, or all bytes of a shorter one
 * @returns `application/octet-stream` if they have no known signature. Plain text, HTML and SVG have none
 */
export async function detectType(start: Uint8Array): Promise<string> {
  const bytes = start.subarray(0, DETECTION_BYTES)
  // Loaded with the first file, like the parsers that it brings.
  const { fileTypeFromBuffer } = await import('file-type')
  // The library reads what callers sent: an error only means that it does not recognise the bytes.
  const found = await fileTypeFromBuffer(bytes).catch(() => undefined)
  if (!found || (found.mime === 'image/bmp' && !isBitmap(bytes))) return UNKNOWN_TYPE
  return found.mime
}

/** The lengths of the second header of a bitmap. Its signature alone is `BM`, with which a text may begin as well. */
const BITMAP_HEADERS = new Set([12, 40, 52, 56, 64, 108, 124])

const isBitmap = (bytes: Uint8Array): boolean =>
  bytes.length >= 18 && BITMAP_HEADERS.has(new DataView(bytes.buffer, bytes.byteOffset).getUint32(14, true))

/** Types that a browser displays without running anything. SVG is not among them, because it can contain scripts. */
const SHOWN = /^image\/(?:a?png|jpeg|gif|webp|avif|bmp|x-icon|vnd\.microsoft\.icon)$/i

/**
 * How a file is served: images as what their bytes are, for a browser to show; everything else under the claimed type, for it to save.
 * @param detected_type null for a file of an earlier release: its claimed type counts, and browsers look for no other one (nosniff)
 */
export function servedAs(file: { type: string; detected_type: string | null }): { kind: 'inline' | 'attachment'; type: string } {
  const type = file.detected_type ?? file.type
  return SHOWN.test(type) ? { kind: 'inline', type } : { kind: 'attachment', type: file.type }
}
