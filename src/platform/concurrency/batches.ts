/** Shares one statement among several callers, as a database writes several commits at once (group commit). */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'

interface Waiting<Item, Result> {
  item: Item
  resolve(result: Result | Promise<Result>): void
  reject(error: unknown): void
}

interface Options {
  /** How many items are taken at once at most. */
  most: number
  /** True for an error that would meet every item, such as a lost connection. After any other each item is tried alone. */
  isForAll(error: unknown): boolean
  /** The least time from the beginning of one call to the next; 0 by default. An item after a longer pause is taken at once. */
  restMs?: number
  /** A call that takes longer, perhaps because it waits for a lock, no longer holds up the next one. By default every one is waited for. */
  lateMs?: number
}

/** The results of a call, in the order of its items. Those that are promises are not waited for by the next call. */
type Results<Result> = readonly (Result | Promise<Result>)[]

/**
 * Runs a function with all items that were added during its previous run. An item that is added while the function does not run is taken at
 * once; the more items are added, the less each of them costs.
 */
export class Batches<Item, Result> {
  readonly #work: (items: readonly Item[]) => Promise<Results<Result>>
  readonly #options: Options
  /** The items that wait, by group, for each group with a call under way. */
  readonly #waiting = new Map<string, Waiting<Item, Result>[]>()
  #startedAt = Number.NEGATIVE_INFINITY

  constructor(work: (items: readonly Item[]) => Promise<Results<Result>>, options: Options) {
    this.#work = work
    this.#options = options
  }

  /**
   * The result for the item.
   * @param group items of different groups are in different calls, which do not wait for each other
   * @throws what the function throws for it
   */
  add(item: Item, group = ''): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const waiting = this.#waiting.get(group)
    if (waiting) waiting.push({ item, resolve, reject })
    else void this.#run(group, [{ item, resolve, reject }])
    return promise
  }

  async #run(group: string, waiting: Waiting<Item, Result>[]): Promise<void> {
    const { most, restMs = 0, lateMs } = this.#options
    this.#waiting.set(group, waiting)
    // Items that are added in the same turn of the event loop share a batch.
    await setImmediate()
    while (waiting.length) {
      const rest = this.#startedAt + restMs - performance.now()
      if (rest > 0) await sleep(rest)
      this.#startedAt = performance.now()
      const taken = this.#take(waiting.splice(0, most))
      await (lateMs === undefined ? taken : doneOrLate(taken, lateMs))
    }
    this.#waiting.delete(group)
  }

  async #take(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#work(batch.map(({ item }) => item))
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result)
    } catch (error) {
      if (batch.length === 1 || this.#options.isForAll(error)) for (const { reject } of batch) reject(error)
      else for (const one of batch) await this.#take([one])
    }
  }
}

function doneOrLate(taken: Promise<void>, lateMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const late = setTimeout(resolve, lateMs)
  void taken.then(() => {
    clearTimeout(late)
    resolve()
  })
  return promise
}
