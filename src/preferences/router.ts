import { callers } from '../platform/access/authorize.ts'
import { listOf } from '../platform/http/procedures/schemas.ts'
import { accountProcedure, answering, rest, router } from '../platform/http/procedures/trpc.ts'
import { docs } from './docs.ts'
import { Preference, PreferenceList, PreferenceUpdate } from './schema.ts'
import * as preferences from './service.ts'

export const preferencesRouter = router({
  list: accountProcedure(callers.users)
    .meta(rest('GET', '/api/preferences/list', docs.list, { isList: true }))
    .input(PreferenceList)
    .output(listOf(Preference))
    .query(({ ctx, input }) => preferences.list(ctx.context, input)),

  update: accountProcedure(callers.users)
    .meta(rest('POST', '/api/preference/{name}/update', docs.update, { etag: 'answered and heeded' }))
    .input(PreferenceUpdate)
    .output(Preference)
    .mutation(answering(({ ctx, input }) => preferences.update(ctx.context, input, ctx.ifMatch))),
})
