/**
 * Tells a flood from a burst, after which fewer requests come than are served, from a pause (pauses.ts), and from a process that has become slower
 * (demand.ts). What these have left is soon served, so the requests had better wait.
 */

/** In a flood of twice the capacity, two or three come for each one that is served. Callers who wait for their answers send as many as are served. */
const EXCESS = 1.5
/** The requests of a flood do not come evenly, so its intervals are judged together. */
const INTERVALS = 4
/**
 * A queue that has been long for so many intervals, while requests keep coming, and has not become shorter by this share, is not what a burst or pause
 * has left. The rates do not always show a flood, because a busy process reads requests late.
 */
const LONG = { intervals: 25, shorter: 0.05 }

interface Interval {
  came: number
  served: number
  turnedAway: number
}

const newInterval = (): Interval => ({ came: 0, served: 0, turnedAway: 0 })

export class Inflow {
  #current = newInterval()
  /** The last intervals. */
  #ended: Interval[] = []
  /** For how many intervals the queue has been long, and its greatest length in them. */
  #long = { intervals: 0, length: 0 }

  /** A request has come and has to wait. */
  came(): void {
    this.#current.came++
  }

  /** A request that has waited is served. */
  served(): void {
    this.#current.served++
  }

  /** A request was refused, because too many wait. */
  turnedAway(): void {
    this.#current.turnedAway++
  }

  /** Whether clearly more requests have begun to wait than have been served after waiting, in this interval and the one before. */
  get exceedsServed(): boolean {
    const last = this.#ended.at(-1)
    return this.#current.came + (last?.came ?? 0) > EXCESS * (this.#current.served + (last?.served ?? 0))
  }

  /** Begins anew, when nobody has waited. */
  reset(): void {
    this.#current = newInterval()
    this.#ended = []
    this.#long = { intervals: 0, length: 0 }
  }

  /**
   * Ends an interval.
   * @param length of the queue
   * @param isLong whether more wait than may without a flood
   * @param isPause whether there is a pause, or was one a moment ago, or the process is slower than usual
   * @returns true for a flood
   */
  endInterval(length: number, isLong: boolean, isPause: boolean): boolean {
    this.#noteLength(length, isLong && this.#current.came > 0 && !isPause)
    this.#ended.push(this.#current)
    this.#current = newInterval()
    if (this.#ended.length > INTERVALS) this.#ended.shift()
    if (!isLong || this.#ended.length < INTERVALS) return false
    return (!isPause && isFasterThanServed(this.#ended)) || wasFull(this.#ended) || this.#long.intervals >= LONG.intervals
  }

  #noteLength(length: number, isLong: boolean): void {
    if (!isLong || length < (1 - LONG.shorter) * this.#long.length) this.#long = { intervals: isLong ? 1 : 0, length }
    else this.#long = { intervals: this.#long.intervals + 1, length: Math.max(length, this.#long.length) }
  }
}

/** Without the interval in which most came: a burst, or what had to wait for a pause of the process. */
function isFasterThanServed(intervals: readonly Interval[]): boolean {
  const most = intervals.reduce((one, other) => (other.came > one.came ? other : one))
  const others = intervals.filter((interval) => interval !== most)
  return intervals.every(({ served }) => served > 0) && sum(others, 'came') > EXCESS * sum(others, 'served')
}

const sum = (intervals: readonly Interval[], what: keyof Interval) => intervals.reduce((total, interval) => total + interval[what], 0)

/** The queue was full nearly all the time: work hangs, or a few more come than can be served. */
const wasFull = (intervals: readonly Interval[]) => intervals.filter(({ turnedAway }) => turnedAway > 0).length >= INTERVALS - 1
