import { operationDocs } from '../platform/http/procedures/operation-docs.ts'
import type { TableIndex } from './schema.ts'

const index: TableIndex = {
  name: 'idx_sort_stage_due_5c01d2ab',
  fields: ['stage', 'due', 'id'],
  reason: 'view "Open deals"',
  state: 'ready',
  size: 31_457_280,
}

export const docs = operationDocs('Tables', {
  list: {
    summary: 'List the indexes of a table',
    description:
      'The primary key comes first, then the indexes that views and queries of the table need, in the order in which they are built, ' +
      'then all others. Indexes of tables with more than 5,000 records are created and dropped automatically.',
    example: { output: { rows: [index] } },
  },
})
