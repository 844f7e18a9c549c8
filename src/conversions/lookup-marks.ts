/**
 * What a report has to know of the records that lookups name. Looking for each of them by its id costs microseconds a cell; so where it
 * pays, their table is read once, and what is known of a record is kept in a byte or two at the place of its id.
 */

import type { FieldDef } from '../fields/definition.ts'
import type { Context } from '../platform/context.ts'
import { empty, ident, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { ranges, within } from '../tables/cells/id-batches.ts'
import { totalOf } from '../tables/row-counts.ts'

/** What has to be known of each record of a table. */
export interface Question {
  /** A lookup that names the records. */
  field: FieldDef
  /** What is told of a record by its title: a number from 1 on that fits; of those that there are not it is 0. */
  mark(title: Sql): Sql
  bytes: 1 | 2
}

/** The marks of all records, by their ids. */
export interface Marks {
  kept: Buffer
  bytes: Question['bytes']
}

/** Of a sparse or a very large table they would take more, in this process and in Postgres. */
const MAX_BYTES = 32_000_000
/** So many records are read in about the time in which one is looked for. */
const READ_MEANWHILE = 16

/**
 * Reads the marks of the records that a report is likely to meet, as they are now.
 * @param tableId the table whose cells name them
 * @returns undefined where it is better to look for each by its id
 * @throws AppError 503 once the caller has hung up
 */
export async function marksOf(context: Context, tableId: number, { field, mark, bytes }: Question): Promise<Marks | undefined> {
  const namedId = field.lookup_table_id ?? 0
  const [size] = await context.db.query<{ cells: number; named: number; last: number | null }>(
    sql`select ${totalOf(tableId)} as cells, ${totalOf(namedId)} as named, (select max(id) from ${recordsOf(namedId)}) as last`,
    undefined,
    context,
  )
  const { cells = 0, named = 0, last } = size ?? {}
  const length = ((last ?? 0) + 1) * bytes
  if (length > MAX_BYTES || named > cells * READ_MEANWHILE) return undefined

  const kept = Buffer.alloc(length)
  for await (const range of ranges(context, namedId)) {
    const titled = sql`(select r.id, ${titleOf(field, sql`r`)} as title from ${recordsOf(namedId)} r where ${within(range)} offset '0') n`
    const [read] = await context.db.query<{ marks: Buffer | null }>(
      sql`select string_agg(int4send(n.id) || int2send((${mark(sql`n.title`)})::int2), '') as marks from ${titled}`,
      undefined,
      context,
    )
    if (read?.marks) keep(read.marks, kept, bytes)
  }
  return { kept, bytes }
}

/** Records that were made after the look at the last one have no place. */
function keep(read: Buffer, kept: Buffer, bytes: number): void {
  for (let at = 0; at < read.length; at += 6) {
    const place = read.readInt32BE(at) * bytes
    if (place < kept.length) kept.writeUIntBE(read.readUInt16BE(at + 4), place, bytes)
  }
}

/** The title of the record in `alias`, or its id where it has none. */
export const titleOf = ({ lookup }: FieldDef, alias: Sql): Sql =>
  lookup?.title_field ? sql`coalesce(${alias}.${ident(lookup.title_field)}, ${alias}.id::text)` : sql`${alias}.id::text`

/** What goes before a statement with `markOf`: the marks, once, however often they are looked at. */
export const withMarks = (marks: Marks | undefined): Sql =>
  marks ? sql`with m as materialized (select ${marks.kept}::bytea as marks)` : empty

/** The mark of the record with the id; 0 where there is none. */
export function markOf({ kept, bytes }: Marks, id: Sql): Sql {
  const byte = (at: Sql) => sql`get_byte((select m.marks from m), ${at})`
  const mark = bytes === 1 ? byte(id) : sql`(${byte(sql`2 * ${id}`)} * 256 + ${byte(sql`2 * ${id} + 1`)})`
  return sql`case when ${id} between 0 and ${kept.length / bytes - 1}::int then ${mark} else 0 end`
}

/** The sum of the marks of all records that a list names, each as often as it stands there. */
export const marksOfList = (marks: Marks, list: Sql): Sql => sql`(select sum(${markOf(marks, sql`e.id`)}) from unnest(${list}) e (id))`
