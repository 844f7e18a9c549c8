/**
 * Runs the middlewares of a procedure like tRPC (11.25, pinned by the lock file), without its copies: for each middleware tRPC copies the
 * options twice, in code compiled for engines without object spread. The copies took a tenth of a small request.
 */
import { getTRPCErrorFromUnknown } from '@trpc/server'

type Result = { ok: true; data: unknown } | { ok: false; error: Error }

/** The options of a call: context, path, type, a function that reads the input, and others. */
interface Call {
  ctx: object
  input?: unknown
  getRawInput: () => Promise<unknown>
}

interface Next {
  ctx?: object
  input?: unknown
  getRawInput?: Call['getRawInput']
}

type Middleware = (call: Call & { meta: unknown; next(more?: Next): Promise<Result> }) => Promise<Result | undefined>

/** A built procedure: its checks, parsers and resolver in order. */
interface Definition {
  middlewares: readonly Middleware[]
  meta: unknown
}

/** For `experimental_caller`: replaces tRPC's own function that calls a procedure, over RPC and REST. */
export async function callDirectly({ args: [call], _def }: { args: unknown[]; _def: unknown }): Promise<unknown> {
  const result = await run(_def as Definition, 0, call as Call)
  if (!result.ok) throw result.error
  return result.data
}

async function run(definition: Definition, index: number, call: Call): Promise<Result> {
  const next = (more?: Next) => run(definition, index + 1, more ? withMore(call, more) : call)
  try {
    const result = await definition.middlewares[index]?.({ ...call, meta: definition.meta, next })
    if (!result) throw new Error('A middleware has returned nothing')
    return result
  } catch (error) {
    return { ok: false, error: getTRPCErrorFromUnknown(error) }
  }
}

/** Adds to the context, and replaces the input. */
const withMore = (call: Call, more: Next): Call => ({
  ...call,
  ctx: more.ctx ? { ...call.ctx, ...more.ctx } : call.ctx,
  input: 'input' in more ? more.input : call.input,
  getRawInput: more.getRawInput ?? call.getRawInput,
})
