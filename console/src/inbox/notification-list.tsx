/** The list of notifications, through which arrows go, and which grows as one scrolls. */
import { Link, useRouter } from '@tanstack/react-router'
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { tellMarked, useBadges } from '../session/badges.ts'
import { useClient } from '../session/client.ts'
import { useDatePlace } from '../session/date-place.ts'
import { messageOf } from '../session/errors.ts'
import { usePlaces } from '../session/places.ts'
import { appTexts } from '../texts/app.ts'
import { inboxTexts } from '../texts/inbox.ts'
import { announce } from '../ui/announcer.ts'
import { useKeys } from '../ui/keys/keys.ts'
import { toast } from '../ui/toasts/toasts.ts'
import { isUnread, type Notification, rowsOf } from './feed.ts'
import type { Inbox } from './inbox-store.ts'
import { NotificationRow } from './notification-row.tsx'
import { addressOf, entryOf } from './place.ts'

/** How long one waits to hear which comment is meant: after that the record is opened, which goes to the comment once it is known. */
const PATIENCE_MS = 800

export function NotificationList({ inbox }: { inbox: Inbox }) {
  const { feed, titles, isLoading, error } = useSyncExternalStore(inbox.subscribe, inbox.get)
  const rows = rowsOf(feed)
  const place = useDatePlace()
  const { tables, managed } = usePlacesKnown()
  const { mark, open } = useActions(inbox, managed)
  const list = useRef<HTMLUListElement>(null)
  const [currentId, setCurrentId] = useState<number | null>(null)
  const current = rows.find(({ id }) => id === currentId) ?? rows[0]
  useNews(inbox)
  useMoves(list, { rows, current, mark })

  return (
    <>
      <ul ref={list} aria-label={inboxTexts.list} aria-busy={isLoading} className="notifications">
        {rows.map((row) => (
          <NotificationRow
            key={row.id}
            {...{ row, titles, tables, managed, place, open, mark }}
            isCurrent={row.id === current?.id}
            focused={setCurrentId}
          />
        ))}
      </ul>
      {error !== null && (
        <p className="problem" role="alert">
          {messageOf(error)}{' '}
          <button type="button" className="button small" onClick={() => void inbox.loadMore()}>
            {appTexts.retry}
          </button>
        </p>
      )}
      {isLoading && <output className="loading-more">{rows.length ? inboxTexts.loadingMore : inboxTexts.loading}</output>}
      {!rows.length && !isLoading && !feed.next && <Nothing isUnreadOnly={feed.isUnreadOnly} />}
      {feed.next && error === null && !isLoading && <More load={inbox.loadMore} />}
    </>
  )
}

function Nothing({ isUnreadOnly }: { isUnreadOnly: boolean }) {
  if (isUnreadOnly) return <p className="nothing">{inboxTexts.nothingUnread}</p>
  return (
    <div className="nothing">
      <h2>{inboxTexts.nothing}</h2>
      <p>{inboxTexts.nothingWhy}</p>
      <p>
        <Link to="/settings/$" params={{ _splat: 'notifications' }}>
          {inboxTexts.mails}
        </Link>
      </p>
    </div>
  )
}

/** The end of the list: the next page is read before it comes into sight. */
function More({ load }: { load: () => Promise<void> }) {
  const end = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!end.current) return
    const observer = new IntersectionObserver((entries) => entries.at(-1)?.isIntersecting && void load(), { rootMargin: '1200px' })
    observer.observe(end.current)
    return () => observer.disconnect()
  }, [load])
  return <div ref={end} />
}

/** The names of the tables, and the spaces of which the person is an admin. */
function usePlacesKnown(): { tables: ReadonlyMap<number, string>; managed: ReadonlySet<number> } {
  const { places } = usePlaces()
  return useMemo(
    () => ({
      tables: new Map(places.flatMap(({ tables }) => tables.map(({ id, name }) => [id, name]))),
      managed: new Set(places.filter(({ role }) => role === 'admin').map(({ id }) => id)),
    }),
    [places],
  )
}

function useActions(inbox: Inbox, managed: ReadonlySet<number>) {
  const client = useClient()
  const { history } = useRouter()

  const mark = useCallback(
    (row: Notification, isRead: boolean) =>
      void inbox.mark(row, isRead).then(
        () => {
          announce(isRead ? inboxTexts.markedRead : inboxTexts.markedUnread)
          tellMarked()
        },
        (error: unknown) => toast(messageOf(error)),
      ),
    [inbox],
  )
  const open = useCallback(
    async (row: Notification, isInTab: boolean) => {
      void inbox.markLike(row).then(tellMarked, (error: unknown) => toast(messageOf(error)))
      if (isInTab) return
      // A place that cannot be read says so itself.
      const entry = entryOf(client, row).catch(() => undefined)
      const [place, soon] = [addressOf(row, managed), await Promise.race([entry, after(PATIENCE_MS)])]
      history.push(addressOf(row, managed, soon))
      const late = addressOf(row, managed, soon ?? (await entry))
      if (late !== place && history.location.href === place) history.replace(late)
    },
    [inbox, client, history, managed],
  )
  return { mark, open }
}

const after = (ms: number) => new Promise<undefined>((resolve) => setTimeout(resolve, ms))

/** Shows what comes while the page is open. */
function useNews(inbox: Inbox): void {
  const { readAt } = useBadges()
  const refresh = useCallback(async () => {
    const added = await inbox.refresh().catch(() => [])
    const [first, ...others] = added
    if (first) announce(others.length ? inboxTexts.arrived(added.length) : first.message)
  }, [inbox])
  // The count is read with each event, and now and then for what is read elsewhere.
  // biome-ignore lint/correctness/useExhaustiveDependencies: that it was read is the occasion.
  useEffect(() => void refresh(), [readAt, refresh])
}

interface Moving {
  rows: readonly Notification[]
  current: Notification | undefined
  mark: (row: Notification, isRead: boolean) => void
}

function useMoves(list: RefObject<HTMLUListElement | null>, { rows, current, mark }: Moving): void {
  const at = rows.findIndex(({ id }) => id === current?.id)
  const links = () => [...(list.current?.querySelectorAll<HTMLElement>('a') ?? [])]
  const go = (index: number) => {
    const found = links()
    const target = found[Math.max(0, Math.min(index, found.length - 1))]
    target?.focus()
    target?.scrollIntoView({ block: 'nearest' })
  }
  /** The first arrow only enters the list. */
  const step = (by: number) => go(list.current?.contains(document.activeElement) ? at + by : at)
  const markCurrent = (isRead: boolean) => current && isUnread(current) === isRead && mark(current, isRead)
  useKeys(inboxTexts.keys, [
    { keys: 'ArrowDown', does: inboxTexts.move, run: () => step(1) },
    { keys: 'ArrowUp', does: inboxTexts.move, run: () => step(-1) },
    { keys: 'Home', does: inboxTexts.first, run: () => go(0) },
    { keys: 'End', does: inboxTexts.last, run: () => go(rows.length - 1) },
    { keys: 'Enter', does: inboxTexts.open },
    { keys: 'E', does: inboxTexts.markRead, run: () => markCurrent(true) },
    { keys: 'Shift+U', does: inboxTexts.markUnread, run: () => markCurrent(false) },
  ])
}
