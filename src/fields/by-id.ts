import { memo } from '../platform/memo.ts'
import type { FieldDef, TableDef } from './definition.ts'

const MAX_SHOWN = 60

/** The fields of a table by their ids. */
export const fieldsById = memo((table: TableDef): ReadonlyMap<string, FieldDef> => new Map(table.fields.map((field) => [field.id, field])))

/** The message for an id that no field of the table has. */
export const notAField = (id: string) => `'${id.length > MAX_SHOWN ? `${id.slice(0, MAX_SHOWN)}…` : id}' is not a field of this table`
