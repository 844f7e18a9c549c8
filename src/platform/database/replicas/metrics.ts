/** Metrics of the replicas. If the service has several processes, the first one reports how it judges them. */
import { counter, gauge, type Metric } from '../../metrics/metrics.ts'

export const replicaReads = counter({
  name: 'gridpost_replica_reads_total',
  help: 'Statements that a replica may answer, by the side that has: the primary if no replica could, or none was far enough.',
  labels: ['side'],
})

export const replicaMetrics: readonly Metric[] = [
  replicaReads,
  gauge({
    name: 'gridpost_replica_read',
    help: '1 if the replica is read, 0 if it is put aside.',
    labels: ['replica'],
    isShared: true,
    read: ({ replicas }) => (replicas?.all ?? []).map(({ name, isRead }) => ({ labels: { replica: name }, value: Number(isRead) })),
  }),
  gauge({
    name: 'gridpost_replica_lag_seconds',
    help: 'How long ago the primary wrote what the replica has not replayed.',
    labels: ['replica'],
    isShared: true,
    read: ({ replicas }) => (replicas?.all ?? []).map(({ name, lagMs }) => ({ labels: { replica: name }, value: lagMs / 1000 })),
  }),
]
