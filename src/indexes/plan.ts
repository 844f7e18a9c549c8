/** Which indexes a table should have: a pure function of its fields, its views, what queries outside of views have asked for, and what is known. */
import { createHash } from 'node:crypto'
import { fieldsById } from '../fields/by-id.ts'
import { type FieldDef, indexKey, isText, type TableDef, titleField } from '../fields/definition.ts'
import { TYPES } from '../fields/registry.ts'
import { ident } from '../platform/database/database.ts'
import { indexedField, layoutIndex } from '../views/calendar-indexes.ts'
import { queryOf, type ViewRow } from '../views/saved.ts'
import { btreesOf } from './btrees.ts'
import { type Shape, shapeOf } from './shape.ts'

/** B-trees of a table beside its primary key. Those of calendars are always made, and count first (api.md, View). */
const MAX_BTREES = 6
/** Text fields whose inner parts can be found. */
const MAX_TRIGRAMS = 8
/** Longer texts come last: their trigram indexes are the largest. */
const LONG_TEXT = 2_000
/**
 * Records that share a value and are sorted by Postgres itself: at most 2 ms of a page, where 3,000 take 10 and 100,000 take 300
 * (docs/decisions/0007).
 */
const SMALL_GROUP = 1_000

/** What is known of the records. */
export interface Known {
  /** By field, how many records share its most frequent value, or none, at most: an estimate. Missing where there is none yet. */
  groups: ReadonlyMap<string, number>
  /** Names of the indexes that there are. */
  made: ReadonlySet<string>
}

export interface Wanted {
  name: string
  /** Ids in the order of the index. */
  fields: string[]
  /** What follows the name of the table in CREATE INDEX. */
  on: string
  /** For people: which views want it. */
  reason: string
  /** Wanted, but not made: others come first. */
  isOverBudget: boolean
}

/** An index before it is known who else wants it. */
interface Candidate {
  name?: string
  kind: 'btree' | 'trigram'
  fields: string[]
  on: string
  wantedBy: string
}

/**
 * All indexes that are wanted, those of calendars first, then by preference: views (the table's default first, then the oldest),
 * the title, queries outside of views; trigram indexes last, in the order of the fields, long texts after the others.
 * @param uses from the oldest on
 */
export function planIndexes(table: TableDef, views: readonly ViewRow[], uses: readonly Shape[], known: Known): Wanted[] {
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

/** Whether an index can serve the shape at all. */
export const isIndexable = (table: TableDef, shape: Shape): boolean => btreesOf(table, shape, () => false).length > 0

// ── who wants what ──────────────────────────────────────────────────────────

/** `idx_layout_<startField>`, by that name whatever else wants the same. */
function ofCalendar(table: TableDef, view: ViewRow): Candidate[] {
  const startField = indexedField(view)
  const field = fieldsById(table).get(startField ?? '')
  const key = field && indexKey(field)
  if (startField === undefined || !key) return []
  const on = `(${key.sql} nulls first, id)`
  return [{ name: layoutIndex(startField), kind: 'btree', fields: [startField, 'id'], on, wantedBy: `calendar "${view.name}"` }]
}

function ofView(table: TableDef, view: ViewRow, known: Known): Candidate[] {
  const { where, order } = queryOf(view, table)
  const shape = shapeOf(where, order)
  const category = 'categoryField' in view.config ? view.config.categoryField : undefined
  return [
    ...(category === undefined ? [] : btree(table, { equal: [category], sort: null }, `kanban "${view.name}"`, known)),
    ...(shape ? btree(table, shape, `view "${view.name}"`, known) : []),
  ]
}

/**
 * The shortest index that is enough, unless a longer one is there: estimates of groups move, and nothing is built anew for that.
 * Nothing where none of the shape can stand in an index.
 */
function btree(table: TableDef, shape: Shape, wantedBy: string, { groups, made }: Known): Candidate[] {
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

/** The text fields that `search` looks into. */
function searched(table: TableDef): FieldDef[] {
  const texts = table.fields.filter(({ type }) => isText(type))
  const isLong = ({ type }: FieldDef) => (TYPES[type].maxLength ?? 0) > LONG_TEXT
  return [...texts.filter((field) => !isLong(field)), ...texts.filter(isLong)]
}

// ── names and reasons ───────────────────────────────────────────────────────

type Merged = Omit<Candidate, 'wantedBy'> & { wantedBy: string[] }

/** The same index is made once, for all who want it. */
function merged(candidates: readonly Candidate[]): Merged[] {
  const byKeys = new Map<string, Merged>()
  for (const candidate of candidates) {
    const known = byKeys.get(candidate.on)
    if (known) known.wantedBy.push(candidate.wantedBy)
    else byKeys.set(candidate.on, { ...candidate, wantedBy: [candidate.wantedBy] })
  }
  return [...byKeys.values()]
}

/** Names say what an index is, down to a hash: another definition is another name. At most 63 bytes. */
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
