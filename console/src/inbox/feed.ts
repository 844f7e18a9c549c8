/** The notifications that are shown: unread ones first, and more of them as one scrolls. */
import type { inferRouterOutputs } from '@trpc/server'
import type { AppRouter } from 'gridpost-client'

export type Notification = inferRouterOutputs<AppRouter>['notifications']['list']['rows'][number]

/** A page of the list, as the service answers it: newest first. */
export interface Page {
  rows: readonly Notification[]
  total?: number | undefined
}

export interface Feed {
  isUnreadOnly: boolean
  /** Those that were unread when they came. They stay in their places when they are read, so that nothing moves under the reader. */
  unread: readonly Notification[]
  /** Those that were read already. */
  earlier: readonly Notification[]
  /** The list that is read next, and how many of its rows are before the next page; null at the end. */
  next: { filter: 'unread' | 'all'; offset: number } | null
}

export const emptyFeed = (isUnreadOnly: boolean): Feed => ({
  ...{ isUnreadOnly, unread: [], earlier: [] },
  next: { filter: 'unread', offset: 0 },
})

export const rowsOf = ({ unread, earlier }: Feed): readonly Notification[] => [...unread, ...earlier]

/** Adds the page that was asked for as `next`. Rows that have moved down meanwhile come twice and are left out. */
export function withPage(feed: Feed, page: Page): Feed {
  const { next } = feed
  if (!next) return feed
  const known = new Set(rowsOf(feed).map(({ id }) => id))
  const added = page.rows.filter(({ id }) => !known.has(id))
  const offset = next.offset + page.rows.length
  const isEnd = page.rows.length === 0 || offset >= (page.total ?? 0)
  if (next.filter === 'all') {
    return { ...feed, earlier: [...feed.earlier, ...added], next: isEnd ? null : { filter: 'all', offset } }
  }
  const unread = [...feed.unread, ...added]
  if (isEnd) return { ...feed, unread, next: feed.isUnreadOnly ? null : { filter: 'all', offset: 0 } }
  return { ...feed, unread, next: { filter: 'unread', offset } }
}

/**
 * Puts the first page of unread notifications in front: new ones are added, and one that the page should have and has not was read
 * elsewhere.
 * @returns null if the page may leave a gap behind it, because it has no known row: the feed has to begin anew with it
 */
export function withNews(feed: Feed, page: Page, at: string): Feed | null {
  const known = new Set(rowsOf(feed).map(({ id }) => id))
  const added = page.rows.filter(({ id }) => !known.has(id))
  const isGap = feed.unread.some(isUnread) && page.rows.length > 0 && added.length === page.rows.length && added.length < (page.total ?? 0)
  if (isGap) return null
  const stillUnread = new Set(page.rows.map(({ id }) => id))
  const isWhole = page.rows.length >= (page.total ?? 0)
  const last = isWhole ? 0 : Math.min(...stillUnread)
  const current = feed.unread.map((row) => (isUnread(row) && row.id >= last && !stillUnread.has(row.id) ? read(row, at) : row))
  return countedAgain({ ...feed, unread: [...added, ...current] }, unreadIn(feed))
}

/** Marks the notifications of which `isMeant` is true. */
export function marked(feed: Feed, isMeant: (row: Notification) => boolean, readAt: string | null): Feed {
  const mark = (row: Notification) => (isMeant(row) && isUnread(row) !== (readAt === null) ? { ...row, read_at: readAt } : row)
  return countedAgain({ ...feed, unread: feed.unread.map(mark), earlier: feed.earlier.map(mark) }, unreadIn(feed))
}

/** Unread rows before the next page are fewer or more now than when its offset was counted. */
function countedAgain(feed: Feed, before: number): Feed {
  const { next } = feed
  if (next?.filter !== 'unread') return feed
  return { ...feed, next: { filter: 'unread', offset: Math.max(0, next.offset + unreadIn(feed) - before) } }
}

const unreadIn = (feed: Feed): number => rowsOf(feed).filter(isUnread).length
const read = (row: Notification, at: string): Notification => ({ ...row, read_at: at })
export const isUnread = ({ read_at }: Notification): boolean => read_at === null

/** Whether two notifications are about the same record, or about the same task that is on no record. */
export const isLike = (one: Notification, other: Notification): boolean =>
  one.record_id === null
    ? one.id === other.id || (one.task_id !== null && other.record_id === null && one.task_id === other.task_id)
    : one.table_id === other.table_id && one.record_id === other.record_id
