/** The notifications of the open inbox: what was read of them, and how they are read, marked and kept up to date. */
import type { Client } from '../session/client.ts'
import { isNotHere } from '../session/errors.ts'
import { emptyFeed, type Feed, isLike, isUnread, marked, type Notification, type Page, withNews, withPage } from './feed.ts'
import { readTitles, type Titles } from './record-titles.ts'

const PAGE = 50

export interface InboxState {
  feed: Feed
  titles: Titles
  isLoading: boolean
  /** Why the next page is not there. */
  error: unknown
}

export interface Inbox {
  get(): InboxState
  subscribe(listener: () => void): () => void
  /** Reads the next page that has something to show, unless one is being read. */
  loadMore(): Promise<void>
  /** Puts what is new in front. @returns the notifications that have come */
  refresh(): Promise<readonly Notification[]>
  /** @throws TRPCClientError after it has taken the mark back */
  mark(row: Notification, isRead: boolean): Promise<void>
  /** Marks the notification and all others about its record or task as read. @throws TRPCClientError after it has taken the marks back */
  markLike(row: Notification): Promise<void>
  /** @throws TRPCClientError if nothing is marked */
  markAll(): Promise<void>
}

const instantNow = (): string => new Date().toISOString().slice(0, 19).replace('T', ' ')

export function createInbox(client: Client, isUnreadOnly: boolean): Inbox {
  let state: InboxState = { feed: emptyFeed(isUnreadOnly), titles: new Map(), isLoading: false, error: null }
  /** A page that belongs to a list before says nothing any more. */
  let beginning = 0
  const listeners = new Set<() => void>()

  function change(next: Partial<InboxState>): void {
    state = { ...state, ...next }
    for (const listener of listeners) listener()
  }

  function begin(feed: Feed): void {
    beginning += 1
    change({ feed, isLoading: false, error: null })
  }

  const ask = (filter: 'unread' | 'all', offset: number): Promise<Page> => client.notifications.list.query({ filter, offset, limit: PAGE })

  async function addTitles(rows: readonly Notification[]): Promise<void> {
    const titles = await readTitles(client, rows)
    if (titles.size) change({ titles: new Map([...state.titles, ...titles]) })
  }

  /** Shows the marks at once, and takes them back if the service refuses them. */
  async function marking(isMeant: (row: Notification) => boolean, isRead: boolean, send: () => Promise<unknown>): Promise<void> {
    const { feed } = state
    change({ feed: marked(feed, isMeant, isRead ? instantNow() : null) })
    try {
      await send()
    } catch (error) {
      const before = new Map([...feed.unread, ...feed.earlier].filter(isMeant).map(({ id, read_at }) => [id, read_at]))
      for (const [id, readAt] of before) change({ feed: marked(state.feed, (row) => row.id === id, readAt) })
      throw error
    }
  }

  async function loadMore(): Promise<void> {
    if (state.isLoading) return
    change({ isLoading: true, error: null })
    const own = beginning
    try {
      // A page of the list of all may hold nothing but what is shown already.
      let before: number
      do {
        const { next } = state.feed
        if (!next) break
        before = sizeOf(state.feed)
        const page = await ask(next.filter, next.offset)
        if (own !== beginning) return
        change({ feed: withPage(state.feed, page) })
        void addTitles(page.rows)
      } while (sizeOf(state.feed) === before)
      change({ isLoading: false })
    } catch (error) {
      if (own === beginning) change({ isLoading: false, error })
    }
  }

  return {
    get: () => state,
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    loadMore,
    async refresh() {
      // The first page is on its way, or failed.
      if (!sizeOf(state.feed) && state.feed.next?.offset === 0 && state.feed.next.filter === 'unread') return []
      const page = await ask('unread', 0)
      const known = new Set([...state.feed.unread, ...state.feed.earlier].map(({ id }) => id))
      const added = page.rows.filter(({ id }) => !known.has(id))
      const feed = withNews(state.feed, page, instantNow())
      if (feed) change({ feed })
      else begin(withPage(emptyFeed(isUnreadOnly), page))
      void addTitles(added)
      return added
    },
    mark: (row, isRead) =>
      marking(
        ({ id }) => id === row.id,
        isRead,
        () => client.notifications[isRead ? 'markRead' : 'markUnread'].mutate({ id: row.id }),
      ),
    markLike: (row) => {
      const isMeant = (other: Notification) => isLike(row, other) && isUnread(other)
      const ids = [...state.feed.unread, ...state.feed.earlier].filter(isMeant).map(({ id }) => id)
      return marking(isMeant, true, () => sendLike(client, row, ids))
    },
    async markAll() {
      await client.notifications.markAllRead.mutate()
      begin(emptyFeed(isUnreadOnly))
      await loadMore()
    },
  }
}

const sizeOf = ({ unread, earlier }: Feed): number => unread.length + earlier.length

async function sendLike(client: Client, { table_id, record_id }: Notification, ids: readonly number[]): Promise<void> {
  if (table_id !== null && record_id !== null) {
    try {
      await client.notifications.markRecordRead.mutate({ table_id, record_id })
      return
    } catch (error) {
      // The record is gone, or not the person's to see any more: its notifications are marked one by one.
      if (!isNotHere(error)) throw error
    }
  }
  const marks = await Promise.allSettled(ids.map((id) => client.notifications.markRead.mutate({ id })))
  // A notification out of reach is in no list of the service any more.
  for (const mark of marks) if (mark.status === 'rejected' && !isNotHere(mark.reason)) throw mark.reason
}
