import { useQuery } from '@tanstack/react-query'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { useClient } from '../../session/client.ts'
import { useLive } from '../../session/live/use-live.ts'
import type { RecordPlace } from '../record-parts.ts'
import type { Kind } from './entry.ts'
import { hear } from './heard.ts'
import { createTimelineSource, type TimelineSource, type TimelineState } from './timeline-source.ts'

/** The timeline of a record with the kinds that are not left out. `null` before it has begun. */
export function useTimelineSource({ tableId, recordId }: RecordPlace, kinds: ReadonlySet<Kind>): TimelineSource | null {
  const client = useClient()
  const [source, setSource] = useState<TimelineSource | null>(null)
  const shown = [...kinds].sort().join(' ')
  useEffect(() => {
    const created = createTimelineSource(client, { tableId, recordId, kinds: new Set(shown ? (shown.split(' ') as Kind[]) : []) })
    setSource(created)
    return () => created.end()
  }, [client, tableId, recordId, shown])
  useReadAgain(source, tableId, recordId)
  useLive((event) => source && hear(source.lists, event, { tableId, recordId }), { tables: [tableId] })
  return source
}

/** Whoever invalidates `['timeline', tableId, recordId]` has what is new read. */
function useReadAgain(source: TimelineSource | null, tableId: number, recordId: number) {
  useQuery({
    queryKey: ['timeline', tableId, recordId],
    queryFn: () => {
      for (const reader of Object.values(source?.lists ?? {})) reader.head()
      return Date.now()
    },
    enabled: source !== null,
    initialData: 0,
    ...{ staleTime: Number.POSITIVE_INFINITY, gcTime: 0, refetchOnWindowFocus: false, refetchOnReconnect: false },
  })
}

const NOTHING: TimelineState = { entries: [], isWhole: false, isLoading: true, problem: null }

export const useTimelineState = (source: TimelineSource | null): TimelineState =>
  useSyncExternalStore(source?.listen ?? never, source?.state ?? (() => NOTHING))

const never = () => () => {}
