/** Answers a search by rare trigrams: a rare word from all records, a middling one from the first of the order (docs/decisions/0028). */

import { trigramsOf } from '../../indexes/trigrams.ts'
import { BoundedMap } from '../../platform/collections/bounded-map.ts'
import type { Context } from '../../platform/context.ts'
import type { Database, Sql } from '../../platform/database/database.ts'
import { planOf } from '../../platform/database/query-plan.ts'
import type { PrintedRows } from '../../platform/database/statements/printed-rows.ts'
import type { TrailingRead } from '../../platform/database/statements/statement.ts'
import type { PageEnd } from '../../platform/http/answers/cursor.ts'
import { memo } from '../../platform/memo.ts'
import { formsOf } from '../../platform/normal-forms.ts'
import { isEmptyFirst } from '../../views/filters/order.ts'
import { printAllByTrigrams, printPlace, printWindow, rowsToRead } from './print.ts'
import { planSearch, type SearchPlan } from './search-plan.ts'
import { isOfTexts } from './search-sql.ts'
import type { ResolvedPage } from './selection.ts'
import { endAt } from './write-rows.ts'

/** Returns how to answer the page's search; null for the usual statement, which serves pages without search and orders of several keys. */
export async function searchPlanOf(context: Context, page: ResolvedPage): Promise<SearchPlan | null> {
  const { selection, order, offset } = page
  const { table, words } = selection
  if (!words.length || order.length > 1 || !isOfTexts(words, table)) return null
  // Trigrams are those of one spelling.
  if (!table.fields.every((field) => field.is_normalized) && words.some((word) => formsOf(word).length > 1)) return null
  // A sample that failed would end the transaction.
  if (context.db.inTransaction()) return null
  const sample = await trigramsOf(context, table)
  return sample && planSearch(words, sample, offset + rowsToRead(page), shares.get(context, nameOf(page)))
}

/** A window that does not fill the page shows how frequent the words are, so that the second is as large as it must be. */
const MAX_WINDOWS = 2

/**
 * Reads the page as planned. Returns null if the first records of the order are no range of an index, or if they do not fill the page: then
 * the whole table must be searched as usual.
 */
export async function readByTrigrams(
  context: Context,
  page: ResolvedPage,
  first: SearchPlan,
  trailing: TrailingRead | undefined,
): Promise<PrintedRows | null> {
  let plan: SearchPlan | null = first
  for (let tried = 0; tried < MAX_WINDOWS && plan; tried++) {
    const planned = { ...page, selection: { ...page.selection, searched: plan.words } }
    if (plan.window === null) return readAll(context, planned, trailing)
    const rows = await readBeginning(context, planned, plan.window, trailing)
    if (!rows || isFilled(rows, page)) return rows
    const found = rows.length && page.offset + rows.length
    shares.set(context, nameOf(page), found / plan.window)
    plan = await searchPlanOf(context, page)
  }
  return null
}

/** A search in all records that takes longer was planned by a wrong estimate, unless it has waited for its place for so long. */
const LONG_MS = 1_000

async function readAll(context: Context, page: ResolvedPage, trailing: TrailingRead | undefined): Promise<PrintedRows> {
  const { db, signal } = context
  const startedAt = performance.now()
  const rows = await db.records(page.selection.table.id).page(printAllByTrigrams(page), { signal, trailing })
  // For some time the usual statement is used.
  if (performance.now() - startedAt > LONG_MS) shares.set(context, nameOf(page), 0)
  return rows
}

/** Reads the page as far as it is in the first `records` records of the order; null if these are no range of an index, or all records. */
async function readBeginning(
  context: Context,
  page: ResolvedPage,
  records: number,
  trailing: TrailingRead | undefined,
): Promise<PrintedRows | null> {
  const { signal } = context
  const { id } = page.selection.table
  const db = context.db.records(id)
  const place = printPlace(page, records)
  if (!(await isInIndex(context, id, place))) return null
  const read = async (end: PageEnd | undefined) => {
    const statement = end && printWindow(page, end)
    return statement ? db.page(statement, { signal, trailing }) : null
  }
  // Any record may end a window that fills the page: the last record that this page had a moment ago, or the one that was at the place.
  const name = `${withValues(place)} ${nameOf(page)} ${rowsToRead(page)} ${page.offset}`
  const known = ends.get(context, withValues(place))
  let rows = await read(lastRows.get(context, name))
  if (!isFilled(rows, page) && known) rows = await read(known)
  if (!isFilled(rows, page)) {
    const [found] = await db.read<{ id: number; key: string | null }>(place, { signal })
    const end = found && { id: found.id, keys: [found.key] }
    if (end) ends.set(context, withValues(place), end)
    if (!rows || end?.id !== known?.id || end?.keys[0] !== known?.keys[0]) rows = await read(end)
  }
  // Few ask for the same page of a walk again.
  if (rows && isFilled(rows, page) && !page.walk?.after) lastRows.set(context, name, endAt(rows.length - 1, rows, page))
  return rows
}

const isFilled = (rows: PrintedRows | null, page: ResolvedPage) => rows?.length === rowsToRead(page)

/** Values that are kept for some time, by their names. */
function keptFor<Value>(ms: number, most: number) {
  const entries = memo((_: Database) => new BoundedMap<string, { until: number; value: Value }>(most))
  return {
    get({ db, now }: Context, name: string): Value | undefined {
      const known = entries(db).get(name)
      return known && now.getTime() < known.until ? known.value : undefined
    },
    set: ({ db, now }: Context, name: string, value: Value) => entries(db).set(name, { until: now.getTime() + ms, value }),
  }
}

// ── places in the order ─────────────────────────────────────────────────────

const MAX_PLACES = 200
const PLACE_KEPT_MS = 60_000
/** By the text of a statement, which has no values: whether an index alone finds its place. */
const inIndex = keptFor<boolean>(PLACE_KEPT_MS, MAX_PLACES)
/** By text and values: the record at the place. */
const ends = keptFor<PageEnd>(PLACE_KEPT_MS, MAX_PLACES)
/** By the place, the words and the page: its last row, which ends the shortest window that fills it. */
const lastRows = keptFor<PageEnd>(PLACE_KEPT_MS, MAX_PLACES)
const withValues = ({ sql, values }: Sql) => `${sql} ${JSON.stringify(values)}`

/**
 * True if Postgres finds the place in an index alone. Otherwise it would read so many records that little is gained, or sort them all.
 */
async function isInIndex(context: Context, tableId: number, place: Sql): Promise<boolean> {
  const known = inIndex.get(context, place.sql)
  if (known !== undefined) return known
  const [node] = (await planOf(context.db.records(tableId), place))?.Plans ?? []
  const found = node?.['Node Type'] === 'Index Only Scan'
  inIndex.set(context, place.sql, found)
  return found
}

// ── measured shares ─────────────────────────────────────────────────────────

const MAX_SHARES = 1_000
const SHARE_KEPT_MS = 600_000
/** Which part of the first records has the words, where the sample promised more; 0 where it is not worth looking. */
const shares = keptFor<number>(SHARE_KEPT_MS, MAX_SHARES)

/** The words may be spread unevenly, in each order differently. */
const nameOf = ({ selection: { table, words }, order: [sort] }: ResolvedPage) =>
  `${table.id} ${sort?.field.id} ${sort?.isDescending} ${sort && isEmptyFirst(sort)} ${words.join(' ')}`
