/** Counts which cells of a field can be converted, and names the first that cannot. */
import { type Sql, sql } from '../platform/database/database.ts'
import type { Conversion } from './rules.ts'

export interface Figures {
  /** Cells that hold a value which can be converted. */
  converts: number
  /** Cells that hold a value which cannot. */
  failing: number
  /** The first `MAX_FAILS` of the latter by record id, each as a text of at most 500 characters. */
  fails: { record_id: number; value: string }[]
}

export const MAX_FAILS = 100

/** Selects the `Figures` of the records that meet the condition. @param maxFails how many failing cells to name */
export const figuresOf = ({ select }: Conversion, where: Sql, maxFails: number): Sql => sql`
  with c as materialized (select r.id, r.words, r.converted is not null as converts from (${select(where)}) r),
  failing as (select id, words from c where words is not null and not converts)
  select (select count(*) from c where converts) as converts, (select count(*) from failing) as failing,
    (select coalesce(jsonb_agg(jsonb_build_object('record_id', f.id, 'value', left(f.words, 500)) order by f.id), '[]')
      from (select id, words from failing order by id limit ${maxFails}) f) as fails`
