import { initTRPC, TRPCError } from '@trpc/server'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { callDirectly } from '../../src/platform/http/pipeline.ts'

const t = initTRPC.context<{ who: string }>().meta<{ word: string }>().create()
const direct = t.procedure.experimental_caller(callDirectly) as unknown as typeof t.procedure

/** The same procedure twice: called by tRPC, and by us. */
const both = (make: (base: typeof t.procedure) => unknown) => [make(t.procedure), make(direct)] as unknown[]

async function outcome(procedure: unknown, input: unknown): Promise<unknown> {
  const call = procedure as (options: object) => Promise<unknown>
  const options = { ctx: { who: 'ann' }, type: 'query', path: 'greet', getRawInput: async () => input, signal: undefined, batchIndex: 0 }
  try {
    return { data: await call(options) }
  } catch (error) {
    const { code, message, cause, name } = error as TRPCError
    return { name, code, message, cause: cause?.constructor.name, isError: error instanceof TRPCError }
  }
}

const greeting = (base: typeof t.procedure) =>
  base
    .meta({ word: 'Hello' })
    .use(({ ctx, next }) => next({ ctx: { names: [ctx.who] } }))
    .use(async ({ ctx, meta, path, type, getRawInput, next }) => {
      const raw = (await getRawInput()) as { fails?: string }
      if (raw?.fails === 'before') throw new TRPCError({ code: 'FORBIDDEN', message: 'No entry' })
      if (raw?.fails === 'oddly') throw 'a text'
      const result = await next({ ctx: { names: [...ctx.names, 'max'], said: `${meta?.word} ${path} ${type}` } })
      return raw?.fails === 'after' && result.ok ? Promise.reject(new RangeError('too late')) : result
    })
    .input(z.strictObject({ count: z.number(), fails: z.string().optional() }))
    .output(z.object({ text: z.string() }))
    .query(({ ctx, input }) => {
      if (input.fails === 'inside') throw new Error('oops')
      return { text: `${ctx.said} to ${ctx.names.join(' and ')}, ${input.count}, for ${ctx.who}`, unknown: true } as { text: string }
    })

describe('a procedure that is called directly answers as tRPC lets it', () => {
  const [theirs, ours] = both(greeting)
  const inputs = [
    { count: 2 },
    { count: 'two' },
    { count: 2, more: 1 },
    undefined,
    ...['before', 'oddly', 'after', 'inside'].map((fails) => ({ count: 2, fails })),
  ]
  it.each(inputs.map((input) => [JSON.stringify(input) ?? 'nothing', input]))('%s', async (_, input) => {
    expect(await outcome(ours, input)).toEqual(await outcome(theirs, input))
  })

  it('with contexts, meta and input handed on', async () => {
    expect(await outcome(ours, { count: 2 })).toEqual({ data: { text: 'Hello greet query to ann and max, 2, for ann' } })
  })

  it('when the output is not what was promised', async () => {
    const [theirs, ours] = both((base) => base.output(z.object({ text: z.string() })).query(() => ({ text: 3 }) as never))
    const answer = await outcome(ours, undefined)
    expect(answer).toEqual(await outcome(theirs, undefined))
    expect(answer).toMatchObject({ code: 'INTERNAL_SERVER_ERROR', message: 'Output validation failed' })
  })
})
