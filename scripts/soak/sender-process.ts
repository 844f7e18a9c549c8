/** The process of a sender (sender.ts): sends the requests that its parent asks for, and answers with their outcome. */
import { type Caller, requestOf } from './caller.ts'
import { Connections } from './connections.ts'
import { atRate, fullSpeed, rush } from './load.ts'
import type { Order } from './sender.ts'

/** More are not opened: then the load counts failures. They suffice for half a second (load.ts) of 12,000 requests a second. */
const MOST_CONNECTIONS = 6_000

const caller = JSON.parse(process.argv[2] ?? '') as Caller
let index = 0
const load = {
  connections: new Connections(caller.port, { most: MOST_CONNECTIONS }),
  request: () => requestOf(caller, index++),
}

process.on('message', async (order: Order) => {
  if (order.kind === 'at rate') process.send?.(await atRate(load, order.perSecond, order.seconds))
  else if (order.kind === 'full speed') process.send?.(await fullSpeed(load, order.callers, order.seconds))
  else process.send?.(await rush(load, order.callers))
})
process.on('disconnect', () => process.exit())
