/** Finds the character set of a text, because mail programs and gateways often name another one than they use. */
import { isUtf8 } from 'node:buffer'

/** The bytes of a text from which its character set is guessed. */
const MAX_SAMPLE = 65_536
/** Names that say nothing about the bytes from 128 on, which these sets do not have. */
const NO_NAME = /^(us-)?ascii$|^ansi_x3\.4|unknown|^x-user-defined$|^(7|8)bit$/i
const WESTERN = /^(iso-?8859-?1|latin-?1|windows-?1252|cp-?1252)$/i

/**
 * The character set that the bytes are in: the named one, unless it is unknown or the bytes cannot be text of it.
 * @param named as the header names it, perhaps in quotes
 */
export function charsetOf(content: Uint8Array, named: string | undefined, isHtml: boolean): string {
  const sample = sampleOf(content)
  const given = named?.replace(/["'\s]/g, '') || (isHtml ? charsetInHtml(sample) : '')
  if (/^utf-?16$/i.test(given)) return sample[0] === 0xfe && sample[1] === 0xff ? 'utf-16be' : 'utf-16le'
  const isNamed = given !== '' && !NO_NAME.test(given) && isKnown(given)
  if (isNamed && !/^utf-?8$/i.test(given) && !WESTERN.test(given)) return given
  // Bytes of another set are hardly ever well-formed UTF-8.
  return isUtf8(sample) || isMostlyUtf8(sample) ? 'utf-8' : isNamed && WESTERN.test(given) ? given : 'windows-1252'
}

/** The first bytes, without a character that is cut. */
function sampleOf(content: Uint8Array): Uint8Array {
  if (content.byteLength <= MAX_SAMPLE) return content
  const end = content.subarray(0, MAX_SAMPLE).findLastIndex((byte) => byte < 0x80)
  return content.subarray(0, end < 0 ? MAX_SAMPLE : end + 1)
}

/** True for UTF-8 with a few broken characters, as programs leave them that cut a text by bytes. */
function isMostlyUtf8(sample: Uint8Array): boolean {
  const text = new TextDecoder().decode(sample)
  const letters = text.match(/[^\p{ASCII}\ufffd]/gu)?.length ?? 0
  return letters > (text.match(/\ufffd/g)?.length ?? 0)
}

const charsetInHtml = (sample: Uint8Array): string =>
  /<meta\s[^>]{0,200}charset\s*=\s*["']?([\w.:-]+)/i.exec(Buffer.from(sample.subarray(0, 4_096)).toString('latin1'))?.[1] ?? ''

function isKnown(charset: string): boolean {
  try {
    return Boolean(new TextDecoder(charset))
  } catch {
    // Not a character set of the Encoding Standard.
    return false
  }
}
