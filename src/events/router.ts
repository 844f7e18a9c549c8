import { tracked } from '@trpc/server'
import { callers } from '../platform/access/authorize.ts'
import { accountProcedure } from '../platform/http/trpc.ts'
import { StreamStart } from './schema.ts'
import { follow } from './service.ts'

/** Like GET /api/events, for the typed client, which reconnects and continues after a lost connection. */
export const eventsProcedure = accountProcedure(callers.any)
  .input(StreamStart)
  .subscription(async function* ({ ctx: { request, context }, input, signal }) {
    for await (const item of follow(context, request, request.deps.feed, input.lastEventId, signal)) yield tracked(String(item.id), item)
  })
