import { callers } from '../platform/access/authorize.ts'
import { NoInput, Ok } from '../platform/http/schemas.ts'
import { accountProcedure, rest, router } from '../platform/http/trpc.ts'
import { AcceptInvite, Login, Me, PasswordChange, Profile } from './schema.ts'
import * as auth from './service.ts'
import { endSession, SESSION_COOKIE, sessionSeconds } from './sessions.ts'

const ada = { id: 7, name: 'Ada Byron', email: 'ada@example.com', timezone: 'Europe/London', account_id: 1, mail_preference: 'digest' }

export const authRouter = router({
  login: accountProcedure(callers.anyone)
    .meta(
      rest('POST', '/api/auth/login', 'Sign in', {
        description:
          'Sets the session cookie (HttpOnly, SameSite=Lax). One text for a wrong address and a wrong password; slowed after repeated failures.',
        tags: ['Sign-in'],
        example: { input: { email: 'ada@example.com', password: 'correct horse battery' }, output: ada },
        errors: { 401: 'Wrong email or password' },
      }),
    )
    .input(Login)
    .output(Me)
    .mutation(async ({ ctx, input }) => {
      const { user, token } = await auth.login(ctx.context, input)
      ctx.request.setCookie(SESSION_COOKIE, token, { maxAgeSeconds: sessionSeconds(ctx.context.settings) })
      return user
    }),

  logout: accountProcedure(callers.session)
    .meta(
      rest('POST', '/api/auth/logout', 'Sign out', {
        description: 'Ends the session at once and clears the cookie.',
        tags: ['Sign-in'],
        example: { output: { ok: true } },
      }),
    )
    .input(NoInput)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await endSession(ctx.context.db, ctx.context.actor.sessionId ?? 0)
      ctx.request.setCookie(SESSION_COOKIE, '', { maxAgeSeconds: 0 })
      return { ok: true }
    }),

  me: accountProcedure(callers.session)
    .meta(
      rest('GET', '/api/auth/me', 'Who is signed in', {
        description: 'The user of the session.',
        tags: ['Sign-in'],
        example: { output: ada },
      }),
    )
    .input(NoInput)
    .output(Me)
    .query(({ ctx }) => auth.me(ctx.context)),

  profile: accountProcedure(callers.session)
    .meta(
      rest('POST', '/api/auth/profile', 'Change name, time zone or mail', {
        description:
          'A key that is absent keeps its value. Date tokens, digests and "today" follow the time zone. mail_preference says when notifications are mailed.',
        tags: ['Sign-in'],
        example: { input: { timezone: 'Europe/London' }, output: ada },
      }),
    )
    .input(Profile)
    .output(Me)
    .mutation(({ ctx, input }) => auth.updateProfile(ctx.context, input)),

  password: accountProcedure(callers.session)
    .meta(
      rest('POST', '/api/auth/password', 'Change the password', {
        description: 'Ends every other session of the user.',
        tags: ['Sign-in'],
        example: { input: { current_password: 'correct horse battery', new_password: 'staple battery horse' }, output: { ok: true } },
      }),
    )
    .input(PasswordChange)
    .output(Ok)
    .mutation(async ({ ctx, input }) => {
      await auth.changePassword(ctx.context, input)
      return { ok: true }
    }),

  acceptInvite: accountProcedure(callers.anyone)
    .meta(
      rest('POST', '/api/auth/acceptInvite', 'Accept an invitation', {
        description: 'Turns the invited person into a user and signs them in. A token works once, for 14 days.',
        tags: ['Sign-in'],
        example: { input: { token: 'q1Zx…', name: 'Ada Byron', password: 'correct horse battery' }, output: ada },
      }),
    )
    .input(AcceptInvite)
    .output(Me)
    .mutation(async ({ ctx, input }) => {
      const { user, token } = await auth.acceptInvite(ctx.context, input)
      ctx.request.setCookie(SESSION_COOKIE, token, { maxAgeSeconds: sessionSeconds(ctx.context.settings) })
      return user
    }),
})
