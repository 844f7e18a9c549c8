/** A record as single reads and writes get it, and what they need to know. */
import type { FieldDef, TableDef } from '../fields/definition.ts'
import { type Database, type Sql, sql } from '../platform/database/database.ts'
import type { Statement } from '../platform/database/statements/statement.ts'
import type { CellTexts } from './cells/present.ts'
import type { CHANGE_ID, ChangeKind } from './history/entries.ts'

/**
 * A record as it is stored, whose users and records have been named. One that was just written has the id of its change, or null if nothing
 * was changed.
 */
export type StoredRow = { id: number; version: number; created_at: string; updated_at: string; [CHANGE_ID]?: number | null } & CellTexts

/** The columns of a row `r` beside its cells. */
export const STORED = sql`r.id, r.version, r.created_at::text as created_at, r.updated_at::text as updated_at`

export interface Change {
  now: Date
  /** Null for a job or a script, which acts for no user. */
  userId: number | null
  /** The API key with which the user acts. */
  keyId: number | null
}

/** What the history says of a change of several records, beside when and by whom. */
export interface BulkChange {
  kind: 'update' | 'delete' | 'undo'
  /** The change that an undo takes back. */
  undoes?: number | undefined
  /** Given for one transaction of a change that has several, whose number of records is not known. Otherwise the update draws an id. */
  partOf?: number | undefined
}

/** The parts of an update of records that are the same here and elsewhere, as SQL. */
export interface UpdateParts {
  /** The fields that are changed. */
  own: readonly FieldDef[]
  /** `update "t1".records r set …`, with the next cells. */
  update: Sql
  /** The rows with the given cells. */
  given: Sql
  /** The condition that selects the rows `r`. */
  isMeant: Sql
  /** The condition that a row `r` is to be changed into a given one. */
  isGiven: Sql
  at: Sql
  userId: Sql
  keyId: Sql
  /** The number of records that are changed, of which the statement may name `changed`; null if it is not known. */
  records: Sql | null
  kind: ChangeKind
  undoes?: Sql | undefined
  /** Undefined draws one. */
  changeId?: Sql | undefined
}

/** Which records are updated, by whom and in which fields. */
export interface UpdateOf {
  ids: readonly number[]
  own: readonly FieldDef[]
  change: Change & BulkChange
}

/** How records are updated, here or elsewhere. */
export interface UpdateWay {
  compose(table: TableDef, parts: UpdateParts): Sql
  /** Runs what was composed. @returns the records that it has met */
  run(db: Database, table: TableDef, update: Statement, of: UpdateOf): Promise<StoredRow[]>
}
