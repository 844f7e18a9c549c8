/**
 * Entries of the history of records (contract.md §10). On this server the statement that writes records writes their entries, too. Where
 * the records are elsewhere, a statement of the same transaction does.
 */
import { type FieldDef, isMultiple } from '../../fields/definition.ts'
import { TYPES } from '../../fields/registry.ts'
import { type Database, empty, historyOf, ident, join, recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import { constant } from '../../platform/database/prepare.ts'
import { formatInstant } from '../../platform/time/time.ts'

export type ChangeKind = 'create' | 'update' | 'delete' | 'restore' | 'undo'

/** One field of an entry, by whose id `changes` has it. An empty cell is left out. */
export interface CellChange {
  /** The name and the type of the field at the time. */
  name: string
  type: string
  /** The cell as PostgreSQL prints it: the ids of options, users and records, the entries of files as JSON. */
  from?: string
  to?: string
  /** The titles that the options and records in both had at the time, by their ids. */
  titles?: Record<string, string>
}

export type CellChanges = Record<string, CellChange>

/** A new id of a change, as SQL of the main server. A statement on many records draws it once, in a row of its own. */
export const newChangeId: Sql = sql`nextval('public.change_ids')`

/** Draws ids of changes that are written by several statements. */
export async function drawChangeIds(db: Database, count: number): Promise<number[]> {
  const drawn = await db.write<{ id: number }>(sql`select ${newChangeId} as id from generate_series(1, ${count}::int)`)
  return drawn.map(({ id }) => id)
}

export async function drawChangeId(db: Database): Promise<number> {
  const [id = 0] = await drawChangeIds(db, 1)
  return id
}

/** The column of a written record that has the id of its change; null if nothing was changed. No field can have the name. */
export const CHANGE_ID = '~change'

/** The id of the change that has written the records; null if it has changed none of them. */
export const changeIdOf = (rows: readonly { [CHANGE_ID]?: number | null }[]): number | null =>
  rows.find((row) => row[CHANGE_ID])?.[CHANGE_ID] ?? null

/** What the entries of one statement are made of, as SQL. */
export interface EntriesSql {
  kind: ChangeKind
  changeId: Sql
  at: Sql
  userId: Sql
  keyId: Sql
  /** Of the record. */
  id: Sql
  /** The version of the record after the change. */
  version: Sql
  /** The number of records of the change; null if the statement does not know it. */
  records: Sql | null
  /** Of an update, from `changesBetween`. */
  changes?: Sql
  /** The change that this one takes back. */
  undoes?: Sql
  /** The rows of which each gets an entry, with their conditions. */
  from: Sql
}

/** The statement that writes the entries. It may be a part of a statement on this server, and return `change_id`. */
export function writeEntries(tableId: number, { kind, changeId, from, ...entry }: EntriesSql): Sql {
  const { at, userId, keyId, id, version, records, changes, undoes } = entry
  const [more, values] = [optional({ changes, undoes }), [changes, undoes].filter((value) => value !== undefined)]
  return sql`
    insert into ${historyOf(tableId)} (change_id, at, record_id, version, user_id, api_key_id, records, kind${more})
    select ${join([changeId, at, id, version, userId, keyId, records ?? sql`null`, constant(kind), ...values])} from ${from}`
}

const optional = (columns: Record<string, Sql | undefined>): Sql => {
  const names = Object.keys(columns).filter((name) => columns[name] !== undefined)
  return names.length ? sql`, ${join(names.map(ident))}` : empty
}

/** PostgreSQL takes a hundred arguments of a function. */
const FIELDS_AT_ONCE = 50

/**
 * What became different between two rows, as SQL of type jsonb: a `CellChanges`.
 * @param before an alias whose columns have the names of the fields @param after another one
 */
export function changesBetween(fields: readonly FieldDef[], before: Sql, after: Sql): Sql {
  const objects: Sql[] = []
  for (let from = 0; from < fields.length; from += FIELDS_AT_ONCE) {
    const entries = fields.slice(from, from + FIELDS_AT_ONCE).map((field) => {
      const [old, next] = [before, after].map((row) => sql`${row}.${ident(field.id)}`) as [Sql, Sql]
      return sql`${constant(field.id)}, case when ${old} is distinct from ${next} then ${cellChange(field, old, next)} end`
    })
    objects.push(sql`jsonb_build_object(${join(entries)})`)
  }
  return objects.length ? sql`jsonb_strip_nulls(${join(objects, ' || ')})` : sql`'{}'::jsonb`
}

function cellChange(field: FieldDef, old: Sql, next: Sql): Sql {
  const titles = titlesOf(field, isMultiple(field.type) ? sql`(${old} || ${next})` : sql`array[${old}, ${next}]`)
  const named = titles ? sql`, 'titles', ${titles}` : empty
  return sql`jsonb_build_object('name', ${constant(field.name)}, 'type', ${constant(field.type)},
    'from', (${old})::text, 'to', (${next})::text${named})`
}

/** The titles of the ids in an array, as an object by id; null for a type without titles. */
function titlesOf({ type, options, lookup, lookup_table_id }: FieldDef, ids: Sql): Sql | null {
  if (TYPES[type].takes === 'options') {
    const titles = constant(JSON.stringify(Object.fromEntries((options ?? []).map(({ id, title }) => [id, title]))))
    return sql`(select jsonb_object_agg(l.id, ${titles}::jsonb ->> l.id::text) from unnest(${ids}) as l (id) where l.id is not null)`
  }
  if (TYPES[type].names !== 'records' || !lookup?.title_field || lookup_table_id === null) return null
  return sql`(select jsonb_object_agg(l.id, l.${ident(lookup.title_field)}) from ${recordsOf(lookup_table_id)} l where l.id = any(${ids}))`
}

/** An entry as it is stored. */
export interface NewEntry {
  changeId: number
  /** When and by whom, as in stored-row.ts, which imports this file. */
  change: { now: Date; userId: number | null; keyId: number | null }
  kind: ChangeKind
  recordId: number
  version: number
  records: number | null
  /** JSON of `CellChanges`. */
  changes?: string | null
  undoes?: number | null | undefined
}

/** Writes entries of records that are elsewhere, or that another statement of the transaction has written. */
export async function insertEntries(db: Database, tableId: number, entries: readonly NewEntry[]): Promise<void> {
  if (!entries.length) return
  const column = <Value>(read: (entry: NewEntry) => Value) => entries.map(read)
  await db.records(tableId).write(sql`
    insert into ${historyOf(tableId)} (change_id, at, record_id, version, user_id, api_key_id, records, kind, undoes, changes)
    select e.* from unnest(
      ${column(({ changeId }) => changeId)}::bigint[], ${column(({ change }) => formatInstant(change.now))}::timestamp[],
      ${column(({ recordId }) => recordId)}::int[], ${column(({ version }) => version)}::int[],
      ${column(({ change }) => change.userId)}::int[], ${column(({ change }) => change.keyId)}::int[],
      ${column(({ records }) => records)}::int[], ${column(({ kind }) => kind)}::text[],
      ${column(({ undoes = null }) => undoes)}::bigint[], ${column(({ changes = null }) => changes)}::jsonb[])
      as e (change_id, at, record_id, version, user_id, api_key_id, records, kind, undoes, changes)`)
}
