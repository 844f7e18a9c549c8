/** Reads UTF-8 in which some letters are of another set, as programs leave it that cut a text by bytes or add a footer of their own. */

const UTF_8 = new TextDecoder()
/** The letters of Windows from 128 on, in UTF-8. */
const WESTERN = Array.from({ length: 128 }, (_, index) => Buffer.from(new TextDecoder('windows-1252').decode(Uint8Array.of(128 + index))))

/** The text. Bytes that are no UTF-8 are read as those of Windows; a letter that is cut at the end is left out. */
export function decodeUtf8(bytes: Uint8Array): string {
  const text = UTF_8.decode(bytes)
  return text.includes('\ufffd') ? UTF_8.decode(mended(bytes)) : text
}

/** How many letters of several bytes the text has, and how many bytes belong to none. */
export function lettersOfUtf8(bytes: Uint8Array): { letters: number; broken: number } {
  let [letters, broken] = [0, 0]
  for (let at = 0; at < bytes.byteLength; ) {
    const length = lengthAt(bytes, at)
    if (length > 1) letters++
    if (length === 0) broken++
    at += length || 1
  }
  return { letters, broken }
}

function mended(bytes: Uint8Array): Uint8Array {
  // The longest letter of the Windows code page has three bytes in UTF-8.
  const target = Buffer.alloc(bytes.byteLength * 3)
  let end = 0
  for (let at = 0; at < bytes.byteLength; ) {
    const length = lengthAt(bytes, at)
    if (length) for (let index = 0; index < length; index++) target[end++] = bytes[at + index] as number
    else if (isCutAt(bytes, at)) break
    else for (const byte of WESTERN[(bytes[at] as number) - 128] ?? []) target[end++] = byte
    at += length || 1
  }
  return target.subarray(0, end)
}

/** The bytes of the letter; 0 where no letter begins (RFC 3629 §4). */
function lengthAt(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? 0
  if (first < 0x80) return 1
  const length = lengthBy(first)
  const [least, most] = SECOND[first] ?? CONTINUED
  const second = bytes[at + 1] ?? 0
  if (second < least || second > most) return 0
  for (let index = 2; index < length; index++) if (((bytes[at + index] ?? 0) & 0xc0) !== 0x80) return 0
  return length
}

const CONTINUED = [0x80, 0xbf] as const
/** What may follow some of the first bytes. */
const SECOND: Record<number, readonly [number, number]> = { 224: [0xa0, 0xbf], 237: [0x80, 0x9f], 240: [0x90, 0xbf], 244: [0x80, 0x8f] }

const lengthBy = (first: number): number => (first < 0xc2 || first > 0xf4 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4)

/** True for the first bytes of a letter at the end of the text, which only blanks follow. */
function isCutAt(bytes: Uint8Array, at: number): boolean {
  const length = lengthBy(bytes[at] ?? 0)
  let end = at + 1
  while (end < at + length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end++
  return end < at + length && bytes.byteLength - end < MAX_BLANKS && bytes.subarray(end).every((byte) => byte <= 0x20)
}

const MAX_BLANKS = 100
