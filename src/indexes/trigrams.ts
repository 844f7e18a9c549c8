/**
 * How frequent each trigram is in the texts of a large table, from a sample of its records. A trigram index reads the list of every
 * trigram that it is asked for, so a search asks it for the rare ones only (docs/decisions/0028).
 */

import { isText, type TableDef } from '../fields/definition.ts'
import { BoundedMap } from '../platform/collections/bounded-map.ts'
import type { Context } from '../platform/context.ts'
import { type Database, ident, join, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { storageOf } from '../platform/database/nodes/shards.ts'
import { labelled } from '../platform/database/statements/statement.ts'
import { memo } from '../platform/memo.ts'
import { FEW_RECORDS } from '../tables/indexing.ts'

export interface TrigramSample {
  /** The number of records of the table, as Postgres estimated it when the sample was taken. */
  records: number
  /** The number of its pages, by the same statistics. */
  pages: number
  /** The number of records in the sample. */
  sampled: number
  /** How many of them have a text of which only the beginning was read. */
  cut: number
  /** By trigram, in lower case: the number of sampled records that contain it in a text. Those of one record at most are absent. */
  found: ReadonlyMap<string, number>
}

/** The part of the records that contain the trigram. A trigram that the sample has once or never counts as one of its records. */
export const frequencyOf = (trigram: string, { found, sampled }: TrigramSample): number => (found.get(trigram) ?? 1) / sampled

/** A sample takes about 120 ms of Postgres, and up to 300 KB of memory. */
const SAMPLED = 2_000
const MAX_SAMPLES = 100
const KEPT_MS = 3_600_000
/** A missing sample is tried again after a minute: the table may have got its indexes by then, and a failure may have ended. */
const ABSENT_KEPT_MS = 60_000
/** How often it is asked whether Postgres has new statistics: the sample may then lack many records. */
const ASK_AGAIN_MS = 10_000
/** A longer text is judged by its beginning: a sample of long texts would take seconds. */
const MAX_CHARACTERS = 2_000
/** If more of the sampled records have a longer text, the sample says too little about them. */
const MAX_CUT = 0.05

interface Kept {
  until: number
  askAt: number
  sample: Promise<TrigramSample | null>
}

const samples = memo((_: Database) => new BoundedMap<string, Kept>(MAX_SAMPLES))
const nameOf = ({ id, version }: TableDef) => `${id} ${version}`

/**
 * The sample of the table, which callers of this process share for an hour, or until Postgres has other statistics; null for a table that
 * is small, that Postgres has no statistics of, that has a text field without a trigram index, or that holds many long texts.
 */
export async function trigramsOf(context: Context, table: TableDef): Promise<TrigramSample | null> {
  const { db, now } = context
  const at = now.getTime()
  const known = samples(db).get(nameOf(table))
  if (!known || at >= known.until) return takeSample(context, table)
  if (at < known.askAt) return known.sample
  known.askAt = at + ASK_AGAIN_MS
  const sample = await known.sample
  // Searches go on with the old sample meanwhile, because the new one takes a while and seldom says something else about the old records.
  if (sample && !(await isCurrent(sample, context, table))) void takeSample(context, table, sample)
  return sample
}

/** @param before is used until it has been taken, and afterwards if that fails */
function takeSample({ db, now, log }: Context, table: TableDef, before: TrigramSample | null = null): Promise<TrigramSample | null> {
  const at = now.getTime()
  const taken = readSample(db, table).catch((error: unknown) => {
    log.warn({ err: error, tableId: table.id }, 'trigrams not sampled')
    return before
  })
  const kept: Kept = { until: at + KEPT_MS, askAt: at + ASK_AGAIN_MS, sample: before ? Promise.resolve(before) : taken }
  samples(db).set(nameOf(table), kept)
  return taken.then((sample) => {
    kept.sample = taken
    if (!sample) kept.until = at + ABSENT_KEPT_MS
    return sample
  })
}

/** Whether Postgres has the statistics that it had when the sample was taken. */
async function isCurrent({ records, pages }: TrigramSample, { db, log }: Context, { id }: TableDef): Promise<boolean> {
  type Statistics = Pick<TrigramSample, 'records' | 'pages'>
  try {
    const statement = sql`select c.reltuples as records, c.relpages as pages from ${classOf(db, id)}`
    const [found] = await db.records(id).read<Statistics>(labelled('trigram-statistics', statement))
    return found?.records === records && found.pages === pages
  } catch (error) {
    log.warn({ err: error, tableId: id }, 'statistics not read')
    return true
  }
}

const classOf = (db: Database, tableId: number): Sql => sql`pg_class c where c.oid = ${storageOf(db, tableId).records}`

async function readSample(db: Database, { id, fields }: TableDef): Promise<TrigramSample | null> {
  const records = recordsOf(id)
  const texts = fields.filter(({ type }) => isText(type))
  if (!texts.length) return null
  const [table] = await db.records(id).read<{ records: number; pages: number; isIndexed: boolean }>(
    labelled(
      'trigram-indexes',
      sql`select c.reltuples as records, c.relpages as pages, not exists (
        select from unnest(${texts.map((field) => field.id)}::text[]) as f (name) where not exists (
          select from pg_index i join pg_class x on x.oid = i.indexrelid join pg_am a on a.oid = x.relam
          where i.indrelid = c.oid and i.indisvalid and a.amname = 'gin'
            and pg_get_indexdef(x.oid, 1, true) = format('lower(%I)', f.name))) as "isIndexed"
      from ${classOf(db, id)}`,
    ),
  )
  if (!table || table.records <= FEW_RECORDS || !table.isIndexed) return null
  const percent = Math.min(100, (100 * SAMPLED) / table.records)
  const text = join(texts.map((field) => sql`left(r.${ident(field.id)}, ${MAX_CHARACTERS})`))
  const isCut = join(
    texts.map((field) => sql`length(r.${ident(field.id)}) > ${MAX_CHARACTERS}`),
    ' or ',
  )
  const rows = await db.records(id).read<{ trigram: string | null; n: number; cut: number | null }>(sql`
    with sampled as materialized (
      select concat_ws(' ', ${text}) as text, coalesce(${isCut}, false) as is_cut
      from ${records} r tablesample system (${percent}::real) limit ${2 * SAMPLED})
    select null as trigram, count(*) as n, count(*) filter (where is_cut) as cut from sampled
    union all select t.trigram, count(*), null
    from sampled s, lateral unnest(show_trgm(lower(s.text))) as t (trigram) group by 1 having count(*) > 1`)
  const { n: sampled = 0, cut } = rows.find(({ trigram }) => trigram === null) ?? {}
  if (sampled < SAMPLED / 10 || (cut ?? 0) > MAX_CUT * sampled) return null
  const found = new Map(rows.flatMap(({ trigram, n }): [string, number][] => (trigram === null ? [] : [[trigram, n]])))
  return { records: table.records, pages: table.pages, sampled, cut: cut ?? 0, found }
}
