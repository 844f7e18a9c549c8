/**
 * The b-trees that serve the shape of a query. The field type prints the same expressions for indexes and for sorts, because the planner
 * matches them by their text. test/indexes.test.ts checks the plans with EXPLAIN.
 */

import { fieldsById } from '../fields/by-id.ts'
import { type FieldDef, indexKey, isText, type TableDef } from '../fields/definition.ts'
import { TYPES } from '../fields/registry.ts'
import { ident } from '../platform/database/database.ts'
import { type Sort, wholeOrder } from '../views/filters/order.ts'
import { comparable, type FurtherKey, type QueryShape } from './shape.ts'

export interface Btree {
  /** Ids of the fields, in the order of the index. */
  fields: string[]
  /** The part of CREATE INDEX after the name of the table. */
  on: string
}

/** A field that an index is sorted by. */
interface IndexKey extends FurtherKey {
  expression: string
  /** True if its empty values are at the other end than usual. */
  isEmptyElsewhere: boolean
}

/** True if one index of the table can hold all keys of the order, so that the records after a place are ranges of it. */
export function isHeldByIndex(order: readonly Sort[]): boolean {
  const fields = wholeOrder(order).flatMap(({ field }) => (field.key ? [] : field))
  return (
    fields.every((field) => !field.link && TYPES[field.type].sort?.isIndexable(field)) &&
    fields.filter(({ type }) => isText(type)).length <= 1
  )
}

/**
 * Returns the indexes `(equal fields, sort keys, id)` that are sufficient for the shape, the shortest first, or none where no part of the
 * shape can be indexed. Where only small groups of records share the values of the first keys, Postgres sorts each group when it
 * reads it, and the later keys are not needed.
 * @param isInSmallGroups returns true if no value of the field is shared by many records
 */
export function btreesOf(table: TableDef, shape: QueryShape, isInSmallGroups: (field: string) => boolean): Btree[] {
  const fields = fieldsById(table)
  const equal = shape.equal.flatMap((id) => fields.get(id) ?? [])
  const allowed = comparable(equal)
  const compared = equal.filter((field) => allowed.includes(field))
  const keys = keysOf(shape, fields, compared)
  if (!compared.length && keys.length === 1) return []
  const isNarrow = (kept: readonly IndexKey[]) =>
    compared.some(({ id }) => isInSmallGroups(id)) || kept.some(({ field }) => isInSmallGroups(field))
  const shorter = keys.slice(1).map((_, at) => keys.slice(0, at + 1))
  return [...shorter.filter(isNarrow).map((kept) => endedById(kept)), keys].map((kept) => spelled(compared, kept))
}

/** The sort keys after the compared fields, ended by the id: all of them, or those before the first that cannot be indexed. */
function keysOf(
  { sort, further = [], emptyElsewhere = [] }: QueryShape,
  fields: ReadonlyMap<string, FieldDef>,
  compared: readonly FieldDef[],
): IndexKey[] {
  const wanted = sort === null ? [] : [{ field: sort, isReversed: false }, ...further]
  const keys: IndexKey[] = []
  // Two texts together could exceed the 2,704 bytes of an index row, and the record could not be saved.
  let hasText = compared.some(({ type }) => isText(type))
  for (const key of wanted) {
    const field = fields.get(key.field)
    const expression = field ? indexKey(field)?.sql : undefined
    if (!field || expression === undefined) return endedById(keys)
    if (field.key) return endedById(keys, key.isReversed)
    const isSecondText = hasText && isText(field.type)
    if (isSecondText) return endedById(keys)
    hasText ||= isText(field.type)
    // A compared field has one value and needs no key. For the lower case of a text Postgres does not know that: the keys end above.
    if (!compared.includes(field)) keys.push({ ...key, expression, isEmptyElsewhere: emptyElsewhere.includes(field.id) })
  }
  return endedById(keys, wanted.at(-1)?.isReversed)
}

/** Adds the id as the last key, by default in the direction of the key before it. */
const endedById = (keys: IndexKey[], isReversed = keys.at(-1)?.isReversed ?? false): IndexKey[] => [
  ...keys,
  { field: 'id', isReversed, expression: 'id', isEmptyElsewhere: false },
]

/** Spells the index with an ascending first key, because an index can be read in both directions. */
function spelled(compared: readonly FieldDef[], keys: readonly IndexKey[]): Btree {
  const directed = keys.map(({ field, isReversed, expression, isEmptyElsewhere }) => {
    const isDescending = isReversed !== keys[0]?.isReversed
    if (field === 'id') return isDescending ? 'id desc' : 'id'
    return `${expression} ${isDescending ? 'desc ' : ''}nulls ${isDescending === isEmptyElsewhere ? 'first' : 'last'}`
  })
  return {
    fields: [...compared.map(({ id }) => id), ...keys.map(({ field }) => field)],
    on: `(${[...compared.map(({ id }) => ident(id).sql), ...directed].join(', ')})`,
  }
}
