/** Answers a search from the first records of the order, where a middling word makes every other way expensive (docs/decisions/0028). */

import { trigramsOf } from '../../indexes/trigrams.ts'
import { BoundedMap } from '../../platform/bounded-map.ts'
import type { Context } from '../../platform/context.ts'
import type { Database, Following, Sql } from '../../platform/database/database.ts'
import type { PrintedRows } from '../../platform/database/printed-rows.ts'
import { planOf } from '../../platform/database/query-plan.ts'
import type { PageEnd } from '../../platform/http/cursor.ts'
import { memo } from '../../platform/memo.ts'
import { printPlace, printWindow, rowsToRead } from './print.ts'
import { planSearch, type SearchPlan } from './search-plan.ts'
import { isOfTexts } from './search-sql.ts'
import type { ResolvedPage } from './selection.ts'

/** Returns how to answer the search of the page; null for the usual statement, also of a page without a search. */
export async function searchPlanOf(context: Context, page: ResolvedPage): Promise<SearchPlan | null> {
  const { selection, offset } = page
  const { table, words } = selection
  // A sample that failed would end the transaction.
  if (!words.length || !isOfTexts(words, table) || context.db.inTransaction()) return null
  const sample = await trigramsOf(context, table)
  return sample && planSearch(words, sample, offset + rowsToRead(page), knownShare(context, page))
}

/** A window that does not fill the page shows how frequent the words are, so that the second is as large as it must be. */
const MAX_WINDOWS = 2

/**
 * Reads the page from the first records of the order. Returns null if these are no range of an index, or if they do not fill the page: then
 * the whole table must be searched.
 */
export async function readWindow(
  context: Context,
  page: ResolvedPage,
  first: SearchPlan,
  following: Following | undefined,
): Promise<PrintedRows | null> {
  if (page.order.length > 1) return null
  let plan: SearchPlan | null = first
  for (let tried = 0; tried < MAX_WINDOWS && plan; tried++) {
    const planned = { ...page, selection: { ...page.selection, searched: plan.words } }
    const rows = await readBeginning(context, planned, plan.window, following)
    if (!rows || rows.length === rowsToRead(page)) return rows
    const found = rows.length && page.offset + rows.length
    noteShare(context, page, found / plan.window)
    plan = await searchPlanOf(context, page)
  }
  return null
}

/** Reads the page as far as it is in the first `records` records of the order; null if these are no range of an index, or all records. */
async function readBeginning(
  context: Context,
  page: ResolvedPage,
  records: number,
  following: Following | undefined,
): Promise<PrintedRows | null> {
  const { signal } = context
  const { id } = page.selection.table
  const db = context.db.records(id)
  const place = printPlace(page, records)
  if (!(await isInIndex(context, id, place))) return null
  const read = async (end: PageEnd | undefined) => {
    const statement = end && printWindow(page, end)
    return statement ? db.queryPrinted(statement, undefined, signal, following) : null
  }
  const rows = await read(knownEnd(context, place))
  if (rows && rows.length === rowsToRead(page)) return rows
  const [end] = await db.query<PageEnd>(place, undefined, signal)
  noteEnd(context, place, end)
  return read(end)
}

// ── places in the order ─────────────────────────────────────────────────────

const MAX_PLACES = 200
const PLACE_KEPT_MS = 60_000
const places = memo((_: Database) => new BoundedMap<string, { until: number; isInIndex: boolean }>(MAX_PLACES))

/**
 * True if Postgres finds the place in an index alone. Otherwise it would read so many records that little is gained, or sort them all.
 * A minute's answers are kept by the text of the statement, which has no values.
 */
async function isInIndex({ db, now }: Context, tableId: number, place: Sql): Promise<boolean> {
  const known = places(db).get(place.sql)
  if (known && now.getTime() < known.until) return known.isInIndex
  const [node] = (await planOf(db.records(tableId), place))?.Plans ?? []
  const found = node?.['Node Type'] === 'Index Only Scan'
  places(db).set(place.sql, { until: now.getTime() + PLACE_KEPT_MS, isInIndex: found })
  return found
}

const ends = memo((_: Database) => new BoundedMap<string, { until: number; end: PageEnd }>(MAX_PLACES))
const endName = ({ sql, values }: Sql) => `${sql} ${JSON.stringify(values)}`

/** The record that was at this place within the last minute. Any record of the order may end a window, as long as the page is filled. */
function knownEnd({ db, now }: Context, place: Sql): PageEnd | undefined {
  const known = ends(db).get(endName(place))
  return known && now.getTime() < known.until ? known.end : undefined
}

function noteEnd({ db, now }: Context, place: Sql, end: PageEnd | undefined): void {
  if (end) ends(db).set(endName(place), { until: now.getTime() + PLACE_KEPT_MS, end })
}

// ── measured shares ─────────────────────────────────────────────────────────

const MAX_SHARES = 1_000
const SHARE_KEPT_MS = 600_000
const shares = memo((_: Database) => new BoundedMap<string, { until: number; share: number }>(MAX_SHARES))

/** Notes which part of the first records has the words, where the sample promised more. It counts for ten minutes. */
const noteShare = ({ db, now }: Context, page: ResolvedPage, share: number) =>
  shares(db).set(nameOf(page), { until: now.getTime() + SHARE_KEPT_MS, share })

function knownShare({ db, now }: Context, page: ResolvedPage): number | undefined {
  const known = shares(db).get(nameOf(page))
  return known && now.getTime() < known.until ? known.share : undefined
}

/** The words may be spread unevenly, in each order differently. */
const nameOf = ({ selection: { table, words }, order: [sort] }: ResolvedPage) =>
  `${table.id} ${sort?.field.id} ${sort?.isDescending} ${words.join(' ')}`
