/**
 * tRPC (11.25.2, pinned) copies all options of a call twice for each middleware, by defining one property after another: of the CPU time
 * of a small request that is a tenth, and a quarter of its garbage. So the middlewares of a procedure are joined into a single one, which
 * calls them in the same order, with the same options and results (docs/decisions/0002-native-rest-routes.md). Without it, over REST with 10
 * connections, `task.get` costs 12 % more of Node's CPU time and 7 % more with PostgreSQL's, and `tasks.badgeCount` 9 % and 10 % (medians of 15
 * interleaved rounds).
 */
import { type AnyProcedure, type AnyRouter, getTRPCErrorFromUnknown } from '@trpc/server'
import { z } from 'zod'
import { Id, MAX_ID } from './schemas.ts'
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
  for (const { _def } of Object.values(router._def.procedures) as unknown as { _def: { middlewares: Middleware[]; inputs: unknown[] } }[])
    _def.middlewares = [joined(_def.middlewares, idsOnly(_def.inputs))]
  return router
}

/** @param ids the names of the input, if it has nothing but ids */
function joined(middlewares: readonly Middleware[], ids: readonly string[] | undefined): Middleware {
  return (options) => {
    const { type, path, meta, signal, batchIndex } = options
    function enter(index: number, ctx: object, input: unknown, getRawInput: Options['getRawInput']): Promise<unknown> | undefined {
      const next = (given: NextOptions = {}) =>
        call(
          index + 1,
          given.ctx ? { ...ctx, ...given.ctx } : ctx,
          'input' in given ? given.input : input,
          given.getRawInput ?? getRawInput,
        )
      return middlewares[index]?.({ ctx, input, getRawInput, type, path, meta, signal, batchIndex, next })
    }
    /** A middleware that throws gives its caller an error as a value, as all results are. Each promise that a call needs not make saves time. */
    async function call(index: number, ctx: object, input: unknown, getRawInput: Options['getRawInput']): Promise<unknown> {
      try {
        const raw = ids && input === undefined && middlewares[index]?._type === 'input' ? await getRawInput() : undefined
        const isParsed = ids && raw !== undefined && hasOnlyIds(raw, ids)
        const [at, parsed] = isParsed ? [index + 1, raw] : [index, input]
        const middleware = middlewares[at]
        if (middleware?._type !== 'output') return await enter(at, ctx, parsed, getRawInput)
        return await checkedOutput(middleware, await enter(at + 1, ctx, parsed, getRawInput))
      } catch (error) {
        return { ok: false, error: getTRPCErrorFromUnknown(error) }
      }
    }
    return call(0, options.ctx, options.input, options.getRawInput)
  }
}

/** Lets errors and finished JSON pass, for which the middleware would copy the result, and has it check any other output. */
function checkedOutput(middleware: Middleware, answered: unknown): unknown {
  const result = answered as Result
  if (!result.ok || result.data instanceof WrittenJson) return result
  return middleware({ next: async () => result } as unknown as Parameters<Middleware>[0])
}

/** The names of an input that has nothing but ids, as many paths do; undefined for any other. */
function idsOnly([input, ...others]: readonly unknown[]): readonly string[] | undefined {
  if (!(input instanceof z.ZodObject) || others.length || input.def.checks?.length) return undefined
  const names = Object.keys(input.shape)
  return names.every((name) => input.shape[name] === Id) ? names : undefined
}

/** Whether the schema of these ids would give back the same. If not, it has to say why. */
function hasOnlyIds(raw: unknown, names: readonly string[]): boolean {
  if (typeof raw !== 'object' || raw === null || Object.keys(raw).length !== names.length) return false
  for (const name of names) {
    const id = Object.hasOwn(raw, name) && (raw as Record<string, unknown>)[name]
    if (typeof id !== 'number' || !Number.isInteger(id) || id < 1 || id > MAX_ID) return false
  }
  return true
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
