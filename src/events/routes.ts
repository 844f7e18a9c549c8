/** GET /api/events: the stream as Server-Sent Events, written directly to the socket. */

import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type Access, admit, callers } from '../platform/access/authorize.ts'
import type { Deps } from '../platform/context.ts'
import { badShape } from '../platform/errors.ts'
import { accessRequestOf } from '../platform/http/procedures/request-context.ts'
import { fromQuery } from '../platform/http/procedures/rest.ts'
import { memo } from '../platform/memo.ts'
import { namedTables } from './live-tables.ts'
import type { StoredEvent } from './order.ts'
import { StreamTables, wire } from './schema.ts'
import { idOf } from './service.ts'

const EVENTS_ACCESS: Access = { callers: callers.any, resource: null, right: 'read' }

/** A client that does not read is disconnected at this backlog. It can continue from its last event. */
const MOST_WAITING_BYTES = 1_048_576
const RECONNECT_MS = 2_000

export function mountStreams(app: FastifyInstance, { db, feed }: Deps): void {
  app.get('/api/events', { exposeHeadRoute: false, config: { isStream: true } }, async (request, reply) => {
    const { context, headers } = request
    const { actor } = await admit(accessRequestOf(context), EVENTS_ACCESS, false, {})
    const asked = fromQuery(request.query as Record<string, string | string[]>, StreamTables)
    const tables = await namedTables(db, actor, asked.table_ids)
    const { error } = StreamTables.safeParse(asked)
    if (error) throw badShape(error)
    const { credentials, ip } = context
    const { raw } = reply
    let hasLeft = false
    let leave = () => {}
    raw.once('close', () => {
      hasLeft = true
      leave()
    })
    leave = await feed.subscribe({ credentials, ip, actor, tables, ...sink(reply) }, idOf(headers['last-event-id']?.toString()))
    if (hasLeft) leave()
  })
  // Streams must end before the server waits for its connections to close.
  app.addHook('preClose', () => feed.close())
}

function sink(reply: FastifyReply) {
  const { raw } = reply
  const write = (text: string) => {
    raw.write(text, 'latin1')
    if (raw.writableLength > MOST_WAITING_BYTES) raw.destroy()
  }
  return {
    open(id: number) {
      reply.hijack()
      for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value)
      // Without chunked encoding an event is one write instead of a writev of three parts, at a third of the cost. The stream ends with the
      // connection.
      raw.removeHeader('transfer-encoding')
      raw.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        connection: 'close',
        // By default nginx buffers responses.
        'x-accel-buffering': 'no',
      })
      write(`retry: ${RECONNECT_MS}\n${mark(id)}`)
    },
    send: (events: readonly StoredEvent[]) => write(events.map(frameOf).join('')),
    beat: (id: number) => write(`: still here\n${mark(id)}`),
    drained: () => drained(raw),
    end: () => void raw.end(),
  }
}

/** An id without data is not dispatched as an event; it only sets the position to continue from. */
const mark = (id: number) => `id: ${id}\n\n`

/** The text of an event on the stream. It is made once, because many streams send the same event. */
const frameOf = memo((event: StoredEvent): string => `event: ${event.type}\ndata: ${JSON.stringify(wire(event))}\nid: ${event.id}\n\n`)

async function drained(raw: ServerResponse): Promise<void> {
  if (!raw.writableNeedDrain || raw.destroyed) return
  await new Promise<void>((resolve) => {
    const done = () => {
      raw.off('drain', done).off('close', done)
      resolve()
    }
    raw.on('drain', done).on('close', done)
  })
}
