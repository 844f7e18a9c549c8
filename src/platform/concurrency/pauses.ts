/**
 * Notices pauses: for a moment nothing is done, because the process was stopped, or PostgreSQL, or its disk. What comes meanwhile is no flood, and the
 * rate at which requests are served shows none until what was in progress has ended.
 */

/** If requests wait and none has got a place for this time, what they wait for pauses. */
const PAUSE_MS = 40
/** How long a pause counts after it was last noticed. */
const COUNTED_MS = 500

export class Pauses {
  #placedAt = Number.NEGATIVE_INFINITY
  #pausedAt = Number.NEGATIVE_INFINITY
  #isCatchingUp = false

  /** Whether requests that have come during a pause still wait. All places are needed to catch up with them. */
  get isCatchingUp(): boolean {
    return this.#isCatchingUp
  }

  /** Whether there is a pause, or was one a moment ago. */
  isRecent(now: number): boolean {
    return now < this.#pausedAt + COUNTED_MS
  }

  /** Notes that a request has got a place. */
  placed(now: number): void {
    this.#placedAt = now
  }

  /** Notes a pause that somebody else has noticed. */
  note(now: number): void {
    this.#pausedAt = now
    this.#isCatchingUp = true
  }

  /**
   * Looks whether there is a pause. To be called often while requests wait.
   * @param mostLeft if no more than these wait, those of a pause have been caught up with
   */
  look(waiting: number, mostLeft: number, now: number): void {
    if (waiting > 0 && now >= this.#placedAt + PAUSE_MS) this.note(now)
    else if (waiting <= mostLeft && !this.isRecent(now)) this.#isCatchingUp = false
  }

  /** Notes that a party is being refused, so there is no queue to catch up with. */
  giveUp(): void {
    this.#isCatchingUp = false
  }
}
