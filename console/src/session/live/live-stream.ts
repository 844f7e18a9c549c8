/** The stream of a browser: what changes for its person, and in some tables (docs/events.md). Refused, it goes on without haste. */
import type { Client } from 'gridpost-client'
import { isNotHere } from '../errors.ts'

/** An event as the service sends it: what happened and where. The ids that do not apply are absent. */
export interface LiveEvent {
  type: string
  space_id?: number
  table_id?: number
  record_id?: number
  task_id?: number
  comment_id?: number
  view_id?: number
  change_id?: number | null
  user_id?: number | null
  fields?: string[]
  count?: number
}

export interface StreamListener {
  /** An event, and the id to go on after. */
  heard(event: LiveEvent, lastId: string): void
  /** Tables that the person may not read any more. */
  lost(tableIds: readonly number[]): void
}

export interface LiveStream {
  /** Follows these tables in place of those before, beside what is the person's own, and goes on after the event that came last. */
  follow(tableIds: readonly number[], lastId: string | undefined): void
  /** Ends the stream until something is followed again. */
  rest(): void
}

/** How long a stream waits before it is opened again: longer each time, until one has lasted. */
const [FIRST_WAIT_MS, LONGEST_WAIT_MS, LASTED_MS] = [1_000, 30_000, 60_000] as const

export function createStream(client: Client, listener: StreamListener): LiveStream {
  let current: { unsubscribe(): void } | undefined
  /** The opening that counts: what belongs to one before it says nothing any more. */
  let opening = 0
  let lastId: string | undefined
  let refusals = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  function rest(): void {
    opening += 1
    clearTimeout(timer)
    current?.unsubscribe()
    current = undefined
  }

  function open(tableIds: readonly number[]): void {
    rest()
    const own = opening
    const openedAt = performance.now()
    const ended = () => {
      if (own !== opening) return
      rest()
      refusals = performance.now() - openedAt > LASTED_MS ? 1 : refusals + 1
      const wait = refusals === 1 ? 0 : Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (refusals - 2))
      timer = setTimeout(() => void openReadable(tableIds), wait)
    }
    current = client.events.subscribe(
      { ...(tableIds.length && { table_ids: [...tableIds] }), ...(lastId !== undefined && { lastEventId: lastId }) },
      {
        onData: ({ data, id }) => {
          if (own !== opening) return
          lastId = id
          listener.heard(data, id)
        },
        onError: ended,
        onComplete: ended,
      },
    )
  }

  /** A stream that names a table which the person may not read is refused, so the person and the tables are looked at first. */
  async function openReadable(tableIds: readonly number[]): Promise<void> {
    const own = opening
    // A call that fails because the session has ended waits until the person has signed in again.
    await client.auth.me.query().catch(() => undefined)
    const answers = await Promise.allSettled(tableIds.map((id) => client.tables.get.query({ table_id: id })))
    if (own !== opening) return
    const lost = tableIds.filter((_, at) => {
      const answer = answers[at]
      return answer?.status === 'rejected' && isNotHere(answer.reason)
    })
    if (lost.length) listener.lost(lost)
    if (own === opening) open(tableIds.filter((id) => !lost.includes(id)))
  }

  return {
    follow(tableIds, after) {
      lastId = after
      refusals = 0
      open(tableIds)
    },
    rest,
  }
}
