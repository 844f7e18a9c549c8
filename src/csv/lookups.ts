/** Finds the records that the lookups of a file name by their titles. */

import { unicode } from '../fields/cell-sql.ts'
import type { TitledRecords } from '../fields/csv-rules.ts'
import { type FieldDef, isLookup } from '../fields/definition.ts'
import { BoundedMap } from '../platform/collections/bounded-map.ts'
import { type Database, ident, recordsOf, sql } from '../platform/database/database.ts'
import { formsOf } from '../platform/normal-forms.ts'
import { namesIn } from './cells.ts'

/** The number of titles, of at most 500 characters each, that are remembered for a table that lookups point to. */
const MAX_REMEMBERED = 10_000

/** A table that lookups of a file point to, their columns, and the titles that have been looked up so far. */
interface LookedUpTable {
  tableId: number
  titleField: string
  columns: { index: number; field: FieldDef }[]
  remembered: BoundedMap<string, readonly number[]>
}

/**
 * Looks up the titles in rows, chunk by chunk, in constant memory. Each title is looked up once, and records that share a title are not
 * read.
 * @param fields of the columns, in their order; null for a column that is ignored
 * @returns a function that finds the records named in a chunk of rows, by the id of the table that is pointed to
 */
export function namedRecords(
  db: Pick<Database, 'records'>,
  fields: readonly (FieldDef | null)[],
): (rows: readonly { cells: readonly string[] }[]) => Promise<Map<number, TitledRecords>> {
  const targets = targetsOf(fields)
  return async (rows) => {
    const named = new Map<number, TitledRecords>()
    for (const target of targets) {
      const [titles, ids] = [new Set<string>(), new Set<number>()]
      for (const { index, field } of target.columns) {
        const names = namesIn(
          field,
          rows.map(({ cells }) => cells[index] ?? ''),
        )
        for (const title of names.titles) titles.add(title)
        for (const id of names.ids) ids.add(id)
      }
      named.set(target.tableId, { titles: await titlesOf(db, target, [...ids]), ids: await idsOf(db, target, titles) })
    }
    return named
  }
}

function targetsOf(fields: readonly (FieldDef | null)[]): LookedUpTable[] {
  const targets = new Map<number, LookedUpTable>()
  for (const [index, field] of fields.entries()) {
    const titleField = field?.lookup?.title_field
    if (!field || !isLookup(field.type) || field.lookup_table_id === null || !titleField) continue
    const tableId = field.lookup_table_id
    const target: LookedUpTable = targets.get(tableId) ?? { tableId, titleField, columns: [], remembered: new BoundedMap(MAX_REMEMBERED) }
    target.columns.push({ index, field })
    targets.set(tableId, target)
  }
  return [...targets.values()]
}

async function titlesOf(db: Pick<Database, 'records'>, { tableId, titleField }: LookedUpTable, ids: readonly number[]) {
  if (!ids.length) return new Map<number, string | null>()
  const found = await db.records(tableId).read<{ id: number; title: string | null }>(sql`
    select r.id, r.${ident(titleField)} as title from ${recordsOf(tableId)} r where r.id = any(${ids}::int[])`)
  return new Map(found.map(({ id, title }) => [id, title]))
}

async function idsOf(db: Pick<Database, 'records'>, { tableId, titleField, remembered }: LookedUpTable, titles: ReadonlySet<string>) {
  const ids = new Map<string, readonly number[]>()
  for (const title of titles) ids.set(title, remembered.get(title) ?? [])
  const unknown = [...titles].filter((title) => !remembered.has(title))
  if (!unknown.length) return ids
  const title = sql`r.${ident(titleField)}`
  const spelled = unknown.flatMap((own) => formsOf(own).map((form) => [own, form] as const))
  // Tables have an index on lower(title). With a join the planner chooses between that index and a single scan.
  const found = await db.records(tableId).read<{ title: string; lowest: number; highest: number }>(sql`
    select named.title, min(r.id) as lowest, max(r.id) as highest
    from unnest(${spelled.map(([own]) => own)}::text[], ${spelled.map(([, form]) => form)}::text[]) named(title, form)
    join ${recordsOf(tableId)} r on lower(${title}) = lower(${unicode(sql`named.form`)}) and ${title} = ${unicode(sql`named.form`)}
    group by named.title`)
  for (const { title, lowest, highest } of found) ids.set(title, lowest === highest ? [lowest] : [lowest, highest])
  for (const title of unknown) remembered.set(title, ids.get(title) ?? [])
  return ids
}
