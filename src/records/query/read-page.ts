/** Runs the statement of a page and writes its rows as the answer. */

import { recordUse } from '../../indexes/uses.ts'
import type { Context } from '../../platform/context.ts'
import type { Sql } from '../../platform/database/database.ts'
import type { PrintedRows } from '../../platform/database/statements/printed-rows.ts'
import { labelled, type TrailingRead } from '../../platform/database/statements/statement.ts'
import { encodeCursor } from '../../platform/http/answers/cursor.ts'
import { WrittenList } from '../../platform/http/answers/written-json.ts'
import type { SecretKeys } from '../../settings.ts'
import { totalOf } from '../../tables/row-counts.ts'
import { leavesOf } from '../../views/filters/parse.ts'
import type { Row } from '../cells/present.ts'
import { ExpectedUsers } from './expected-users.ts'
import { printPage, printSelectedCount } from './print.ts'
import type { ResolvedPage, Selection, Walk } from './selection.ts'
import { readByTrigrams, searchPlanOf } from './trigram-search.ts'
import { endAt, writeRows } from './write-rows.ts'

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
  const written = await writeRows(db, page.fields, rows, { users, lookups: page.queryContext.lookups })
  return new WrittenList(written, { total: counted && (counted[0]?.count ?? 0), next_cursor })
}

/** Reads the rows, and behind them what follows. Notes a slow query so that an index can be built for it. */
async function readRows(context: Context, page: ResolvedPage, trailing: TrailingRead | undefined): Promise<PrintedRows> {
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

const matchesText = ({ where, words }: Selection) => words.length > 0 || leavesOf(where).some(({ compare }) => TEXT_PATTERNS.has(compare))

/** A walk reads one row more than `limit`, which is dropped. @returns the cursor of the next page if that row exists */
function cutToLimit(rows: PrintedRows, page: ResolvedPage, { fingerprint }: Walk, secretKeys: SecretKeys): string | undefined {
  const { limit } = page
  if (rows.length <= limit) return undefined
  rows.cutTo(limit)
  return encodeCursor(endAt(limit - 1, rows, page), fingerprint, secretKeys)
}
