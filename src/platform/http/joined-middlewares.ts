/**
 * tRPC (11.25.2, pinned) copies all options of a call twice for each middleware, by defining one property after another: of the CPU time
 * of a small request that is a tenth, and a quarter of its garbage. So the middlewares of a procedure are joined into a single one, which
 * calls them in the same order, with the same options and results (docs/decisions/0002-native-rest-routes.md). Without it, over REST with 10
 * connections, `task.get` costs 12 % more of Node's CPU time and 7 % more with PostgreSQL's, and `tasks.badgeCount` 9 % and 10 % (medians of 15
 * interleaved rounds).
 */
import { type AnyRouter, getTRPCErrorFromUnknown } from '@trpc/server'

interface Options {
  ctx: object
  input: unknown
  getRawInput: () => Promise<unknown>
  type: string
  path: string
  meta: unknown
  signal: AbortSignal | undefined
  batchIndex: number
}

type NextOptions = Partial<Pick<Options, 'ctx' | 'input' | 'getRawInput'>>
type Middleware = (options: Options & { next: (options?: NextOptions) => Promise<unknown> }) => Promise<unknown>

/** Joins the middlewares of each procedure, in place. Call it once, when the router is complete. @returns the router */
export function joinMiddlewares<Router extends AnyRouter>(router: Router): Router {
  for (const { _def } of Object.values(router._def.procedures) as unknown as { _def: { middlewares: Middleware[] } }[])
    _def.middlewares = [joined(_def.middlewares)]
  return router
}

function joined(middlewares: readonly Middleware[]): Middleware {
  return (options) => {
    const { type, path, meta, signal, batchIndex } = options
    /** A middleware that throws gives its caller an error as a value, as all results are. */
    async function call(index: number, ctx: object, input: unknown, getRawInput: Options['getRawInput']): Promise<unknown> {
      const next = (given: NextOptions = {}) =>
        call(
          index + 1,
          given.ctx ? { ...ctx, ...given.ctx } : ctx,
          'input' in given ? given.input : input,
          given.getRawInput ?? getRawInput,
        )
      try {
        return await middlewares[index]?.({ ctx, input, getRawInput, type, path, meta, signal, batchIndex, next })
      } catch (error) {
        return { ok: false, error: getTRPCErrorFromUnknown(error) }
      }
    }
    return call(0, options.ctx, options.input, options.getRawInput)
  }
}
