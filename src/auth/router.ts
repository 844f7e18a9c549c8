import { callers } from '../platform/access/authorize.ts'
import { STRANGER_BODY_LIMIT } from '../platform/http/load/large-bodies.ts'
import { listOf, NoInput, Ok } from '../platform/http/procedures/schemas.ts'
import { accountProcedure, resourceProcedure, rest, router } from '../platform/http/procedures/trpc.ts'
import { confirmAddress, requestAddress } from './address-change.ts'
import { clearSession, setDevice, setSession, visitorOf } from './cookies.ts'
import { docs, sessionDocs } from './docs.ts'
import { forgot, reset } from './password-reset.ts'
import {
  AcceptInvite,
  AddressRequest,
  Confirmation,
  Forgot,
  Login,
  Me,
  PasswordChange,
  Profile,
  Reset,
  Session,
  SessionPath,
} from './schema.ts'
import * as auth from './service.ts'
import * as sessions from './sessions.ts'

const FOR_STRANGERS = { bodyLimit: STRANGER_BODY_LIMIT }

export const authRouter = router({
  login: accountProcedure(callers.anyone, { hasOwnThrottle: true })
    .meta(rest('POST', '/api/auth/login', docs.login, FOR_STRANGERS))
    .input(Login)
    .output(Me)
    .mutation(async ({ ctx, input }) => {
      const signedIn = await auth.login(ctx.context, input, visitorOf(ctx.request))
      setSession(ctx.request, signedIn)
      return signedIn.user
    }),

  logout: accountProcedure(callers.session)
    .meta(rest('POST', '/api/auth/logout', docs.logout))
    .input(NoInput)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      clearSession(ctx.request, await sessions.endOwn(ctx.context, ctx.context.actor.sessionId ?? 0))
      return { ok: true }
    }),

  me: accountProcedure(callers.session, { readsPrimary: true })
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

  email: accountProcedure(callers.session)
    .meta(rest('POST', '/api/auth/email', docs.email))
    .input(AddressRequest)
    .output(Ok)
    .mutation(async ({ ctx, input }) => {
      await requestAddress(ctx.context, input)
      return { ok: true }
    }),

  confirmEmail: accountProcedure(callers.anyone)
    .meta(rest('POST', '/api/auth/email/confirm', docs.confirmEmail, FOR_STRANGERS))
    .input(Confirmation)
    .output(Ok)
    .mutation(async ({ ctx, input }) => {
      setDevice(ctx.request, await confirmAddress(ctx.context, input, visitorOf(ctx.request)))
      return { ok: true }
    }),

  forgot: accountProcedure(callers.anyone, { hasOwnThrottle: true })
    .meta(rest('POST', '/api/auth/forgot', docs.forgot, FOR_STRANGERS))
    .input(Forgot)
    .output(Ok)
    .mutation(async ({ ctx, input }) => {
      await forgot(ctx.context, input, visitorOf(ctx.request))
      return { ok: true }
    }),

  reset: accountProcedure(callers.anyone)
    .meta(rest('POST', '/api/auth/reset', docs.reset, FOR_STRANGERS))
    .input(Reset)
    .output(Ok)
    .mutation(async ({ ctx, input }) => {
      setDevice(ctx.request, await reset(ctx.context, input, visitorOf(ctx.request)))
      return { ok: true }
    }),

  acceptInvite: accountProcedure(callers.anyone)
    .meta(rest('POST', '/api/auth/acceptInvite', docs.acceptInvite, FOR_STRANGERS))
    .input(AcceptInvite)
    .output(Me)
    .mutation(async ({ ctx, input }) => {
      const signedIn = await auth.acceptInvite(ctx.context, input, visitorOf(ctx.request))
      setSession(ctx.request, signedIn)
      return signedIn.user
    }),
})

export const sessionsRouter = router({
  list: accountProcedure(callers.session, { readsPrimary: true })
    .meta(rest('GET', '/api/auth/sessions/list', sessionDocs.list, { isList: true }))
    .input(NoInput)
    .output(listOf(Session))
    .query(({ ctx }) => sessions.list(ctx.context)),

  end: resourceProcedure(sessions.sessionResource, 'write', callers.session)
    .meta(rest('POST', '/api/auth/session/{id}/end', sessionDocs.end))
    .input(SessionPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      clearSession(ctx.request, await sessions.endOwn(ctx.context, ctx.row.found_session_id))
      return { ok: true }
    }),
})
