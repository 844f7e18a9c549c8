/** The shape of a query: the parts that a b-tree can serve, without the compared values. The uses of indexes are stored as shapes. */
import { type FieldDef, isText } from '../fields/definition.ts'
import { TYPES } from '../fields/registry.ts'
import { isEmptyFirst, type Sort, wholeOrder } from '../views/filters/order.ts'
import type { Tree } from '../views/filters/parse.ts'
import type { ResolvedCondition } from '../views/filters/resolve-conditions.ts'

/** Fields of an index that are compared by equality. */
const MAX_EQUAL = 2

/** The fields that a query compares by equality and sorts by, as ids. */
export interface QueryShape {
  equal: string[]
  /** The first key; null for the order by id. */
  sort: string | null
  /** The keys after the first. Absent if ties are sorted by id as usual, because equal shapes must have the same JSON text. */
  further?: FurtherKey[]
  /** The keys of which the empty values are at the other end than usual (contract.md §5, §9). Absent if there are none. */
  emptyElsewhere?: string[]
}

export interface FurtherKey {
  field: string
  /** True if its direction is opposite to the first key's. The first direction does not matter, because an index can be read both ways. */
  isReversed: boolean
}

/** Returns the shape of a query; null where no index can serve it. @param asked the keys as in the request, the first one first */
export function shapeOf(where: Tree<ResolvedCondition>, asked: readonly Sort[]): QueryShape | null {
  // An index has the columns of its own table only.
  const conditions = conjuncts(where).filter(({ field }) => !field.link)
  const order = asked.some(({ field }) => field.link) ? [] : asked
  const [first] = order
  // The records of several values are not in the order of the keys behind the value, so a list is worth an index only without an order.
  const equal = conditions.filter(({ compare, field, operand }) => compare === '=' && !field.key && (operand.kind !== 'list' || !first))
  const chosen = comparable([...new Set(equal.map(({ field }) => field))]).slice(0, MAX_EQUAL)
  const prefix = conditions.find(({ compare, field }) => compare === 'starts_with' && isShortText(field))
  const shape = {
    equal: chosen.map(({ id }) => id).sort(),
    sort: first && !first.field.key ? first.field.id : first || chosen.length ? null : (prefix?.field.id ?? null),
    ...furtherOf(order),
    ...emptyElsewhereOf(order),
  }
  return shape.equal.length || shape.sort !== null ? shape : null
}

function furtherOf(order: readonly Sort[]): Pick<QueryShape, 'further'> {
  const [first, ...further] = wholeOrder(order)
  const isAsUsual = further.at(-1)?.isDescending === (further.at(-2) ?? first)?.isDescending
  const keys = isAsUsual ? further.slice(0, -1) : further
  if (!keys.length) return {}
  return { further: keys.map(({ field, isDescending }) => ({ field: field.id, isReversed: isDescending !== first?.isDescending })) }
}

function emptyElsewhereOf(order: readonly Sort[]): Pick<QueryShape, 'emptyElsewhere'> {
  const keys = wholeOrder(order).filter((sort) => isEmptyFirst(sort) === sort.isDescending)
  return keys.length ? { emptyElsewhere: keys.map(({ field }) => field.id) } : {}
}

/** The conditions that every record of the answer meets. */
function conjuncts(tree: Tree<ResolvedCondition>): ResolvedCondition[] {
  if ('all' in tree) return tree.all.flatMap(conjuncts)
  if ('any' in tree) return tree.any.length === 1 ? tree.any.flatMap(conjuncts) : []
  if ('not' in tree) return []
  return [tree]
}

/** The fields that one index can compare by equality, the most selective types first. An index row has room for one text. */
export function comparable(fields: readonly FieldDef[]): FieldDef[] {
  const ranked = fields.filter((field) => rankOf(field) !== null).sort((a, b) => (rankOf(a) ?? 0) - (rankOf(b) ?? 0))
  const text = ranked.find(({ type }) => isText(type))
  return ranked.filter((field) => field === text || !isText(field.type))
}

const rankOf = ({ type }: FieldDef) => TYPES[type].equalityRank

/** True if an index holds the whole text, so that it can find prefixes. */
const isShortText = (field: FieldDef) => isText(field.type) && rankOf(field) !== null
