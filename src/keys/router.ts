import { callers } from '../platform/access/authorize.ts'
import { listOf, NoInput, Ok } from '../platform/http/procedures/schemas.ts'
import { accountProcedure, resourceProcedure, rest, router } from '../platform/http/procedures/trpc.ts'
import { docs } from './docs.ts'
import { Key, KeyPath, KeyUpdate, KeyWithSecret, NewKey, Self } from './schema.ts'
import * as keys from './service.ts'

export const keysRouter = router({
  list: accountProcedure(callers.session, { readsPrimary: true })
    .meta(rest('GET', '/api/keys/list', docs.list, { isList: true }))
    .input(NoInput)
    .output(listOf(Key))
    .query(({ ctx }) => keys.list(ctx.context)),

  create: accountProcedure(callers.session)
    .meta(rest('POST', '/api/keys/create', docs.create, { isRepeatable: true }))
    .input(NewKey)
    .output(KeyWithSecret)
    .mutation(({ ctx, input }) => keys.create(ctx.context, input)),

  update: resourceProcedure(keys.keyResource, 'write', callers.session)
    .meta(rest('POST', '/api/key/{key_id}/update', docs.update))
    .input(KeyUpdate.extend(KeyPath.shape))
    .output(Key)
    .mutation(({ ctx, input }) => keys.update(ctx.context, ctx.row, input)),

  rotate: resourceProcedure(keys.keyResource, 'write', callers.session)
    .meta(rest('POST', '/api/key/{key_id}/rotate', docs.rotate))
    .input(KeyPath)
    .output(KeyWithSecret)
    .mutation(({ ctx }) => keys.rotate(ctx.context, ctx.row)),

  delete: resourceProcedure(keys.keyResource, 'write', callers.session)
    .meta(rest('POST', '/api/key/{key_id}/delete', docs.delete))
    .input(KeyPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await keys.remove(ctx.context, ctx.row)
      return { ok: true }
    }),

  self: accountProcedure(callers.keys, { readsPrimary: true })
    .meta(rest('GET', '/api/key/self', docs.self))
    .input(NoInput)
    .output(Self)
    .query(({ ctx }) => keys.self(ctx.context)),
})
