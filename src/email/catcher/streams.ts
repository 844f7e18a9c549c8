/** GET /dev/mail/events: tells open pages that there is a new mail, as Server-Sent Events. The page then reads itself again. */
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import type { CaughtMail } from './mail-folder.ts'
import { matching } from './search.ts'

/** How often the mails are looked at while a page is open. Mails that another process catches announce themselves to nobody. */
const LOOK_EVERY_MS = 500
/** Proxies end a connection on which nothing comes for a minute. */
const BEAT_EVERY_MS = 25_000
const RECONNECT_MS = 2_000

export interface MailStreams {
  /** Begins a stream with the newest mail that the search finds, and tells of each later one. */
  open(reply: FastifyReply, search: unknown): Promise<void>
  /** Ends all streams. */
  close(): void
}

interface Stream {
  search: unknown
  /** The id of the newest mail that was looked at; 0 for none. */
  seen: number
  writtenAt: number
}

/**
 * @param mails newest first
 * @param onError is told why the mails cannot be read. The streams end then, and pages ask again.
 */
export function openMailStreams(mails: () => Promise<CaughtMail[]>, onError: (error: unknown) => void): MailStreams {
  const streams = new Map<ServerResponse, Stream>()
  let isWatching = false

  async function watch(): Promise<void> {
    if (isWatching) return
    isWatching = true
    try {
      for (; streams.size; await sleep(LOOK_EVERY_MS, undefined, { ref: false })) {
        const caught = await mails()
        for (const [response, stream] of streams) tell(response, stream, caught)
      }
    } catch (error) {
      onError(error)
      close()
    } finally {
      isWatching = false
    }
  }

  function close(): void {
    for (const response of streams.keys()) response.end()
    streams.clear()
  }

  return {
    close,
    async open(reply, search) {
      const { raw } = reply
      const caught = await mails()
      if (raw.destroyed) return
      begin(reply)
      const stream = { search, seen: caught[0]?.id ?? 0, writtenAt: performance.now() }
      raw.write(`retry: ${RECONNECT_MS}\n${frame(matching(caught, search)[0]?.id ?? 0)}`)
      streams.set(raw, stream)
      raw.once('close', () => streams.delete(raw))
      void watch()
    },
  }
}

function begin(reply: FastifyReply): void {
  const { raw } = reply
  reply.hijack()
  for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value)
  raw.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    // The connection ends with the stream, so that a stop need not wait for the browser.
    connection: 'close',
    // By default nginx buffers responses.
    'x-accel-buffering': 'no',
  })
}

/** The id of the newest mail that the search finds; 0 for none. */
const frame = (id: number) => `event: mail\ndata: ${id}\n\n`

/** A reader that is slow is told nothing until it has taken what was written, and then of the newest mail alone. */
function tell(response: ServerResponse, stream: Stream, caught: CaughtMail[]): void {
  if (response.writableNeedDrain) return
  const added = caught.filter(({ id }) => id > stream.seen)
  const [found] = matching(added, stream.search)
  stream.seen = added[0]?.id ?? stream.seen
  const isQuiet = performance.now() - stream.writtenAt > BEAT_EVERY_MS
  if (!found && !isQuiet) return
  response.write(found ? frame(found.id) : ': still here\n\n')
  stream.writtenAt = performance.now()
}
