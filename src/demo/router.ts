import { setSession, visitorOf } from '../auth/cookies.ts'
import { Me } from '../auth/schema.ts'
import { callers } from '../platform/access/authorize.ts'
import { STRANGER_BODY_LIMIT } from '../platform/http/load/large-bodies.ts'
import { NoInput } from '../platform/http/procedures/schemas.ts'
import { accountProcedure, rest, router } from '../platform/http/procedures/trpc.ts'
import { docs } from './docs.ts'
import { DemoSignIn, SignInMethods } from './schema.ts'
import { methods, signInToDemo } from './sign-in.ts'

export const demoRouter = router({
  methods: accountProcedure(callers.anyone, { readsPrimary: true })
    .meta(rest('GET', '/api/auth/methods', docs.methods))
    .input(NoInput)
    .output(SignInMethods)
    .query(({ ctx }) => methods(ctx.context, ctx.request.isLocal)),

  demo: accountProcedure(callers.anyone)
    .meta(rest('POST', '/api/auth/demo', docs.demo, { bodyLimit: STRANGER_BODY_LIMIT }))
    .input(DemoSignIn)
    .output(Me)
    .mutation(async ({ ctx, input }) => {
      const signedIn = await signInToDemo(ctx.context, input, ctx.request.isLocal, visitorOf(ctx.request))
      setSession(ctx.request, signedIn)
      return signedIn.user
    }),
})
