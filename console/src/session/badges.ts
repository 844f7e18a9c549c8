/** The numbers of the side bar and of the tab's title. */
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { type Client, useClient } from './client.ts'
import { useLive } from './live/use-live.ts'

/** Time makes tasks due without any event. */
const ASKED_AGAIN_MS = 60_000
/** Events that come together are one occasion to ask. */
const TOGETHER_MS = 100
const READ = 'gridpost-read'

/** Tells all tabs of the browser, this one too, that notifications were marked: the service sends no event then. */
export function tellMarked(): void {
  const channel = new BroadcastChannel(READ)
  channel.postMessage(null)
  channel.close()
}

const badgesQuery = (client: Client) =>
  queryOptions({
    queryKey: ['notifications', 'count'],
    queryFn: () => client.notifications.unreadCount.query(),
    ...{ staleTime: 5_000, refetchInterval: ASKED_AGAIN_MS },
  })

/** Unread notifications of the person, their open tasks that are due today or overdue, and when the service has said so. */
export function useBadges(): { unread: number; tasksDue: number; readAt: number } {
  const { data, dataUpdatedAt: readAt } = useQuery(badgesQuery(useClient()))
  return { unread: data?.unread ?? 0, tasksDue: data?.tasksDue ?? 0, readAt }
}

/** Keeps the numbers up to date while the component is shown. */
export function useLiveBadges(): void {
  const { queryKey } = badgesQuery(useClient())
  const queries = useQueryClient()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const ask = () => {
    timer.current = undefined
    void queries.invalidateQueries({ queryKey })
  }
  const askSoon = () => {
    timer.current ??= setTimeout(ask, TOGETHER_MS)
  }
  useLive(askSoon, { types: ['notification', 'task'] })
  const latest = useRef(askSoon)
  latest.current = askSoon
  useEffect(() => {
    const marks = new BroadcastChannel(READ)
    marks.onmessage = () => latest.current()
    return () => {
      marks.close()
      clearTimeout(timer.current)
    }
  }, [])
}
