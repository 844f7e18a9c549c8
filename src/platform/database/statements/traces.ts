/** A span for each statement of a request or a job. */
import { openSpan } from '../../tracing/tracing.ts'
import type { ObserveStatement } from './observe-statements.ts'

/** The span has the kind of the statement and its first table, not its text. */
export const traceStatement: ObserveStatement = (text) => {
  const { operation, table } = summaryOf(text)
  const span = openSpan(table ? `${operation} ${table}` : operation, {
    kind: 'client',
    attributes: { 'db.system.name': 'postgresql', 'db.operation.name': operation, ...(table && { 'db.collection.name': table }) },
    onlyInside: true,
  })
  return (error) => span?.end(error)
}

const OPERATION = /\b(select|insert|update|delete|begin|commit|rollback|savepoint|release|set|listen|notify|copy)\b/i
const TABLE = /\b(?:from|into|update|join)\s+(?:only\s+)?((?:"?\w+"?\.)?"?\w+"?)/i

/** Tables of users are called by their number: t7.records. */
function summaryOf(text: string): { operation: string; table: string | undefined } {
  const operation = OPERATION.exec(text)?.[1]?.toUpperCase() ?? 'OTHER'
  const table = TABLE.exec(text)?.[1]
    ?.replaceAll('"', '')
    .replace(/^public\./, '')
  return { operation, table }
}
