/** The entry of an import: one for all of its records, with their ids, because a million of entries would be as many as the records. */

import { historyOf, recordsOf, sql } from '../../platform/database/database.ts'
import type { Statement } from '../../platform/database/statements/statement.ts'
import { formatInstant } from '../../platform/time/time.ts'
import type { Change } from '../stored-row.ts'
import { newChangeId } from './entries.ts'

type Run = (statement: Statement) => Promise<{ rows: Record<string, unknown>[] }>

/** The record that the entries of imports have; no record has the id. */
const OF_IMPORTS = 0

/**
 * Writes the entry in the transaction of an import, of which a table has one at a time. The version is the number of the import, because
 * the versions of the entries of one record differ.
 * @param imported the new records: their number, and an id that theirs are above. What others create meanwhile has entries of its own
 * @returns the id of the change
 */
export async function enterImport(
  run: Run,
  tableId: number,
  { change, after, records }: { change: Change; after: number; records: number },
): Promise<number> {
  const [at, history] = [sql`${formatInstant(change.now)}::timestamp`, historyOf(tableId)]
  const { rows: ids } = await run(sql`
    select range_agg(int4range(r.id, r.id, '[]'))::text as ids from ${recordsOf(tableId)} r
    where r.id > ${after} and r.version = 1 and r.created_at = ${at} and r.created_by is not distinct from ${change.userId}::int
      and not exists (select from ${history} h where h.record_id = r.id)`)
  const { rows: imports } = await run(sql`
    select coalesce(max(h.version), 0) + 1 as version from ${history} h where h.record_id = ${OF_IMPORTS}`)
  const { rows: drawn } = await run(sql`select ${newChangeId} as id`)
  const id = Number(drawn[0]?.id)
  await run(sql`
    insert into ${history} (change_id, at, record_id, version, user_id, api_key_id, records, kind, record_ids)
    values (${id}::bigint, ${at}, ${OF_IMPORTS}, ${imports[0]?.version}::int, ${change.userId}::int, ${change.keyId}::int, ${records}::int,
      'create', ${ids[0]?.ids}::int4multirange)`)
  return id
}
