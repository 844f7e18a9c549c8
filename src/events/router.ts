import { tracked } from '@trpc/server'
import { callers } from '../platform/access/authorize.ts'
import { accountProcedure } from '../platform/http/trpc.ts'
import { StreamStart } from './schema.ts'
import { follow } from './service.ts'

/** The same as GET /api/events, for the typed client; it goes on by itself after a dropped connection. */
export const eventsProcedure = accountProcedure(callers.any)
  .input(StreamStart)
  .subscription(async function* ({ ctx: { request, context }, input, signal }) {
    for await (const item of follow(context, request, request.deps.feed, input.lastEventId, signal)) yield tracked(String(item.id), item)
  })
