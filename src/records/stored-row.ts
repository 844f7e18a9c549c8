/** A record as single reads and writes get it, and what they need to know. */
import type { TableDef } from '../fields/definition.ts'
import { type Database, type Sql, sql } from '../platform/database/database.ts'
import type { Statement } from '../platform/database/statements/statement.ts'
import type { CellTexts } from './cells/present.ts'

/** A record as it is stored, whose users and records have been named. */
export type StoredRow = { id: number; version: number; created_at: string; updated_at: string } & CellTexts

/** The columns of a row `r` beside its cells. */
export const STORED = sql`r.id, r.version, r.created_at::text as created_at, r.updated_at::text as updated_at`

export interface Change {
  now: Date
  /** Null for a job or a script, which acts for no user. */
  userId: number | null
}

/** How a record is updated, here or elsewhere. */
export interface UpdateWay {
  /** The condition that the table still has this version. */
  isCurrent(table: TableDef): Sql
  /** The columns of a row `r`. */
  returned(table: TableDef): Sql
  /** Runs the update with both. @returns undefined if it has met no record */
  run(db: Database, table: TableDef, update: Statement): Promise<StoredRow | undefined>
}
