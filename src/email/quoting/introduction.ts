/** Finds the lines that introduce a quote, such as "On 3 Mar 2026, at 10:12, Ann <ann@example.org> wrote:", in any language and program. */
import { OPENERS, QUOTING, WROTE } from './phrases.ts'

export interface Introduction {
  /** The index of its last line. */
  end: number
  /** True if it cannot be a sentence of the sender, so that the text below is quoted even without quote marks. */
  isCertain: boolean
  /** True for the heading of a quoted mail, which is more than an introduction. */
  isHeading: boolean
  /** The sender's words at the start of its first line; usually empty. */
  words: string
}

/** Mail programs wrap an introduction into this many lines at most. */
const MAX_LINES = 5
const MAX_LENGTH = 300

/** The introductions in the text, by the index of their first line. */
export function introductionsIn(lines: readonly string[]): Map<number, Introduction> {
  const found = new Map<number, Introduction>()
  for (let end = 0; end < lines.length; end += 1) {
    const introduction = endingAt(lines, end)
    if (introduction) found.set(introduction.start, introduction)
  }
  return found
}

/** The lines of a line in which the quote follows its introduction after some spaces, as Yahoo's program for Android writes it. */
export function separated(line: string): string[] {
  if (!SPACES_AFTER_COLON.test(line)) return [line]
  const [, introduction, quote] = INTRODUCTION_WITH_QUOTE.exec(line) ?? []
  return introduction && quote && kindOf(plain(introduction), true) === 'certain' ? [introduction, quote] : [line]
}

/** The shortest introduction that ends with the line, and the lines above that belong to it. */
function endingAt(lines: readonly string[], end: number): (Introduction & { start: number }) | undefined {
  if (!canEnd(lines[end])) return undefined
  let text = ''
  for (let start = end; start > end - MAX_LINES; start -= 1) {
    if (start < end && !canContinue(lines, start)) return undefined
    text = `${plain(lines[start])} ${text}`.trim()
    if (text.length > MAX_LENGTH) return undefined
    const kind = kindOf(text, start === end)
    if (kind) return whole(lines, start, end, kind === 'certain')
  }
  return undefined
}

const canEnd = (line: string | undefined) => CAN_END.test(plain(line)) && isQuoted(line) === QUOTED_END.test(line ?? '')

/** True if the line above another can belong to the same introduction. An empty line can only if an address follows. */
function canContinue(lines: readonly string[], start: number): boolean {
  const line = lines[start]
  if (line === undefined || isQuoted(line)) return false
  return line.trim() !== '' || /^\s*(<|mailto:)/.test(lines[start + 1] ?? '')
}

function whole(lines: readonly string[], found: number, end: number, isCertain: boolean) {
  const start = withBeginning(lines, found, end)
  const text = lines
    .slice(start, end + 1)
    .map(plain)
    .join(' ')
  const words = OWN_WORDS.exec(lines[start] ?? '')?.[1] ?? ''
  return { start, end, isHeading: false, isCertain: isCertain || kindOf(text, false) === 'certain', words: OPENER.test(text) ? '' : words }
}

/** A mail program without line breaks puts the introduction behind the sender's last words. */
const OWN_WORDS = /^(.*?[^\s-])(?:\s+|-{2,}\s*)(?:On|Am|Le|El|Em|Il|Op|Den|Dne|Dnia|W dniu)\s(?=.{0,15}\d)/

const isQuoted = (line: string | undefined) => line?.startsWith('>') ?? false

/** The line without bold marks, invisible direction marks and no-break spaces, with digits of ASCII. */
export function plain(line: string | undefined): string {
  return (line ?? '')
    .slice(0, MAX_LENGTH + 100)
    .replace(/[\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, '')
    .replace(/[\u00a0\u202f]/g, ' ')
    .replace(OTHER_DIGIT, asciiDigit)
    .replace(/^[\s*]+|[\s*]+$/g, '')
}

const OTHER_DIGIT = /[^\P{Nd}0-9]/gu

/** The digit of another script. Its ten digits begin where the last four bits of the number are 0 or 6. */
function asciiDigit(digit: string): string {
  const number = digit.codePointAt(0) ?? 0
  const bits = number & 0xf
  return String(/\p{Nd}/u.test(String.fromCodePoint(number - bits)) ? bits % 10 : (bits + 10) % 16)
}

// A line break of the mail program may move the end of the introduction behind a quote mark: "> wrote:".
const QUOTED_END = /^>\s*(\p{L}[\p{L} ]{0,20})?[:：]\s*$/u

// \b is for English only. A letter of another script may touch the word, as in Japanese.
export const NO_LETTER_BEFORE = '(?<![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}])'
export const NO_LETTER_AFTER = '(?![\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}])'
const VERB = new RegExp(`${NO_LETTER_BEFORE}(${WROTE})${NO_LETTER_AFTER}`, 'iu')
const OPENER = new RegExp(`^(${OPENERS})(?!\\p{L})`, 'iu')
const QUOTES_SOMEBODY = new RegExp(`^(${QUOTING})(?!\\p{L})`, 'iu')
const CAN_END = new RegExp(`[:：]$|-{3,}$|(${WROTE})$|^\\d{4}[-/]\\d{1,2}[-/]\\d{1,2} |^"[^"]{0,100}" <[^<>\\s]+@`, 'iu')

const SPACES_AFTER_COLON = /[:：]\s{2,}\S/
const INTRODUCTION_WITH_QUOTE = new RegExp(`^(.{10,${MAX_LENGTH}}?(?:${WROTE})\\s?[:：])\\s{2,}(\\S.*)$`, 'iu')

const ADDRESS = /[<([][^<>()[\]\s]*@[^<>()[\]\s]+[>)\]]|<mailto:/
const ADDRESS_AT_END = /[>)\]][^\p{L}\p{N}]{0,4}$/u
/** "Ann Lee <ann@example.org> wrote:" and nothing else. */
const NAME_AND_ADDRESS = new RegExp(`^"?(\\p{Lu}[^<>\\s]*\\s+){1,4}<[^<>\\s]+@[^<>\\s]+>\\s+(${WROTE})\\s*[:：]$`, 'u')
export const TIME = /\d{1,2}\s?[:.h時时시]\s?\d{2}/
const DATE = new RegExp(
  [
    String.raw`\d{4}\s?[-/.年년]\s?\d{1,2}\s?[-/.月월]\s?\d{1,2}`,
    String.raw`\d{1,2}[-/.]\s?\d{1,2}[-/.]\s?\d{2,4}`,
    String.raw`\d{1,2}\p{L}{0,2}[.,]?\s\p{L}{3,}[.,]?\s\d{4}`,
    String.raw`\p{L}{3,}\.?\s\d{1,2}\p{L}{0,2},?\s\d{4}`,
  ].join('|'),
  'u',
)
const DAY_AND_MONTH = /(?<![:.\d])\d{1,2}[.-]?\s?\p{L}{3,}|\p{L}{3,}\.?\s\d{1,2}(?!\d)|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}/u
const EARLY_DIGIT = /^(?:\S+\s+){0,3}\S*\d/
const DATE_AND_ADDRESS = /^\d{4}[-/]\d{1,2}[-/]\d{1,2}\s[^<>]{1,80}<[^<>\s]+@[^<>\s]+>$/
/** Nextcloud's: `"Ann Lee" <ann@example.org> March 3, 2026 10:12 AM`. */
const ADDRESS_AND_DATE = /^"[^"]{0,100}" <[^<>\s]+@[^<>\s]+>,? [^<>@]{6,60}$/
/** Tuta's: `Mar 3, 2026, 10:12 by ann@example.org:`. */
const DATE_AND_BARE_ADDRESS = /^(?:\S+\s+)?\S*\d.{4,60}\s\p{L}{1,10}\s[^\s<>@]+@[^\s<>@]+\s?[:：]$/u
/** Gmail's short form: a date, a time zone and a name. */
const ISO_DATE_AND_NAME = /^\d{4}-\d\d-\d\d \d{1,2}:\d\d (GMT|UTC)[+-]\d\d:?\d\d:?\s+\S/

/**
 * Whether the text introduces a quote: certainly, or only if quote marks follow.
 * @param isOneLine text without a digit or an address must be one line
 */
function kindOf(joined: string, isOneLine: boolean): 'certain' | 'possible' | undefined {
  const isDashed = /^\s*-{3,}.*-{3,}\s*$/.test(joined)
  const text = joined
    .replace(/^[-=_\s]+|[-=_\s]+$/g, '')
    .replace(/<\s+/g, '<')
    .replace(/\s+>/g, '>')
  const kind = kindWithoutVerb(text, isOneLine)
  if (kind) return kind
  if (isDashed && VERB.test(text)) return 'certain'
  if (!isDashed && !/[:：]$/.test(text) && !(VERB.test(text) && ADDRESS.test(text))) return undefined
  const isDated = TIME.test(text) || DATE.test(text)
  if (VERB.test(text)) return kindOfSentence(text, isDated, isOneLine)
  if (ADDRESS.test(text) && isDated && (OPENER.test(text) || (ADDRESS_AT_END.test(text) && EARLY_DIGIT.test(text)))) return 'certain'
  return QUOTES_SOMEBODY.test(text) && text.includes('@') ? 'possible' : undefined
}

/** The same for the forms of programs that have a date and somebody, and nothing else. */
function kindWithoutVerb(text: string, isOneLine: boolean): 'certain' | 'possible' | undefined {
  if (ISO_DATE_AND_NAME.test(text)) return 'certain'
  if (DATE_AND_ADDRESS.test(text)) return 'possible'
  if (!isOneLine || !TIME.test(text) || !DATE.test(text)) return undefined
  return DATE_AND_BARE_ADDRESS.test(text) ? 'certain' : ADDRESS_AND_DATE.test(text) ? 'possible' : undefined
}

/** The same for a text with a verb. Without an address it must begin like an introduction, because people write such sentences, too. */
function kindOfSentence(text: string, isDated: boolean, isOneLine: boolean): 'certain' | 'possible' | undefined {
  if (ADDRESS.test(text)) return isDated || (isOneLine && NAME_AND_ADDRESS.test(text)) ? 'certain' : 'possible'
  const verb = VERB.exec(text)?.index ?? 0
  const afterVerb = text.slice(verb)
  // The French verb "a écrit" begins with a word that is an opener in Portuguese.
  const isOpened = verb > 0 && OPENER.test(text)
  const isBegun = isOpened || EARLY_DIGIT.test(text) || TIME.test(afterVerb) || OWN_WORDS.test(text)
  if (isDated && isBegun) return 'certain'
  if (!isOpened || !(isOneLine || /\d/.test(text))) return undefined
  return /\d{4}/.test(text) ? 'certain' : 'possible'
}

/** The first line of the introduction, if a line break separates its date or its name from the rest. */
function withBeginning(lines: readonly string[], found: number, end: number): number {
  let start = found
  while (start > 0 && end - start < MAX_LINES - 1) {
    const line = plain(lines[start])
    const isAddressFirst = /^<|^mailto:/.test(line)
    if (!isAddressFirst && isDateFirst(line)) break
    const next = isAddressFirst && !plain(lines[start - 1]) ? start - 2 : start - 1
    const above = plain(lines[next])
    if (!above || isQuoted(lines[next]) || above.length > 120 || /[!?]$/.test(above)) break
    if (!isBeginning(above) && !(isAddressFirst && above.length <= 60 && !/[.!?:;,]$/.test(above))) break
    start = next
  }
  return start
}

const isBeginning = (line: string) => OPENER.test(line) && /^.{0,40}\d/.test(line)
const isDateFirst = (line: string) => (OPENER.test(line) || EARLY_DIGIT.test(line)) && DAY_AND_MONTH.test(line)
