/** How a feature hears what changes while its page is open. */
import { useEffect, useRef } from 'react'
import { type Client, useClient } from '../client.ts'
import { useMe } from '../me.ts'
import { useSessionState } from '../use-session-state.ts'
import { createLive, type Live, type LiveListener } from './live-tabs.ts'

export type { LiveEvent } from './live-stream.ts'

let open: { userId: number; live: Live } | undefined

function liveOf(client: Client, userId: number): Live {
  if (open?.userId !== userId) {
    open?.live.end()
    open = { userId, live: createLive(client, userId) }
  }
  return open.live
}

export interface Heard {
  /** Tables of which records, fields, views and members are told, too. */
  tables?: readonly number[]
  /** The types that are meant, whole or by their first part: `['task', 'email.status']`. All if it is left out. */
  types?: readonly string[]
}

/**
 * Calls the listener with each event (docs/events.md) that the person may see, from the one stream of the browser. `reset` comes for every
 * listener, whatever its types: events may have been missed, so read again what is shown. It has a `table_id` if only a table is meant.
 */
export function useLive(listener: LiveListener, { tables = [], types }: Heard = {}): void {
  const client = useClient()
  const { id: userId } = useMe()
  // The cookie is somebody else's then, so nothing may be asked with it.
  const isOther = useSessionState() === 'other'
  const latest = useRef({ listener, types })
  latest.current = { listener, types }
  const tableIds = tables.join(',')
  useEffect(() => {
    if (isOther) return
    return liveOf(client, userId).subscribe(
      (event) => {
        const { listener, types } = latest.current
        const isMeant = !types || event.type === 'reset' || types.some((type) => event.type === type || event.type.startsWith(`${type}.`))
        if (isMeant) listener(event)
      },
      tableIds ? tableIds.split(',').map(Number) : [],
    )
  }, [client, userId, isOther, tableIds])
}
