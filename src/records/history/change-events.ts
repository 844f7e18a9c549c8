/** The events of changes that several statements make, or of several records (contract.md §10, Live tables). */
import { placeOf, type TableEvent } from '../../events/table-events.ts'
import type { TableDef } from '../../fields/definition.ts'

interface Changed {
  recordIds: readonly number[]
  changeId: number
  userId: number | null
  /** The change that the records belong to, if they are not all of it. */
  partOf?: number | undefined
  /** The fields that became different, of a single record that was updated. */
  fields?: readonly string[] | undefined
}

/** A change of one record is told by its type, one of several by their number. */
export function changeEvent(
  table: TableDef,
  type: TableEvent['type'] & `record.${string}`,
  { recordIds, changeId, userId, partOf, fields }: Changed,
): TableEvent {
  const of = { ...placeOf(table), change_id: changeId, user_id: userId }
  const [only, ...others] = recordIds
  if (others.length || partOf !== undefined) return { ...of, type: 'records.changed', count: recordIds.length }
  return { ...of, type, record_id: only as number, fields }
}
