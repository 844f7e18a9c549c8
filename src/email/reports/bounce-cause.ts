import {
  CAUSES,
  CAUSES_BY_REPLY,
  CAUSES_BY_STATUS,
  CAUSES_OF_SENDER,
  type Cause,
  type CausesByCode,
  VAGUE_CAUSES,
} from './failure-causes.ts'
import { isGeneral, type ReplyCodes } from './reply-codes.ts'

const UNKNOWN_CAUSE: Cause = { kind: 'block', reason: 'The server refused the mail' }

/** The words of a server that name a cause are among its first ones. */
const MAX_WORDS = 400

/** The kind of a bounce and its reason in plain words, from the words of the server, else from its codes. */
export function bounceCause({ code, status, diagnostic }: ReplyCodes & { diagnostic: string | null }): Cause {
  const words = wordsOf(diagnostic ?? '')
  const known = (causes: typeof CAUSES) => causes.find(({ phrases }) => phrases.test(words))
  const { kind, reason } =
    startingWith(CAUSES_OF_SENDER, status) ??
    known(CAUSES) ??
    startingWith(CAUSES_BY_STATUS, isGeneral(status) ? null : status) ??
    known(VAGUE_CAUSES) ??
    startingWith(CAUSES_BY_REPLY, code) ??
    UNKNOWN_CAUSE
  return { kind, reason }
}

/** True for a text that names a cause. */
export function namesCause(text: string): boolean {
  const words = wordsOf(text)
  return CAUSES.some(({ phrases }) => phrases.test(words))
}

/** The first words, without addresses, links and hosts, which may contain the same words. Exchange's `RESOLVER.ADR.…` is no host. */
const wordsOf = (text: string): string =>
  text
    .slice(0, MAX_WORDS)
    .replace(/\S+@\S+|https?:\S+|\b(?!resolver)[\w-]+(\.[\w-]+)*\.[a-z]{2,}\b/gi, ' ')
    .replace(/\s+/g, ' ')

const startingWith = (causes: CausesByCode, code: string | null): Cause | undefined =>
  code === null ? undefined : causes.find(([prefix]) => code.startsWith(prefix))?.[1]
