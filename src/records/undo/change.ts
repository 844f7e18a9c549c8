/** Reads a change from the history of its table. */

import type { TableDef } from '../../fields/definition.ts'
import type { TableRef } from '../../platform/access/resources.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Context } from '../../platform/context.ts'
import { type Database, empty, historyOf, sql } from '../../platform/database/database.ts'
import { AppError, forbidden, notFound } from '../../platform/errors.ts'
import { formatInstant } from '../../platform/time/time.ts'
import type { CellChanges, ChangeKind } from '../history/entries.ts'

/** What a change has done to one record. */
export interface ChangeEntry {
  record_id: number
  version: number
  user_id: number | null
  api_key_id: number | null
  kind: ChangeKind
  changes: CellChanges | null
  /** True for the one entry of an import. */
  is_import: boolean
}

/**
 * Checks who may undo the change: admins, and whoever has made it. The changes of all keys are those of each account key.
 * @throws AppError 404 without entries; 403; 400 for an import
 */
export function requireUndoable(actor: Actor, { role }: TableRef, [first]: readonly ChangeEntry[]): void {
  if (!first) throw notFound('Change')
  const isOwn = actor.kind === 'account' ? first.api_key_id !== null : first.user_id === actor.userId
  if (!isOwn && role !== 'admin') throw forbidden()
  if (first.is_import) throw new AppError('BAD_REQUEST', 'An import cannot be undone')
}

/**
 * The entries of the change in the order of their records, without those that were kept long enough and wait for the clean-up.
 * @param recordIds of these records; of all by default
 */
export async function readChange(
  { db, now, settings }: Pick<Context, 'db' | 'now' | 'settings'>,
  table: TableDef,
  changeId: number,
  { recordIds, limit }: { recordIds?: readonly number[]; limit: number },
): Promise<ChangeEntry[]> {
  if (!table.hasHistory) return []
  const only = recordIds ? sql`and h.record_id = any(${recordIds}::int[])` : empty
  const since = new Date(now.getTime() - settings.keepHistoryDays * 86_400_000)
  return db.records(table.id).read<ChangeEntry>(sql`
    select h.record_id, h.version, h.user_id, h.api_key_id, h.kind, h.changes, h.record_ids is not null as is_import
    from ${historyOf(table.id)} h
    where h.change_id = ${changeId}::bigint and h.at >= ${formatInstant(since)}::timestamp ${only}
    order by h.record_id limit ${limit}`)
}

/** All records of the change, in the order of their ids. */
export async function recordsOfChange(db: Database, table: TableDef, changeId: number): Promise<number[]> {
  const records = await db
    .records(table.id)
    .read<{ record_id: number }>(
      sql`select h.record_id from ${historyOf(table.id)} h where h.change_id = ${changeId}::bigint order by h.record_id`,
    )
  return records.map(({ record_id }) => record_id)
}

/** The fields of the table that had not got their type when the change was made. One with the same id may have existed then. */
export async function fieldsSince(db: Database, table: TableDef, changeId: number): Promise<ReadonlySet<string>> {
  const fields = await db.read<{ id: string }>(
    sql`select id from fields where table_id = ${table.id} and since_change > ${changeId}::bigint`,
  )
  return new Set(fields.map(({ id }) => id))
}

/** True if the change is taken back now: by an undo that was not taken back itself. */
export async function isUndone(db: Database, table: TableDef, changeId: number): Promise<boolean> {
  const undos = await db.records(table.id).read<{ change_id: number; undoes: number }>(sql`
    with recursive undo as (
      select h.change_id, h.undoes from ${historyOf(table.id)} h where h.undoes = ${changeId}::bigint
      union
      select h.change_id, h.undoes from ${historyOf(table.id)} h join undo on h.undoes = undo.change_id)
    select undo.change_id, undo.undoes from undo order by undo.change_id desc`)
  // An undo is younger than what it takes back, so the undos of each are known before it.
  const undone = new Set<number>()
  for (const { change_id, undoes } of undos) if (!undone.has(change_id)) undone.add(undoes)
  return undone.has(changeId)
}
