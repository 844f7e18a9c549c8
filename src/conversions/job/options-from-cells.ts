/** Derives the options of a new select from the cells, for a request that lists no options. */
import { inNfc, splitWords, trimmed } from '../../fields/cell-sql.ts'
import { type FieldDef, isMultiple, type TableDef } from '../../fields/definition.ts'
import type { ConversionPlace } from '../../fields/field-type.ts'
import type { FieldType } from '../../fields/registry.ts'
import type { Context } from '../../platform/context.ts'
import { ident, recordsOf, sql } from '../../platform/database/database.ts'
import { idBatches, inBatch } from '../../tables/cells/id-batches.ts'
import { MAX_OPTIONS } from '../../tables/schema.ts'
import { conversionOf } from '../rules.ts'
import { ConversionEnded } from './outcome.ts'

const MAX_TITLE_BYTES = 500
/** Batches can be large here, because statements that only read block nobody. */
const MAX_BATCH = 20_000

/**
 * Returns the distinct values of the cells, sorted by code point. For a multi_select, a cell is read as a list.
 * @param type select or multi_select
 * @throws ConversionEnded when there are more than a select can have
 */
export async function optionsFromCells(
  { db }: Context,
  table: TableDef,
  field: FieldDef,
  type: FieldType,
  place: ConversionPlace,
): Promise<FieldDef['options']> {
  const { words } = conversionOf(field, { ...field, type: 'long_text' }, table.id, place)
  const cell = sql`r.${ident(field.id)}`
  const each = isMultiple(type) ? sql`cross join lateral ${splitWords(sql`c.words`)} v` : sql`cross join lateral (select c.words as word) v`
  const title = trimmed(inNfc(sql`v.word`))
  const titles = new Set<string>()
  for await (const batch of idBatches(db, table.id, { maxStep: MAX_BATCH })) {
    const found = await db.records(table.id).read<{ title: string }>(sql`
      select distinct ${title} as title from (
        select ${words(cell)} as words from ${recordsOf(table.id)} r where ${inBatch(batch)} and ${cell} is not null offset '0') c ${each}
      where ${title} <> '' and octet_length(${title}) <= ${MAX_TITLE_BYTES} limit ${MAX_OPTIONS + 1}`)
    for (const { title } of found) titles.add(title)
    if (titles.size > MAX_OPTIONS)
      throw new ConversionEnded('refused', `options: must be given: the records hold more than ${MAX_OPTIONS} different values`)
  }
  return [...titles].sort(byCodePoint).map((title, index) => ({ id: index + 1, title }))
}

/** The bytes of UTF-8 are in the order of code points. The UTF-16 units that texts are compared by are not, beyond U+FFFF. */
const byCodePoint = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
