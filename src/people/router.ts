import { setSession, visitorOf } from '../auth/cookies.ts'
import { Me } from '../auth/schema.ts'
import { callers } from '../platform/access/authorize.ts'
import { STRANGER_BODY_LIMIT } from '../platform/http/load/large-bodies.ts'
import { listOf, NoInput, Ok } from '../platform/http/procedures/schemas.ts'
import { accountProcedure, resourceProcedure, rest, router } from '../platform/http/procedures/trpc.ts'
import { docs, setupDocs } from './docs.ts'
import { erase } from './erasure.ts'
import { setUp } from './first-owner.ts'
import { NewOwner, Proof, Setup, User, UserPath } from './schema.ts'
import * as people from './service.ts'

const userProcedure = resourceProcedure(people.userResource, 'admin', callers.session, { isOwnerOnly: true }, (row) => ({
  user: { id: row.found_user_id, account_id: row.account_id },
}))

export const usersRouter = router({
  list: accountProcedure(callers.session, { isOwnerOnly: true, readsPrimary: true })
    .meta(rest('GET', '/api/account/users/list', docs.list, { isList: true }))
    .input(NoInput)
    .output(listOf(User))
    .query(({ ctx }) => people.list(ctx.context)),

  disable: userProcedure
    .meta(rest('POST', '/api/user/{user_id}/disable', docs.disable))
    .input(UserPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await people.disable(ctx.context, ctx.user)
      return { ok: true }
    }),

  enable: userProcedure
    .meta(rest('POST', '/api/user/{user_id}/enable', docs.enable))
    .input(UserPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await people.enable(ctx.context, ctx.user)
      return { ok: true }
    }),

  erase: userProcedure
    .meta(rest('POST', '/api/user/{user_id}/erase', docs.erase))
    .input(Proof.extend(UserPath.shape))
    .output(Ok)
    .mutation(async ({ ctx, input }) => {
      await erase(ctx.context, ctx.user, input)
      return { ok: true }
    }),
})

/** Beside what the account stores (files/usage/router.ts): `account` on RPC. */
export const ownerRouter = router({
  owner: accountProcedure(callers.session, { isOwnerOnly: true })
    .meta(rest('POST', '/api/account/owner', docs.owner))
    .input(NewOwner)
    .output(Ok)
    .mutation(async ({ ctx, input }) => {
      await people.handOver(ctx.context, input)
      return { ok: true }
    }),
})

/** Beside signing in (auth/router.ts): `auth` on RPC. */
export const setupRouter = router({
  setup: accountProcedure(callers.anyone, { hasOwnThrottle: true })
    .meta(rest('POST', '/api/auth/setup', setupDocs.setup, { bodyLimit: STRANGER_BODY_LIMIT }))
    .input(Setup)
    .output(Me)
    .mutation(async ({ ctx, input }) => {
      const signedIn = await setUp(ctx.context, input, visitorOf(ctx.request))
      setSession(ctx.request, signedIn)
      return signedIn.user
    }),
})
