/**
 * Runs a procedure's middlewares as tRPC does (11.25, pinned by the lock file), without its copies: for each of them tRPC copies what it
 * hands on twice, in code compiled for engines that cannot copy objects by themselves. That was a tenth of a small request.
 */
import { getTRPCErrorFromUnknown } from '@trpc/server'

type Result = { ok: true; data: unknown } | { ok: false; error: Error }

/** What the caller of a procedure gives: context, path, type, how to read the input, and whatever else. */
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

/** A procedure that is made: its checks, parsers and resolver in their order. */
interface Definition {
  middlewares: readonly Middleware[]
  meta: unknown
}

/** For `experimental_caller`: takes the place of tRPC's own way to call a procedure, over RPC and REST alike. */
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

/** A context is added to, an input takes the place of the one before. */
const withMore = (call: Call, more: Next): Call => ({
  ...call,
  ctx: more.ctx ? { ...call.ctx, ...more.ctx } : call.ctx,
  input: 'input' in more ? more.input : call.input,
  getRawInput: more.getRawInput ?? call.getRawInput,
})
