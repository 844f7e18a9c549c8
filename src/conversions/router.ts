import { callers } from '../platform/access/authorize.ts'
import { rest, router, tableProcedure } from '../platform/http/procedures/trpc.ts'
import { FieldPath } from '../tables/schema.ts'
import { conversionDocs } from './docs.ts'
import { StartedJob, TypeChange } from './schema.ts'
import { changeType } from './service.ts'

/** router.ts merges this into `fields`, because callers look for the operation there. */
export const conversionsRouter = router({
  changeType: tableProcedure('admin', callers.managers)
    .meta(rest('POST', '/api/table/{table_id}/field/{field_id}/changeType', conversionDocs.changeType))
    .input(TypeChange.extend(FieldPath.shape))
    .output(StartedJob)
    .mutation(({ ctx, input: { field_id, ...change } }) => changeType(ctx.context, ctx.table, field_id, change)),
})
