/**
 * Notices pauses: for a moment nothing is done, because the process was stopped, or PostgreSQL, or its disk. What comes meanwhile is no flood, and the
 * rate at which requests are served shows none until what was in progress has ended. It also notices when the process is slower than usual for a moment.
 */
import { Demand } from './demand.ts'

/** If requests wait and none has got a place for this time, what they wait for pauses. */
const PAUSE_MS = 40
/** For how long after it a pause still explains why fewer requests are served than come. */
const RECENT_MS = 500
/** If the queue is not short again by then, more is asked for than can be done, and the accounts must share the places again. */
const CATCH_UP_MS = 2_000
/** What a slow moment has left may take so long to be served, because an account that asks for 80 % hardly catches up beside another. */
const SLOW_MS = 10_000
/** A burst is served within this time, and gets no more places. */
const BURST_MS = 100

export class Pauses {
  readonly #demand = new Demand()
  #placeGivenAt = Number.NEGATIVE_INFINITY
  #pausedAt = Number.NEGATIVE_INFINITY
  #catchUpUntil = Number.NEGATIVE_INFINITY
  #slowSince = Number.NEGATIVE_INFINITY
  #lastSlowAt = Number.NEGATIVE_INFINITY

  /** Whether there is a pause, or was one a moment ago. */
  isRecent(now: number): boolean {
    return now < this.#pausedAt + RECENT_MS
  }

  /** Whether what has come during a pause, or while the process is slow, may still wait. All places are needed to catch up with it. */
  isCatchingUp(now: number): boolean {
    return now < this.#catchUpUntil
  }

  noteRequest(now: number): void {
    this.#demand.came(now)
  }

  notePlaceGiven(now: number): void {
    this.#placeGivenAt = now
    this.#demand.served(now)
  }

  notePause(now: number): void {
    this.#pausedAt = now
    this.#catchUpUntil = now + CATCH_UP_MS
  }

  /** To be called while many wait. @returns whether that is so because the process has become slower, and not for long */
  checkForSlowness(now: number): boolean {
    if (!this.#demand.isUsual(now)) return false
    // Slowness that comes again and again is no moment, for instance the bursts of callers who send the next as soon as all are answered.
    if (now > this.#lastSlowAt + RECENT_MS) this.#slowSince = now
    this.#lastSlowAt = now
    const end = this.#slowSince + CATCH_UP_MS
    if (now >= this.#slowSince + BURST_MS && now < end) this.#catchUpUntil = Math.max(this.#catchUpUntil, end)
    return now < this.#slowSince + SLOW_MS
  }

  /** To be called often while requests wait for a place. */
  checkForPause(now: number): void {
    if (now >= this.#placeGivenAt + PAUSE_MS) this.notePause(now)
  }

  /** Notes that only as many requests wait as usual. Shortly after a pause of the process that is so because the others have not been read yet. */
  noteShortQueue(now: number): void {
    if (!this.isRecent(now)) this.#catchUpUntil = Number.NEGATIVE_INFINITY
  }
}
