import { memo } from '../platform/memo.ts'
import { type FieldDef, isLookup, type TableDef, withArticle } from './definition.ts'

const MAX_SHOWN = 60

/** The fields of a table by their ids. Tables that share a list of fields share this, too. */
export const fieldsById = ({ fields }: TableDef): ReadonlyMap<string, FieldDef> => byId(fields)

const byId = memo((fields: readonly FieldDef[]): ReadonlyMap<string, FieldDef> => new Map(fields.map((field) => [field.id, field])))

/** The field that a request names, or a message that says why there is none. */
export function fieldNamed(table: TableDef, name: string): FieldDef | string {
  const { linked } = table
  return linked && name.includes('.') ? linkedNamed(table, linked, name) : (fieldsById(table).get(name) ?? notAField(name))
}

/** The field of `<lookup>.<field of its table>` (contract.md §9). */
function linkedNamed(table: TableDef, linked: NonNullable<TableDef['linked']>, name: string): FieldDef | string {
  const [lookupId = '', fieldId = '', ...others] = name.split('.')
  const lookup = fieldsById(table).get(lookupId)
  if (!lookup) return notAField(lookupId)
  if (!isLookup(lookup.type)) return `'${lookupId}' is ${withArticle(lookup.type)}; only through a lookup are fields of another table named`
  if (others.length) return `'${cut(name)}' has more than one dot`
  const other = linked.get(lookup.lookup_table_id ?? 0)
  if (!other) return `the table of '${lookupId}' is deleted`
  const field = fieldsById(other).get(fieldId)
  return field ? linkedField(lookup)(field) : `'${cut(fieldId)}' is not a field of the table of '${lookupId}'`
}

/** The same field of the same lookup is the same object, so that what is derived from it is found with it (memo.ts). */
const linkedField = memo((lookup: FieldDef) =>
  memo((field: FieldDef): FieldDef => ({ ...field, id: `${lookup.id}.${field.id}`, key: false, calc: false, link: { lookup, field } })),
)

/** The message for an id that no field of the table has. */
export const notAField = (id: string) => `'${cut(id)}' is not a field of this table`

const cut = (id: string) => (id.length > MAX_SHOWN ? `${id.slice(0, MAX_SHOWN)}…` : id)
