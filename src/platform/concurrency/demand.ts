/**
 * Compares what all parties ask for with what could be done a moment ago. If no more requests come than got a place lately, and a queue grows
 * nevertheless, the process has become slower, because something else uses the processor or the disk. That is usually over before the queue is full.
 */

const SLICE_MS = 50
/** The number of slices that are compared. Fewer would be too uneven, and with more a flood is noticed later. */
const COMPARED = 5
/** Ten seconds. */
const REMEMBERED = 200
/** Up to this, more requests count as the same number, because a process that was slow reads in less time what has come meanwhile. */
const UNEVEN = 1.2

interface Slice {
  came: number
  served: number
}

export class Demand {
  /** The last one has not ended. */
  readonly #slices: Slice[] = []
  #nextAt = Number.NEGATIVE_INFINITY

  came(now: number): void {
    this.#at(now).came++
  }

  /** A request has got a place. */
  served(now: number): void {
    this.#at(now).served++
  }

  /** Whether about as many requests come now as got a place in the best quarter of a second of the last ten seconds, or fewer. */
  isUsual(now: number): boolean {
    this.#at(now)
    const end = this.#slices.length - 1
    const begin = end - COMPARED
    if (begin < COMPARED) return false
    // What comes after a quiet moment is in the slice that has not ended.
    const came = Math.max(this.#cameIn(begin, end), this.#cameIn(begin + 1, end + 1))
    return came <= UNEVEN * this.#mostServedBefore(begin)
  }

  #cameIn(begin: number, end: number): number {
    let came = 0
    for (const slice of this.#slices.slice(begin, end)) came += slice.came
    return came
  }

  #mostServedBefore(end: number): number {
    let served = 0
    let most = 0
    for (let at = 0; at < end; at++) {
      served += (this.#slices[at]?.served ?? 0) - (this.#slices[at - COMPARED]?.served ?? 0)
      most = Math.max(most, served)
    }
    return most
  }

  #at(now: number): Slice {
    if (now >= this.#nextAt + REMEMBERED * SLICE_MS) {
      this.#slices.length = 0
      this.#nextAt = now
    }
    for (; now >= this.#nextAt; this.#nextAt += SLICE_MS) this.#slices.push({ came: 0, served: 0 })
    if (this.#slices.length > REMEMBERED) this.#slices.splice(0, this.#slices.length - REMEMBERED)
    return this.#slices.at(-1) as Slice
  }
}
