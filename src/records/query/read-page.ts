/** Runs the statement of a page and writes its rows as the answer. */

import { recordUse } from '../../indexes/uses.ts'
import type { Context } from '../../platform/context.ts'
import type { Sql } from '../../platform/database/database.ts'
import { MOST_PAGE_MB } from '../../platform/database/statements/prepared-statements.ts'
import type { PrintedRows } from '../../platform/database/statements/printed-rows.ts'
import { labelled, type TrailingRead } from '../../platform/database/statements/statement.ts'
import { AppError } from '../../platform/errors.ts'
import { encodeCursor } from '../../platform/http/answers/cursor.ts'
import { type JsonText, WrittenList } from '../../platform/http/answers/written-json.ts'
import type { SecretKeys } from '../../settings.ts'
import { totalOf } from '../../tables/row-counts.ts'
import { leavesOf } from '../../views/filters/parse.ts'
import { readBadges } from '../badges.ts'
import type { Row } from '../cells/present.ts'
import { ExpectedUsers } from './expected-users.ts'
import { printPage, printSelectedCount } from './print.ts'
import type { ResolvedPage, Selection, Walk } from './selection.ts'
import { readByTrigrams, searchPlanOf } from './trigram-search.ts'
import { endAt, writeLists } from './write-rows.ts'

/** Reads the page, and counts all records of its query if the caller asks for their number. */
export async function readPage(context: Context, page: ResolvedPage): Promise<WrittenList<Row>> {
  const { db, actor, signal, settings } = context
  const { id } = page.selection.table
  const users = new ExpectedUsers(actor.accountId, page.fields)
  const [rows, counted] = await Promise.all([
    readRows(context, page, users.trailing),
    page.isCounted ? db.records(id).read<{ count: number }>(printSelectedCount(page, totalOf(db, id)), { signal }) : undefined,
  ])
  const next_cursor = page.walk && cutToLimit(rows, page, page.walk, settings.secretKeys)
  const badges = page.include.has('badges') ? await readBadges(context, id, rows.ids()) : undefined
  const shown = { include: page.include, badges }
  const [written = ''] = await writeLists(db, page.fields, [rows], { users, lookups: page.queryContext.lookups }, shown)
  return new WrittenList(written, { total: counted && (counted[0]?.count ?? 0), next_cursor })
}

/**
 * Reads pages with the same fields, and writes the rows of each as a JSON array. They are read one after the other, so that they take one
 * connection, as a page does; what their cells refer to is read for all of them together.
 * @param advice what the caller can do about pages that are too large
 * @throws AppError 400 for pages that have more than 32 MB together
 */
export async function readPages(
  context: Context,
  pages: readonly ResolvedPage[],
  advice: string,
): Promise<{ rows: JsonText; next_cursor: string | undefined }[]> {
  const [first] = pages
  if (!first) return []
  const { db, actor, settings } = context
  const { selection, fields, include, queryContext } = first
  const lists: PrintedRows[] = []
  let bytes = 0
  for (const page of pages) {
    const rows = await readRows(context, page)
    bytes += rows.bytes
    if (bytes > MOST_PAGE_MB * MB) throw new AppError('BAD_REQUEST', `The answer has more than ${MOST_PAGE_MB} MB; ${advice}`)
    lists.push(rows)
  }
  const cursors = pages.map((page, index) => page.walk && cutToLimit(lists[index] as PrintedRows, page, page.walk, settings.secretKeys))
  const ids = lists.flatMap((rows) => rows.ids())
  const badges = include.has('badges') ? await readBadges(context, selection.table.id, ids) : undefined
  const referred = { users: new ExpectedUsers(actor.accountId, fields), lookups: queryContext.lookups }
  const written = await writeLists(db, fields, lists, referred, { include, badges })
  return written.map((rows, index) => ({ rows, next_cursor: cursors[index] }))
}

const MB = 1_048_576

/** Reads the rows, and behind them what follows. Notes a slow query so that an index can be built for it. */
async function readRows(context: Context, page: ResolvedPage, trailing?: TrailingRead): Promise<PrintedRows> {
  const { selection, order } = page
  const plan = await searchPlanOf(context, page)
  const startedAt = performance.now()
  try {
    if (!plan) return await readUsual(context, page, trailing)
    return (await readByTrigrams(context, page, plan, trailing)) ?? (await readUsual(context, page, trailing))
  } finally {
    await recordUse(context, { ...selection, order, page: () => printPage(page).statement, tookMs: performance.now() - startedAt })
  }
}

async function readUsual(context: Context, page: ResolvedPage, trailing: TrailingRead | undefined): Promise<PrintedRows> {
  const { signal } = context
  const db = context.db.records(page.selection.table.id)
  const { statement, fallback } = printPage(page)
  const label = labelOf(page)
  const read = (sql: Sql) => db.page(labelled(label, sql), { signal, trailing })
  const rows = await read(statement)
  return fallback && rows.length <= page.limit ? await read(fallback()) : rows
}

const TEXT_PATTERNS: ReadonlySet<string> = new Set(['contains', 'starts_with', 'ends_with'])

/** A statement with texts is not prepared: a generic plan misjudges the number of matches of a rare word by a factor of a hundred. */
const labelOf = ({ selection }: ResolvedPage) => (matchesText(selection) ? undefined : 'records-page')

/** True for a condition or a search that looks for a part of a text. */
export const matchesText = ({ where, words }: Selection) =>
  words.length > 0 || leavesOf(where).some(({ compare }) => TEXT_PATTERNS.has(compare))

/** A walk reads one row more than `limit`, which is dropped. @returns the cursor of the next page if that row exists */
function cutToLimit(rows: PrintedRows, page: ResolvedPage, { fingerprint }: Walk, secretKeys: SecretKeys): string | undefined {
  const { limit } = page
  if (rows.length <= limit) return undefined
  rows.cutTo(limit)
  return encodeCursor(endAt(limit - 1, rows, page), fingerprint, secretKeys)
}
