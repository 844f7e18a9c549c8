/**
 * Reads the sets of seven bits that change by escape sequences: ISO-2022-JP and its extensions, ISO-2022-KR, ISO-2022-CN (RFC 1468, 1554,
 * 1557, 1922), and HZ (RFC 1843). TextDecoder knows only the first.
 */

/** A set of letters of one or two bytes, and how TextDecoder reads them once their highest bits are set. */
interface LetterSet {
  label: string
  width: 1 | 2
  prefix?: number
}

const JAPANESE: LetterSet = { label: 'euc-jp', width: 2 }
const JAPANESE_SUPPLEMENT: LetterSet = { label: 'euc-jp', width: 2, prefix: 0x8f }
const KATAKANA: LetterSet = { label: 'shift_jis', width: 1 }
const CHINESE: LetterSet = { label: 'gbk', width: 2 }
const KOREAN: LetterSet = { label: 'euc-kr', width: 2 }

/** By escape sequences: undefined is ASCII. */
const FIRST = new Map<string, LetterSet | undefined>([
  ['$@', JAPANESE],
  ['$B', JAPANESE],
  ['$(B', JAPANESE],
  ['$(D', JAPANESE_SUPPLEMENT],
  ['$(O', JAPANESE],
  ['$(Q', JAPANESE],
  ['$(P', JAPANESE_SUPPLEMENT],
  ['$A', CHINESE],
  ['$(A', CHINESE],
  ['$(C', KOREAN],
  ['(I', KATAKANA],
  ['(B', undefined],
  ['(J', undefined],
  ['(H', undefined],
])
/** Used between SO and SI. */
const SECOND = new Map([
  ['$)A', CHINESE],
  ['$)C', KOREAN],
  [')I', KATAKANA],
])
/** Used for the letter after ESC N. */
const SINGLE = new Map<string, LetterSet>([
  ['.A', { label: 'iso-8859-1', width: 1 }],
  ['.F', { label: 'iso-8859-7', width: 1 }],
])

const SINGLE_SHIFT = 'N'
const [ESCAPE, SHIFT_OUT, SHIFT_IN, LINE_FEED] = [0x1b, 0x0e, 0x0f, 0x0a]

export function decodeIso2022(bytes: Uint8Array): string {
  const text = new LetterRuns()
  const sets = new ChosenSets()
  for (let at = 0; at < bytes.byteLength; ) {
    const byte = bytes[at] as number
    const sequence = byte === ESCAPE ? sequenceAt(bytes, at + 1) : ''
    at += 1 + sequence.length
    if (sequence === SINGLE_SHIFT) text.add(sets.single, bytes.subarray(at, ++at))
    else if (sequence) sets.choose(sequence)
    else if (byte === SHIFT_OUT || byte === SHIFT_IN) sets.isShifted = byte === SHIFT_OUT
    else {
      const letters = sets.of(byte)
      const end = at - 1 + (letters?.width ?? 1)
      if (end <= bytes.byteLength) text.add(letters, bytes.subarray(at - 1, end))
      at = end
    }
  }
  return text.whole()
}

/** The sets that escape sequences have chosen. */
class ChosenSets {
  isShifted = false
  single: LetterSet | undefined
  #first: LetterSet | undefined
  #second: LetterSet = KATAKANA

  choose(sequence: string): void {
    if (FIRST.has(sequence)) this.#first = FIRST.get(sequence)
    this.#second = SECOND.get(sequence) ?? this.#second
    this.single = SINGLE.get(sequence) ?? this.single
  }

  /** The set of the letter that begins with the byte; undefined is ASCII. */
  of(byte: number): LetterSet | undefined {
    if (byte === LINE_FEED) this.isShifted = false
    if (byte <= 0x20 || byte === 0x7f) return undefined
    return this.isShifted ? this.#second : this.#first
  }
}

/** The escape sequence without its first byte; empty for a single escape character. */
function sequenceAt(bytes: Uint8Array, start: number): string {
  const next = Buffer.from(bytes.buffer, bytes.byteOffset + start, Math.min(4, bytes.byteLength - start)).toString('latin1')
  return /^(?:\$[()*+]?[@-Z]|[().*][@-Z]|&@|N)/.exec(next)?.[0] ?? ''
}

/** Two bytes for a letter between ~{ and ~}, or the end of the line; ~~ is a tilde, and ~ at the end of a line joins it with the next. */
export function decodeHz(bytes: Uint8Array): string {
  const text = new LetterRuns()
  let isChinese = false
  for (let at = 0; at < bytes.byteLength; ) {
    const [byte = 0, next = 0] = [bytes[at], bytes[at + 1]]
    const pair = String.fromCharCode(byte, next)
    if (byte === LINE_FEED) isChinese = false
    if (pair === '~{' || pair === '~}' || pair === '~\n') {
      isChinese = pair === '~{'
      at += 2
    } else if (isChinese && byte > 0x20) {
      text.add(CHINESE, bytes.subarray(at, at + 2))
      at += 2
    } else {
      text.add(undefined, bytes.subarray(at, at + 1))
      at += pair === '~~' ? 2 : 1
    }
  }
  return text.whole()
}

type Decoder = InstanceType<typeof TextDecoder>

const decoders = new Map<string, Decoder>()

/** A text may change between sets at each letter, and a decoder takes long to begin. */
function decoderOf(label: string): Decoder {
  const decoder = decoders.get(label) ?? new TextDecoder(label)
  decoders.set(label, decoder)
  return decoder
}

/** Letters of several sets, decoded by runs. */
class LetterRuns {
  readonly #texts: string[] = []
  #letters: LetterSet | undefined
  #bytes = Buffer.alloc(1_024)
  #length = 0

  add(letters: LetterSet | undefined, bytes: Uint8Array): void {
    if (letters !== this.#letters || this.#length + 3 > this.#bytes.byteLength) this.#finish()
    this.#letters = letters
    if (letters?.prefix) this.#bytes[this.#length++] = letters.prefix
    for (const byte of bytes) this.#bytes[this.#length++] = letters ? byte | 0x80 : byte
  }

  whole(): string {
    this.#finish()
    return this.#texts.join('')
  }

  #finish(): void {
    const run = this.#bytes.subarray(0, this.#length)
    this.#texts.push(this.#letters ? decoderOf(this.#letters.label).decode(run) : run.toString('latin1'))
    this.#length = 0
  }
}
