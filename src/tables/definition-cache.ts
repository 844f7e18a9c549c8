/** Reads the definitions of tables, once for each version of a table, and caches the latest. */

import { CALC_FIELDS, type FieldDef, KEY_FIELD, type TableDef } from '../fields/definition.ts'
import { BoundedMap } from '../platform/collections/bounded-map.ts'
import { type Database, sql } from '../platform/database/database.ts'
import { labelled, shortRead } from '../platform/database/statements/statement.ts'
import { notFound } from '../platform/errors.ts'
import { memo } from '../platform/memo.ts'

/** A field takes about 300 bytes: 10,000 tables of 20 fields take 60 MB if no two have the same fields. */
const MAX_KEPT = 10_000
/** The characters of the fields of all kept tables as text. One table with as many options as it may have has 10 million. */
const MOST_CHARACTERS = 100_000_000
/** How many lists of fields are kept by their text, to be shared. The text of 20 fields takes about 5 KB. */
const MAX_LISTS = 500
const MOST_CHARACTERS_OF_LISTS = 20_000_000

/** The latest definition that was read of each table. */
const latestOf = memo((_: Database) => new BoundedMap<number, TableDef>(MAX_KEPT, MOST_CHARACTERS))

/**
 * Lists of fields, by the text in which the database gives them. Tables that were made alike, as those of many accounts, share a list and
 * with it what is derived from the list (memo.ts).
 */
const lists = new BoundedMap<string, FieldDef[]>(MAX_LISTS, MOST_CHARACTERS_OF_LISTS)

/** The characters of a list of fields, which say how much memory it takes. */
const charactersOf = new WeakMap<readonly FieldDef[], number>()

/**
 * Returns the definition of a table, at least as new as the given version, which comes with the row that authorised the request.
 * @throws AppError 404 when the table does not exist
 */
export async function tableDefinition(db: Database, { id, version }: { id: number; version: number }): Promise<TableDef> {
  const known = latestOf(db).get(id)
  if (known && known.version >= version) return known
  const [table] = await readDefinitions(db, [id])
  if (!table) throw notFound('Table')
  keep(db, table)
  return table
}

/**
 * Returns the definitions of several tables as above, without deleted tables. Reads those that are not known yet in one statement.
 */
export async function definitionsOf(db: Database, tables: readonly { id: number; version: number }[]): Promise<Map<number, TableDef>> {
  const found = new Map<number, TableDef>()
  const unknown: number[] = []
  for (const { id, version } of tables) {
    const known = latestOf(db).get(id)
    if (known && known.version >= version) found.set(id, known)
    else unknown.push(id)
  }
  for (const table of unknown.length ? await readDefinitions(db, unknown) : []) {
    keep(db, table)
    found.set(table.id, table)
  }
  return found
}

/**
 * Reads the present definitions of several tables in one statement, for tables whose version is not known, such as those that lookups
 * point to. Deleted tables are left out.
 */
export async function tableDefinitions(db: Database, ids: readonly number[]): Promise<Map<number, TableDef>> {
  const found = ids.length ? await readDefinitions(db, ids) : []
  return new Map(found.map((table) => [table.id, table]))
}

/** Returns the latest definition that this process has read, if any. It may be outdated, so callers must check its version. */
export const guessedDefinition = (db: Database, tableId: number): TableDef | undefined => latestOf(db).get(tableId)

function keep(db: Database, table: TableDef): void {
  // A transaction that is rolled back gives its version number to the next change, so a definition that was read inside one is not kept.
  if (db.inTransaction()) return
  const known = latestOf(db).get(table.id)
  if (!known || known.version <= table.version) latestOf(db).set(table.id, table, charactersOf.get(table.fields))
}

type StoredField = Omit<FieldDef, 'key' | 'calc'>

/** The title field of the table that a lookup points to: its first text field. */
const lookedUp = sql`(
  select json_build_object('title_field',
    (select n.id from fields n where n.table_id = l.id and n.type = 'text' order by n.position, n.id limit 1))
  from tables l where l.id = f.lookup_table_id and l.deleted_at is null)`

/** The layout of a table whose texts are all in NFC. */
export const NORMALIZED = 2

/** A conversion begins and succeeds only with a new version of these tables (alter-table.ts). */
const isConverting = sql`exists (
  select from field_conversions c where not c.dry_run and c.state in ('queued', 'running') and c.table_id = any(
    array_append(array(select o.lookup_table_id from fields o where o.table_id = t.id and o.lookup_table_id is not null), t.id)))`

/** Version and fields come from one snapshot, so that no version is cached with the fields of another. */
async function readDefinitions(db: Database, ids: readonly number[]): Promise<TableDef[]> {
  const statement = sql`
      select t.id, t.space_id, t.account_id, t.name, t.version, t.has_history as "hasHistory",
        ${isConverting} as "isConverting",
        coalesce(f.fields::text, '[]') as fields
      from tables t
      left join lateral (
        select json_agg(json_build_object('id', id, 'name', name, 'type', type, 'required', required, 'always_hidden', always_hidden,
          'admin_only', admin_only, 'options', options, 'option_colors', coalesce(option_colors, '{}'),
          'removed_options', coalesce(removed_options, '{}'), 'decimals', decimals,
          'is_rounding', is_rounding, 'narrowing', narrowing, 'version', f.version, 'is_normalized', t.layout >= ${NORMALIZED},
          'lookup_table_id', lookup_table_id, 'lookup', ${lookedUp})
          order by position, id) as fields
        from fields f where f.table_id = t.id
      ) f on true
      where t.id = any(${ids}) and t.deleted_at is null`
  const select = (ids.length === 1 ? shortRead : labelled)('table-definitions', statement)
  const rows = await db.read<Omit<TableDef, 'fields'> & { fields: string }>(select)
  return rows.map(({ fields, ...table }) => ({ ...table, fields: listOf(fields) }))
}

function listOf(text: string): FieldDef[] {
  const known = lists.get(text)
  if (known) return known
  const stored = JSON.parse(text) as StoredField[]
  const list = [KEY_FIELD, ...stored.map((field) => ({ ...field, key: false, calc: false })), ...CALC_FIELDS]
  lists.set(text, list, text.length)
  charactersOf.set(list, text.length)
  return list
}
