/**
 * Reads the words of RTF (Rich Text Format 1.9.1), in which Outlook keeps texts. Where it has put HTML into RTF (MS-OXRTFEX), the elements
 * are in groups that are not shown, beside what they mean in RTF.
 */
import { charsetNamed } from '../mime/charsets.ts'

const MAX_RTF = 8 * 1_048_576
const MAX_DEPTH = 200

/** What a group passes on to those within it. */
interface State {
  /** True in a group whose text is not shown, such as a table of fonts. */
  isHidden: boolean
  /** The letters after \u that stand for those that do not know it. */
  skipped: number
  font: number
  isFontTable: boolean
}

/** Groups without words for a reader. */
const HIDDEN = /^(fonttbl|colortbl|stylesheet|info|pict|object|header[lrf]?|footer[lrf]?|generator|listtable|fldinst|datastore)$/

const WORDS: Record<string, string> = {
  ...{ par: '\n', line: '\n', row: '\n', sect: '\n', page: '\n', tab: '\t', cell: '\t', emdash: '—', endash: '–', bullet: '•' },
  ...{ lquote: '‘', rquote: '’', ldblquote: '“', rdblquote: '”', emspace: ' ', enspace: ' ' },
}

/** The code pages of the sets that fonts name. */
const PAGES: Record<number, number> = {
  ...{ 0: 1252, 77: 10000, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256, 186: 1257 },
  ...{ 204: 1251, 222: 874, 238: 1250, 254: 437 },
}

const TOKEN = /\\([a-z]{1,32})(-?\d{1,10})?[ ]?|\\'([0-9a-f]{2})|\\([^a-z])|([{}])|([^\\{}\r\n]+)|[\r\n]+/gi

/** The text of RTF; '' for bytes that are none. */
export function rtfText(bytes: Uint8Array): string {
  const rtf = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, MAX_RTF)).toString('latin1')
  return rtf.trimStart().startsWith('{\\rtf') ? new RtfReader().read(rtf) : ''
}

class RtfReader {
  readonly #pieces: string[] = []
  readonly #groups: State[] = []
  /** The code page of each font. */
  readonly #fonts = new Map<number, number>()
  #state: State = { isHidden: false, skipped: 1, font: 0, isFontTable: false }
  #page = 1252
  /** Letters in the code page, which are decoded together. */
  #bytes: number[] = []
  /** How many of the next letters stand for one that was read. */
  #toSkip = 0
  /** True after \*, which begins a group that not every reader knows. */
  #isOptional = false

  read(rtf: string): string {
    for (const [, word, number, byte, symbol = '', brace, text] of rtf.matchAll(TOKEN)) {
      if (brace) this.#group(brace)
      else if (word) this.#word(word.toLowerCase(), number === undefined ? undefined : Number(number))
      else if (byte) this.#letters(String.fromCharCode(Number.parseInt(byte, 16)))
      else if (text) this.#letters(text)
      else this.#symbol(symbol)
    }
    this.#decode()
    return this.#pieces
      .join('')
      .split('\n')
      .map((line) => line.trimEnd())
      .join('\n')
      .trim()
  }

  #group(brace: string): void {
    this.#decode()
    this.#toSkip = 0
    if (brace === '{') this.#groups.push(this.#groups.length < MAX_DEPTH ? { ...this.#state } : this.#state)
    else this.#state = this.#groups.pop() ?? this.#state
  }

  #word(word: string, number: number | undefined): void {
    const isOptional = this.#isOptional
    this.#isOptional = false
    if (word === 'u') this.#unicode(number ?? 0)
    else if (/^(ansicpg|uc|f|fcharset)$/.test(word)) this.#setting(word, number ?? 0)
    else if (isOptional || HIDDEN.test(word))
      this.#state = { ...this.#state, isHidden: true, isFontTable: this.#state.isFontTable || word === 'fonttbl' }
    else if (Object.hasOwn(WORDS, word)) this.#add(WORDS[word] as string)
  }

  /** What says in which set of letters the following ones are. */
  #setting(word: string, number: number): void {
    if (word === 'ansicpg') this.#page = number || this.#page
    if (word === 'uc') this.#state.skipped = Math.min(Math.max(number, 0), 10)
    if (word === 'fcharset' && this.#state.isFontTable) this.#fonts.set(this.#state.font, PAGES[number] ?? this.#page)
    if (word !== 'f') return
    this.#decode()
    this.#state.font = number
  }

  #symbol(symbol: string): void {
    if (symbol === '*') this.#isOptional = true
    else if ('\\{}'.includes(symbol)) this.#letters(symbol)
    else if (symbol === '~') this.#add(' ')
    else if (symbol === '_') this.#add('-')
    else if (symbol === '\n' || symbol === '\r') this.#add('\n')
  }

  #unicode(number: number): void {
    this.#toSkip = 0
    this.#add(String.fromCharCode(number & 0xffff))
    this.#toSkip = this.#state.skipped
  }

  #letters(letters: string): void {
    const shown = letters.slice(this.#toSkip)
    this.#toSkip = Math.max(0, this.#toSkip - letters.length)
    if (!this.#state.isHidden) for (const letter of shown) this.#bytes.push(letter.charCodeAt(0))
  }

  #add(text: string): void {
    if (this.#state.isHidden) return
    this.#decode()
    this.#pieces.push(text)
  }

  #decode(): void {
    if (!this.#bytes.length) return
    const page = this.#fonts.get(this.#state.font) ?? this.#page
    const charset = charsetNamed(`cp${page}`) ?? charsetNamed('windows-1252')
    this.#pieces.push(charset?.decode(Uint8Array.from(this.#bytes)) ?? '')
    this.#bytes = []
  }
}
