import { callers } from '../platform/access/authorize.ts'
import { listOf } from '../platform/http/schemas.ts'
import { rest, router, tableProcedure } from '../platform/http/trpc.ts'
import { TablePath } from '../tables/schema.ts'
import { TableIndex } from './schema.ts'
import * as indexes from './service.ts'

const index: TableIndex = {
  name: 'idx_sort_stage_due_5c01d2ab',
  fields: ['stage', 'due', 'id'],
  reason: 'view "Open deals"',
  state: 'ready',
  size: 31_457_280,
}

export const indexesRouter = router({
  list: tableProcedure('admin', callers.any)
    .meta(
      rest('GET', '/api/table/{table_id}/indexes', 'List the indexes of a table', {
        description:
          'The primary key first, then the indexes that the views and queries of the table ask for, in the order in which they are made, ' +
          'then all others. From 20,000 records on they come and go by themselves.',
        tags: ['Tables'],
        example: { output: { rows: [index] } },
        isList: true,
      }),
    )
    .input(TablePath)
    .output(listOf(TableIndex))
    .query(({ ctx }) => indexes.list(ctx.context, ctx.table)),
})
