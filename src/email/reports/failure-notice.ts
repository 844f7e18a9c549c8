/**
 * Reads a notice about a failed delivery that is written for people, as qmail, Exim, Exchange and many others send it. There are too many
 * forms to know each: it looks for addresses, for codes and for phrases beside them. Whether an address is the mail's is decided later.
 */
import type { Header } from 'postal-mime'
import { headerValues } from '../headers.ts'
import { isAnswer, isAutomatic } from './automatic.ts'
import { namesCause } from './bounce-cause.ts'
import { DELAY, FAILED, FAILURE_SUBJECT, FINAL, RETURNED_BELOW, SYSTEM_ADDRESS, SYSTEM_NAME } from './failure-phrases.ts'
import { codesIn, isGeneral } from './reply-codes.ts'
import type { ReportedRecipient } from './report.ts'

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
  return hasReturned || (FAILURE_SUBJECT.test(subject) && !isAnswer(subject))
}

/** The recipients that the notice may be about, and an entry without an address for the notice as a whole. Empty if it names no failure. */
export function noticedRecipients({ headers, subject, text }: NoticeSource): ReportedRecipient[] {
  const notice = aboveReturned(text)
  const isDelay = DELAY.test(`${subject}\n${notice}`) && !FINAL.test(notice)
  const action = isDelay ? 'delayed' : 'failed'
  const failedHeader = headerValues(headers, 'x-failed-recipients').flatMap((value) => addressesIn(value))
  const whole = evidenceOf(notice)
  if (!whole && !isDelay && !failedHeader.length && !FAILED.test(notice) && !FAILURE_SUBJECT.test(subject)) return []

  const contexts = contextsOf(notice)
  const named = [...new Set([...failedHeader, ...contexts.keys()])].slice(0, MAX_ADDRESSES).map((address): ReportedRecipient => {
    const own = evidenceOf(contexts.get(address) ?? '')
    const isCertain = own !== null || failedHeader.includes(address)
    return { address, action, isCertain, ...(own ?? whole ?? NOTHING) }
  })
  return [...named, { address: null, action, isCertain: false, ...(whole ?? NOTHING) }]
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
  const end = /(?<=\S.{24,}?)(\n[ \t]*\n|giving up on|\(in reply to|[-=_*#]{4,})/is.exec(text)
  return (end ? text.slice(0, end.index) : text).replace(/\s+/g, ' ').trim().slice(0, MAX_DIAGNOSTIC)
}

/** The notice without the returned message below it. */
function aboveReturned(text: string): string {
  const lines = text.slice(0, MAX_NOTICE).replace(/\r\n?/g, '\n').split('\n').slice(0, MAX_LINES)
  const end = lines.findIndex((line, index) => index > 0 && (RETURNED_BELOW.test(line) || isHeaderBlock(lines, index)))
  return (end < 0 ? lines : lines.slice(0, end)).join('\n')
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

/** Lines that name the addresses of the mail, and not those that failed. */
const FIELD_LINE = /^\s*(to|cc|from|sender|reply-to|subject|message-id|sent|date)\s*:/i

/** The lines about each address: those that name it, and those below it up to a line that begins with another address. */
function contextsOf(notice: string): Map<string, string> {
  const lines = notice.split('\n')
  const contexts = new Map(
    lines
      .flatMap(addressesIn)
      .slice(0, MAX_ADDRESSES)
      .map((address) => [address, [] as string[]]),
  )
  let current: string[] = []
  let end = 0
  for (const [index, line] of lines.entries()) {
    const named = FIELD_LINE.test(line) ? [] : addressesIn(line)
    if (named.length) {
      current = BEGINS_WITH_ADDRESS.test(line) ? named : [...new Set([...current, ...named])]
      end = index + LINES_PER_ADDRESS
    }
    if (index < end) for (const address of current) contexts.get(address)?.push(line)
  }
  return new Map([...contexts].map(([address, lines]) => [address, lines.join('\n')]))
}

const BEGINS_WITH_ADDRESS = /^[\s<"'*•>-]{0,12}[^\s<>()[\]{},;:"'`|=*]{1,64}@/
