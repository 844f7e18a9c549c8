/**
 * Metrics for Prometheus. Each feature describes its own, and `deps.ts` lists them all. A label takes few values: the pattern of a route,
 * the name of a queue or a state, never an id.
 */
import { Counter, collectDefaultMetrics, Gauge, type Metric as PromMetric, Registry } from 'prom-client'
import { withinTime } from '../concurrency/time-limit.ts'
import type { Deps } from '../context.ts'
import { Durations, type Labels, type Observer } from './durations.ts'

declare module '../context.ts' {
  interface Shared {
    metrics: Metrics
  }
}

interface Described {
  name: `gridpost_${string}`
  help: string
  labels?: readonly string[]
}

/** Counts what happens in this process. The name ends in `_total`. */
export interface CounterMetric extends Described {
  kind: 'counter'
}

/** Distributes durations of this process over buckets, in seconds. */
export interface DurationMetric extends Described {
  kind: 'duration'
  buckets: readonly number[]
}

/** Values that are read when Prometheus asks for them. */
export interface GaugeMetric extends Described {
  kind: 'gauge'
  /** @returns one value for each combination of labels that exists now */
  read(deps: Deps): readonly Sample[] | Promise<readonly Sample[]>
  /** True for what is the same in every process, such as counts of rows: one of them reads it for all. */
  isShared?: boolean
  /** How long an expensive reading is used again; by default each scrape reads. */
  keepSeconds?: number
}

export interface Sample {
  labels?: Labels
  value: number
}

export type Metric = CounterMetric | DurationMetric | GaugeMetric

export const counter = (metric: Omit<CounterMetric, 'kind'>): CounterMetric => ({ kind: 'counter', ...metric })
export const duration = (metric: Omit<DurationMetric, 'kind'>): DurationMetric => ({ kind: 'duration', ...metric })
export const gauge = (metric: Omit<GaugeMetric, 'kind'>): GaugeMetric => ({ kind: 'gauge', ...metric })

export interface Metrics {
  /** Adds to a counter, 1 by default. */
  count(metric: CounterMetric, labels?: Labels, by?: number): void
  /** Notes how long something took. */
  observe(metric: DurationMetric, seconds: number, labels?: Labels): void
  /** Returns a function that records how long something with these labels took, for events that are frequent. */
  observer(metric: DurationMetric, labels?: Labels): Observer
  /**
   * All metrics in the text format. A gauge that cannot be read in time is left out, so that a scrape shows the rest even if the
   * database is down.
   */
  text(deps: Deps): Promise<string>
  /** The same as JSON, to be added to those of other processes. @param isFirst true if this process reads the gauges that all share */
  series(deps: Deps, isFirst: boolean): Promise<Series>
}

/** The metrics of a process, as prom-client has them in JSON. */
export type Series = readonly MetricSeries[]

interface MetricSeries {
  name: string
  help: string
  type: string
  aggregator: string
  values: unknown[]
}

/** The media type of `text`. */
export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

/** How long a scrape waits for the gauges. Prometheus itself waits 10 seconds by default. */
const READ_TIMEOUT_MS = 3_000

const failedReads = counter({
  name: 'gridpost_metric_read_failures_total',
  help: 'Gauges that could not be read in time, by name.',
  labels: ['metric'],
})

/** The registry of a process. @param metrics all metrics that will be counted, observed or read */
export function openMetrics(metrics: readonly Metric[]): Metrics {
  const registry = new Registry()
  const counters = new Map<Metric, Counter>()
  const durations = new Map<Metric, Durations>()
  const readings: GaugeReading[] = []
  let hasDefaults = false
  let scrape: Promise<string> | undefined

  for (const metric of [...metrics, failedReads]) {
    const { name, help, labels = [] } = metric
    const options = { name, help, labelNames: [...labels], registers: [registry] }
    if (metric.kind === 'counter') counters.set(metric, new Counter(options))
    if (metric.kind === 'duration') durations.set(metric, registered(new Durations({ ...metric, labels })))
    if (metric.kind === 'gauge') readings.push(new GaugeReading(metric, new Gauge(options)))
  }

  function registered(series: Durations): Durations {
    registry.registerMetric(series as unknown as PromMetric)
    return series
  }

  const observer: Metrics['observer'] = (metric, labels = {}) => durations.get(metric)?.observer(labels) ?? NOT_OBSERVED

  const count: Metrics['count'] = (metric, labels = {}, by = 1) => counters.get(metric)?.inc(labels, by)

  async function refresh(deps: Deps, isFirst: boolean): Promise<void> {
    // The metrics of Node observe the event loop and the garbage collector, which a process that nobody scrapes need not do.
    if (!hasDefaults) collectDefaultMetrics({ register: registry })
    hasDefaults = true
    await Promise.all(
      readings.map(async (reading) => {
        if (reading.isShared && !isFirst) return reading.forget()
        if (!(await reading.refresh(deps))) count(failedReads, { metric: reading.name })
      }),
    )
  }

  async function collect(deps: Deps): Promise<string> {
    await refresh(deps, true)
    return registry.metrics()
  }

  return {
    count,
    observe: (metric, seconds, labels) => observer(metric, labels)(seconds),
    observer,
    text: (deps) => {
      // Scrapes at the same time share one set of readings, so that they cannot take all connections.
      scrape ??= collect(deps).finally(() => {
        scrape = undefined
      })
      return scrape
    },
    series: async (deps, isFirst) => {
      await refresh(deps, isFirst)
      return (await registry.getMetricsAsJSON()) as unknown as Series
    },
  }
}

const NOT_OBSERVED: Observer = () => {}

/** A gauge, and the reading that fills it. */
class GaugeReading {
  readonly name: string
  readonly isShared: boolean
  readonly #metric: GaugeMetric
  readonly #gauge: Gauge
  #running: Promise<boolean> | undefined
  #readAt = Number.NEGATIVE_INFINITY

  constructor(metric: GaugeMetric, gauge: Gauge) {
    this.name = metric.name
    this.isShared = metric.isShared ?? false
    this.#metric = metric
    this.#gauge = gauge
  }

  /** Reads the values, unless those of the last reading are recent enough. @returns false if they could not be read in time */
  async refresh(deps: Deps): Promise<boolean> {
    if (performance.now() - this.#readAt < (this.#metric.keepSeconds ?? 0) * 1000) return true
    // A reading that hangs is not started a second time.
    this.#running ??= this.#read(deps).finally(() => {
      this.#running = undefined
    })
    const isRead = await withinTime(this.#running, READ_TIMEOUT_MS, false)
    if (!isRead) this.forget()
    return isRead
  }

  /** Shows no value. A reset gauge without labels would be 0, which is a value. */
  forget(): void {
    this.#readAt = Number.NEGATIVE_INFINITY
    this.#gauge.reset()
    if (!this.#metric.labels?.length) this.#gauge.remove()
  }

  async #read(deps: Deps): Promise<boolean> {
    try {
      const samples = await this.#metric.read(deps)
      this.forget()
      for (const { labels = {}, value } of samples) this.#gauge.set(labels, value)
      this.#readAt = performance.now()
      return true
    } catch (error) {
      deps.log.warn({ err: error, metric: this.name }, 'metric not read')
      return false
    }
  }
}
