/**
 * The b-trees that serve a shape. Queries are sorted by the same expressions, which the type of the field prints for both: spelled
 * otherwise the planner would not know them again. test/indexes.test.ts asks EXPLAIN whether it does.
 */

import { fieldsById } from '../fields/by-id.ts'
import { type FieldDef, indexKey, isText, type TableDef } from '../fields/definition.ts'
import { ident } from '../platform/database/database.ts'
import { comparable, type FurtherKey, type Shape } from './shape.ts'

export interface Btree {
  /** Ids in the order of the index. */
  fields: string[]
  /** What follows the name of the table in CREATE INDEX. */
  on: string
}

/** A field that an index is sorted by. */
interface Key extends FurtherKey {
  expression: string
}

/**
 * The indexes `(equal fields, sort keys, id)` that are enough for the shape, the shortest first; none where nothing of it can stand in
 * an index. Where only small groups of records share all values so far, Postgres sorts each group as it comes to it, and the
 * keys after these are not needed.
 * @param isInSmallGroups whether no value of the field is shared by many records
 */
export function btreesOf(table: TableDef, shape: Shape, isInSmallGroups: (field: string) => boolean): Btree[] {
  const fields = fieldsById(table)
  const equal = shape.equal.flatMap((id) => fields.get(id) ?? [])
  const allowed = comparable(equal)
  const compared = equal.filter((field) => allowed.includes(field))
  const keys = keysOf(shape, fields, compared)
  if (!compared.length && keys.length === 1) return []
  const isNarrow = (kept: readonly Key[]) =>
    compared.some(({ id }) => isInSmallGroups(id)) || kept.some(({ field }) => isInSmallGroups(field))
  const shorter = keys.slice(1).map((_, at) => keys.slice(0, at + 1))
  return [...shorter.filter(isNarrow).map((kept) => endedById(kept)), keys].map((kept) => spelled(compared, kept))
}

/** The keys that can follow the compared fields, down to the id: all of them, or those before the first that cannot stand in the index. */
function keysOf({ sort, further = [] }: Shape, fields: ReadonlyMap<string, FieldDef>, compared: readonly FieldDef[]): Key[] {
  const wanted = sort === null ? [] : [{ field: sort, isReversed: false }, ...further]
  const keys: Key[] = []
  // Two texts together could pass the 2,704 bytes that a row of an index may have, and the record could not be saved.
  let hasText = compared.some(({ type }) => isText(type))
  for (const key of wanted) {
    const field = fields.get(key.field)
    const expression = field ? indexKey(field)?.sql : undefined
    if (!field || expression === undefined) return endedById(keys)
    if (field.key) return endedById(keys, key.isReversed)
    if (isText(field.type)) {
      if (hasText) return endedById(keys)
      hasText = true
    }
    // What is compared has one value. Not so the lower case of a text, for all that Postgres knows: there the keys have ended above.
    if (!compared.includes(field)) keys.push({ ...key, expression })
  }
  return endedById(keys, wanted.at(-1)?.isReversed)
}

/** Ties go by id, in the direction of the last key unless told otherwise. */
const endedById = (keys: Key[], isReversed = keys.at(-1)?.isReversed ?? false): Key[] => [
  ...keys,
  { field: 'id', isReversed, expression: 'id' },
]

/** The first key ascending, whichever way it is asked for: an index is read both ways. */
function spelled(compared: readonly FieldDef[], keys: readonly Key[]): Btree {
  const directed = keys.map(({ field, isReversed, expression }) => {
    const isDescending = isReversed !== keys[0]?.isReversed
    if (field === 'id') return isDescending ? 'id desc' : 'id'
    return `${expression} ${isDescending ? 'desc nulls last' : 'nulls first'}`
  })
  return {
    fields: [...compared.map(({ id }) => id), ...keys.map(({ field }) => field)],
    on: `(${[...compared.map(({ id }) => ident(id).sql), ...directed].join(', ')})`,
  }
}
