/** A caller of GET /api/events that reconnects with Last-Event-ID, and counts what it hears. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Front } from './proxy.ts'

const RECONNECT_MS = 200

export interface Stream {
  /** How often `task.created` was heard for the task. */
  heard(taskId: number): number
  /** True once any event was heard. */
  hasHeard(): boolean
  /** The number of `reset` events: the service could not say what was missed. */
  resets(): number
  connections(): number
  stop(): Promise<void>
}

/**
 * Opens the stream. Resolves when the service has told its position: it tells nothing of changes before that, and a stream that is cut off without a
 * position could not be continued.
 */
export async function followEvents(front: Front, session: { cookie: string }): Promise<Stream> {
  const ending = new AbortController()
  const opened = Promise.withResolvers<void>()
  const created = new Map<number, number>()
  let lastId: string | undefined
  let resets = 0
  let connections = 0

  function take(block: string): void {
    const fields = new Map(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]))
    lastId = fields.get('id') ?? lastId
    if (lastId !== undefined) opened.resolve()
    if (fields.get('event') === 'reset') resets++
    if (fields.get('event') !== 'task.created') return
    const { task_id } = JSON.parse(fields.get('data') ?? '{}') as { task_id: number }
    created.set(task_id, (created.get(task_id) ?? 0) + 1)
  }

  async function read(): Promise<void> {
    const response = await fetch(`${front.url()}/api/events`, {
      signal: ending.signal,
      headers: { ...session, ...(lastId !== undefined && { 'last-event-id': lastId }) },
    })
    if (response.status !== 200 || !response.body) return void (await response.body?.cancel())
    connections++
    let rest = ''
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + text).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) take(block)
    }
  }

  async function follow(): Promise<void> {
    while (!ending.signal.aborted) {
      // A broken stream is what this caller is for.
      await read().catch(() => {})
      await sleep(RECONNECT_MS)
    }
  }

  const following = follow()
  await opened.promise
  return {
    heard: (taskId) => created.get(taskId) ?? 0,
    hasHeard: () => created.size > 0,
    resets: () => resets,
    connections: () => connections,
    async stop() {
      ending.abort()
      await following
    },
  }
}
