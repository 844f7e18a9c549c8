/** Writes of several requests that are done together (docs/decisions/0023-grouped-writes.md). */
import { setImmediate } from 'node:timers/promises'

/** A group that takes longer waits for a lock or is slow, so that later writes no longer wait for it. */
const LATE_MS = 20

/** Writes of one name that arrive while a group of the name is under way wait for it, and are the next group. */
export class WriteGroups<Write> {
  /** The writes that wait, of each name with a group under way. */
  readonly #waiting = new Map<string, Write[]>()
  readonly #most: number
  readonly #run: (writes: readonly Write[]) => Promise<void>

  /**
   * @param most the writes of one group at most, so that nobody waits for many others
   * @param run must not fail
   */
  constructor(most: number, run: (writes: readonly Write[]) => Promise<void>) {
    this.#most = most
    this.#run = run
  }

  /** Adds the write to the next group of the name. Names do not wait for each other. */
  add(name: string, write: Write): void {
    const waiting = this.#waiting.get(name)
    if (waiting) waiting.push(write)
    else void this.#take(name, [write])
  }

  async #take(name: string, waiting: Write[]): Promise<void> {
    this.#waiting.set(name, waiting)
    // Writes that arrive in the same turn of the event loop leave together.
    await setImmediate()
    while (waiting.length) await doneOrLate(this.#run(waiting.splice(0, this.#most)))
    this.#waiting.delete(name)
  }
}

function doneOrLate(group: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const late = setTimeout(resolve, LATE_MS)
  group.then(() => {
    clearTimeout(late)
    resolve()
  })
  return promise
}
