/** What the caller's account stores: `account` on RPC. */
import { callers } from '../../platform/access/authorize.ts'
import { NoInput } from '../../platform/http/procedures/schemas.ts'
import { accountProcedure, rest, router } from '../../platform/http/procedures/trpc.ts'
import { docs } from '../docs.ts'
import { Usage } from './schema.ts'
import { usage } from './service.ts'

export const accountRouter = router({
  usage: accountProcedure(callers.any)
    .meta(rest('GET', '/api/account/usage', docs.usage))
    .input(NoInput)
    .output(Usage)
    .query(({ ctx }) => usage(ctx.context)),
})
