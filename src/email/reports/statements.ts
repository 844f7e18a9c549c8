/**
 * What the sentences of a notice say became of a mail. A sentence counts as a whole: one that is conditional, or that says that something
 * is no failure, says nothing. Words about attempts that go on are stronger than words about a failure: notices of delays use both.
 */
import { folded } from '../../platform/folded-text.ts'
import { namesCause } from './bounce-cause.ts'
import { FAILURE_SUBJECT } from './failure-phrases.ts'
import {
  CONDITIONAL,
  DELIVERED,
  FAILED,
  NEGATED,
  NEGATED_AFTER,
  NO_FAILURE,
  NOT_YET,
  RETRIED,
  TROUBLED,
  WARNING,
} from './statement-phrases.ts'

/** `troubled` is said of a mail that may be delayed or may have failed. */
export type Said = 'delivered' | 'delayed' | 'failed' | 'troubled'

export interface Sentence {
  text: string
  /** The indexes of its first and its last line. */
  start: number
  end: number
  /** Null if it says nothing about a mail. */
  said: Said | null
  /** True if what follows is listed under it. */
  isHeading: boolean
  /** True if it names a cause of a failure, and not as a condition. */
  isCause: boolean
  /** True if it says that the notice is only a warning. */
  isWarning: boolean
}

const MAX_SENTENCE = 600
const MAX_LINES = 6
/** Marks around the lines of a notice, such as a box of #. */
const DECORATION = /^[\s>*#|]+|[\s*#|]+$/g
const isFramed = (line: string) => /^\s*[-=_*]{2}/.test(line) && /[-=_*]{2}\s*$/.test(line)
const STARTS_ANEW = /^\s*[-<>*•[#|=_]|^[\s"']*[^\s<>()[\]{},;:"'`|=*]{1,64}@/
/** Lines that name what the mail was, and not what became of it. */
export const FIELD_LINE = /^\s*(to|cc|from|sender|reply-to|subject|message-id|sent|date|betreff|objet|asunto|assunto|oggetto|тема)\s*:/i

/** The sentences in the lines. An address, a list mark, an empty line or a colon at the end of a line begins a new one. */
export function sentencesIn(lines: readonly string[]): Sentence[] {
  const sentences = new Sentences()
  for (const [index, whole] of lines.entries()) {
    const raw = whole.slice(0, MAX_SENTENCE)
    const line = raw.replace(DECORATION, '')
    if (STARTS_ANEW.test(raw) || !line) sentences.close(index - 1)
    if (!line || FIELD_LINE.test(raw)) continue
    for (const piece of line.split(ENDS)) sentences.add(piece, index)
    if (isFramed(raw) || /[:：]$/.test(line)) sentences.close(index, { isHeading: true })
  }
  sentences.close(lines.length - 1)
  return sentences.found
}

const ENDS = /(?<=[.!?]["')]?)\s+|(?<=[。！？])/
const IS_ENDED = /[.!?。！？]["')]?$/

class Sentences {
  readonly found: Sentence[] = []
  #text = ''
  #start = 0

  /** Adds a piece of a line to the sentence that is open. */
  add(piece: string, line: number): void {
    if (this.#text && line - this.#start >= MAX_LINES) this.close(line - 1)
    if (!this.#text) this.#start = line
    this.#text = `${this.#text} ${piece}`.trim()
    if (IS_ENDED.test(piece)) this.close(line)
  }

  close(end: number, { isHeading = false } = {}): void {
    const text = this.#text
    this.#text = ''
    if (text) this.found.push({ ...judged(text.slice(0, MAX_SENTENCE)), text, start: this.#start, end, isHeading })
  }
}

function judged(text: string): Pick<Sentence, 'said' | 'isCause' | 'isWarning'> {
  const sentence = folded(text)
  const isConditional = CONDITIONAL.test(sentence)
  const isWarning = WARNING.test(sentence)
  return { said: isWarning ? 'delayed' : saidBy(sentence, isConditional), isCause: !isConditional && namesCause(text), isWarning }
}

/** What the subject of a notice says: its first words, because those of the mail may follow. */
export function saidInSubject(subject: string): Said | null {
  const text = folded(subject)
  const phrases = [
    ['delayed', NOT_YET],
    ['delayed', WARNING],
    ['delayed', RETRIED],
    ['delivered', DELIVERED],
    ['failed', FAILED],
    ['failed', FAILURE_SUBJECT],
  ] as const
  const found = phrases.flatMap(([said, words]) => {
    const match = words.exec(text)
    return match && !(said === 'delivered' && isNegated(text, match)) ? [{ said, index: match.index }] : []
  })
  return found.toSorted((a, b) => a.index - b.index)[0]?.said ?? null
}

function saidBy(sentence: string, isConditional: boolean): Said | null {
  const retried = RETRIED.exec(sentence)
  if (NOT_YET.test(sentence) || (retried && !isNegated(sentence, retried))) return 'delayed'
  if (isConditional) return null
  const delivered = DELIVERED.exec(sentence)
  if (delivered && !isNegated(sentence, delivered)) return 'delivered'
  if (NO_FAILURE.test(sentence)) return null
  if (TROUBLED.test(sentence)) return 'troubled'
  return FAILED.test(sentence) ? 'failed' : null
}

/** The characters before a phrase in which a negation is about it. */
const REACH = 20

const isNegated = (sentence: string, { 0: words, index }: RegExpExecArray): boolean =>
  NEGATED.test(sentence.slice(Math.max(0, index - REACH), index + words.length)) || NEGATED_AFTER.test(sentence.slice(index + words.length))

/** What several sentences about the same mail say: attempts that go on are the last word, trouble is none. */
export function saidTogether(sentences: readonly { said: Said | null }[]): Said | null {
  const all = new Set(sentences.map(({ said }) => said))
  return (['delayed', 'failed', 'delivered', 'troubled'] as const).find((said) => all.has(said)) ?? null
}
