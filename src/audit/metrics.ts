import { counter, type Metric } from '../platform/metrics/metrics.ts'

export const auditEntries = counter({
  name: 'gridpost_audit_entries_total',
  help: 'Rows of the audit log that this process has written, by action.',
  labels: ['action'],
})

export const auditMetrics: readonly Metric[] = [auditEntries]
