import { callers } from '../platform/access/authorize.ts'
import { listOf } from '../platform/http/procedures/schemas.ts'
import { accountProcedure, rest, router } from '../platform/http/procedures/trpc.ts'
import { docs } from './docs.ts'
import { AuditEntry, AuditQuery } from './schema.ts'
import * as service from './service.ts'

export const auditRouter = router({
  list: accountProcedure(callers.managers, { isOwnerOnly: true, readsPrimary: true })
    .meta(rest('GET', '/api/audit/list', docs.list, { isList: true }))
    .input(AuditQuery)
    .output(listOf(AuditEntry))
    .query(({ ctx, input }) => service.list(ctx.context, input)),
})
