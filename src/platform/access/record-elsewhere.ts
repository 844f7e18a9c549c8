/**
 * The record of a resource where it is on another server (docs/decisions/0030-two-planes.md). The statement of the access check names its
 * id as if the record existed, and it is read before the first check of the resource, so that the order of checks stays the same.
 */

import { type Database, recordsOf, type Sql, sql } from '../database/database.ts'
import { isOutdated } from '../database/outdated-definition.ts'
import type { Given } from '../database/prepare.ts'
import { shortRead } from '../database/statements/statement.ts'

/** The columns of a record that is still to be read. */
export const unreadRecord = (recordId: Given<number> | undefined): Sql =>
  sql`${recordId}::int as record_id, null::int as record_version, true as is_elsewhere`

export const isUnread = (row: object): boolean => 'is_elsewhere' in row && row.is_elsewhere === true

interface Found {
  /** Null if there is no such record. */
  record_id: number | null
  record_version: number | null
}

/** Reads the record from the server that has it. */
export async function readRecord({ table_id, record_id }: { table_id: number; record_id: number }, db: Database): Promise<Found> {
  const statement = sql`select r.id as record_id, r.version as record_version from ${recordsOf(table_id)} r where r.id = ${record_id}`
  const [found] = await db.records(table_id).read<Found>(shortRead('record-version', statement)).catch(noneIfOutdated)
  return found ?? { record_id: null, record_version: null }
}

/** Without its table there is no record either. */
function noneIfOutdated(error: unknown): [] {
  if (!isOutdated(error)) throw error
  return []
}
