import { type AnyProcedure, type AnyRouter, callTRPCProcedure, initTRPC, TRPCError } from '@trpc/server'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { callerOf, joinMiddlewares } from '../../src/platform/http/joined-middlewares.ts'
import { Id } from '../../src/platform/http/schemas.ts'

/** A router whose middlewares note what they are given, and the notes. */
function noting() {
  const notes: unknown[] = []
  const t = initTRPC.context<{ user: string }>().meta<{ note: string }>().create()
  const noted = t.procedure.meta({ note: 'm' }).use(async ({ ctx, input, meta, path, type, batchIndex, signal, getRawInput, next }) => {
    notes.push({ at: 'first', ctx, input, meta, path, type, batchIndex, isAborted: signal?.aborted, raw: await getRawInput() })
    const result = await next({ ctx: { role: 'admin' } })
    notes.push({ at: 'first after', ok: result.ok, error: result.ok ? undefined : [result.error.code, result.error.message] })
    return result
  })
  const Input = z.strictObject({ id: z.number() })
  const router = t.router({
    get: noted
      .input(Input)
      .output(z.object({ id: z.number() }))
      .query(({ ctx, input }) => {
        notes.push({ at: 'resolver', ctx, input })
        return { ...input, dropped: true }
      }),
    ids: noted
      .input(z.strictObject({ table_id: Id, record_id: Id }))
      .output(z.strictObject({ table_id: z.number(), record_id: z.number() }))
      .query(({ input }) => input),
    twice: noted
      .use(({ ctx, next }) => {
        notes.push({ at: 'second', ctx })
        return next()
      })
      .input(Input)
      .use(({ input, next }) => next({ ctx: { user: `user ${input.id}` } }))
      .mutation(({ ctx, input }) => ({ ctx, input })),
    otherInput: noted
      .use(({ next }) => next({ getRawInput: async () => ({ id: 7 }) }))
      .input(Input)
      .query(({ input }) => input),
    refused: noted
      .use(() => {
        throw new TRPCError({ code: 'FORBIDDEN', message: 'no' })
      })
      .query(() => 1),
    broken: noted.query(() => {
      throw new Error('broken')
    }),
    wrongOutput: noted.output(z.string()).query(() => 1 as unknown as string),
    nested: t.router({
      count: noted.subscription(async function* () {
        yield 1
        yield 2
      }),
    }),
  })
  return { router, notes }
}

async function allOf(values: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = []
  for await (const value of values) all.push(value)
  return all
}

async function outcome(
  { router, notes }: { router: AnyRouter; notes: unknown[] },
  path: string,
  type: 'query' | 'mutation' | 'subscription',
  raw: unknown,
  run: typeof callTRPCProcedure | ReturnType<typeof callerOf> = callTRPCProcedure,
) {
  const call = { router, path, type, ctx: { user: 'ann' }, batchIndex: 3, signal: AbortSignal.abort(), getRawInput: async () => raw }
  try {
    const answer = await run(call)
    return { answer: type === 'subscription' ? await allOf(answer as AsyncIterable<unknown>) : answer, notes }
  } catch (error) {
    const { code, message, cause } = error as TRPCError
    return { isTRPCError: error instanceof TRPCError, code, message, cause: cause?.constructor.name, notes }
  }
}

describe('joined middlewares do what tRPC does', () => {
  test.each([
    ['get', 'query', { id: 1 }],
    ['get', 'query', { id: 'one' }],
    ['get', 'query', undefined],
    ['ids', 'query', { table_id: 1, record_id: 2_147_483_647 }],
    ['ids', 'query', { table_id: 1, record_id: 2_147_483_648 }],
    ['ids', 'query', { table_id: 0, record_id: 2 }],
    ['ids', 'query', { table_id: 1.5, record_id: 2 }],
    ['ids', 'query', { table_id: '1', record_id: 2 }],
    ['ids', 'query', { table_id: Number.NaN, record_id: 2 }],
    ['ids', 'query', { table_id: 1 }],
    ['ids', 'query', { table_id: 1, record_id: 2, other: 3 }],
    ['ids', 'query', { table_id: 1, other: 3 }],
    ['ids', 'query', [1, 2]],
    ['ids', 'query', null],
    ['ids', 'query', undefined],
    ['twice', 'mutation', { id: 2 }],
    ['otherInput', 'query', { id: 'replaced' }],
    ['refused', 'query', undefined],
    ['broken', 'query', undefined],
    ['wrongOutput', 'query', undefined],
    ['nested.count', 'subscription', undefined],
  ] as const)('%s as a %s with %j', async (path, type, raw) => {
    const [own, joined] = [noting(), noting()]
    joinMiddlewares(joined.router)

    const expected = await outcome(own, path, type, raw)

    expect(expected.notes.length).toBeGreaterThan(0)
    expect(await outcome(joined, path, type, raw)).toEqual(expected)
    joined.notes.length = 0
    const procedure = (joined.router._def.procedures as unknown as Record<string, AnyProcedure>)[path] as AnyProcedure
    expect(await outcome(joined, path, type, raw, callerOf(procedure))).toEqual(expected)
  })

  test('a procedure has a single middleware afterwards', () => {
    const { router } = noting()
    const middlewares = (procedure: unknown) => (procedure as { _def: { middlewares: unknown[] } })._def.middlewares
    expect(middlewares(router.get).length).toBeGreaterThan(1)

    joinMiddlewares(router)

    expect(middlewares(router.get)).toHaveLength(1)
  })
})
