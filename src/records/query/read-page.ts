/** Runs the statement of a page and writes its rows as the answer. */

import { recordUse } from '../../indexes/uses.ts'
import type { Context } from '../../platform/context.ts'
import type { Following, Sql } from '../../platform/database/database.ts'
import type { PrintedRows } from '../../platform/database/printed-rows.ts'
import { encodeCursor } from '../../platform/http/cursor.ts'
import { WrittenList } from '../../platform/http/written-json.ts'
import type { SecretKeys } from '../../settings.ts'
import { totalOf } from '../../tables/row-counts.ts'
import { leavesOf } from '../../views/filters/parse.ts'
import type { Row } from '../cells/present.ts'
import { ExpectedUsers } from './expected-users.ts'
import { endAt, printPage, printSelectedCount } from './print.ts'
import type { ResolvedPage, Selection, Walk } from './selection.ts'
import { readByTrigrams, searchPlanOf } from './trigram-search.ts'
import { writeRows } from './write-rows.ts'

/** The rows of a page, and the users who were read behind them. */
export interface ReadRows {
  rows: PrintedRows
  users: ExpectedUsers
}

export async function readPage(context: Context, page: ResolvedPage): Promise<WrittenList<Row>> {
  const { db, actor, signal } = context
  const { id } = page.selection.table
  const users = new ExpectedUsers(actor.accountId, page.fields)
  const [rows, counted] = await Promise.all([
    readRows(context, page, db.isElsewhere(id) ? undefined : users.following),
    page.isCounted ? db.records(id).query<{ count: number }>(printSelectedCount(page, totalOf(db, id)), undefined, signal) : undefined,
  ])
  return writePage(context, page, { rows, users }, counted && (counted[0]?.count ?? 0))
}

/**
 * Reads the rows of the page, which must not be counted, on the connection that short pages share. Returns undefined if the page is not known to be
 * short, and if it has to be read in the usual way after all.
 */
export async function readShortPage({ db, actor }: Context, page: ResolvedPage): Promise<ReadRows | undefined> {
  const users = new ExpectedUsers(actor.accountId, page.fields)
  const { statement, fallback } = printPage(page)
  const rows = await db.queryShortPrinted(statement, labelOf(page), users.following)
  return !rows || (fallback && rows.length <= page.limit) ? undefined : { rows, users }
}

/** @param total the number of all records of the query, if it was asked for */
export async function writePage(
  { db, settings }: Context,
  page: ResolvedPage,
  { rows, users }: ReadRows,
  total?: number,
): Promise<WrittenList<Row>> {
  const next_cursor = page.walk && cutToLimit(rows, page, page.walk, settings.secretKeys)
  const written = await writeRows(db, page.fields, rows, { users, lookups: page.queryContext.lookups })
  return new WrittenList(written, { total, next_cursor })
}

/** Reads the rows, and behind them what follows. Notes a slow query so that an index can be built for it. */
async function readRows(context: Context, page: ResolvedPage, following: Following | undefined): Promise<PrintedRows> {
  const { selection, order } = page
  const plan = await searchPlanOf(context, page)
  const startedAt = performance.now()
  try {
    if (!plan) return await readUsual(context, page, following)
    return (await readByTrigrams(context, page, plan, following)) ?? (await readUsual(context, page, following))
  } finally {
    await recordUse(context, { ...selection, order, page: () => printPage(page).statement, tookMs: performance.now() - startedAt })
  }
}

async function readUsual(context: Context, page: ResolvedPage, following: Following | undefined): Promise<PrintedRows> {
  const { signal } = context
  const db = context.db.records(page.selection.table.id)
  const { statement, fallback } = printPage(page)
  const label = labelOf(page)
  const read = (sql: Sql) => db.queryPrinted(sql, label, signal, following)
  const rows = await read(statement)
  return fallback && rows.length <= page.limit ? await read(fallback()) : rows
}

const TEXT_PATTERNS: ReadonlySet<string> = new Set(['contains', 'starts_with', 'ends_with'])

/** A statement with texts is not prepared: a generic plan misjudges the number of matches of a rare word by a factor of a hundred. */
const labelOf = ({ selection }: ResolvedPage) => (matchesText(selection) ? undefined : 'records-page')

const matchesText = ({ where, words }: Selection) => words.length > 0 || leavesOf(where).some(({ compare }) => TEXT_PATTERNS.has(compare))

/** A walk reads one row more than `limit`, which is dropped. @returns the cursor of the next page if that row exists */
function cutToLimit(rows: PrintedRows, page: ResolvedPage, { fingerprint }: Walk, secretKeys: SecretKeys): string | undefined {
  const { limit } = page
  if (rows.length <= limit) return undefined
  rows.cutTo(limit)
  return encodeCursor(endAt(limit - 1, rows, page), fingerprint, secretKeys)
}
