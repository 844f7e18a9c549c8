import { gauge, type Metric } from '../platform/metrics/metrics.ts'

export const eventMetrics: readonly Metric[] = [
  gauge({
    name: 'gridpost_event_streams',
    help: 'Open streams of events in this process.',
    read: ({ feed }) => [{ value: feed.size() }],
  }),
]
