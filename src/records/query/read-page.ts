/** Runs the statement of a page and turns its rows into the answer. */

import { recordUse } from '../../indexes/uses.ts'
import type { Context } from '../../platform/context.ts'
import type { Sql } from '../../platform/database/database.ts'
import { encodeCursor } from '../../platform/http/cursor.ts'
import type { SecretKeys } from '../../settings.ts'
import { leavesOf } from '../../views/filters/parse.ts'
import { present, type Row } from '../cells/present.ts'
import type { RecordPage } from '../schema.ts'
import { printPage, printSelectedCount, SORT_KEY } from './print.ts'
import type { ResolvedPage, Selection, Walk } from './selection.ts'

export async function readPage(context: Context, page: ResolvedPage): Promise<RecordPage> {
  const { db, actor, settings, signal } = context
  const [found, counted] = await Promise.all([
    readRows(context, page),
    page.isCounted ? db.query<{ count: number }>(printSelectedCount(page), undefined, signal) : undefined,
  ])
  const { rows, next_cursor } = page.walk ? cutToLimit(found, page.limit, page.walk, settings.secretKeys) : { rows: found }
  await present(db, actor.accountId, page.fields, rows, page.queryContext.lookups)
  return { rows, ...(counted && { total: counted[0]?.count ?? 0 }), ...(next_cursor && { next_cursor }) }
}

/** Reads the rows, and notes a slow query so that an index can be built for it. */
async function readRows(context: Context, page: ResolvedPage): Promise<Row[]> {
  const { selection, order, limit } = page
  const { statement, fallback } = printPage(page)
  const name = matchesText(selection) ? undefined : 'records-page'
  const read = (sql: Sql) => context.db.query<Row>(sql, name, context.signal)
  const startedAt = performance.now()
  try {
    const rows = await read(statement)
    return fallback && rows.length <= limit ? await read(fallback()) : rows
  } finally {
    await recordUse(context, { ...selection, order, page: statement, tookMs: performance.now() - startedAt })
  }
}

const TEXT_PATTERNS: ReadonlySet<string> = new Set(['contains', 'starts_with', 'ends_with'])

/** Such a statement is not prepared: a generic plan misjudges the number of matches of a rare word by a factor of a hundred. */
const matchesText = ({ where, words }: Selection) => words.length > 0 || leavesOf(where).some(({ compare }) => TEXT_PATTERNS.has(compare))

/** A walk reads one row more than `limit`. If that row exists, the page has a next cursor. */
function cutToLimit(found: readonly Row[], limit: number, { fingerprint }: Walk, secretKeys: SecretKeys) {
  const rows = found.slice(0, limit)
  const last = found.length > limit ? rows.at(-1) : undefined
  const key = (last?.[SORT_KEY] as string | null | undefined) ?? null
  // JSON omits undefined. Copying the rows without the key would cost as much as reading them.
  for (const row of rows) row[SORT_KEY] = undefined
  return { rows, ...(last && { next_cursor: encodeCursor({ key, id: last.id }, fingerprint, secretKeys) }) }
}
