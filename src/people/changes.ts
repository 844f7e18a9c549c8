/** Reads the changes of records that a person has made, table by table. No index finds them, so all entries are looked at, in ranges. */
import type { TableDef } from '../fields/definition.ts'
import { taskInReach } from '../notifications/queries.ts'
import { historyOf, type Sql, sql } from '../platform/database/database.ts'
import { parseExact } from '../platform/exact-json.ts'
import { readUsers } from '../records/cells/named.ts'
import { jsonText } from '../records/cells/present.ts'
import { changesWriter, usersIn } from '../records/history/changes.ts'
import type { CellChanges } from '../records/history/entries.ts'
import { tableDefinitions } from '../tables/definition-cache.ts'
import type { Reading, Subject } from './subject.ts'

interface Position {
  record_id: number
  version: number
}

interface Entry extends Position {
  changes: CellChanges | null
}

/** The entries that one statement looks at, and those of the person that are read together, because their texts can be long. */
const [LOOKED_AT, READ_AT_ONCE] = [20_000, 25]
const START: Position = { record_id: -1, version: 0 }

/** The changes in which the person, or a key for them, has acted. An import has no `record_id`. */
export async function* changesBy(reading: Reading, subject: Subject): AsyncGenerator<Record<string, unknown>> {
  for (const id of await tablesOf(reading, subject)) {
    const definition = (await tableDefinitions(reading.db, [id])).get(id)
    if (!definition) continue
    for await (const range of ranges(reading, id)) yield* inRange(reading, subject, definition, range)
  }
}

/** The tables with a history; for a person who may not see all, those that they may read. */
async function tablesOf({ db }: Reading, { id, account_id: accountId, isOwner, seesAll }: Subject): Promise<number[]> {
  const inReach = seesAll ? sql`true` : taskInReach(sql`k`, { accountId, userId: id, isOwner })
  const tables = await db.read<{ table_id: number }>(sql`
    select k.table_id from (
      select t.id as table_id, t.space_id from tables t where t.account_id = ${accountId} and t.has_history and t.deleted_at is null) k
    where ${inReach} order by k.table_id`)
  return tables.map(({ table_id }) => table_id)
}

interface Range {
  after: Position
  to: Position
}

async function* ranges({ db, signal }: Reading, tableId: number): AsyncGenerator<Range> {
  for (let after = START; ; ) {
    const next = sql`
      select h.record_id, h.version from ${historyOf(tableId)} h where ${isAfter(after)}
      order by h.record_id, h.version limit ${LOOKED_AT}`
    const [to] = await db.records(tableId).read<Position>(
      sql`
        select r.record_id, r.version from (${next}) r
        order by r.record_id desc, r.version desc limit 1`,
      { signal },
    )
    if (!to) return
    yield { after, to }
    after = to
  }
}

const isAfter = ({ record_id, version }: Position): Sql => sql`(h.record_id, h.version) > (${record_id}::int, ${version}::int)`

async function* inRange(
  { db, signal }: Reading,
  { id: userId, account_id }: Subject,
  table: TableDef,
  { after, to }: Range,
): AsyncGenerator<Record<string, unknown>> {
  for (let last = after; ; ) {
    const entries: Entry[] = await db.records(table.id).read<Entry>(
      sql`
        select h.change_id, h.at, h.record_id, h.version, h.api_key_id, h.kind, h.records, h.changes from ${historyOf(table.id)} h
        where ${isAfter(last)} and not ${isAfter(to)} and h.user_id = ${userId} order by h.record_id, h.version limit ${READ_AT_ONCE}`,
      { signal },
    )
    const deleted = await deletedAmong(db, table.id, entries)
    const shown = entries.filter(({ record_id }) => !deleted.has(record_id))
    const write = changesWriter(table, await readUsers(db, account_id, usersIn(shown.map(({ changes }) => changes))))
    for (const { record_id, changes, ...entry } of shown) {
      const written = changes && parseExact(jsonText((json) => write(changes, json)))
      yield { table_id: table.id, record_id: record_id || null, ...entry, ...(written !== null && { changes: written }) }
    }
    const end = entries.at(-1)
    if (!end || entries.length < READ_AT_ONCE) return
    last = end
  }
}

/** The records of the entries that are deleted. Nobody reads their history until they are restored. */
async function deletedAmong(db: Reading['db'], tableId: number, entries: readonly Entry[]): Promise<ReadonlySet<number>> {
  if (!entries.length) return new Set()
  const deleted = await db.read<{ record_id: number }>(sql`
    select d.record_id from deleted_records d
    where d.table_id = ${tableId} and d.record_id = any(${[...new Set(entries.map(({ record_id }) => record_id))]}::int[])`)
  return new Set(deleted.map(({ record_id }) => record_id))
}
