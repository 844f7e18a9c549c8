/**
 * The cells of a deleted record, each with its type: later changes of fields do not touch the records that are deleted, so a cell may not
 * fit any more.
 */
import { roundedDecimal } from '../../fields/decimal.ts'
import { type FieldDef, holdsFiles, isMultiple, isSelect, ownFields, type TableDef } from '../../fields/definition.ts'
import { type FieldType, TYPES } from '../../fields/registry.ts'
import { ident, join, type Sql, sql } from '../../platform/database/database.ts'
import { constant } from '../../platform/database/prepare.ts'

export interface KeptCell {
  type: FieldType
  /** As PostgreSQL prints it: the ids of options, users and records, the entries of files as JSON. */
  value: string
}

/** By the ids of the fields. An empty cell has no entry. */
export type KeptCells = Record<string, KeptCell>

/** PostgreSQL takes a hundred arguments of a function. */
const FIELDS_AT_ONCE = 50

/** The cells of a row `r` that are not empty, as SQL of type jsonb: `KeptCells`. */
export function keptCells(table: TableDef): Sql {
  const own = ownFields(table)
  const objects: Sql[] = []
  for (let from = 0; from < own.length; from += FIELDS_AT_ONCE) {
    const entries = own.slice(from, from + FIELDS_AT_ONCE).map(({ id, type }) => {
      const cell = sql`r.${ident(id)}`
      const kept = sql`jsonb_build_object('type', ${constant(type)}, 'value', ${cell}::text)`
      return sql`${constant(id)}, case when ${cell} is not null then ${kept} end`
    })
    objects.push(sql`jsonb_build_object(${join(entries)})`)
  }
  return objects.length ? sql`jsonb_strip_nulls(${join(objects, ' || ')})` : sql`'{}'::jsonb`
}

/** Whether the row `r` has files, as SQL. */
export function hasFiles(table: TableDef): Sql {
  const cells = ownFields(table).filter(holdsFiles)
  return cells.length
    ? sql`(${join(
        cells.map(({ id }) => sql`r.${ident(id)} is not null`),
        ' or ',
      )})`
    : sql`false`
}

/** What a cell is in the field of today. */
export interface FittedCell {
  /** As PostgreSQL reads it; null for an empty cell. */
  text: string | null
  /** The value in the form of `withdrawForCells`. */
  value: unknown
  /** Why something of the cell was left out; undefined if nothing was. */
  lost?: 'field is gone' | 'type changed' | 'option is gone'
}

/**
 * The cell as the field can have it now.
 * @param field the field that has the id of the cell's, if any
 * @param isOlder true if the field has had its type since before the deletion. Otherwise its cells were converted, or it is another field
 */
export function fittedCell(field: FieldDef | undefined, { type, value }: KeptCell, isOlder: boolean): FittedCell {
  if (!field) return { text: null, value: null, lost: 'field is gone' }
  if (field.type !== type) return { text: null, value: null, lost: 'type changed' }
  if (!isOlder) return { text: null, value: null, lost: 'field is gone' }
  if (isSelect(field.type)) return fittedOptions(field, value)
  const rounded = TYPES[field.type].takes === 'decimals' ? roundedDecimal(value, field.decimals) : { text: value }
  const text = typeof rounded === 'string' ? null : rounded.text
  return { text, value: text }
}

/** Options that were removed since are left out. */
function fittedOptions({ type, options }: FieldDef, value: string): FittedCell {
  const ids = [...value.matchAll(/\d+/g)].map(([id]) => Number(id))
  const present = ids.filter((id) => options?.some((option) => option.id === id))
  const lost = present.length < ids.length && { lost: 'option is gone' as const }
  const [only] = present
  if (only === undefined) return { text: null, value: null, ...lost }
  return isMultiple(type) ? { text: `{${present.join(',')}}`, value: present, ...lost } : { text: String(only), value: only, ...lost }
}
