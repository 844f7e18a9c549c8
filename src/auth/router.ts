import { callers } from '../platform/access/authorize.ts'
import { NoInput, Ok } from '../platform/http/schemas.ts'
import { accountProcedure, rest, router } from '../platform/http/trpc.ts'
import { docs } from './docs.ts'
import { AcceptInvite, Login, Me, PasswordChange, Profile } from './schema.ts'
import * as auth from './service.ts'
import { SESSION_COOKIE, sessionSeconds } from './sessions.ts'

export const authRouter = router({
  login: accountProcedure(callers.anyone)
    .meta(rest('POST', '/api/auth/login', docs.login))
    .input(Login)
    .output(Me)
    .mutation(async ({ ctx, input }) => {
      const { user, token } = await auth.login(ctx.context, input)
      ctx.request.setCookie(SESSION_COOKIE, token, { maxAgeSeconds: sessionSeconds(ctx.context.settings) })
      return user
    }),

  logout: accountProcedure(callers.session)
    .meta(rest('POST', '/api/auth/logout', docs.logout))
    .input(NoInput)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await auth.logout(ctx.context)
      ctx.request.setCookie(SESSION_COOKIE, '', { maxAgeSeconds: 0 })
      return { ok: true }
    }),

  me: accountProcedure(callers.session)
    .meta(rest('GET', '/api/auth/me', docs.me))
    .input(NoInput)
    .output(Me)
    .query(({ ctx }) => auth.me(ctx.context)),

  profile: accountProcedure(callers.session)
    .meta(rest('POST', '/api/auth/profile', docs.profile))
    .input(Profile)
    .output(Me)
    .mutation(({ ctx, input }) => auth.updateProfile(ctx.context, input)),

  password: accountProcedure(callers.session)
    .meta(rest('POST', '/api/auth/password', docs.password))
    .input(PasswordChange)
    .output(Ok)
    .mutation(async ({ ctx, input }) => {
      await auth.changePassword(ctx.context, input)
      return { ok: true }
    }),

  acceptInvite: accountProcedure(callers.anyone)
    .meta(rest('POST', '/api/auth/acceptInvite', docs.acceptInvite))
    .input(AcceptInvite)
    .output(Me)
    .mutation(async ({ ctx, input }) => {
      const { user, token } = await auth.acceptInvite(ctx.context, input)
      ctx.request.setCookie(SESSION_COOKIE, token, { maxAgeSeconds: sessionSeconds(ctx.context.settings) })
      return user
    }),
})
