/**
 * Reads pages as PostgreSQL prints them: short ones on a pipelined connection that they share, all others on a connection of their own. It is not the
 * connection of the other short reads (docs/decisions/0008-pipelined-reads.md), which would wait behind pages.
 */
import type pg from 'pg'
import { currentParty } from '../concurrency/party.ts'
import type { AnswerTimes, PipelinedReads } from './pipelined-reads.ts'
import { type FollowingRead, runStatement, runWithFollowing } from './pooled-statements.ts'
import type { Named, PageLimit } from './prepared-statements.ts'
import type { PrintedRows } from './printed-rows.ts'
import type { Statement } from './records-plane.ts'
import { type SharedPage, ShortPages } from './short-pages.ts'

/** What a page is sent with. */
interface Sent {
  /** The name under which it is prepared. */
  name: string | undefined
  next: FollowingRead | undefined
}

export class PageReader {
  readonly #short = new ShortPages()
  readonly #pipeline: PipelinedReads

  constructor(pipeline: PipelinedReads) {
    this.#pipeline = pipeline
  }

  /**
   * Reads the page on the shared connection, and what follows behind it.
   * @param sent is called for a page that is known to be short
   * @returns null if the page is not known to be short, or could not be answered there
   */
  async readShared({ text, values }: Statement, sent: () => Sent): Promise<pg.QueryResult | null> {
    const ended = this.#short.begin({ text, values }, currentParty())
    if (!ended) return null
    let outcome: SharedPage | null | undefined
    try {
      const { name = UNNAMED, next } = sent()
      let times: AnswerTimes | undefined
      const reading = this.#pipeline.run({ name, text, values }, true, (found) => {
        times = found
      })
      if (!reading) return null
      // It sees nothing older than the page, because it is sent behind it on the same connection.
      const [page, read] = await Promise.all([reading, next && this.#pipeline.run(next.statement)])
      if (!page) {
        // If the connection was closed, another page may have timed out.
        if (times?.isTimedOut) outcome = null
        return null
      }
      if (times) outcome = { ...times, bytes: bytesOf(page) }
      if (read) next?.answered(read.rows)
      return page
    } finally {
      ended(outcome)
    }
  }

  /** Reads the page on this connection, with what follows, and notes whether it was short. */
  async readOn(client: pg.ClientBase, statement: Named, next: FollowingRead | undefined, limit: PageLimit): Promise<pg.QueryResult> {
    const sentAt = performance.now()
    const page = await (next ? runWithFollowing(client, statement, next, limit) : runStatement(client, statement, true, limit))
    this.#short.note(statement, { tookMs: performance.now() - sentAt, bytes: bytesOf(page) })
    return page
  }
}

/** A statement without a name is parsed and planned each time. */
const UNNAMED = ''
const bytesOf = ({ rows }: pg.QueryResult): number => (rows as unknown as PrintedRows).bytes
