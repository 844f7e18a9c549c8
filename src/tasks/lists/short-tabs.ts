/** Which tabs of users are short, so that a page of one may delay the short reads of other requests (pipelined-reads.ts). */
import type { Actor } from '../../platform/access/authenticate.ts'
import { BoundedMap } from '../../platform/collections/bounded-map.ts'
import type { Database } from '../../platform/database/database.ts'
import type { WrittenList } from '../../platform/http/written-json.ts'
import { memo } from '../../platform/memo.ts'
import type { Task, TaskQuery } from '../schema.ts'
import { searchOf } from './search.ts'

export type UserQuery = Pick<TaskQuery, 'tab' | 'search' | 'include_done'>
/** What decides which tasks a user may read. */
export type TaskReader = Pick<Actor, 'accountId' | 'userId' | 'isOwner' | 'visibleSpaceIds' | 'deletedTableIds'>

export interface Size {
  /** The number of tasks on all pages. */
  total: number
  /** The bytes of their titles and details. */
  textBytes: number
}

/** A page with the total reads all tasks of its tab, or an index of them, which takes less than a millisecond up to this number. */
const SHORT = 500
/** Each word of a search is looked for in all their titles and details, which takes 2 ms for so many bytes. */
const SHORT_BYTES = 100_000
const MOST_WORDS = 3
/** After so many pages a tab is measured again, because its tasks may have become more or longer. */
const PAGES_BETWEEN = 50
/** A page that is so many times as long as the one after which the tab was measured shows that its texts may have grown. */
const GROWN = 1.2
const MOST_NOTED = 10_000

interface Tab {
  isShort: boolean
  /** How many pages were read since it was measured. */
  pages: number
  /** The bytes of the page after which it was measured, as JSON. */
  pageBytes: number
}

/** The tabs of users that had few tasks when they were last measured. */
const tabs = memo((_: Database) => new BoundedMap<string, Tab>(MOST_NOTED))
const tabName = ({ userId }: TaskReader, { tab, include_done }: UserQuery) => `${userId} ${tab} ${include_done === true}`

/** Whether a page of the tab is a short read, as far as this process knows. The tab "all" never is: it looks for the user among followers. */
export const isShortTab = (db: Database, reach: TaskReader, query: UserQuery): boolean =>
  query.tab !== 'all' && searchOf(query).words.length <= MOST_WORDS && tabs(db).get(tabName(reach, query))?.isShort === true

/**
 * Counts a page of the tab. A tab that has only been searched is not measured, because a search does not tell how many tasks are in it.
 * @returns whether the tab should be measured now: at first, at times, and when a page is so long that the texts may have grown
 */
export function countPage(db: Database, reach: TaskReader, query: UserQuery, { total = 0, bytes }: WrittenList<Task>): boolean {
  if (query.tab === 'all') return false
  const name = tabName(reach, query)
  const isSearch = searchOf(query).words.length > 0
  if (!isSearch && total > SHORT) {
    tabs(db).delete(name)
    return false
  }
  const tab = tabs(db).get(name)
  if (!tab) return !isSearch
  const hasGrown = bytes > Math.max(SHORT_BYTES, GROWN * tab.pageBytes)
  return ++tab.pages % PAGES_BETWEEN === 0 || (tab.isShort && hasGrown)
}

/** @param page the one after which the tab was measured */
export function noteSize(
  db: Database,
  reach: TaskReader,
  query: UserQuery,
  { total, textBytes, page }: Size & { page: WrittenList<Task> },
): void {
  tabs(db).set(tabName(reach, query), { isShort: total <= SHORT && textBytes <= SHORT_BYTES, pages: 0, pageBytes: page.bytes })
}
