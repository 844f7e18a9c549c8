/** Shares one statement among several callers, as a database writes several commits at once (group commit). */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'

interface Waiting<Item, Result> {
  item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}

interface Options {
  /** How many items are taken at once at most. */
  most: number
  /** True for an error that would meet every item, such as a lost connection. After any other error each item of the batch is tried alone. */
  isForAll(error: unknown): boolean
  /** The least time from the beginning of one call to the next; 0 by default. An item after a longer pause is taken at once. */
  restMs?: number
}

/**
 * Runs a function with all items that were added during its previous run. An item that is added while the function does not run is taken at
 * once; the more items are added, the less each of them costs.
 */
export class Batches<Item, Result> {
  readonly #work: (items: readonly Item[]) => Promise<readonly Result[]>
  readonly #options: Options
  #waiting: Waiting<Item, Result>[] = []
  #isRunning = false
  #startedAt = Number.NEGATIVE_INFINITY

  /** @param work returns a result for each item, in their order */
  constructor(work: (items: readonly Item[]) => Promise<readonly Result[]>, options: Options) {
    this.#work = work
    this.#options = options
  }

  /** The result for the item. @throws what the function throws for it */
  add(item: Item): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    this.#waiting.push({ item, resolve, reject })
    if (!this.#isRunning) void this.#run()
    return promise
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    // Items that are added in the same turn of the event loop share a batch.
    await setImmediate()
    while (this.#waiting.length) {
      const rest = this.#startedAt + (this.#options.restMs ?? 0) - performance.now()
      if (rest > 0) await sleep(rest)
      this.#startedAt = performance.now()
      await this.#take(this.#waiting.splice(0, this.#options.most))
    }
    this.#isRunning = false
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
