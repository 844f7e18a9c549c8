import { tracked } from '@trpc/server'
import { callers } from '../platform/access/authorize.ts'
import { accountProcedure } from '../platform/http/procedures/trpc.ts'
import { namedTables } from './live-tables.ts'
import { type StreamItem, StreamStart } from './schema.ts'
import { follow } from './service.ts'

/** Like GET /api/events, for the typed client, which reconnects and continues after a lost connection. */
export const eventsProcedure = accountProcedure(callers.any)
  // Before the shape of the input is judged, as over REST.
  .use(async ({ ctx, getRawInput, next }) => {
    const asked = (await getRawInput()) as { table_ids?: unknown } | undefined
    return next({ ctx: { tables: await namedTables(ctx.context.db, ctx.context.actor, asked?.table_ids) } })
  })
  .input(StreamStart)
  .subscription(({ ctx: { request, context, tables }, input, signal }) => {
    const caller = { credentials: request.credentials, ip: request.ip, tables }
    return heard(trackedItems(follow(context, caller, request.deps.feed, input.lastEventId, signal)))
  })

async function* trackedItems(items: AsyncIterable<StreamItem>) {
  for await (const item of items) yield tracked(String(item.id), item)
}

/**
 * The same items. tRPC (11.25.2) asks for the next one before it has passed on the one before, and listens for the answer only
 * afterwards. If the stream ends with an error meanwhile, the rejection would have no listener.
 */
function heard<Item>(items: AsyncGenerator<Item, void>): AsyncGenerator<Item, void> {
  const next = items.next.bind(items)
  items.next = (...args) => {
    const asked = next(...args)
    asked.catch(() => {})
    return asked
  }
  return items
}
