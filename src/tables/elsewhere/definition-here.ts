/** The definition by which a statement on system tables may read records as well. */
import type { TableDef } from '../../fields/definition.ts'
import type { Database } from '../../platform/database/database.ts'
import { guessedDefinition } from '../definition-cache.ts'

/** Undefined if this process knows none, and where the records are elsewhere. The definition may be outdated. */
export const definitionHere = (db: Database, tableId: number): TableDef | undefined =>
  db.isElsewhere(tableId) ? undefined : guessedDefinition(db, tableId)
