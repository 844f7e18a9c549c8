import { callers } from '../platform/access/authorize.ts'
import { listOf, TablePath } from '../platform/http/procedures/schemas.ts'
import { rest, router, tableProcedure } from '../platform/http/procedures/trpc.ts'
import { docs } from './docs.ts'
import { TableIndex } from './schema.ts'
import * as indexes from './service.ts'

export const indexesRouter = router({
  list: tableProcedure('admin', callers.any)
    .meta(rest('GET', '/api/table/{table_id}/indexes', docs.list, { isList: true }))
    .input(TablePath)
    .output(listOf(TableIndex))
    .query(({ ctx }) => indexes.list(ctx.context, ctx.table)),
})
