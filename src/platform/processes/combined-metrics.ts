/** Adds up the metrics of all processes. What a process has counted still counts after its end, because a counter must never fall. */
import type { Series } from '../metrics/metrics.ts'
import type { ToProcess } from './messages.ts'

/** A process that does not answer in this time counts as it was at its last answer. It may wait three seconds for the database. */
const COLLECT_TIMEOUT_MS = 4_500

/** A process that is asked for its metrics. */
export interface Source {
  send(message: ToProcess): void
}

interface Collection {
  id: number
  missing: Set<Source>
  done(): void
}

export class CombinedMetrics {
  /** What each process has answered last. */
  readonly #latest = new Map<Source, Series>()
  /** What processes have counted that have ended since. */
  readonly #ended: Series[] = []
  #collection: Collection | undefined
  #scrape: Promise<string> | undefined
  #lastId = 0

  /**
   * The metrics of all, in the text format. Scrapes at the same time share one collection.
   * @param sources the first also reads what is the same for all
   */
  text(sources: readonly Source[]): Promise<string> {
    this.#scrape ??= this.#collect(sources).finally(() => {
      this.#scrape = undefined
    })
    return this.#scrape
  }

  /** Takes the answer of a process. */
  answer(source: Source, id: number, series: Series): void {
    if (this.#collection?.id !== id) return
    this.#latest.set(source, series)
    this.#noLongerMissing(source)
  }

  /** Notes that a process has ended: its gauges are gone, and its counters stay. */
  forget(source: Source): void {
    const last = this.#latest.get(source)
    if (last) this.#ended.push(last.filter(({ type }) => type !== 'gauge'))
    this.#latest.delete(source)
    this.#noLongerMissing(source)
  }

  async #collect(sources: readonly Source[]): Promise<string> {
    // Only a process that is asked for metrics needs prom-client.
    const { AggregatorRegistry } = await import('prom-client')
    const sumOf = (all: readonly Series[]) => AggregatorRegistry.aggregate(all as never)
    const ended = (await sumOf(this.#ended.splice(0)).getMetricsAsJSON()) as unknown as Series
    this.#ended.unshift(ended)
    await this.#ask(sources)
    return sumOf([...this.#ended, ...this.#latest.values()]).metrics()
  }

  async #ask(sources: readonly Source[]): Promise<void> {
    if (!sources.length) return
    const id = ++this.#lastId
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#collection = { id, missing: new Set(sources), done: resolve }
    const timer = setTimeout(resolve, COLLECT_TIMEOUT_MS)
    for (const [index, source] of sources.entries()) source.send({ tells: 'collect', id, isFirst: index === 0 })
    await promise
    clearTimeout(timer)
    this.#collection = undefined
  }

  #noLongerMissing(source: Source): void {
    const { missing, done } = this.#collection ?? {}
    if (missing?.delete(source) && !missing.size) done?.()
  }
}
