/**
 * Notices pauses: for a moment nothing is done, because the process was stopped, or PostgreSQL, or its disk. What comes meanwhile is no flood, and the
 * rate at which requests are served shows none until what was in progress has ended. Afterwards, and while the process is slow (demand.ts), it must catch
 * up.
 */

/** If requests wait and none has got a place for this time, what they wait for pauses. */
const PAUSE_MS = 40
/** For how long after it a pause still explains why fewer requests are served than come. */
const RECENT_MS = 500
/** If the queue is still not short this long after a pause, or after the process has become slow, more is asked for than can be done, and the accounts must share the places again. */
const CATCH_UP_MS = 2_000
/** Many may wait for so long after a slow moment, because an account that sends 80 % of what is possible hardly catches up beside another. */
const MOMENT_MS = 10_000
/** A burst is served sooner than this, and needs no more places. */
const NO_BURST_MS = 100

export class Pauses {
  #placeGivenAt = Number.NEGATIVE_INFINITY
  #pausedAt = Number.NEGATIVE_INFINITY
  #catchUpUntil = Number.NEGATIVE_INFINITY
  #slowSince = Number.NEGATIVE_INFINITY
  #slowAt = Number.NEGATIVE_INFINITY

  /** Whether there is a pause, or was one a moment ago. */
  isRecent(now: number): boolean {
    return now < this.#pausedAt + RECENT_MS
  }

  /** Whether what has come during a pause, or while the process is slow, may still wait. All places are needed to catch up with it. */
  isCatchingUp(now: number): boolean {
    return now < this.#catchUpUntil
  }

  notePlaceGiven(now: number): void {
    this.#placeGivenAt = now
  }

  notePause(now: number): void {
    this.#pausedAt = now
    this.#catchUpUntil = now + CATCH_UP_MS
  }

  /**
   * Notes that many wait although no more come than usual (demand.ts). That can last, or come again and again, so only its beginning counts.
   * @returns whether it may still be a moment
   */
  noteSlowness(now: number): boolean {
    if (now > this.#slowAt + RECENT_MS) this.#slowSince = now
    this.#slowAt = now
    const end = this.#slowSince + CATCH_UP_MS
    if (now >= this.#slowSince + NO_BURST_MS && now < end) this.#catchUpUntil = Math.max(this.#catchUpUntil, end)
    return now < this.#slowSince + MOMENT_MS
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
