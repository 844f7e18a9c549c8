import { memo } from '../platform/memo.ts'
import type { FieldDef, TableDef } from './definition.ts'

const MAX_SHOWN = 60

/** The fields of a table by their ids. Tables that share a list of fields share this, too. */
export const fieldsById = ({ fields }: TableDef): ReadonlyMap<string, FieldDef> => byId(fields)

const byId = memo((fields: readonly FieldDef[]): ReadonlyMap<string, FieldDef> => new Map(fields.map((field) => [field.id, field])))

/** The message for an id that no field of the table has. */
export const notAField = (id: string) => `'${id.length > MAX_SHOWN ? `${id.slice(0, MAX_SHOWN)}…` : id}' is not a field of this table`
