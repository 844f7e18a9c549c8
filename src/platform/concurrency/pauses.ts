/**
 * Notices pauses: for a moment nothing is done, because the process was stopped, or PostgreSQL, or its disk. What comes meanwhile is no flood, and the
 * rate at which requests are served shows none until what was in progress has ended.
 */

/** If requests wait and none has got a place for this time, what they wait for pauses. */
const PAUSE_MS = 40
/** For how long after it a pause still explains why fewer requests are served than come. */
const RECENT_MS = 500
/** If the queue is still not short this long after a pause, more is asked for than can be done, and the accounts must share the places again. */
const CATCH_UP_MS = 2_000

export class Pauses {
  #placeGivenAt = Number.NEGATIVE_INFINITY
  #pausedAt = Number.NEGATIVE_INFINITY
  #isCaughtUp = true

  /** Whether there is a pause, or was one a moment ago. */
  isRecent(now: number): boolean {
    return now < this.#pausedAt + RECENT_MS
  }

  /** Whether what has come during a pause may still wait. All places are needed to catch up with it. */
  isCatchingUp(now: number): boolean {
    return !this.#isCaughtUp && now < this.#pausedAt + CATCH_UP_MS
  }

  notePlaceGiven(now: number): void {
    this.#placeGivenAt = now
  }

  notePause(now: number): void {
    this.#pausedAt = now
    this.#isCaughtUp = false
  }

  /** To be called often while requests wait for a place. */
  checkForPause(now: number): void {
    if (now >= this.#placeGivenAt + PAUSE_MS) this.notePause(now)
  }

  /** Notes that only as many requests wait as usual. Shortly after a pause of the process that is so because the others have not been read yet. */
  noteShortQueue(now: number): void {
    if (!this.isRecent(now)) this.#isCaughtUp = true
  }
}
