/** Writes the cells of a history as records showed them, by the types of the time: the fields may have been converted or deleted since. */
import type { UserValue } from '../../fields/cell.ts'
import { type CellJson, cellOfText, type JsonById, jsonPiece } from '../../fields/cell-json.ts'
import type { TableDef } from '../../fields/definition.ts'
import { type FieldType, TYPES } from '../../fields/registry.ts'
import type { FieldSettings } from '../../fields/settings.ts'
import type { JsonWriter } from '../../platform/writers/json-writer.ts'
import type { CellChange, CellChanges } from './entries.ts'

/** The users whom cells of the changes refer to. */
export function usersIn(entries: readonly (CellChanges | null)[]): number[] {
  const all = entries.flatMap((changes) => Object.values(changes ?? {}))
  return all.filter((change) => typeOf(change).names === 'users').flatMap(idsIn)
}

/**
 * Returns the function that writes the changes of an entry as a JSON array, in the order of the table's fields; fields that are gone come
 * last.
 * @param users those of `usersIn`, by id
 */
export function changesWriter({ fields }: TableDef, users: ReadonlyMap<number, UserValue>) {
  const present = new Map(fields.map(({ id, name }, position) => [id, { name, position }]))
  const positionOf = (id: string) => present.get(id)?.position ?? present.size
  return (changes: CellChanges, json: JsonWriter): void => {
    const ids = Object.keys(changes).sort((a, b) => positionOf(a) - positionOf(b))
    for (const [index, id] of ids.entries()) {
      const change = changes[id] as CellChange
      const [write, named] = [writerOf(change), namedBy(change, users)]
      json.text(`${index ? ',' : '['}{"field":${JSON.stringify(id)},"name":${JSON.stringify(present.get(id)?.name ?? change.name)},"from":`)
      write(cellOfText(change.from ?? null), json, named)
      json.text(',"to":')
      write(cellOfText(change.to ?? null), json, named)
      json.text('}')
    }
    json.text(ids.length ? ']' : '[]')
  }
}

const typeOf = ({ type }: CellChange) => TYPES[type as FieldType]

/** The ids in both cells of a type whose cells hold ids. */
const idsIn = ({ from, to }: CellChange): number[] => [from, to].flatMap((cell) => cellOfText(cell ?? null).ints())

/** What a type needs to write a cell that says all by itself. */
const SETTINGS: FieldSettings = {
  id: '',
  key: false,
  options: null,
  removed_options: [],
  decimals: null,
  is_rounding: false,
  is_normalized: true,
  lookup_table_id: null,
}

/** How cells of the type are written, selects with the titles of the time. */
function writerOf(change: CellChange): CellJson {
  const { takes, json } = typeOf(change)
  if (takes !== 'options') return json(SETTINGS)
  return json({ ...SETTINGS, options: Object.entries(change.titles ?? {}).map(([id, title]) => ({ id: Number(id), title })) })
}

/** The users or records that the cells refer to, as JSON. A record without a title is shown all the same. */
function namedBy(change: CellChange, users: ReadonlyMap<number, UserValue>): JsonById {
  const { names } = typeOf(change)
  if (names !== 'users' && names !== 'records') return NOTHING
  const values = idsIn(change).map((id) => (names === 'users' ? users.get(id) : { id, title: change.titles?.[id] ?? null }))
  return new Map(values.flatMap((value) => (value ? [[value.id, jsonPiece(value)]] : [])))
}

const NOTHING: JsonById = new Map()
