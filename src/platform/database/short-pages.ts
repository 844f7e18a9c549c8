/**
 * Knows which pages are short, so that they may share a connection (page-reader.ts). Whether one is depends on the values of its statement as much
 * as on the text, and nobody can tell before: so it is measured.
 */
import { BoundedMap } from '../collections/bounded-map.ts'
import type { Statement } from './records-plane.ts'

/** A page that has never been shorter on a connection of its own is not tried on the shared one. Other work of the machine is part of the time. */
const SHORT_MS = 5
/** A page for which this process waits longer there, on average, delays others for longer than it saves. */
const MOST_WAITED_MS = 2
/** The same for the time from one answer to the next: while this process is busy, it waits for no page, however long it takes. */
const MOST_TAKEN_MS = 10
const MOST_BYTES = 131_072
/** What the pages of a party that are under way on the shared connection may take together, and those of all parties: others wait behind them. */
const MOST_UNDER_WAY_MS = { party: 20, all: 40 }
/** The least that a page is expected to take. */
const LEAST_MS = 0.3
/** The time from one answer to the next is mostly the work of this process on other pages, so only a part of it is expected of a page. */
const EXPECTED_PART = 0.2
/** A page that took too long there is not tried again for this time, and then only if it was short on a connection of its own. */
const AVOIDED_MS = 60_000
/** How much the last page counts in an average, and how many times the limit at most: the machine may have done something else. */
const WEIGHT_OF_LAST = 0.1
const MOST_COUNTED = 3

const MOST_KNOWN = 1_000
/** A statement with more is not remembered. */
const MOST_CHARACTERS = 5_000

interface KnownPage {
  waitedMs: number
  tookMs: number
  /** When it was found too long there. */
  avoidedAt: number | undefined
}

/** What a page took on the shared connection. */
export interface SharedPage {
  /** For how long this process had nothing to do but wait for it. */
  waitedMs: number
  /** The time since the answer before it or, if that was earlier, since it was sent. */
  tookMs: number
  bytes: number
}

const newPage = (): KnownPage => ({ waitedMs: LEAST_MS, tookMs: LEAST_MS, avoidedAt: undefined })

export class ShortPages {
  readonly #known = new BoundedMap<string, KnownPage>(MOST_KNOWN)
  readonly #underWayMs = new Map<string, number>()
  #allUnderWayMs = 0

  /**
   * Begins a page on the shared connection.
   * @returns a function to call once it has ended: with what it took, with null if it timed out there, and without an argument if nothing is known of
   * it; undefined if the page is not known to be short, or if enough is under way
   */
  begin(statement: Statement, party: string): ((ended?: SharedPage | null) => void) | undefined {
    const page = this.#known.get(nameOf(statement))
    if (!page || page.avoidedAt !== undefined || !this.#hasRoom(party)) return undefined
    const expectedMs = Math.max(page.waitedMs, EXPECTED_PART * page.tookMs, LEAST_MS)
    this.#count(party, expectedMs)
    return (ended) => {
      this.#count(party, -expectedMs)
      if (ended) this.#noteShared(statement, page, ended)
      else if (ended === null) avoid(page)
    }
  }

  #hasRoom(party: string): boolean {
    return this.#allUnderWayMs < MOST_UNDER_WAY_MS.all && (this.#underWayMs.get(party) ?? 0) < MOST_UNDER_WAY_MS.party
  }

  #count(party: string, ms: number): void {
    this.#allUnderWayMs += ms
    const underWayMs = (this.#underWayMs.get(party) ?? 0) + ms
    // Sums of fractions do not end at zero exactly.
    if (underWayMs < LEAST_MS / 2) this.#underWayMs.delete(party)
    else this.#underWayMs.set(party, underWayMs)
    if (!this.#underWayMs.size) this.#allUnderWayMs = 0
  }

  #noteShared(statement: Statement, page: KnownPage, { waitedMs, tookMs, bytes }: SharedPage): void {
    page.waitedMs = average(page.waitedMs, waitedMs, MOST_WAITED_MS)
    page.tookMs = average(page.tookMs, tookMs, MOST_TAKEN_MS)
    if (page.waitedMs > MOST_WAITED_MS || page.tookMs > MOST_TAKEN_MS) avoid(page)
    if (bytes > MOST_BYTES) this.#known.delete(nameOf(statement))
  }

  /** Notes a page that was read on a connection of its own. */
  note(statement: Statement, { tookMs, bytes }: Pick<SharedPage, 'tookMs' | 'bytes'>): void {
    if (tookMs > SHORT_MS || bytes > MOST_BYTES) return
    const name = nameOf(statement)
    if (name.length > MOST_CHARACTERS) return
    const page = this.#known.get(name)
    // The averages of a page are those of the shared connection.
    if (!page || (page.avoidedAt !== undefined && performance.now() >= page.avoidedAt + AVOIDED_MS)) this.#known.set(name, newPage())
  }
}

function avoid(page: KnownPage): void {
  page.avoidedAt = performance.now()
}

const average = (before: number, last: number, limit: number) => before + WEIGHT_OF_LAST * (Math.min(last, MOST_COUNTED * limit) - before)

const nameOf = ({ text, values }: Statement): string => `${text} ${JSON.stringify(values)}`
