/** Finds the cells that still have the value that a change gave them. */

import type { FieldDef, TableDef } from '../../fields/definition.ts'
import { type Database, ident, join, raw, recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import { arrayOf, typeOf } from '../cell-values.ts'
import type { RevertibleCell } from './revertible.ts'

/** No field has such an id. */
const ID = '#id'

/**
 * Compares the stored values, so a title or a name that has changed makes no difference.
 * @param cells of records that the transaction has locked
 * @returns those that are as the change has left them
 */
export async function unchangedSince(db: Database, table: TableDef, cells: readonly RevertibleCell[]): Promise<RevertibleCell[]> {
  if (!cells.length) return []
  const fields = [...new Map(cells.map(({ field }) => [field.id, field])).values()]
  const byRecord = Map.groupBy(cells, ({ recordId }) => recordId)
  const given = fields.map((field, index) => leftBehind(field, index, [...byRecord.values()]))
  const columns = [{ name: ID, array: arrayOf([...byRecord.keys()], raw('int')) }, ...given.flatMap((each) => each.columns)]
  const rows = await db.records(table.id).read<{ id: number; same: number[] }>(sql`
    select r.id, to_jsonb(array_remove(array[${join(given.map(({ same }) => same))}]::int[], null)) as same
    from ${recordsOf(table.id)} r, unnest(${join(columns.map(({ array }) => array))}) as x (${join(columns.map(({ name }) => ident(name)))})
    where r.id = x.${ident(ID)}`)
  const same = new Map(rows.map((row) => [row.id, new Set(row.same.map((index) => fields[index]?.id))]))
  return cells.filter(({ recordId, fieldId }) => same.get(recordId)?.has(fieldId))
}

/** What the change has left in a field, as columns of the rows `x`, and the number of the field where a row `r` still has it. */
function leftBehind(
  field: FieldDef,
  index: number,
  records: readonly RevertibleCell[][],
): { columns: { name: string; array: Sql }[]; same: Sql } {
  const changes = records.map((cells) => cells.find(({ fieldId }) => fieldId === field.id)?.change)
  const [has, to] = [`#has ${index}`, `#to ${index}`]
  const isNamed = changes.map((change) => change !== undefined)
  const left = changes.map((change) => change?.to ?? null)
  const isSame = sql`r.${ident(field.id)} is not distinct from x.${ident(to)}::${typeOf(field)}`
  return {
    columns: [
      { name: has, array: arrayOf(isNamed, raw('boolean')) },
      { name: to, array: arrayOf(left, raw('text')) },
    ],
    same: sql`case when x.${ident(has)} and ${isSame} then ${raw(String(index))} end`,
  }
}
