import { type Introduction, introductionsIn, NO_LETTER_AFTER, NO_LETTER_BEFORE, plain, separated, TIME } from './introduction.ts'
import {
  ANSWERS_BELOW,
  APOLOGIES,
  DEVICES,
  FIELDS,
  FORWARDED_BELOW,
  GET_PROGRAM,
  GET_PROGRAM_AT_END,
  QUOTED_MAIL,
  SENT_FROM,
  SENT_FROM_AT_END,
  WHOLE_LINES,
} from './phrases.ts'
import { hasWords } from './words.ts'

/**
 * Returns the part of a reply that its sender wrote, without the quoted mail, the line that introduces it, and the signature. Quoted lines
 * are removed one by one, so that answers between them stay. A text of which nothing remains is returned whole.
 * @param text plain text, quoted lines marked with `>`
 */
export function visibleText(text: string): string {
  const lines = text.replace(/\r\n?/g, '\n').split('\n')
  const own = trimmed(withoutSignatures(ownLines(withoutMarkOfHeading(lines.flatMap(separated)))))
  return hasWords(own) ? own : trimmed(lines)
}

/** The heading of mail.ru: `> Monday, 2 March 2026, 10:12 +03:00 from Ann Lee <ann@example.org>:`. */
const MARKED_HEADING = /^>\s?\p{L}+, [^<>]{6,40} \d{1,2}:\d{2} [+-]\d{2}:\d{2} \p{L}+ [^<>]{0,100}<[^<>\s@]+@[^<>\s]+>\s*[:：]\s*$/u

/** Takes the quote mark from such a heading above a copy that has none. */
function withoutMarkOfHeading(lines: string[]): string[] {
  const last = lines.findLastIndex(isQuoted)
  return MARKED_HEADING.test(lines[last] ?? '') ? lines.with(last, (lines[last] ?? '').replace(/^>\s?/, '')) : lines
}

/** Stands for quoted lines that were removed. */
const CUT = null
type OwnLine = string | typeof CUT

/** The lines that are not quoted, and `CUT` where others were. */
function ownLines(lines: string[]): OwnLine[] {
  const introductions = introductionsIn(lines)
  const lastQuoted = lastQuotedIn(lines, introductions)
  const own: OwnLine[] = []
  let hasWords = false
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? ''
    const mark = introductions.get(index) ?? headingAt(lines, index)
    if (mark && (isQuoteNext(lines, mark.end + 1, introductions) || isIntroductionOfAll(mark, hasWords))) {
      own.push(...wordsOf(mark), CUT)
      index = endOfBars(lines, mark.end)
    } else if (mark && isHistory(mark, hasWords, index > lastQuoted))
      return [...withoutRule(own), ...wordsOf(mark), ...historyOf(own, lines, index)]
    else own.push(isQuoted(line) || isWrapped(lines, index) ? CUT : line)
    hasWords ||= isText(own.at(-1))
  }
  return own
}

function lastQuotedIn(lines: string[], introductions: Map<number, Introduction>): number {
  const ends = new Set([...introductions.values()].map(({ end }) => end))
  return lines.findLastIndex((line, index) => isQuoted(line) && !ends.has(index))
}

/** True for an introduction above all words: what follows is the answer, not marked as such. */
const isIntroductionOfAll = (mark: Introduction, hasWords: boolean) => mark.isCertain && !mark.isHeading && !hasWords && !mark.words
/** True if a mail without quote marks follows. Below an introduction, quotes may be followed by answers. */
const isHistory = (mark: Introduction, hasWords: boolean, isBelowQuotes: boolean) =>
  mark.isCertain && (mark.isHeading ? hasWords : isBelowQuotes)
/** The quoted mail is kept only if the sender says that there are answers in it. */
const historyOf = (own: OwnLine[], lines: string[], start: number): OwnLine[] =>
  SAYS_ANSWERS_BELOW.test(own.join('\n').slice(0, MAX_SAID)) ? ['', ...lines.slice(start)] : [CUT]
const SAYS_ANSWERS_BELOW = new RegExp(`${NO_LETTER_BEFORE}(${ANSWERS_BELOW})${NO_LETTER_AFTER}`, 'iu')
const MAX_SAID = 2_000
const wordsOf = ({ words }: Introduction) => (words ? [words] : [])
/** False for a heading: that of a mail which was forwarded without a word is kept with it, because the sender has nothing else to say. */
const isText = (line: OwnLine | undefined) => Boolean(line?.trim()) && !isRule(line ?? '') && roleOf(line ?? '') === undefined

/** True for a line with a quote mark, unless arrows at both ends decorate it. */
function isQuoted(line: string | undefined): boolean {
  return line?.startsWith('>') === true && !/^>[>\s]*[^<>\s][^<>]*<<+\s*$/.test(line)
}

const MIN_WRAPPED = 70

/** True for the end of a quoted line that a program has wrapped: the line above is long and ends within a sentence, which goes on here. */
function isWrapped(lines: string[], index: number): boolean {
  const [above = '', line = '', below] = lines.slice(index - 1, index + 2)
  return isQuoted(above) && isQuoted(below) && above.length >= MIN_WRAPPED && !/[.!?:…]\s*$/.test(above) && /^\p{Ll}/u.test(line)
}

/** True if the next line with text is quoted, or introduces a quote, as below "Original Message". */
function isQuoteNext(lines: string[], from: number, introductions?: Map<number, Introduction>): boolean {
  const next = nextText(lines, from)
  const introduction = introductions?.get(next)
  return isQuoted(lines[next]) || isBarred(lines[next]) || (introduction !== undefined && isQuoteNext(lines, introduction.end + 1))
}

/** The last line of a quote with bars below the introduction, or the end of the introduction. Bars without one may be a table. */
function endOfBars(lines: string[], introductionEnd: number): number {
  let end = nextText(lines, introductionEnd + 1)
  if (!isBarred(lines[end])) return introductionEnd
  while (isBarred(lines[end + 1])) end += 1
  return end
}

const isBarred = (line: string | undefined) => /^\|( |$)/.test(line ?? '')

function nextText(lines: string[], from: number): number {
  let index = from
  while (index < lines.length && !lines[index]?.trim()) index += 1
  return index
}

/** The heading of a mail that is quoted without quote marks: "Original Message" between dashes, or the header of the mail. */
function headingAt(lines: string[], index: number): Introduction | undefined {
  const line = plain(lines[index])
  if (line.length > MAX_MARK) return undefined
  const isMarker = ORIGINAL_MESSAGE.test(line) || BETWEEN_ARROWS.test(line) || (FORWARDED.test(line) && isQuoteNext(lines, index + 1))
  const end = isMarker ? index : endOfHeader(lines, index)
  return end === undefined ? undefined : { end, isCertain: true, isHeading: true, words: '' }
}

const MAX_MARK = 300
const DASH = '[-_=~\u2010-\u2015*#>]'
// "-----Original Message-----" and its translations, which Outlook writes above the quoted mail.
const ORIGINAL_MESSAGE = new RegExp(`^${DASH}{2,}\\s*(${QUOTED_MAIL})\\s*:?\\s*${DASH}{2,}$`, 'iu')
/** `>>> Desk <desk@example.org> 02/03/2026 10:12 >>>`, which GroupWise writes. */
const BETWEEN_ARROWS = /^>>>\s[^<>]{0,100}<?[^<>\s@]{1,64}@[^<>\s]{1,200}>?\s[^<>]*\d[^<>]*>>>$/
const FORWARDED = new RegExp(`^(${FORWARDED_BELOW})\\s*[:：]?$`, 'iu')
/** A line of dashes, also with words of an unknown language between them. */
const RULE = new RegExp(`^(${DASH}*|${DASH}{3,}[^${DASH.slice(1, -1)}]{1,60}${DASH}{3,})$`, 'u')

/** The lines without the rule or the heading that a mail program draws above the history. */
function withoutRule(own: OwnLine[]): OwnLine[] {
  return own.slice(0, own.findLastIndex((line) => line !== CUT && !isRule(line)) + 1)
}

const isRule = (line: string) => RULE.test(plain(line)) || FORWARDED.test(plain(line))

type Role = keyof typeof FIELDS
const ROLES = Object.keys(FIELDS) as Role[]
// In French, a no-break space precedes the colon.
const FIELD = new RegExp(`^(?:${ROLES.map((role) => `(?<${role}>${FIELDS[role]})`).join('|')})[\\s*]*[:：]`, 'iu')
const MAX_FIELDS = 10

const roleOf = (line: string | undefined): Role | undefined => {
  const groups = FIELD.exec(plain(line))?.groups
  return groups && ROLES.find((role) => groups[role] !== undefined)
}

/**
 * The index of the last line of the header that begins here: with "From:", a subject or an address, and what shows that it is of a mail:
 * "Sent:", an address, a time or a rule above it. "From: 3 March, To: 5 March, Subject: room" may be the sender's own words.
 */
function endOfHeader(lines: string[], index: number): number | undefined {
  const first = roleOf(lines[index])
  if (!first || first === 'subject') return undefined
  const roles = new Set<Role>()
  let hasAddress = false
  let isMail = lines.slice(Math.max(0, index - 2), index).some((line) => RULE_ABOVE.test(plain(line)))
  let end = index
  for (const [offset, line] of lines.slice(index, index + MAX_FIELDS).entries()) {
    const role = roleOf(line)
    // Above "From:" every line is a field. Below it the program may wrap a line, or leave one empty.
    if (!role && !roles.has('from')) return undefined
    if (!role) continue
    roles.add(role)
    end = index + offset
    hasAddress ||= role === 'from' && line.includes('@')
    isMail ||= showsMail(role, line)
  }
  const hasOthers = roles.has('sent') || roles.has('date') || roles.has('to')
  return isMail && roles.has('from') && hasOthers && (roles.has('subject') || hasAddress) ? end : undefined
}

const showsMail = (role: Role, line: string): boolean =>
  role === 'sent' || (role !== 'subject' && line.includes('@')) || (role === 'date' && TIME.test(plain(line)))

/** Some programs draw a rule or write a heading of their own above the header. */
const RULE_ABOVE = new RegExp(`^${DASH}{3,}`, 'u')

/** A signature has this many lines at most. Below "--" without its space, more lines are the sender's words. */
const MAX_SIGNATURE = 10

/**
 * Removes signatures up to the next quote, because people also answer below them: from the delimiter of RFC 3676 on (`-- `, or `--` where
 * the space was lost), and the lines that phones add.
 */
function withoutSignatures(own: OwnLine[]): string[] {
  const parts: string[][] = [[]]
  for (const line of own) {
    if (line === CUT) parts.push([])
    else parts.at(-1)?.push(line)
  }
  return parts.filter(({ length }) => length).flatMap((part) => withoutPhoneLines(withoutSignature(withoutListFooter(part))))
}

/** The name, the address and the page of a mailing list, which Mailman adds at the end of each mail. */
function withoutListFooter(lines: string[]): string[] {
  const rule = lines.findLastIndex((line) => /^_{2,}\s*$/.test(line))
  const [name = '', ...others] = lines.slice(rule + 1).filter((line) => line.trim())
  const isFooter = rule >= 0 && /\smailing list\s*$/i.test(name) && others.every((line) => /^([^\s@]+@\S+|<?https?:\S+)$/.test(line.trim()))
  return isFooter ? lines.slice(0, rule) : lines
}

function withoutSignature(lines: string[]): string[] {
  const delimiter = lines.findIndex((line) => line === '-- ' || line === '--')
  if (delimiter < 0) return lines
  const below = lines.slice(delimiter + 1).filter((line) => line.trim())
  return lines[delimiter] === '--' && below.length > MAX_SIGNATURE ? lines : lines.slice(0, delimiter)
}

function withoutPhoneLines(lines: string[]): string[] {
  const last = lines.findLastIndex((line) => line.trim() && !isPhoneLine(plain(line)))
  return lines.slice(last + 1).some((line) => line.trim()) ? lines.slice(0, last + 1) : lines
}

/** The words of "Sent from my new phone" after "Sent from" in which the device must be named. */
const WORDS_TO_DEVICE = '(?:[^\\s.,;]+\\s){0,2}[^\\s.,;]*?'
const SENT = new RegExp(`^[<([]{0,2}(${SENT_FROM})\\s?${WORDS_TO_DEVICE}${NO_LETTER_BEFORE}(${DEVICES})${NO_LETTER_AFTER}`, 'iu')
const SENT_AT_END = new RegExp(`${NO_LETTER_BEFORE}(${DEVICES})${NO_LETTER_AFTER}.{0,40}(${SENT_FROM_AT_END})$`, 'iu')
const FROM_MOBILE = /^\p{L}+ from (my )?mobile$/iu
const SENT_FROM_MY = /^[<([]{0,2}sent from my \S+( \S+){0,4}$/i
const SENT_FROM_LINK = new RegExp(`^(${SENT_FROM}) ?\\S+( \\S+){0,3} ?<https?:[^<>]*>$`, 'iu')
const OFFERS_PROGRAM = new RegExp(`^[<([]{0,2}(${GET_PROGRAM})\\s.{0,30}\\b(outlook|mail|spark|proton)\\b`, 'iu')
const SYSTEMS = 'ios|android|mac|windows'
const OFFERS_PROGRAM_FIRST = new RegExp(
  `^[<([]{0,2}(az )?(?=.{0,20}outlook)(?=.{0,30}(${SYSTEMS}))(outlook|${SYSTEMS})[^.!?]{0,40}(${GET_PROGRAM_AT_END})$`,
  'iu',
)
const WHOLE_LINE = new RegExp(`^(${WHOLE_LINES})\\.?$`, 'iu')
const APOLOGY = new RegExp(`(${APOLOGIES})`, 'iu')
const LINK = /\(https?:[^()]*\)|<https?:[^<>]*>|https?:\S+/g
const MAX_PHONE_LINE = 160
const MAX_PHONE_WORDS = 12
/** The letter that a tracking extension of Gmail adds at the end. */
const TRACKING_MARK = 'ᐧ'

/**
 * "Sent from my iPhone", "Get Outlook for Android". A device must be named and no sentence may follow but an apology, because "Sent from
 * Bern" and "Sent from my desk, not from the phone" may be answers.
 */
function isPhoneLine(line: string): boolean {
  if (line.length > MAX_PHONE_LINE) return false
  if (line === TRACKING_MARK || [OFFERS_PROGRAM, SENT_FROM_LINK, WHOLE_LINE].some((pattern) => pattern.test(line))) return true
  if (OFFERS_PROGRAM_FIRST.test(line.replace(LINK, '').trim())) return true
  const [sentence = '', ...others] = line.replace(LINK, '').split(/[.,;!。](?:\s+|$)|[)>\]]+$/)
  if (others.some((other) => other.trim() && !APOLOGY.test(other)) || sentence.split(/\s+/).length > MAX_PHONE_WORDS) return false
  return [SENT, SENT_AT_END, SENT_FROM_MY, FROM_MOBILE].some((pattern) => pattern.test(sentence.trim()))
}

function trimmed(lines: string[]): string {
  return lines
    .map((line) => line.trimEnd())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}
