/**
 * Which indexes a table should have: a pure function of its fields, its views and what queries outside of views have asked for.
 * Expressions are spelled as `records/print.ts` and `records/condition.ts` print them, or the planner would not know them again;
 * test/indexes.test.ts asks EXPLAIN whether it does.
 */
import { createHash } from 'node:crypto'
import { ident } from '../db.ts'
import { type FieldDef, isText, type TableDef, titleField } from '../tables/fields.ts'
import type { Tree } from '../views/filter.ts'
import { indexedField, layoutIndex } from '../views/layout-indexes.ts'
import { type Checked, fieldsOf } from '../views/resolve.ts'
import { queryOf, type ViewRow } from '../views/saved.ts'

/** B-trees of a table beside its primary key. Those of calendars are always made, and count first (api.md, View). */
const MAX_BTREES = 6
/** Text fields whose inner parts can be found. */
const MAX_TRIGRAMS = 8
/** Fields of an index that are compared by equality. */
const MAX_EQUAL = 2

/** What a query compares by equality, and what it sorts by: ids of fields. */
export interface Shape {
  equal: string[]
  sort: string | null
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
export function planIndexes(table: TableDef, views: readonly ViewRow[], uses: readonly Shape[]): Wanted[] {
  const byAge = [...views].sort((a, b) => Number(b.is_table_default) - Number(a.is_table_default) || a.id - b.id)
  const title = titleField(table)
  const candidates = [
    ...byAge.flatMap((view) => ofCalendar(view)),
    ...byAge.flatMap((view) => ofView(table, view)),
    ...(title ? btree(table, { equal: [], sort: title.id }, 'sorting by the title') : []),
    ...uses.flatMap((use) => btree(table, use, 'queries outside of views')),
    ...searched(table).map((field) => trigram(field)),
  ]
  const left = { btree: MAX_BTREES, trigram: MAX_TRIGRAMS }
  return merged(candidates).map(({ name, kind, fields, on, wantedBy }) => {
    left[kind]--
    const isOverBudget = left[kind] < 0 && name === undefined
    return { name: name ?? nameOf(kind, fields, on), fields, on, reason: reasonOf(wantedBy), isOverBudget }
  })
}

/** The part of a query that a b-tree can follow; null where nothing of it can. */
export function shapeOf(where: Tree<Checked>, sort: FieldDef | null): Shape | null {
  const conditions = conjuncts(where)
  const equal = conditions
    .filter(({ compare, field }) => compare === '=' && EQUAL_RANK[field.type] !== undefined && !field.key)
    .sort((a, b) => (EQUAL_RANK[a.field.type] ?? 0) - (EQUAL_RANK[b.field.type] ?? 0))
    .map(({ field }) => field.id)
  const chosen = [...new Set(equal)].slice(0, MAX_EQUAL).sort()
  const prefix = conditions.find(({ compare, field }) => compare === 'starts_with' && isShortText(field))
  const sortedBy = sort && !sort.key ? sort.id : null
  const shape = { equal: chosen, sort: sortedBy ?? (sort || chosen.length ? null : (prefix?.field.id ?? null)) }
  return shape.equal.length || shape.sort !== null ? shape : null
}

/** Whether an index can serve the shape at all. */
export const isIndexable = (table: TableDef, shape: Shape): boolean => btree(table, shape, '').length > 0

// ── who wants what ──────────────────────────────────────────────────────────

/** `idx_layout_<startField>`, by that name whatever else wants the same. */
function ofCalendar(view: ViewRow): Candidate[] {
  const startField = indexedField(view)
  if (startField === undefined) return []
  const on = `(${ident(startField).sql} nulls first, id)`
  return [{ name: layoutIndex(startField), kind: 'btree', fields: [startField, 'id'], on, wantedBy: `calendar "${view.name}"` }]
}

function ofView(table: TableDef, view: ViewRow): Candidate[] {
  const { where, order } = queryOf(view, table)
  const shape = shapeOf(where, order[0]?.field ?? null)
  const category = 'categoryField' in view.config ? view.config.categoryField : undefined
  return [
    ...(category === undefined ? [] : btree(table, { equal: [category], sort: null }, `kanban "${view.name}"`)),
    ...(shape ? btree(table, shape, `view "${view.name}"`) : []),
  ]
}

/** `(equal fields, sort NULLS FIRST, id)`; nothing where none of it can stand in an index. */
function btree(table: TableDef, { equal, sort }: Shape, wantedBy: string): Candidate[] {
  const fields = fieldsOf(table)
  const compared = oneText(equal.flatMap((id) => fields.get(id) ?? []).filter(({ type }) => EQUAL_RANK[type] !== undefined))
  const sorted = sort === null || equal.includes(sort) ? undefined : fields.get(sort)
  const key = sorted && !(isText(sorted.type) && compared.some(({ type }) => isText(type))) ? sortKey(sorted) : null
  if (!compared.length && key === null) return []
  const on = [...compared.map(({ id }) => ident(id).sql), ...(key === null ? [] : [`${key} nulls first`]), 'id'].join(', ')
  const ids = [...compared.map(({ id }) => id), ...(key === null || !sorted ? [] : [sorted.id]), 'id']
  return [{ kind: 'btree', fields: ids, on: `(${on})`, wantedBy }]
}

/** Two texts together could pass the 2,704 bytes that a row of an index may have, and the record could not be saved. */
function oneText(fields: readonly FieldDef[]): FieldDef[] {
  const text = fields.find(({ type }) => isText(type))
  return fields.filter((field) => field === text || !isText(field.type))
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
  return [...texts.filter(({ type }) => type !== 'long_text'), ...texts.filter(({ type }) => type === 'long_text')]
}

// ── what can stand in an index ──────────────────────────────────────────────

/**
 * Fields that are compared by equality, the most selective kinds first. Missing are those whose `=` is no equality of a column
 * (a datetime means a whole day, a checkbox counts empty as false, lists) and texts that may be longer than an index row.
 */
const EQUAL_RANK: Readonly<Partial<Record<FieldDef['type'], number>>> = {
  lookup: 0,
  user: 1,
  text: 2,
  email: 2,
  phone: 2,
  number: 3,
  date: 4,
  time: 5,
  select: 6,
}

/** At most 500 characters, so 1,500 bytes: a url of 2,000 and a long text could be too long for an index row. */
const isShortText = ({ type }: FieldDef) => isText(type) && type !== 'long_text' && type !== 'url'

/** The expression that records are sorted by, as text of SQL; null where that is no function of the record alone, or too long. */
function sortKey(field: FieldDef): string | null {
  const column = ident(field.id).sql
  switch (field.type) {
    case 'text':
    case 'email':
    case 'phone':
      return `lower(${column})`
    case 'number':
    case 'date':
    case 'datetime':
    case 'time':
      return column
    case 'checkbox':
      return `coalesce(${column}, false)`
    case 'select': {
      const ids = (field.options ?? []).map(({ id }) => id)
      return ids.every((id, at) => at === 0 || id > (ids[at - 1] ?? 0)) ? column : null
    }
    default:
      return null
  }
}

/** The conditions that every record of the query meets. */
function conjuncts(tree: Tree<Checked>): Checked[] {
  if ('all' in tree) return tree.all.flatMap(conjuncts)
  if ('any' in tree) return tree.any.length === 1 ? tree.any.flatMap(conjuncts) : []
  return [tree]
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
