/** Reads what has changed in a record, newest first (contract.md §10, History). */
import type { TableDef } from '../../fields/definition.ts'
import type { RecordRef, TableRef } from '../../platform/access/resources.ts'
import type { Context } from '../../platform/context.ts'
import { empty, historyOf, type Sql, sql } from '../../platform/database/database.ts'
import { labelled } from '../../platform/database/statements/statement.ts'
import { decodeCursor, encodeCursor } from '../../platform/http/answers/cursor.ts'
import { type JsonText, WrittenList } from '../../platform/http/answers/written-json.ts'
import { MAX_ID } from '../../platform/row-ids.ts'
import { JsonWriter } from '../../platform/writers/json-writer.ts'
import { readWithDefinition } from '../../tables/with-definition.ts'
import { readUsers } from '../cells/named.ts'
import { type Author, authorNames } from './authors.ts'
import { changesWriter, usersIn } from './changes.ts'
import type { CellChanges } from './entries.ts'
import type { HistoryEntry, HistoryQuery } from './schema.ts'

/** A row of the history of a table, as it is read. */
export interface StoredEntry extends Author, Pick<HistoryEntry, 'change_id' | 'version' | 'at' | 'kind'> {
  records: number | null
  changes: CellChanges | null
}

/** Entries beyond this number are not counted, because that would take longer than the page itself. */
const MOST_COUNTED = 10_000
/** A page ends with the entry that reaches this size, so that no answer is too large. */
const PAGE_BYTES = 8 * 1_048_576

/**
 * A page of the record's history. The first has `total` unless there are more than 10,000 entries. A page with long texts may have fewer
 * entries than `limit`; as long as there is a cursor, others follow.
 * @throws AppError 400 for a cursor of another record
 */
export function readHistory(
  context: Context,
  table: TableRef,
  record: RecordRef,
  { limit, cursor }: HistoryQuery,
): Promise<WrittenList<HistoryEntry>> {
  const { settings } = context
  const walk = JSON.stringify(['history', table.id, record.id])
  const end = decodeCursor(cursor ?? '', walk, settings.secretKeys)
  return readWithDefinition(context, table, async (definition) => {
    if (!definition.hasHistory) return new WrittenList<HistoryEntry>('[]', { total: 0 })
    const rows = await readEntries(context, definition, record.id, { below: end?.id ?? MAX_ID, limit })
    const { found = 0, total = 0 } = rows[0] ?? {}
    const last = found > rows.length ? rows.at(-1) : undefined
    return new WrittenList<HistoryEntry>(await entriesJson(context, definition, rows), {
      total: end || total > MOST_COUNTED ? undefined : total,
      next_cursor: last && encodeCursor({ keys: [], id: last.version }, walk, settings.secretKeys),
    })
  })
}

interface Part {
  /** Entries with a smaller version. */
  below: number
  limit: number
}

/**
 * The newest entries of a record below a version. An import has one row for all the records that it made, in place of that of their first
 * version.
 * @param columns of a row of the history, beside its version
 */
const entriesOf = ({ id }: TableDef, recordId: number, { below, limit }: Part, columns: Sql): Sql => sql`
  (select h.version${columns} from ${historyOf(id)} h where h.record_id = ${recordId} and h.version < ${below}
    order by h.version desc limit ${limit})
  union all
  select 1${columns} from ${historyOf(id)} h
  where h.record_id = 0 and h.record_ids @> ${recordId}::int and 1 < ${below}
    and not exists (select from ${historyOf(id)} f where f.record_id = ${recordId} and f.version = 1)`

interface FoundEntry extends StoredEntry {
  /** How many entries were found, which are more than `limit` if others follow. */
  found: number
  /** How many the record has, or a larger number than `MOST_COUNTED`. It is counted with the first page alone. */
  total: number
}

async function readEntries({ db }: Context, table: TableDef, recordId: number, { below, limit }: Part): Promise<FoundEntry[]> {
  const columns = sql`, h.change_id, h.at, h.user_id, h.api_key_id, h.kind, h.records, h.changes`
  const before = sql`rows between unbounded preceding and 1 preceding`
  const all = entriesOf(table, recordId, { below: MAX_ID, limit: MOST_COUNTED + 1 }, empty)
  const total = below === MAX_ID ? sql`(select count(*)::int from (${all}) a)` : sql`0`
  return db.records(table.id).read<FoundEntry>(
    labelled(
      `history:${table.id}`,
      sql`
        select p.version, p.change_id, p.at, p.user_id, p.api_key_id, p.kind, p.records, p.changes, p.found, ${total} as total
        from (
          select e.*, count(*) over () as found,
            sum(octet_length(e.changes::text)) over (order by e.version desc ${before}) as bytes_before
          from (${entriesOf(table, recordId, { below, limit: limit + 1 }, columns)}) e
        ) p
        where p.bytes_before is null or p.bytes_before < ${PAGE_BYTES} order by p.version desc limit ${limit}`,
    ),
  )
}

/** The entries as a JSON array, as the API shows them. */
async function entriesJson(context: Context, table: TableDef, entries: readonly StoredEntry[]): Promise<JsonText> {
  if (!entries.length) return '[]'
  const { db } = context
  const sizes = await sizesOf(context, table, entries)
  const ids = new Set([...entries.flatMap(({ user_id }) => user_id ?? []), ...usersIn(entries.map(({ changes }) => changes))])
  const users = await readUsers(db, table.account_id, [...ids])
  const nameOf = await authorNames(db, table.account_id, entries, users)
  const writeChanges = changesWriter(table, users)
  const json = new JsonWriter()
  for (const [index, entry] of entries.entries()) {
    const { change_id, version, at, user_id, api_key_id, kind, changes } = entry
    const records = entry.records ?? sizes.get(change_id) ?? 1
    const rest = JSON.stringify({ change_id, version, at, user_id, user_name: nameOf(entry), api_key_id, kind, records })
    json.text(`${index ? ',' : '['}${changes ? `${rest.slice(0, -1)},"changes":` : rest}`)
    if (!changes) continue
    writeChanges(changes, json)
    json.text('}')
  }
  json.text(']')
  return json.finish()
}

/** The number of records of the changes that did not know it, because they took several transactions. */
async function sizesOf({ db }: Context, table: TableDef, entries: readonly StoredEntry[]): Promise<ReadonlyMap<number, number>> {
  const ids = [...new Set(entries.filter(({ records }) => records === null).map(({ change_id }) => change_id))]
  if (!ids.length) return new Map()
  const counted = await db.records(table.id).read<{ change_id: number; records: number }>(sql`
    select h.change_id, count(*) as records from ${historyOf(table.id)} h where h.change_id = any(${ids}::bigint[]) group by h.change_id`)
  return new Map(counted.map(({ change_id, records }) => [change_id, records]))
}
