/** Metrics of the audit log. */
import { counter, type Metric } from '../platform/metrics.ts'

export const auditedRows = counter({
  name: 'gridpost_audited_total',
  help: 'Rows for the audit log by this process, including those of changes that failed afterwards.',
  labels: ['action'],
})

export const auditMetrics: readonly Metric[] = [auditedRows]
