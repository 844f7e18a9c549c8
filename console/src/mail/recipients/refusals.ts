/** What the service says of an address to which no mail goes, in words for the reader. */
import { composerTexts } from '../../texts/mail/composer.ts'
import { causeOf } from '../delivery/error-words.ts'

/** A calendar date in words, such as `3 May`. */
export type DayWords = (day: string) => string

export interface Refusal {
  /** In lower case. */
  address: string
  /** The end of a sentence that begins with the address. */
  words: string
}

const REFUSAL = /^([^\s:]+@[^\s:]+): (No mail is sent to this address .*)$/s

/** Reads a problem of a preview; null if it is of another kind. */
export function readRefusal(problem: string, dayWords: DayWords): Refusal | null {
  const [, email, message] = REFUSAL.exec(problem) ?? []
  if (!email || !message) return null
  const { words } = causeOf({ code: 'SUPPRESSED', enhanced: null, message }, dayWords)
  return { address: email.toLowerCase(), words: composerTexts.getsNothing(words) }
}
