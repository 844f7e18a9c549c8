/** Decompresses RTF as Outlook stores it (MS-OXRTFCP). */

/** What a compressed text may refer to before its beginning (§2.1.3.1.1). */
const DICTIONARY = Buffer.from(
  [
    '{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor MS Sans SerifSymbolArial',
    'Times New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx',
  ].join(''),
  'latin1',
)
const [COMPRESSED, UNCOMPRESSED] = [0x75465a4c, 0x414c454d]
const HEADER_BYTES = 16
const WINDOW_BYTES = 4_096
const MAX_BYTES = 8 * 1_048_576

/** The RTF; what was read of one that is cut; undefined for other bytes. */
export function decompressedRtf(given: Uint8Array): Buffer | undefined {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength)
  if (bytes.byteLength < HEADER_BYTES) return undefined
  const kind = bytes.readUInt32LE(8)
  const length = Math.min(bytes.readUInt32LE(4), MAX_BYTES)
  if (kind === UNCOMPRESSED) return bytes.subarray(HEADER_BYTES, HEADER_BYTES + length)
  return kind === COMPRESSED ? decompressed(bytes.subarray(HEADER_BYTES), length) : undefined
}

function decompressed(bytes: Buffer, length: number): Buffer {
  // A reference of two bytes stands for 17 bytes at most.
  const rtf = new Window(Math.min(length, bytes.byteLength * 17))
  let [at, control, bit] = [0, 0, 8]
  while (at < bytes.byteLength && !rtf.isFull) {
    if (bit === 8) [control, bit] = [bytes[at++] as number, 0]
    else if (!(control & (1 << bit++))) rtf.write(bytes[at++] as number)
    else {
      const reference = at + 1 < bytes.byteLength ? bytes.readUInt16BE(at) : 0
      // A reference to the end of the window ends the text.
      if (!rtf.repeat(reference >> 4, (reference & 0xf) + 2)) break
      at += 2
    }
  }
  return rtf.written
}

/** The last bytes that were written, to which references lead. */
class Window {
  readonly #window = Buffer.alloc(WINDOW_BYTES)
  #end = DICTIONARY.copy(this.#window)
  readonly #rtf: Buffer
  #length = 0

  constructor(length: number) {
    this.#rtf = Buffer.alloc(length)
  }

  get isFull(): boolean {
    return this.#length >= this.#rtf.byteLength
  }

  get written(): Buffer {
    return this.#rtf.subarray(0, this.#length)
  }

  write(byte: number): void {
    this.#window[this.#end++ % WINDOW_BYTES] = byte
    if (!this.isFull) this.#rtf[this.#length++] = byte
  }

  /** @returns false at the end of the text */
  repeat(from: number, length: number): boolean {
    if (from === this.#end % WINDOW_BYTES) return false
    for (let offset = 0; offset < length; offset++) this.write(this.#window[(from + offset) % WINDOW_BYTES] as number)
    return true
  }
}
