/** Metrics of the connections and statements of this process. */
import { counter, duration, gauge, type Metric, type Metrics } from '../metrics/metrics.ts'
import type { ObserveStatement } from './statements/observe-statements.ts'

/** A statement that takes longer than this counts as slow. */
const SLOW_SECONDS = 1

const statements = duration({
  name: 'gridpost_db_statement_seconds',
  help: 'Time from sending a statement to its answer.',
  buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10],
})

const slowStatements = counter({
  name: 'gridpost_db_slow_statements_total',
  help: `Statements that took longer than ${SLOW_SECONDS} s.`,
})

export const databaseMetrics: readonly Metric[] = [
  statements,
  slowStatements,
  gauge({
    name: 'gridpost_db_connections',
    help: 'Connections of the pool for requests and jobs, by state.',
    labels: ['state'],
    read: ({ db }) => {
      const { busy, idle } = db.load()
      return [
        { labels: { state: 'busy' }, value: busy },
        { labels: { state: 'idle' }, value: idle },
      ]
    },
  }),
  gauge({
    name: 'gridpost_db_connections_max',
    help: 'The most connections that the pool opens.',
    read: ({ db }) => [{ value: db.load().max }],
  }),
  gauge({
    name: 'gridpost_db_connection_waiters',
    help: 'Statements and transactions that wait for a connection of the pool.',
    read: ({ db }) => [{ value: db.load().waiting }],
  }),
  gauge({
    name: 'gridpost_db_queries',
    help: 'Queries of records, by state: they share a limited number of connections.',
    labels: ['state'],
    read: ({ db }) => {
      const { running, waiting } = db.load().queries
      return [
        { labels: { state: 'running' }, value: running },
        { labels: { state: 'waiting' }, value: waiting },
      ]
    },
  }),
]

/** Measures statements. */
export function statementTimer(metrics: Metrics): ObserveStatement {
  const observe = metrics.observer(statements)
  return () => {
    const sentAt = performance.now()
    return () => {
      const seconds = (performance.now() - sentAt) / 1000
      observe(seconds)
      if (seconds > SLOW_SECONDS) metrics.count(slowStatements)
    }
  }
}
