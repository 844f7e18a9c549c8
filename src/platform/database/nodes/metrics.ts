/** Metrics of the nodes that have records. If the service has several processes, the first one reports what it sees. */
import { gauge, type Metric } from '../../metrics/metrics.ts'

export const nodeMetrics: readonly Metric[] = [
  gauge({
    name: 'gridpost_node_answers',
    help: '1 if the node answers, 0 from three seconds without an answer, while its spaces are not available.',
    labels: ['node'],
    isShared: true,
    read: ({ nodes }) => (nodes?.all ?? []).map(({ name, isAway }) => ({ labels: { node: name }, value: Number(!isAway) })),
  }),
]
