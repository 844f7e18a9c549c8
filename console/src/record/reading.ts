/** Reads the notifications of a record by opening it, from wherever that is. */
import { useEffect, useRef } from 'react'
import { tellMarked, useBadges } from '../session/badges.ts'
import { useClient } from '../session/client.ts'

/** Whoever goes through records by a key has not read each of them. */
const SEEN_MS = 1000

/** What comes while the record is open stays unread: one may look elsewhere. @param isThere whether the record is shown */
export function useReading(tableId: number, recordId: number, isThere: boolean): void {
  const client = useClient()
  const { unread, readAt } = useBadges()
  const place = `${tableId}/${recordId}`
  /** Whether anything was unread when the record was opened. */
  const opened = useRef({ place: '', isUnread: false })
  const isKnown = isThere && readAt > 0
  useEffect(() => {
    if (!isKnown) return
    if (opened.current.place !== place) opened.current = { place, isUnread: unread > 0 }
  }, [isKnown, place, unread])

  // biome-ignore lint/correctness/useExhaustiveDependencies: the place is the table and the record
  useEffect(() => {
    if (!isKnown || !opened.current.isUnread) return
    const timer = setTimeout(async () => {
      // What could not be marked stays unread, and is seen in the inbox.
      const marked = await client.notifications.markRecordRead.mutate({ table_id: tableId, record_id: recordId }).catch(() => null)
      if (marked?.read) tellMarked()
    }, SEEN_MS)
    return () => clearTimeout(timer)
  }, [isKnown, place])
}
