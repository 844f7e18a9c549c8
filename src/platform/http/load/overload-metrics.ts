/** Metrics of the requests that are in progress, wait, or were refused. */
import type { FairQueue } from '../../concurrency/fair-queue.ts'
import { counter, gauge, type Metric, type Metrics } from '../../metrics/metrics.ts'

export const refusals = counter({
  name: 'gridpost_http_refusals_total',
  help: 'Requests that were refused with 503, because too many others were waiting.',
})

/** The queue of each process that answers requests, by its metrics. */
const queues = new WeakMap<Metrics, Pick<FairQueue, 'taken' | 'waiting'>>()

/** Shows how many requests are in progress and how many wait. */
export const showQueue = (metrics: Metrics, queue: Pick<FairQueue, 'taken' | 'waiting'>) => void queues.set(metrics, queue)

export const overloadMetrics: readonly Metric[] = [
  refusals,
  gauge({
    name: 'gridpost_http_requests',
    help: 'Requests that have a slot, and those that wait for one. One that takes long gives its slot back before it is answered.',
    labels: ['state'],
    read: ({ metrics }) => {
      const queue = queues.get(metrics)
      if (!queue) return []
      return [
        { labels: { state: 'running' }, value: queue.taken },
        { labels: { state: 'waiting' }, value: queue.waiting },
      ]
    },
  }),
]
