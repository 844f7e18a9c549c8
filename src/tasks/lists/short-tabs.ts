/** Which tabs of users are short, so that a page of one may delay the short reads of other requests (pipelined-reads.ts). */
import type { Actor } from '../../platform/access/authenticate.ts'
import { BoundedMap } from '../../platform/collections/bounded-map.ts'
import type { Database } from '../../platform/database/database.ts'
import { memo } from '../../platform/memo.ts'
import type { TaskQuery } from '../schema.ts'
import { searchOf } from './search.ts'

export type UserQuery = Pick<TaskQuery, 'tab' | 'search' | 'include_done'>
/** What decides which tasks a user may read. */
export type TaskReader = Pick<Actor, 'accountId' | 'userId' | 'isOwner'>

export interface Size {
  /** The number of tasks on all pages. */
  total: number
  /** The bytes of their titles and details. */
  textBytes: number
}

/** A page with the total reads all tasks of its tab, which takes less than a millisecond up to this number. */
const SHORT = 500
/** Each word of a search is looked for in all their titles and details, which takes 2 ms for so many bytes. */
const SHORT_BYTES = 100_000
const MOST_WORDS = 3
/** After so many searches a tab is measured again, because it may have grown since it was listed. */
export const SEARCHES_BETWEEN = 50
const MOST_NOTED = 10_000
/** The tabs of users that were short when they were last measured, with the searches in them since then. */
const shortTabs = memo((_: Database) => new BoundedMap<string, { searches: number }>(MOST_NOTED))
const tabName = ({ userId }: TaskReader, { tab, include_done }: UserQuery) => `${userId} ${tab} ${include_done === true}`

/** The tab, if a page of it is a short read, as far as this process knows. The tab "all" never is: it looks for the user among followers. */
export const shortTab = (db: Database, reach: TaskReader, query: UserQuery): { searches: number } | undefined =>
  query.tab !== 'all' && searchOf(query).words.length <= MOST_WORDS ? shortTabs(db).get(tabName(reach, query)) : undefined

export function noteSize(db: Database, reach: TaskReader, query: UserQuery, { total, textBytes }: Size): void {
  if (total > SHORT || textBytes > SHORT_BYTES) shortTabs(db).delete(tabName(reach, query))
  else shortTabs(db).set(tabName(reach, query), { searches: 0 })
}
