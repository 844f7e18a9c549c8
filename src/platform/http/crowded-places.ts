/**
 * The number of requests that a process works on at once while accounts compete or requests are refused. Each request is answered sooner
 * if there are few, but a process that waits for the database needs more to be busy: the number follows the event loop.
 */

/** So many keep the event loop busy even if each of them waits for the database half of the time. */
export const FEWEST_PLACES = 4
export const MOST_PLACES = 64
/** Above this utilization of the event loop further requests at once would only wait for each other. */
const FULL = 0.9
/** Below it requests mostly wait for the database. */
const IDLE = 0.6

export class CrowdedPlaces {
  #places = MOST_PLACES

  get places(): number {
    return this.#places
  }

  /** Changes slowly between the two bounds, where a few more places could fill the loop, and quickly beyond them. */
  adapt(utilization: number): void {
    const next = utilization > FULL ? this.#places >> 1 : utilization < IDLE ? this.#places * 2 : this.#places + 1
    this.#places = Math.min(MOST_PLACES, Math.max(FEWEST_PLACES, next))
  }
}
