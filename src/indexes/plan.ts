/** Which indexes a table should have: a pure function of its fields, its views, the queries outside of views, and the statistics. */
import { createHash } from 'node:crypto'
import { fieldsById } from '../fields/by-id.ts'
import { type FieldDef, indexKey, isText, type TableDef, titleField } from '../fields/definition.ts'
import { TYPES } from '../fields/registry.ts'
import { ident } from '../platform/database/database.ts'
import { indexedField, layoutIndex } from '../views/calendar-indexes.ts'
import { queryOf, type ViewRow } from '../views/saved.ts'
import { btreesOf } from './btrees.ts'
import { type QueryShape, shapeOf } from './shape.ts'

/** B-trees of a table besides its primary key. Those of calendars are always built, and count first (api.md, View). */
const MAX_BTREES = 6
/** Text fields of a table with a trigram index. */
const MAX_TRIGRAMS = 8
/** Longer texts come last: their trigram indexes are the largest. */
const LONG_TEXT = 2_000
/**
 * At most this many records that share a value are left to Postgres to sort, which takes up to 2 ms of a page; 3,000 take 10 ms and
 * 100,000 take 300 ms (docs/decisions/0007).
 */
const SMALL_GROUP = 1_000

/** The statistics and the existing indexes of a table. */
export interface TableStatistics {
  /** By field with statistics, an estimate of the records that share its most frequent value, or that have no value. */
  groups: ReadonlyMap<string, number>
  /** Names of the existing indexes. */
  made: ReadonlySet<string>
}

export interface PlannedIndex {
  name: string
  /** Ids of the fields, in the order of the index. */
  fields: string[]
  /** The part of CREATE INDEX after the name of the table. */
  on: string
  /** The views and queries that use the index, as a text for people. */
  reason: string
  /** True if the index is not built, because more important ones use up the budget. */
  isOverBudget: boolean
}

/** An index that one view or query uses, before equal ones are merged. */
interface Candidate {
  name?: string
  kind: 'btree' | 'trigram'
  fields: string[]
  on: string
  wantedBy: string
}

/**
 * Returns all indexes that the table should have: first those of calendars, then those of views (the table's default first, then the
 * oldest), of the title, and of queries outside of views; last the trigram indexes in the order of the fields, long texts after the others.
 * @param uses shapes of queries outside of views, the oldest first
 */
export function planIndexes(
  table: TableDef,
  views: readonly ViewRow[],
  uses: readonly QueryShape[],
  known: TableStatistics,
): PlannedIndex[] {
  const byAge = [...views].sort((a, b) => Number(b.is_table_default) - Number(a.is_table_default) || a.id - b.id)
  const title = titleField(table)
  const candidates = [
    ...byAge.flatMap((view) => ofCalendar(table, view)),
    ...byAge.flatMap((view) => ofView(table, view, known)),
    ...(title ? btree(table, { equal: [], sort: title.id }, 'sorting by the title', known) : []),
    ...uses.flatMap((use) => btree(table, use, 'queries outside of views', known)),
    ...searched(table).map((field) => trigram(field)),
  ]
  const left = { btree: MAX_BTREES, trigram: MAX_TRIGRAMS }
  return merged(candidates).map(({ name, kind, fields, on, wantedBy }) => {
    left[kind]--
    const isOverBudget = left[kind] < 0 && name === undefined
    return { name: name ?? nameOf(kind, fields, on), fields, on, reason: reasonOf(wantedBy), isOverBudget }
  })
}

/** True if an index can serve the shape at all. */
export const isIndexable = (table: TableDef, shape: QueryShape): boolean => btreesOf(table, shape, () => false).length > 0

// ── candidates ──────────────────────────────────────────────────────────────

/** `idx_layout_<startField>`: the index keeps this name even if others use it as well. */
function ofCalendar(table: TableDef, view: ViewRow): Candidate[] {
  const startField = indexedField(view)
  const field = fieldsById(table).get(startField ?? '')
  const key = field && indexKey(field)
  if (startField === undefined || !key) return []
  const on = `(${key.sql} nulls first, id)`
  return [{ name: layoutIndex(startField), kind: 'btree', fields: [startField, 'id'], on, wantedBy: `calendar "${view.name}"` }]
}

function ofView(table: TableDef, view: ViewRow, known: TableStatistics): Candidate[] {
  const { where, order } = queryOf(view, table)
  const shape = shapeOf(where, order)
  const category = 'categoryField' in view.config ? view.config.categoryField : undefined
  return [
    ...(category === undefined ? [] : btree(table, { equal: [category], sort: null }, `kanban "${view.name}"`, known)),
    ...(shape ? btree(table, shape, `view "${view.name}"`, known) : []),
  ]
}

/**
 * The shortest sufficient index, or a longer one that exists already: estimates change, and an index is not rebuilt for that. Empty where
 * no part of the shape can be indexed.
 */
function btree(table: TableDef, shape: QueryShape, wantedBy: string, { groups, made }: TableStatistics): Candidate[] {
  const enough = btreesOf(table, shape, (field) => (groups.get(field) ?? Number.POSITIVE_INFINITY) <= SMALL_GROUP)
  const chosen = enough.findLast(({ fields, on }) => made.has(nameOf('btree', fields, on))) ?? enough[0]
  return chosen ? [{ kind: 'btree', ...chosen, wantedBy }] : []
}

function trigram({ id }: FieldDef): Candidate {
  return {
    kind: 'trigram',
    fields: [id],
    on: `using gin (lower(${ident(id).sql}) gin_trgm_ops)`,
    wantedBy: 'search, contains, starts_with and ends_with',
  }
}

/** The text fields that `search` reads. */
function searched(table: TableDef): FieldDef[] {
  const texts = table.fields.filter(({ type }) => isText(type))
  const isLong = ({ type }: FieldDef) => (TYPES[type].maxLength ?? 0) > LONG_TEXT
  return [...texts.filter((field) => !isLong(field)), ...texts.filter(isLong)]
}

// ── names and reasons ───────────────────────────────────────────────────────

type Merged = Omit<Candidate, 'wantedBy'> & { wantedBy: string[] }

/** Merges candidates for the same index. */
function merged(candidates: readonly Candidate[]): Merged[] {
  const byKeys = new Map<string, Merged>()
  for (const candidate of candidates) {
    const known = byKeys.get(candidate.on)
    if (known) known.wantedBy.push(candidate.wantedBy)
    else byKeys.set(candidate.on, { ...candidate, wantedBy: [candidate.wantedBy] })
  }
  return [...byKeys.values()]
}

/** A name with a hash of the definition, so that a changed definition gets a new name. At most 63 bytes. */
function nameOf(kind: Candidate['kind'], fields: readonly string[], on: string): string {
  const words = fields.filter((id) => id !== 'id').join('_')
  const hash = createHash('sha256').update(on).digest('hex').slice(0, 8)
  return `${kind === 'trigram' ? 'idx_text' : 'idx_sort'}_${words.slice(0, 44)}_${hash}`
}

const NAMED = 3

function reasonOf(wantedBy: readonly string[]): string {
  const each = [...new Set(wantedBy)]
  const more = each.length > NAMED ? ` and ${each.length - NAMED} more` : ''
  return `${each.slice(0, NAMED).join(', ')}${more}`
}
