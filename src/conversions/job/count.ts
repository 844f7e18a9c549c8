/** Counts which cells of a field can be converted, and names the first that cannot. */
import type { Context } from '../../platform/context.ts'
import { type Sql, sql } from '../../platform/database/database.ts'
import { idBatches, inBatch } from '../../tables/cells/id-batches.ts'
import type { Conversion } from '../rules.ts'
import type { ConversionFigures } from '../schema.ts'
import { type ConversionRow, requireTable, storeCounted } from './conversion-row.ts'

const MAX_FAILS = 100
/** Batches can be large here, because statements that only read block nobody. */
const MAX_BATCH = 20_000

/**
 * Counts the cells of all records, in short statements. It may miss a cell that is written at the same time; the conversion finds it later.
 * @throws ConversionEnded when the table has been deleted
 */
export async function countCells({ db }: Context, conversion: ConversionRow, how: Conversion): Promise<ConversionFigures> {
  const figures: ConversionFigures = { converts: 0, failing: 0, fails: [] }
  let counted = 0
  for await (const batch of idBatches(db, conversion.table_id, { maxStep: MAX_BATCH })) {
    await requireTable(db, conversion)
    const [found] = await db
      .records(conversion.table_id)
      .read<ConversionFigures & { records: number }>(countsOf(how.select(inBatch(batch)), MAX_FAILS - figures.fails.length))
    if (!found) continue
    figures.converts += found.converts
    figures.failing += found.failing
    figures.fails.push(...found.fails)
    counted += found.records
    await storeCounted(db, conversion.id, counted)
  }
  return figures
}

/**
 * @param converted the rows that `Conversion.select` selects
 * @param maxFails how many failing cells to name, each as a text of at most 500 characters
 */
export const countsOf = (converted: Sql, maxFails = MAX_FAILS): Sql => sql`
  with c as materialized (select r.id, r.words, r.converted is not null as converts from (${converted}) r),
  failing as (select id, words from c where words is not null and not converts)
  select (select count(*) from c) as records, (select count(*) from c where converts) as converts,
    (select count(*) from failing) as failing,
    (select coalesce(jsonb_agg(jsonb_build_object('record_id', f.id, 'value', left(f.words, 500)) order by f.id), '[]')
      from (select id, words from failing order by id limit ${maxFails}) f) as fails`
