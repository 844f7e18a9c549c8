/**
 * tRPC (11.25.2, pinned) copies all options of a call twice for each middleware, by defining one property after another: of the CPU time
 * of a small request that is a tenth, and a quarter of its garbage. So the middlewares of a procedure are joined into a single one, which
 * calls them in the same order, with the same options and results (docs/decisions/0002-native-rest-routes.md). Without it, over REST with 10
 * connections, `task.get` costs 12 % more of Node's CPU time and 7 % more with PostgreSQL's, and `tasks.badgeCount` 9 % and 10 % (medians of 15
 * interleaved rounds).
 */
import { type AnyProcedure, type AnyRouter, getTRPCErrorFromUnknown } from '@trpc/server'
import { WrittenJson } from './written-json.ts'

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

type Result = { ok: true; data: unknown } | { ok: false; error: unknown }
type NextOptions = Partial<Pick<Options, 'ctx' | 'input' | 'getRawInput'>>
interface Middleware {
  (options: Options & { next: (options?: NextOptions) => Promise<unknown> }): Promise<unknown>
  /** Set for the middleware that checks the output. */
  _type?: string
}

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
        const middleware = middlewares[index]
        if (middleware?._type === 'output') return await checkOutput(middleware, next)
        return await middleware?.({ ctx, input, getRawInput, type, path, meta, signal, batchIndex, next })
      } catch (error) {
        return { ok: false, error: getTRPCErrorFromUnknown(error) }
      }
    }
    return call(0, options.ctx, options.input, options.getRawInput)
  }
}

/** Lets finished JSON pass, for which the middleware would copy the result, and has it check any other output. */
async function checkOutput(middleware: Middleware, next: () => Promise<unknown>): Promise<unknown> {
  const result = (await next()) as Result
  if (!result.ok || result.data instanceof WrittenJson) return result
  return middleware({ next: async () => result } as unknown as Parameters<Middleware>[0])
}

/** What a call of a procedure needs to be told. */
export type CallOptions = Omit<Options, 'input' | 'meta'>

/** Returns a function that calls the procedure with the same result as tRPC does, but copies the options of a joined middleware only once. */
export function callerOf(procedure: AnyProcedure): (options: CallOptions) => Promise<unknown> {
  const { middlewares, meta } = procedure._def as unknown as { middlewares: Middleware[]; meta: unknown }
  const [only, ...others] = middlewares
  if (!only || others.length) return procedure as unknown as (options: CallOptions) => Promise<unknown>
  const next = () => Promise.reject(new Error('The last middleware calls no other'))
  return async ({ ctx, getRawInput, type, path, signal, batchIndex }) => {
    const result = (await only({ ctx, input: undefined, getRawInput, type, path, meta, signal, batchIndex, next })) as Result
    if (!result.ok) throw result.error
    return result.data
  }
}
