/** A client of GET /api/events that keeps the last id and can wait for events. */
import type { Caller } from './app.ts'
import { until } from './until.ts'

export interface Heard {
  id: number
  type: string
  at: string
  space_id?: number
  table_id?: number
  record_id?: number
  task_id?: number
  comment_id?: number
  change_id?: number | null
  user_id?: number | null
  fields?: string[]
  count?: number
  view_id?: number
}

export interface TestStream {
  headers: Headers
  /** All events so far. */
  heard: Heard[]
  /** The value for Last-Event-ID. */
  lastId(): string | undefined
  /** Resolves once the given number of events has arrived in all. */
  until(count: number): Promise<Heard[]>
  /** Resolves when the service ends the stream. */
  ended: Promise<void>
  /** Cuts the connection. */
  cut(): void
}

/** @param tableIds the live tables of the stream */
export async function openStream(url: string, caller: Caller, lastEventId?: string, tableIds?: readonly number[]): Promise<TestStream> {
  const cutting = new AbortController()
  const response = await fetch(`${url}/api/events${tableIds ? `?table_ids=${tableIds.join(',')}` : ''}`, {
    signal: cutting.signal,
    headers: {
      ...(typeof caller === 'string' && { authorization: `Bearer ${caller}` }),
      ...(caller && typeof caller !== 'string' && { cookie: `gridpost_session=${caller.session}` }),
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    },
  })
  if (response.status !== 200 || !response.body) throw new Error(`The stream answers ${response.status}: ${await response.text()}`)
  const heard: Heard[] = []
  let lastId: string | undefined
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()

  async function read(body: ReadableStream<Uint8Array>): Promise<void> {
    let buffered = ''
    for await (const text of body.pipeThrough(new TextDecoderStream())) {
      buffered += text
      const blocks = buffered.split('\n\n')
      buffered = blocks.pop() ?? ''
      for (const block of blocks) take(block)
    }
  }
  function take(block: string): void {
    const fields = new Map(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]))
    lastId = fields.get('id') ?? lastId
    begin()
    const data = fields.get('data')
    if (data === undefined) return
    const event = JSON.parse(data) as Heard
    if (event.type !== fields.get('event') || String(event.id) !== fields.get('id')) throw new Error(`A block contradicts itself: ${block}`)
    heard.push(event)
  }

  const ended = read(response.body).catch((error: unknown) => {
    if (!cutting.signal.aborted && !(error instanceof TypeError)) throw error
  })
  await begun
  return {
    headers: response.headers,
    heard,
    lastId: () => lastId,
    async until(count) {
      const missing = () => `for ${count} events: ${heard.length} came, ${JSON.stringify(heard)}`
      await until(() => heard.length >= count, missing, { everyMs: 5 })
      return heard
    },
    ended,
    cut: () => cutting.abort(),
  }
}
