/** What to know of a mail before it goes, from what the service says of it. */
import { addressKey } from '../recipients/addresses.ts'
import { type DayWords, readRefusal } from '../recipients/refusals.ts'

export interface Warnings {
  words: readonly string[]
  /** True if each of its recipients would get nothing. */
  isForNobody: boolean
}

/**
 * @param problems what the preview of the service has found
 * @param recipients the addresses of all recipients
 * @returns null if nothing is to be said
 */
export function warningsOf(problems: readonly string[], recipients: readonly string[], dayWords: DayWords): Warnings | null {
  if (!problems.length) return null
  const read = problems.map((problem) => ({ problem, refusal: readRefusal(problem, dayWords) }))
  const refused = new Set(read.map(({ refusal }) => refusal?.address))
  return {
    words: read.map(({ problem, refusal }) => (refusal ? `${refusal.address} ${refusal.words}.` : problem)),
    isForNobody: recipients.every((address) => refused.has(addressKey(address))),
  }
}
