/**
 * Reads a notice about a failed delivery that is written for people, as qmail, Exim, Exchange and many others send it. There are too many
 * forms to know each: it looks for addresses, for codes and for phrases beside them. Whether an address is the mail's is decided later.
 */
import type { Header } from 'postal-mime'
import { headerValues } from '../headers.ts'
import { isAnswer, isAutomatic } from './automatic.ts'
import { namesCause } from './bounce-cause.ts'
import { NOTICE_SUBJECT, RETURNED_BELOW, SYSTEM_ADDRESS, SYSTEM_NAME } from './failure-phrases.ts'
import { codesIn, isGeneral } from './reply-codes.ts'
import type { ReportedRecipient } from './report.ts'
import { FIELD_LINE, type Said, type Sentence, saidInSubject, saidTogether, sentencesIn } from './statements.ts'

export interface NoticeSource {
  headers: Header[]
  from: { name: string; email: string }
  subject: string
  /** The text of the message, without attached messages. */
  text: string
  /** True if a mail, or the header of one, is attached. */
  hasReturned: boolean
}

/** The characters of a notice that are read. What matters is above the returned message. */
const MAX_NOTICE = 32_768
const MAX_LINES = 600
const MAX_ADDRESSES = 200
const MAX_DIAGNOSTIC = 1000
/** The lines below an address that belong to it. */
const LINES_PER_ADDRESS = 12
/** The characters of a line in which a mark of the returned message is. */
const MAX_MARK = 300

/** True for a message that a mail system has written: it is the sender, or an automatic mail returns another or is named a failure. */
export function isFromMailSystem({ headers, from, subject, hasReturned }: Omit<NoticeSource, 'text'>): boolean {
  const local = from.email.split('@')[0] ?? ''
  if (headerValues(headers, 'x-failed-recipients').length) return true
  if (
    SYSTEM_ADDRESS.test(local) ||
    (SYSTEM_NAME.test(from.name) && !isAnswer(subject)) ||
    (!from.email && SYSTEM_NAME.test(headerValues(headers, 'from')[0] ?? ''))
  )
    return true
  if (!isAutomatic(headers, { from: from.email, subject }) && from.email) return false
  return hasReturned || ((NOTICE_SUBJECT.test(subject) || saidInSubject(subject) !== null) && !isAnswer(subject))
}

/**
 * The recipients that the notice may be about, and an entry without an address for the notice as a whole. Empty if it reports nothing.
 * Each recipient is judged by the sentences and the codes beside the address, then by the heading or the sentence above, then by the whole.
 */
export function noticedRecipients({ headers, subject, text }: NoticeSource): ReportedRecipient[] {
  const lines = aboveReturned(text)
  const sentences = sentencesIn(lines)
  const notice = lines.join('\n')
  const evidence = evidenceOf(notice)
  const failedHeader = headerValues(headers, 'x-failed-recipients').flatMap((value) => addressesIn(value))
  const whole = outcomeOf(saidByAll(sentences, subject)) ?? (failedHeader.length ? 'failed' : outcomeOfCodes(notice, sentences))
  const isWarning = saidInSubject(subject) === 'delayed' || sentences.some((sentence) => sentence.isWarning)
  const contexts = contextsOf(lines, sentences)
  const addresses = [...new Set([...failedHeader, ...contexts.keys()])].slice(0, MAX_ADDRESSES)
  const named = addresses.flatMap((address): ReportedRecipient[] => {
    const context = contexts.get(address)
    const own = evidenceOf(context?.lines.join('\n') ?? '')
    const action = (context && outcomeBeside(context, isWarning)) ?? (isWarning ? 'delayed' : whole)
    const isCertain = own !== null || failedHeader.includes(address)
    return action ? [{ address, action, isCertain, ...(own ?? evidence ?? NOTHING) }] : []
  })
  const action = whole ?? named[0]?.action
  return action ? [...named, { address: null, action, isCertain: false, ...(evidence ?? NOTHING) }] : []
}

type Outcome = 'delivered' | 'delayed' | 'failed'

/** Trouble beside or above an address proves nothing: the notice as a whole decides. */
const outcomeOf = (said: Said | null): Outcome | undefined => (said === null || said === 'troubled' ? undefined : said)

/** What the sentences and the subject say about the mail as a whole. */
function saidByAll(sentences: Sentence[], subject: string): Said | null {
  const inSubject = saidInSubject(subject)
  const said = saidTogether(sentences)
  if (inSubject === 'delayed' || said === 'delayed') return 'delayed'
  return inSubject === 'delivered' ? inSubject : saidTogether([{ said }, { said: inSubject }])
}

/** What the codes and the causes in a notice mean if its sentences say nothing. A refusal that may pass is no failure yet. */
function outcomeOfCodes(notice: string, sentences: Sentence[]): Outcome | undefined {
  const code = codeIn(notice)
  if (code.startsWith('5') || sentences.some(({ isCause }) => isCause)) return 'failed'
  if (code || sentences.some(({ said }) => said === 'troubled')) return 'delayed'
  return ACCEPTED.test(notice) ? 'delivered' : undefined
}

/** The reply by which a server takes a mail: `250 2.0.0 OK`. */
const ACCEPTED = /(?<![\d.])2\d\d[ -]2\.\d\.\d{1,3}\b|\b25[0-2][ -].{0,30}\b(ok|accepted|queued|delivered)\b/i

/**
 * What is said of an address: by the sentence that names it or the reply of the server, by the lines below, by the heading or the sentence
 * above. The words of a server are no failure of a mail that the notice calls delayed.
 */
function outcomeBeside({ address, own, above, lines, paragraph }: AddressContext, isWarning: boolean): Outcome | undefined {
  const { code, status } = codesIn(paragraph)
  const isAccepted = code === null && status === null && ACCEPTED.test(paragraph)
  if (isAccepted || own.some(({ said, text }) => said === 'delivered' && text.toLowerCase().includes(address))) return 'delivered'
  const said = saidTogether(own)
  if (isWarning || said === 'delayed' || above === 'delayed') return 'delayed'
  return /^5/.test(codeIn(lines.join('\n'))) ? 'failed' : (outcomeOf(said) ?? outcomeOf(above))
}

/** The code of a reply, or else its status; empty if the text has neither. */
function codeIn(text: string): string {
  const { code, status } = codesIn(text)
  return code ?? status ?? ''
}

const NOTHING = { code: null, status: null, diagnostic: null }

type Evidence = Pick<ReportedRecipient, 'code' | 'status' | 'diagnostic'>

/** The codes in the text with the words that follow them, or else the words that name a cause; null if it has neither. */
function evidenceOf(text: string): Evidence | null {
  const { code, status } = codesIn(text)
  const start = Math.min(
    ...[code, isGeneral(status) && code ? null : status].flatMap((found) => (found === null ? [] : text.indexOf(found))),
  )
  if (Number.isFinite(start)) return { code, status, diagnostic: diagnosticIn(text.slice(start)) }
  const lines = text.split('\n')
  // A sentence may go on in the next line.
  const found = lines.findIndex((line, index) => namesCause(`${line} ${lines[index + 1] ?? ''}`))
  if (found < 0) return null
  const first = namesCause(lines[found] ?? '') || !namesCause(lines[found + 1] ?? '') ? found : found + 1
  return { code, status, diagnostic: diagnosticIn(lines.slice(first).join('\n')) }
}

/** The words of the server, without what the notice goes on with after an empty line or a rule. */
function diagnosticIn(text: string): string {
  const least = text.search(/\S/) + LEAST_WORDS
  const end = text.slice(least).search(END_OF_WORDS)
  return (end < 0 ? text : text.slice(0, least + end)).replace(/\s+/g, ' ').trim().slice(0, MAX_DIAGNOSTIC)
}

const LEAST_WORDS = 25
const END_OF_WORDS = /\n[ \t]*\n|giving up on|\(in reply to|[-=_*#]{4,}/i

/** The lines of the notice without the returned message below it. */
export function aboveReturned(text: string): string[] {
  const lines = text.slice(0, MAX_NOTICE).replace(/\r\n?/g, '\n').split('\n').slice(0, MAX_LINES)
  const end = lines.findIndex((line, index) => index > 0 && (RETURNED_BELOW.test(line.slice(0, MAX_MARK)) || isHeaderBlock(lines, index)))
  return end < 0 ? lines : lines.slice(0, end)
}

const TRACES = 'return-path|received|message-id|mime-version|dkim-signature|content-type'
const TRACE_LINE = new RegExp(`^(${TRACES})\\s*:`, 'i')
const HEADER_LINE = new RegExp(`^(${TRACES}|from|date|delivered-to|subject|to|cc|reply-to|x-[\\w-]+|sender)\\s*:`, 'i')

/** True where the header of a mail begins: three of its fields, one of them written by servers. */
function isHeaderBlock(lines: string[], index: number): boolean {
  if (!HEADER_LINE.test(lines[index] ?? '')) return false
  const fields = lines.slice(index, index + 14).filter((line) => HEADER_LINE.test(line))
  return fields.length >= 3 && fields.some((line) => TRACE_LINE.test(line))
}

const ADDRESS = /[^\s<>()[\]{},;:"'`|=*]{1,64}@[\p{L}\p{N}][\p{L}\p{N}.-]{0,252}/gu

export const addressesIn = (text: string): string[] =>
  (text.match(ADDRESS) ?? []).map((address) => address.replace(/[.-]+$/, '').toLowerCase())

interface AddressContext {
  address: string
  /** The lines that name the address, and those below up to a line that begins with another address. */
  lines: string[]
  /** The sentences that begin in these lines. */
  own: Sentence[]
  /** What the last sentence above the address says. */
  above: Said | null
  /** The lines from the address to the next empty line. */
  paragraph: string
}

/** What the notice says about each address. */
function contextsOf(lines: readonly string[], sentences: readonly Sentence[]): Map<string, AddressContext> {
  const contexts = new Contexts()
  const beginning = Map.groupBy(sentences, ({ start }) => start)
  for (const [index, line] of lines.entries()) contexts.read(line, index, beginning.get(index) ?? [])
  return contexts.byAddress
}

class Contexts {
  readonly byAddress = new Map<string, AddressContext>()
  /** The addresses that the next lines are about, up to a line. */
  #current: AddressContext[] = []
  #end = 0
  #above: Said | null = null
  /** True in the paragraph of an address. */
  #isListed = false

  /** @param sentences those that begin in the line */
  read(line: string, index: number, sentences: readonly Sentence[]): void {
    const named = FIELD_LINE.test(line) ? [] : addressesIn(line).slice(0, MAX_ADDRESSES)
    this.#isListed &&= line.trim() !== ''
    if (named.length) this.#begin(line, index, named)
    else this.#note(sentences)
    if (index >= this.#end) return
    for (const context of this.#current) {
      context.lines.push(line)
      context.own.push(...sentences)
      if (this.#isListed) context.paragraph += `${line}\n`
    }
  }

  #begin(line: string, index: number, addresses: string[]): void {
    const named = addresses.map((address) => this.#contextOf(address))
    this.#current = BEGINS_WITH_ADDRESS.test(line) ? named : [...new Set([...this.#current, ...named])]
    this.#end = index + LINES_PER_ADDRESS
    this.#isListed = true
  }

  #contextOf(address: string): AddressContext {
    const context = this.byAddress.get(address) ?? { address, lines: [], own: [], above: this.#above, paragraph: '' }
    if (this.byAddress.size < MAX_ADDRESSES) this.byAddress.set(address, context)
    context.above ??= this.#above
    return context
  }

  /**
   * Notes what is said to the addresses below. A heading that says something else ends the lines about those above. What else follows an
   * address in its paragraph is about that address only.
   */
  #note(sentences: readonly Sentence[]): void {
    for (const { said, isHeading } of sentences) {
      if (said === null || (this.#isListed && !isHeading)) continue
      if (isHeading && this.#above !== null && said !== this.#above) this.#current = []
      this.#above = said
    }
  }
}

const BEGINS_WITH_ADDRESS = /^[\s<"'*•>-]{0,12}[^\s<>()[\]{},;:"'`|=*]{1,64}@/
