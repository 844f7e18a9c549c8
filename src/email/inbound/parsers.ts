/** The parsers of the process: several for ordinary messages, and others for large ones, which take seconds each. */
import { FairQueue } from '../../platform/concurrency/fair-queue.ts'
import { unavailable } from '../../platform/errors.ts'
import type { ParsedMail } from './mime.ts'
import { isLargeMessage, type MailParser, openParser, type RawMessage } from './parser.ts'

/** How many messages of a kind are parsed at once, and how many of one account. A parser without work has no process. */
const AT_ONCE = 3
const OF_ACCOUNT = 2
/** Each waiting message is held by a job, so few wait here. The wait ends before the job's limit of five minutes. */
const WAITING = { mostWaiting: 100, waitMs: 240_000 }

export interface Parsers {
  /**
   * Parses a raw message, within the share of its account.
   * @param authservId the mail server whose Authentication-Results count
   * @throws UnreadableMail; what the pieces throw; Error if the message could not be parsed now
   */
  parse(account: number | null, raw: RawMessage, authservId?: string): Promise<ParsedMail>
  close(): Promise<void>
}

/** @param open opens one of the parsers */
export function openParsers(open: () => MailParser = openParser): Parsers {
  const [ordinary, large] = [poolOf(open), poolOf(open)]
  return {
    parse: (account, raw, authservId) =>
      (isLargeMessage(raw) ? large : ordinary).run(String(account), (parser) => parser.parse(raw, authservId)),
    close: async () => void (await Promise.all([ordinary.close(), large.close()])),
  }
}

function poolOf(open: () => MailParser) {
  const all = Array.from({ length: AT_ONCE }, open)
  // The parser that was used last is used next, so that the idle processes of the others can end.
  const free = [...all]
  const queue = new FairQueue({ slots: AT_ONCE, slotsOfAccount: OF_ACCOUNT, ...WAITING })
  const refusal = () => unavailable('Too many messages wait for a parser', 30)
  return {
    run: <Result>(account: string, fn: (parser: MailParser) => Promise<Result>): Promise<Result> =>
      queue.run(
        account,
        async () => {
          const parser = free.pop() as MailParser
          try {
            return await fn(parser)
          } finally {
            free.push(parser)
          }
        },
        { refusal },
      ),
    close: () => Promise.all(all.map((parser) => parser.close())),
  }
}
