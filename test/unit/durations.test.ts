import { Histogram, type Metric, Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { Durations } from '../../src/platform/metrics/durations.ts'

const BUCKETS = [0.001, 0.5, 10]

/** As the supervisor of several processes adds them up. prom-client's own also has exemplars, which nobody asks for. */
const jsonOf = async (registry: Registry) =>
  JSON.parse(JSON.stringify(await registry.getMetricsAsJSON(), (key, value) => (key === 'exemplar' ? undefined : value)))

/** The same metric twice: ours, and prom-client's. */
function twins(labels: string[]) {
  const options = { name: 'gridpost_test_seconds', help: 'What "took"\nlong.', buckets: BUCKETS }
  const [ours, theirs] = [new Registry(), new Registry()]
  const durations = new Durations({ ...options, labels })
  ours.registerMetric(durations as unknown as Metric)
  const histogram = new Histogram({ ...options, labelNames: labels, registers: [theirs] })
  const observe = (seconds: number, values: Record<string, string> = {}) => {
    durations.observer(values)(seconds)
    histogram.observe(values, seconds)
  }
  return { ours, theirs, observe }
}

describe('durations are shown as prom-client shows a histogram', () => {
  test('with labels, which may need escapes', async () => {
    const { ours, theirs, observe } = twins(['route', 'status'])
    for (const seconds of [0, 0.001, 0.0011, 0.25, 0.5, 9.99, 10, 10.1, 3_600]) observe(seconds, { route: '/a', status: '200' })
    observe(0.3, { status: '404', route: 'a "quote", a \\ and\na line' })
    observe(0.3, { route: '/a', status: '404' })

    expect(await ours.metrics()).toBe(await theirs.metrics())
    expect(await jsonOf(ours)).toEqual(await jsonOf(theirs))
  })

  test('without labels, before and after the first', async () => {
    const { ours, theirs, observe } = twins([])
    expect(await ours.metrics()).toContain('gridpost_test_seconds_count 0')
    expect(await ours.metrics()).toBe(await theirs.metrics())

    observe(0.02)

    expect(await ours.metrics()).toBe(await theirs.metrics())
  })
})
