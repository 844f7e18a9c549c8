/**
 * The rules of conversion: which field type converts to which, and the SQL that converts a cell (docs/field-types.md describes them). Rules
 * of a single type are in its definition (`fields/types/`). A text converts if it could be written to a field of the new type unchanged.
 * A cell without a value stays without a value.
 */

import { joined } from '../fields/cell-sql.ts'
import { castType, type FieldDef, isText } from '../fields/definition.ts'
import type { ConversionPlace } from '../fields/field-type.ts'
import { type FieldType, TYPES } from '../fields/registry.ts'
import { ident, raw, recordsOf, type Sql, sql } from '../platform/database/database.ts'

export interface Conversion {
  /**
   * Selects `id`, `version`, `words` and `converted` of the records `r` that meet the condition: the cell as a text (null when it holds no
   * value) and as a value of the new type. A cell with `words` but without `converted` cannot be converted.
   */
  select(where: Sql): Sql
  /** The cell as a text, lists as in files; null when it holds no value. */
  words(cell: Sql): Sql
}

/** Texts convert to each other and to every type with `fromText`. Every type with `asText` converts to the texts. */
export function isConvertible(from: FieldType, to: FieldType): boolean {
  if (from === to || !TYPES[from].asText || !TYPES[to].fromText) return false
  return isText(from) || isText(to) || Object.hasOwn(TYPES[from].becomes, to)
}

/** True if every cell stays unchanged, so that only the field's type has to be written. */
export const isRelabelling = (from: FieldType, to: FieldType): boolean => (TYPES[from].maxLength ?? Infinity) <= (TYPES[to].maxLength ?? -1)

/** @param to a field of a type that `from` converts to (isConvertible) */
export function conversionOf(from: FieldDef, to: FieldDef, tableId: number, place: ConversionPlace): Conversion {
  const words = (cell: Sql) => cellText(from, cell, place)
  const column = sql`r.${ident(from.id)}`
  const converted = convertedCell(from, to, place)
  return {
    // Without `offset` Postgres would inline the text's expression wherever it is used, and evaluate it several times per record.
    select: (where) => sql`
      select w.id, w.version, w.words, (${converted})::${raw(castType(to.type))} as converted from (
        select r.id, r.version, ${column} as cell, ${words(column)} as words from ${recordsOf(tableId)} r where ${where} offset '0') w`,
    words,
  }
}

function convertedCell(from: FieldDef, to: FieldDef, place: ConversionPlace): Sql {
  const [cell, text] = [sql`w.cell`, sql`w.words`]
  const directly = TYPES[from.type].becomes[to.type]
  if (directly) return directly(cell, { from, to, text, place })
  return TYPES[to.type].fromText?.(text, to, place) ?? sql`null`
}

function cellText(field: FieldDef, cell: Sql, place: ConversionPlace): Sql {
  const { asText, isMultiple } = TYPES[field.type]
  const text = (value: Sql) => asText?.(value, field, place) ?? sql`null::text`
  return isMultiple ? joined(cell, text) : text(cell)
}
