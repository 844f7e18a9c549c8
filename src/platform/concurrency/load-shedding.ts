/**
 * Tells a queue that stays long from what a burst or a pause has left, as CoDel does: to wait in the first helps nobody, and the second
 * is soon served.
 */

/** What a pause has left at 80 % of the capacity takes four times as long to be served as the pause. */
const WINDOW_MS = 2_500

export class LoadShedding {
  readonly #shortMs: number | undefined
  #lastShortAt = Number.NEGATIVE_INFINITY
  #wasFull = false

  /** @param shortMs a wait of at most this time shows that the queue does not stay long. Without it only a full queue does not */
  constructor(shortMs: number | undefined) {
    this.#shortMs = shortMs
  }

  /**
   * Whether the newest request is served first, because the oldest will be refused: since the queue was full, or after 2.5 s in which
   * none has waited for a short time only, until `noteNoQueue`.
   */
  isShedding(now: number): boolean {
    return this.#wasFull || (this.#shortMs !== undefined && now - this.#lastShortAt > WINDOW_MS)
  }

  /** Notes how long a served request has waited. While the queue is shed, its newest requests have always waited for a short time. */
  noteWait(waitedMs: number, now: number): void {
    if (this.#shortMs !== undefined && waitedMs <= this.#shortMs && !this.isShedding(now)) this.#lastShortAt = now
  }

  /** Notes that a request was refused because too many wait. */
  noteFull(): void {
    this.#wasFull = true
  }

  /** Notes that no request has waited before the one that has come. */
  noteNoQueue(now: number): void {
    this.#lastShortAt = now
    this.#wasFull = false
  }
}
